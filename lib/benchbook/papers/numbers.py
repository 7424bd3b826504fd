"""Single numbers by key, for a manuscript's text: what is claimed, what is drawn, what the papers print, and counts.

A key is a path of words from the general to the particular, joined by dots, of lower-case letters, digits and hyphens
(and the underscores of figures' names) only: nothing in it is special to a shell, or in a LaTeX command's name. It says
all that tells its number apart, the stack of a contrast too, so that it means the same when other cells have run:

- ``CLAIM`` the ratio of the contrast that decided a claim; ``CLAIM.LANE[.LEVEL...]`` of one of its contrasts: of all
  blocks, with its 95 % interval, where all have one. Either with ``.judged`` the one of its look, on which the verdict
  rests, and with ``.published`` the paper's own
- ``FIGURE[.PANEL].LEVEL[.SERIES]`` a mark of a figure; with ``.published`` the hollow one
- ``STUDY.SOURCE.ROW.COLUMN`` a number that a paper prints
- ``claims.VERDICT``, ``STUDY.claims.VERDICT`` how many claims came out so; ``all``, ``testable``, ``decided``, ``open``
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pandas as pd

from benchbook.digits import estimate, rounded
from benchbook.evidence import Counts, Evidence, published
from benchbook.papers import exhibits
from benchbook.plots import latex
from benchbook.plots.names import STACKS
from benchbook.plots.points import FrameRow, each
from benchbook.studies import SLUGS

_KEPT: Final = "numbers"
_THEIRS: Final = "published"


@dataclass(frozen=True)
class Number:
    """One number with what must be known of it."""

    key: str
    value: float  # whole where it is a count
    says: str  # what it is, in words
    studies: tuple[str, ...]
    low: float = math.nan  # of its interval; NaN without one
    high: float = math.nan  # infinity where open
    unit: str = ""  # none of a ratio
    confidence: float = math.nan  # of its interval alone: above 0.95 where all looks, or several contrasts, have 0.95
    blocks: int = 0  # none of a number that is printed or counted
    printed: str = ""  # as a paper prints it
    caveat: str = ""  # what must be said of it: that a wait ran out, that an untrusted machine gave it

    @property
    def text(self) -> str:
        """The number as it is read: ``3.3 (3.2 to 3.5)``, with its unit."""
        if self.printed or isinstance(self.value, int):
            return f"{self.parts[0]} {self.unit}".rstrip()
        return estimate(self.value, self.low, self.high, self.unit)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Value, lower and upper end, all with the same decimals; an end that there is not is empty."""
        if self.printed or isinstance(self.value, int):
            return self.printed or f"{self.value:,}", "", ""
        return rounded(self.value, self.low, self.high)


def numbers(evidence: Evidence) -> dict[str, Number]:
    """Return every number by its key, the claims' before the figures' and the papers'."""

    def made() -> pd.DataFrame:
        drawn = [name for name in exhibits.FIGURES if not exhibits.VERDICTS.search(name)]
        marks = [mark for name in drawn for mark in _of_figure(evidence, name)]
        stated = [*_counts(evidence), *_claims(evidence), *_contrasts(evidence), *marks, *printed()]
        keyed = _by_key(stated).values()
        frame = pd.DataFrame([vars(number) for number in keyed])
        # counts stay whole: in a column of floats they would be read back as measured
        values = [number.value if isinstance(number.value, int) else float(number.value) for number in keyed]
        return frame.assign(value=pd.Series(values, dtype=object))

    return _read(evidence.part(_KEPT, made))


def _read(kept: pd.DataFrame) -> dict[str, Number]:
    rows = kept.assign(studies=kept["studies"].map(tuple)).to_dict("records")
    by_key: dict[str, Number] = {}
    for row in rows:
        fields: dict[str, Any] = {}
        for name, value in row.items():
            is_nan = pd.api.types.is_float(value) and pd.isna(value)
            # always the same NaN, by which numbers without an interval are equal
            fields[str(name)] = math.nan if is_nan else value
        by_key[fields["key"]] = Number(**fields)
    return by_key


def number(evidence: Evidence, key: str) -> Number | None:
    """Return the number of one key, None when there is none; where none are kept no other figure's are made."""
    if (kept := evidence.known(_KEPT)) is not None:
        return _read(kept).get(key)
    if (figure := key.partition(".")[0]) in exhibits.FIGURES:
        return _by_key(_of_figure(evidence, figure)).get(key)
    return _by_key([*_counts(evidence), *_claims(evidence), *_contrasts(evidence), *printed()]).get(key)


def _by_key(stated: Iterable[Number]) -> dict[str, Number]:
    """Return numbers by their keys; where two marks have one, which are alike in name, the later counts on."""
    keyed: dict[str, Number] = {}
    for number in stated:
        key, again = number.key, 1
        while key in keyed:
            again += 1
            key = f"{number.key}.{again}"
        keyed[key] = replace(number, key=key)
    return keyed


def part(text: object) -> str:
    """Return a name as a part of a key: ``n=10000`` is ``n-10000``, ``MongoDB, Node.js`` is ``mongodb-node-js``."""
    if isinstance(text, float) and text == int(text):
        text = int(text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", str(text))
    return re.sub(r"[^0-9a-z]+", "-", text.lower().replace("µ", "u")).strip("-")


def _key(*parts: object) -> str:
    return ".".join(filter(None, map(part, parts)))


def printed() -> Iterator[Number]:
    """Yield every number that the papers print; needs no results."""
    for row in each(published().rename(columns={"note": "noted"})):
        if not math.isnan(row.value):
            key = f"{row.study}.{_key(row.source, row.row, row.column)}"
            says = f"{row.study}, {row.source}: {row.row}, {row.column}, as printed"
            unit = "" if re.search(r"[A-Za-z%]", row.printed) or row.unit in ("text", "ratio") else row.unit
            yield Number(key, row.value, says, (row.study,), unit=unit, printed=row.printed, caveat=row.noted or "")


def _counts(evidence: Evidence) -> Iterator[Number]:
    outcomes = evidence.outcomes
    for study in (None, *SLUGS):
        of_study = outcomes if study is None else outcomes[outcomes["study"] == study]
        counted = Counts.of(of_study)
        counts = {"all": counted.claims, "testable": counted.testable, "decided": counted.decided}
        counts |= {"in few sittings": counted.in_sittings}
        counts |= {"open": counted.testable - counted.decided, **counted.by_verdict}
        for name, count in counts.items():
            key = ".".join(filter(None, (study, "claims", part(name))))
            says = f"claims{f' of {study}' if study else ''}: {name}"
            yield Number(key, count, says, (study,) if study else tuple(SLUGS))


def _claims(evidence: Evidence) -> Iterator[Number]:
    contrasts = {(row.id, row.host, row.lane, row.contrast): row for row in each(evidence.contrasts)}
    for row in each(evidence.outcomes):
        if not math.isnan(row.ratio):
            contrast = contrasts[row.id, row.host, row.lane, row.contrast]
            yield from _ratios(contrast, row.id, f"{row.says} ({_at(contrast)}), {row.wording}", evidence)


def _contrasts(evidence: Evidence) -> Iterator[Number]:
    judged = evidence.contrasts.dropna(subset=["ratio"])  # whose host its key has where several judged it
    hosts = judged.groupby(["id", "lane", "contrast"])["host"].nunique()
    says = {row.id: row.says for row in each(evidence.outcomes)}
    for row in each(judged):
        levels = row.contrast.split(", ") if row.contrast else []
        host = [row.host] if hosts[row.id, row.lane, row.contrast] > 1 else []
        sentence = f"{says.get(row.id, row.id)} ({', '.join([_at(row), *host])})"
        yield from _ratios(row, f"{row.id}.{_key(row.lane, *host, *levels)}", sentence, evidence)


def _at(row: FrameRow) -> str:
    """Return where a contrast was judged, in words."""
    return ", ".join(filter(None, (row.contrast, row.common, STACKS[row.lane])))


def _ratios(row: FrameRow, key: str, says: str, evidence: Evidence) -> Iterator[Number]:
    """Yield a contrast's ratio of all blocks, the one of its look, and the published one where there is one."""
    caveat = "untrusted run" if (row.study, row.host) in evidence.untrusted else ""
    judged = (row.ratio, row.low, row.high), row.confidence, row.blocks, "when it was judged, repeated interval"
    overall = (row.overall, row.overall_low, row.overall_high), 0.95, row.overall_blocks, "95 % interval"
    readings = {key: judged if math.isnan(row.overall) else overall, f"{key}.judged": judged}
    for name, ((ratio, low, high), confidence, blocks, of) in readings.items():
        sentence = f"{says}: {blocks} blocks, {of}"
        sure = math.nan if math.isnan(low) else confidence
        yield Number(name, ratio, sentence, (row.study,), low, high, "", sure, int(blocks), "", caveat)
    if not math.isnan(row.published):
        about = f"{says.partition(' (')[0]}: the paper's ratio ({row.published_source})"
        yield Number(f"{key}.{_THEIRS}", row.published, about, (row.study,))


def _of_figure(evidence: Evidence, name: str) -> Iterator[Number]:
    """Yield the marks of one figure."""
    made = exhibits.FIGURES[name](evidence)
    studies = exhibits.studies_of(name)
    for row in each(made.frame):
        if pd.isna(row.value):
            continue
        of_paper = row.source != "here"
        key = ".".join(filter(None, (name, _key(*_placed(row)), _THEIRS if of_paper else "")))
        place = ", ".join(f"{level:g}" if isinstance(level, float) else f"{level}" for level in _placed(row))
        unit = "" if row.unit in ("ratio", "claims") else row.unit
        doubts = [row.caveat] if row.caveat else []
        doubts += ["a wait ran out: the true value is larger"] if row.censored else []
        interval = {} if of_paper else {"low": row.low, "high": row.high}
        sure = bool(interval) and pd.notna(row.low)
        says = f"{made.title}: {place}" + (f": {int(row.blocks)} blocks, 95 % interval" if sure else "")
        yield Number(
            key, row.value, says, studies, unit=unit, blocks=int(row.blocks or 0),
            confidence=0.95 if sure else math.nan, caveat="; ".join(doubts), **interval,
        )  # fmt: skip


def _placed(row: FrameRow) -> list[object]:
    return [place for place in (row.panel, row.level, row.series) if place not in ("", None)]


def provenance(evidence: Evidence, number: Number, run: str) -> dict[str, object]:
    """Return where a number comes from, and what it is, as one JSON object; without what there is not."""
    ends = (number.value, number.low, number.high, number.confidence)
    value, low, high, confidence = (end if math.isfinite(end) else None for end in ends)
    about: dict[str, object] = {"key": number.key, "text": number.text, "value": value, "low": low, "high": high}
    about |= {"confidence": confidence, "unit": number.unit or None, "says": number.says}
    about |= {"blocks": number.blocks or None, "caveat": number.caveat or None}
    if not number.printed:
        about["provenance"] = exhibits.measured(evidence, number.studies, run)
    return {name: part for name, part in about.items() if part is not None}


_MACROS: Final = r"""
\makeatletter
\newcommand{\benchbook}[2][text]{%
  \ifcsname benchbook@#2@#1\endcsname\csname benchbook@#2@#1\endcsname
  \else\PackageError{benchbook}{There is no number "#2" (#1)}{"benchbook number" lists the keys.}\textbf{??}\fi}
\newcommand{\benchbook@set}[7]{%
  \@namedef{benchbook@#1@text}{#2}\@namedef{benchbook@#1@value}{#3}\@namedef{benchbook@#1@low}{#4}%
  \@namedef{benchbook@#1@high}{#5}\@namedef{benchbook@#1@unit}{#6}\@namedef{benchbook@#1@blocks}{#7}}
"""


def macros(by_key: Mapping[str, Number], about: Mapping[str, object]) -> str:
    r"""Return a file for LaTeX that defines ``\benchbook{KEY}`` for every number.

    ``\benchbook[value]{KEY}``, and ``low``, ``high``, ``unit``, ``blocks`` give the parts. A key that is not there is
    an error to LaTeX, and printed as two question marks.
    """
    lines = []
    for key, number in by_key.items():
        fields = (number.text, *number.parts, number.unit, str(number.blocks or ""))
        lines.append(r"\benchbook@set" + "".join(f"{{{field}}}" for field in (key, *map(latex.escaped, fields))))
    return latex.comment(about) + _MACROS.lstrip("\n") + "\n".join(lines) + "\n\\makeatother\n"
