"""Single numbers by key, for a manuscript's text: what is claimed, what is drawn, what the papers print, and counts.

A key is a path of words from the general to the particular, joined by dots, of lower-case letters, digits and hyphens
(and the underscores of figures' names) only: nothing in it is special to a shell, or in a LaTeX command's name. It says
all that tells its number from others, the language of a comparison too, so that it means the same when other cells have
run:

- ``STUDY.headline`` what stands for a study: the headline of its main claim
- ``CLAIM`` a claim's own headline comparison with its 99 % interval; ``CLAIM.LANGUAGE[.SIDE...][.LEVEL...]`` one of its
  comparisons. Either with ``.published`` the paper's own
- ``FIGURE[.PANEL].LEVEL[.SERIES]`` a mark of a figure; with ``.published`` the hollow one
- ``STUDY.SOURCE.ROW.COLUMN`` a number that a paper prints
- ``claims.VERDICT``, ``STUDY.claims.VERDICT`` how many claims have that verdict; ``all``, ``decided``
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from benchbook.analysis import Analysis, Comparison, Counts, claims, published
from benchbook.analysis.intervals import CONFIDENCE
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.digits import estimate, plural, rounded
from benchbook.papers import exhibits
from benchbook.plots import latex, ratios
from benchbook.plots.names import STACKS
from benchbook.plots.points import FrameRow, each, where
from benchbook.studies import SLUGS

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
    blocks: int = 0  # none of a number that is printed or counted
    printed: str = ""  # as a paper prints it
    caveat: str = ""  # what must be said of it: that a wait ran out, that it is not comparable

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


def numbers(analysis: Analysis) -> dict[str, Number]:
    """Return every number by its key, the claims' before the figures' and the papers'."""
    drawn = [name for name in exhibits.FIGURES if not exhibits.VERDICTS.search(name)]
    marks = [mark for name in drawn for mark in _of_figure(analysis, name)]
    return _by_key([*_counts(analysis), *_claims(analysis), *_comparisons(analysis), *marks, *printed()])


def number(analysis: Analysis, key: str) -> Number | None:
    """Return the number of one key, None when there is none; no other figure is made."""
    figure = key.partition(".")[0]
    if figure in exhibits.FIGURES:
        return _by_key(_of_figure(analysis, figure)).get(key)
    return _by_key([*_counts(analysis), *_claims(analysis), *_comparisons(analysis), *printed()]).get(key)


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


def _counts(analysis: Analysis) -> Iterator[Number]:
    for study in (None, *SLUGS):
        verdicts = analysis.verdicts if study is None else where(analysis.verdicts, study=study)
        counted = Counts.of(verdicts)
        counts = {"all": counted.claims, "decided": counted.decided, **counted.by_verdict}
        for name, count in counts.items():
            key = ".".join(filter(None, (study, "claims", part(name))))
            says = f"claims{f' of {study}' if study else ''}: {name}"
            yield Number(key, count, says, (study,) if study else tuple(SLUGS))


def _claims(analysis: Analysis) -> Iterator[Number]:
    """Yield the headline of each study and of each claim that something was compared for."""
    for study in SLUGS:
        main = exhibits.judge_headline(analysis, study)
        if not math.isnan(main.estimate):
            says = f"{exhibits.say_headline(study, main)} ({ratios.place(main)})"
            yield from _with_published(
                main, f"{study}.headline", says, main.why if main.verdict == "not comparable" else ""
            )
    for row in ClaimVerdict.of(analysis.verdicts.dropna(subset="estimate")):
        says = f"{row.says} ({row.headline}, {STACKS[row.language]}), {row.verdict}"
        caveat = row.why if row.verdict == "not comparable" else ""
        yield from _with_published(row, row.id, says, caveat)


def _comparisons(analysis: Analysis) -> Iterator[Number]:
    """Yield the comparisons of each claim; of those that are alike but for their second side the key has it."""
    says = {claim.id: claim.says for claim in claims()}
    alike = Counter((row.name, row.language, row.label) for row in each(analysis.comparisons))
    for row in Comparison.of(analysis.comparisons.dropna(subset="estimate")):
        sides = [row.b] if alike[row.name, row.language, row.label] > 1 else []
        key = f"{row.name}.{_key(row.language, *sides, *(row.label.split(', ') if row.label else ()))}"
        place = ", ".join(filter(None, (f"{row.a} against {row.b}", row.label, STACKS[row.language])))
        caveat = f"not comparable: {row.reason}" if row.stands == "not comparable" else row.reason
        yield from _with_published(row, key, f"{says[row.name]} ({place})", caveat)


def _with_published(row: ClaimVerdict | Comparison, key: str, says: str, caveat: str) -> Iterator[Number]:
    """Yield what was measured, and the published ratio where there is one."""
    sentence = f"{says}: {plural(row.blocks, 'block')} of {plural(row.machine_days, 'machine-day')}"
    unit = row.unit if row.kind == "difference" else ""
    yield Number(key, row.estimate, sentence, (row.study,), row.low, row.high, unit, row.blocks, "", caveat)
    if not math.isnan(row.published):
        about = f"{says.partition(' (')[0]}: the paper's ratio ({row.published_source})"
        yield Number(f"{key}.{_THEIRS}", row.published, about, (row.study,))


def _of_figure(analysis: Analysis, name: str) -> Iterator[Number]:
    """Yield the marks of one figure."""
    made = exhibits.FIGURES[name](analysis)
    studies = exhibits.studies_of(name)
    for row in each(made.frame):
        if pd.isna(row.value):
            continue
        of_paper = row.source != "here"
        key = ".".join(filter(None, (name, _key(*_placed(row)), _THEIRS if of_paper else "")))
        place = ", ".join(f"{level:g}" if isinstance(level, float) else f"{level}" for level in _placed(row))
        unit = "" if row.unit in ("ratio", "claims") else row.unit
        doubts = [row.caveat] if row.caveat else []
        doubts += ["a wait ran out: the true value is larger"] if row.timed_out else []
        interval = {} if of_paper else {"low": row.low, "high": row.high}
        says = f"{made.title}: {place}" + ("" if of_paper else f": {plural(int(row.blocks), 'block')}")
        caveat = "; ".join(doubts)
        yield Number(key, row.value, says, studies, unit=unit, blocks=int(row.blocks or 0), caveat=caveat, **interval)


def _placed(row: FrameRow) -> list[object]:
    return [place for place in (row.panel, row.level, row.series) if place not in ("", None)]


def provenance(analysis: Analysis, number: Number, run: str) -> dict[str, object]:
    """Return where a number comes from, and what it is, as one JSON object; without what there is not."""
    value, low, high = (end if math.isfinite(end) else None for end in (number.value, number.low, number.high))
    about: dict[str, object] = {"key": number.key, "text": number.text, "value": value, "low": low, "high": high}
    about |= {"confidence": CONFIDENCE if low is not None else None, "unit": number.unit or None, "says": number.says}
    about |= {"blocks": number.blocks or None, "caveat": number.caveat or None}
    if not number.printed:
        about["provenance"] = exhibits.measured(analysis, number.studies, run)
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
