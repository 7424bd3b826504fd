"""Single numbers by key, for a manuscript's text: what is claimed, what is drawn, what the papers print, and counts.

A key is a path of words from the general to the particular, joined by dots, of lower-case letters, digits and hyphens
(and the underscores of figures' names) only: nothing in it is special to a shell, or in a LaTeX command's name. It says
all that tells its number apart, the stack of a contrast too, so that it means the same when other cells have run:

- ``CLAIM`` the ratio by which a claim was judged; ``CLAIM.LANE[.LEVEL...]`` one of its contrasts; either with
  ``.published`` the paper's own ratio
- ``FIGURE[.PANEL].LEVEL[.SERIES]`` a mark of a figure; with ``.published`` the hollow one
- ``STUDY.SOURCE.ROW.COLUMN`` a number that a paper prints
- ``claims.VERDICT``, ``STUDY.claims.VERDICT`` how many claims came out so; ``all``, ``testable``, ``decided``, ``open``
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchbook.evidence import Counts, Evidence, published
from benchbook.papers import exhibits
from benchbook.plots import latex, style
from benchbook.plots.names import STACKS
from benchbook.plots.points import each
from benchbook.studies import SLUGS

NAN: Final = float("nan")
FINER: Final = 0.8
"""The last digit printed counts at most this share of half the interval."""

_DIGITS: Final = 2
"""A value has at least so many significant digits; one without an interval one more."""

_THEIRS: Final = "published"
_SHEET: Final = re.compile("(^|_)verdicts(_[0-9]+)?$")
"""Figures whose marks are those of claims."""


@dataclass(frozen=True)
class Number:
    """One number with what must be known of it."""

    key: str
    value: float
    says: str  # what it is, in words
    studies: tuple[str, ...]
    low: float = NAN  # of its interval; NaN without one
    high: float = NAN  # infinity where open
    unit: str = ""  # none of a ratio
    confidence: float = NAN  # of its interval alone: above 0.95 where all looks, or several contrasts, have 0.95
    blocks: int = 0  # none of a number that is printed or counted
    printed: str = ""  # as a paper prints it
    caveat: str = ""  # what must be said of it: that a wait ran out, that a stand-in or an untrusted machine gave it

    @property
    def text(self) -> str:
        """The number as it is read: ``3.3 (3.2 to 3.5)``, with its unit."""
        value, low, high = self.parts
        between = f" ({low} to {high})" if low and high else f" ({low} or more)" if low else ""
        return f"{value}{between}" + (f" {self.unit}" if self.unit else "")

    @property
    def parts(self) -> tuple[str, str, str]:
        """Value, lower and upper end, all with the same decimals; an end that there is not is empty."""
        if self.printed:
            return self.printed, "", ""
        decimals = places(self.value, self.low, self.high)
        ends = (self.low, self.high) if _spread(self.value, self.low, self.high) else ()
        value, low, high = (
            f"{round(end, decimals):,.{max(0, decimals)}f}" if math.isfinite(end) else ""
            for end in (self.value, *(ends or (NAN, NAN)))
        )
        return value, low, high


def _spread(value: float, low: float, high: float) -> float:
    """Return half of an interval; 0 where there is none, or one that is a point."""
    half = (high - low) / 2 if math.isfinite(high) else abs(value - low)
    return half if half > abs(value) * 1e-4 else 0.0


def places(value: float, low: float, high: float) -> int:
    """Return to how many decimals a number is printed (to hundreds: -2), so that rounding does not hide its interval.

    The last place counts at most `FINER` of half the interval, and the value has at least two significant digits.
    Without an interval it has three, and whole numbers stay as they are.
    """
    magnitude = math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
    if half := _spread(value, low, high):
        return max(_DIGITS - 1 - magnitude, math.ceil(-math.log10(FINER * half)))
    return 0 if value == int(value) else max(0, _DIGITS - magnitude)


def numbers(evidence: Evidence) -> dict[str, Number]:
    """Return every number by its key, the claims' before the figures' and the papers'."""
    found = [*_counts(evidence), *_claims(evidence), *_contrasts(evidence), *_marks(evidence), *printed()]
    return _by_key(found)


def number(evidence: Evidence, key: str) -> Number | None:
    """Return the number of one key without making the others of its kind's figures; None when there is none."""
    if (figure := key.partition(".")[0]) in exhibits.FIGURES:
        return _by_key(_of_figure(evidence, figure)).get(key)
    return _by_key([*_counts(evidence), *_claims(evidence), *_contrasts(evidence), *printed()]).get(key)


def _by_key(found: Any) -> dict[str, Number]:
    """Return numbers by their keys; where two marks have one, which are alike in name, the later counts on."""
    keyed: dict[str, Number] = {}
    for one in found:
        key, again = one.key, 1
        while key in keyed:
            again += 1
            key = f"{one.key}.{again}"
        keyed[key] = one if key == one.key else Number(**{**vars(one), "key": key})
    return keyed


def part(text: object) -> str:
    """Return a name as a part of a key: ``n=10000`` is ``n-10000``, ``MongoDB, Node.js`` is ``mongodb-node-js``."""
    if isinstance(text, float) and text == int(text):
        text = int(text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", str(text))
    return re.sub(r"[^0-9a-z]+", "-", text.lower().replace("µ", "u")).strip("-")


def _key(*parts: object) -> str:
    return ".".join(one for one in map(part, parts) if one)


def printed() -> Iterator[Number]:
    """Yield every number that the papers print; needs no results."""
    for row in each(published().rename(columns={"note": "noted"})):
        if row.value == row.value:
            key = f"{row.study}.{_key(row.source, row.row, row.column)}"
            says = f"{row.study}, {row.source}: {row.row}, {row.column}, as printed"
            unit = "" if re.search(r"[A-Za-z%]", row.printed) or row.unit in ("text", "ratio") else row.unit
            yield Number(key, row.value, says, (row.study,), unit=unit, printed=row.printed, caveat=row.noted or "")


def _counts(evidence: Evidence) -> Iterator[Number]:
    outcomes = evidence.outcomes
    for study in (None, *SLUGS):
        mine = outcomes if study is None else outcomes[outcomes["study"] == study]
        found = Counts.of(mine["verdict"])
        counts = {"all": found.claims, "testable": found.testable, "decided": found.decided}
        counts |= {"open": found.testable - found.decided, **found.by_verdict}
        for name, count in counts.items():
            key = ".".join(filter(None, (study, "claims", part(name))))
            says = f"claims{f' of {study}' if study else ''}: {name}"
            yield Number(key, float(count), says, (study,) if study else tuple(SLUGS))


def _claims(evidence: Evidence) -> Iterator[Number]:
    confidences = {(row.id, row.host, row.lane, row.contrast): row.confidence for row in each(evidence.contrasts)}
    for row in each(evidence.outcomes):
        if row.ratio == row.ratio:
            at = ", ".join(filter(None, (row.contrast if row.contrasts > 1 else "", f"in {STACKS[row.lane]}")))
            says = f"{row.says} ({at}): {row.wording}"
            confidence = confidences.get((row.id, row.host, row.lane, row.contrast), NAN)
            yield from _judged(row, row.id, says, confidence, evidence)


def _contrasts(evidence: Evidence) -> Iterator[Number]:
    several = evidence.contrasts["host"].nunique() > 1
    says = {row.id: row.says for row in each(evidence.outcomes)}
    for row in each(evidence.contrasts):
        if row.ratio == row.ratio:
            levels = row.contrast.split(", ") if row.contrast else []
            at = [row.lane, *([row.host] if several else []), *levels]
            key = f"{row.id}.{_key(*at)}"
            yield from _judged(row, key, f"{says.get(row.id, row.id)} ({', '.join(at)})", row.confidence, evidence)


def _judged(row: Any, key: str, says: str, confidence: float, evidence: Evidence) -> Iterator[Number]:
    """Yield a judged ratio, and the published one where there is one."""
    doubts = ["untrusted run"] if (row.study, row.host) in evidence.untrusted else []
    doubts += ["a stand-in ran"] if getattr(row, "stand_in", False) else []
    yield Number(
        key, row.ratio, says, (row.study,), row.low, row.high, confidence=confidence if row.low == row.low else NAN,
        blocks=int(row.blocks), caveat="; ".join(doubts),
    )  # fmt: skip
    if row.published == row.published:
        about = f"{says.partition(' (')[0]}: the paper's ratio ({row.published_source})"
        yield Number(f"{key}.{_THEIRS}", row.published, about, (row.study,))


def _marks(evidence: Evidence) -> Iterator[Number]:
    for name in exhibits.FIGURES:
        if not _SHEET.search(name):
            yield from _of_figure(evidence, name)


def _of_figure(evidence: Evidence, name: str) -> Iterator[Number]:
    """Yield the marks of one figure, which is not drawn for it."""
    with style.laid_out(style.Layout(drawn=False)):
        made = exhibits.FIGURES[name](evidence)
    studies = exhibits.studies_of(name)
    for row in each(made.frame):
        if row.value != row.value or row.value is None:
            continue
        theirs = row.source != "here"
        key = ".".join(filter(None, (name, _key(*_placed(row)), _THEIRS if theirs else "")))
        place = ", ".join(f"{one:g}" if isinstance(one, float) else f"{one}" for one in _placed(row))
        unit = "" if row.unit in ("ratio", "claims") else row.unit
        doubts = [row.caveat] if row.caveat else []
        doubts += ["a wait ran out: the true value is larger"] if row.censored else []
        interval = {} if theirs else {"low": row.low, "high": row.high}
        yield Number(
            key, row.value, f"{made.title}: {place}", studies, unit=unit, blocks=int(row.blocks or 0),
            confidence=0.95 if interval and row.low == row.low else NAN, caveat="; ".join(doubts), **interval,
        )  # fmt: skip


def _placed(row: Any) -> list[Any]:
    return [one for one in (row.panel, row.level, row.series) if one not in ("", None)]


def provenance(evidence: Evidence, one: Number, profile: str) -> dict[str, Any]:
    """Return where a number comes from, and what it is, as one JSON object; without what there is not."""
    value, low, high = (end if math.isfinite(end) else None for end in (one.value, one.low, one.high))
    about: dict[str, Any] = {"key": one.key, "text": one.text, "value": value, "low": low, "high": high}
    about |= {"confidence": one.confidence if math.isfinite(one.confidence) else None, "unit": one.unit or None}
    about |= {"says": one.says, "blocks": one.blocks or None, "caveat": one.caveat or None}
    if not one.printed:
        about["provenance"] = exhibits.measured(evidence, one.studies, profile)
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


def macros(found: dict[str, Number], about: dict[str, Any]) -> str:
    r"""Return a file for LaTeX that defines ``\benchbook{KEY}`` for every number.

    ``\benchbook[value]{KEY}``, and ``low``, ``high``, ``unit``, ``blocks`` give the parts. A key that is not there is
    an error to LaTeX, and printed as two question marks.
    """
    lines = [
        r"\benchbook@set" + "".join(f"{{{field}}}" for field in (key, *map(latex.escaped, _fields(one))))
        for key, one in found.items()
    ]
    return latex.comment(about) + _MACROS.lstrip("\n") + "\n".join(lines) + "\n\\makeatother\n"


def _fields(one: Number) -> tuple[str, ...]:
    return (one.text, *one.parts, one.unit, str(one.blocks or ""))
