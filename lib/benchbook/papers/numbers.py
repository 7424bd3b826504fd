"""Single numbers by key, for a manuscript's text: of claims, figures and papers.

A key is a path of words from the general to the particular, joined by dots. Words have lower-case
letters, digits and hyphens only (figures' names also underscores), so that no shell and no LaTeX
command needs escapes. A key names its number completely, also the language of a comparison: it
means the same when other cells have run.

- ``STUDY.headline``: the headline of a study's main claim
- ``CLAIM``: a claim's headline comparison with its 99 % interval
- ``CLAIM.LANGUAGE[.B...][.LEVEL...]``: one of a claim's comparisons
- ``FIGURE[.PANEL].LEVEL[.SERIES]``: a mark of a figure
- any of these with ``.published``: the paper's own number
- ``STUDY.SOURCE.ROW.COLUMN``: a number that a paper prints
- ``claims.VERDICT``, ``STUDY.claims.VERDICT``: how many claims have that verdict; also ``all`` and
  ``decided``
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import CONFIDENCE
from benchbook.analysis.published import load_published_numbers
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict, VerdictCounts
from benchbook.papers import exhibits
from benchbook.plots import latex, ratio_plot
from benchbook.plots.points import iterate_rows
from benchbook.studies.catalogue import SLUGS
from benchbook.text.names import LANGUAGES
from benchbook.text.number_format import format_count, format_estimate, format_parts
from benchbook.text.sentences import count_blocks


@dataclass(frozen=True)
class KeyedNumber:
    """One number with its description, interval and source."""

    key: str
    value: float  # whole where it is a count
    says: str  # what it is, in words
    studies: tuple[str, ...]
    low: float = math.nan  # of its interval; NaN without one
    high: float = math.nan  # infinity where open
    unit: str = ""  # empty for a ratio
    blocks: int = 0  # 0 for a number that is printed or counted
    printed: str = ""  # as a paper prints it
    caveat: str = ""  # a warning: a wait that ran out, a claim that is not comparable

    @property
    def text(self) -> str:
        """The number as it is read: ``3.3 (3.2 to 3.5)``, with its unit."""
        if self.printed or isinstance(self.value, int):
            return f"{self.parts[0]} {self.unit}".rstrip()
        return format_estimate(self.value, self.low, self.high, self.unit)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Value, lower and upper end, all with the same decimals; missing ends are empty."""
        if self.printed or isinstance(self.value, int):
            return self.printed or f"{self.value:,}", "", ""
        return format_parts(self.value, self.low, self.high)


def list_numbers(analysis: Analysis, prefixes: Sequence[str] = ("",)) -> dict[str, KeyedNumber]:
    """Return every number by its key, the claims' before the figures' and the papers'.

    Parameters
    ----------
    prefixes
        Numbers whose key begins with one of them are returned; only their figures are made.
    """
    numbers = _list_judged(analysis)
    for figure in exhibits.FIGURES:
        is_wanted = any(figure.startswith(one) or one.startswith(figure) for one in prefixes)
        # A grid's numbers are those of the figures that it shows.
        is_whole = figure in exhibits.GRIDS or exhibits.VERDICT_FIGURE.search(figure)
        if is_wanted and not is_whole:
            numbers += _list_marks(analysis, figure)
    keyed = _index_by_key([*numbers, *list_printed()])
    return {key: keyed[key] for key in keyed if key.startswith(tuple(prefixes))}


def list_kindred(analysis: Analysis, word: str) -> dict[str, KeyedNumber]:
    """Return the numbers whose keys have this first word; at most one figure is made."""
    if word in exhibits.FIGURES:
        return _index_by_key(_list_marks(analysis, word))
    keyed = _index_by_key([*_list_judged(analysis), *list_printed()])
    return {key: number for key, number in keyed.items() if key.startswith(f"{word}.")}


def _list_judged(analysis: Analysis) -> list[KeyedNumber]:
    """Return counts of claims, claims, and their comparisons."""
    return [*_list_counts(analysis), *_list_claims(analysis), *_list_comparisons(analysis)]


def _index_by_key(numbers: Iterable[KeyedNumber]) -> dict[str, KeyedNumber]:
    """Return numbers by their keys; keys that repeat are numbered from the second on."""
    keyed: dict[str, KeyedNumber] = {}
    for number in numbers:
        key, count = number.key, 1
        while key in keyed:
            count += 1
            key = f"{number.key}.{count}"
        keyed[key] = replace(number, key=key)
    return keyed


def make_key_part(text: object) -> str:
    """Return a name as a part of a key.

    ``n=10000`` is ``n-10000``, and ``MongoDB, Node.js`` is ``mongodb-node-js``.
    """
    if isinstance(text, float) and text == int(text):
        text = int(text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", str(text))
    return re.sub(r"[^0-9a-z]+", "-", text.lower().replace("µ", "u")).strip("-")


def _join_key(*parts: object) -> str:
    return ".".join(filter(None, map(make_key_part, parts)))


def list_printed() -> Iterator[KeyedNumber]:
    """Yield every number that the papers print; needs no results."""
    for row in iterate_rows(load_published_numbers()):
        if math.isnan(row.value):
            continue
        unit = row.unit
        # The printed characters may have the unit.
        if re.search(r"[A-Za-z%]", row.printed) or unit in ("text", "ratio"):
            unit = ""
        yield KeyedNumber(
            key=f"{row.study}.{_join_key(row.source, row.row, row.column)}",
            value=row.value,
            says=f"{row.study}, {row.source}: {row.row}, {row.column}, as printed",
            studies=(row.study,),
            unit=unit,
            printed=row.printed,
            caveat=row.note or "",
        )


def _list_counts(analysis: Analysis) -> Iterator[KeyedNumber]:
    """Yield how many claims have which verdict, of all studies and of each."""
    for study in ("", *SLUGS):
        counts = VerdictCounts.count(
            claim for claim in analysis.verdicts if study in ("", claim.study)
        )
        by_name = {"all": counts.claims, "decided": counts.decided, **counts.by_verdict}
        prefix = f"{study}.claims" if study else "claims"
        claims_of = f"claims of {study}" if study else "claims"
        studies = (study,) if study else tuple(SLUGS)
        for name, count in by_name.items():
            key = f"{prefix}.{make_key_part(name)}"
            yield KeyedNumber(key, count, f"{claims_of}: {name}", studies)


def _list_claims(analysis: Analysis) -> Iterator[KeyedNumber]:
    """Yield the headline of each study and of each claim that has a comparison."""
    for study in SLUGS:
        main = exhibits.judge_headline(analysis, study)
        if not math.isnan(main.estimate):
            place = ratio_plot.describe_place(main)
            says = f"{exhibits.write_headline(study, main)} ({place})"
            yield from _list_measured(main, f"{study}.headline", says, _warn_of_claim(main))
    for claim in analysis.verdicts:
        if not math.isnan(claim.estimate):
            says = f"{claim.says} ({claim.headline}, {LANGUAGES[claim.language]}), {claim.verdict}"
            yield from _list_measured(claim, claim.id, says, _warn_of_claim(claim))


def _warn_of_claim(claim: ClaimVerdict) -> str:
    return claim.why if claim.verdict == "not comparable" else claim.caveat


def _list_comparisons(analysis: Analysis) -> Iterator[KeyedNumber]:
    """Yield the comparisons of each claim; the key has b where only b tells them apart."""
    sentences = {claim.id: claim.says for claim in load_claims()}
    alike = Counter((row.name, row.language, row.label) for row in analysis.comparisons)
    for row in analysis.comparisons:
        if math.isnan(row.estimate):
            continue
        parts = [row.language, *row.label.split(", ")]
        if alike[row.name, row.language, row.label] > 1:
            parts.insert(1, row.b)
        key = f"{row.name}.{_join_key(*parts)}"
        place = [f"{row.a} against {row.b}", row.label, LANGUAGES[row.language]]
        says = f"{sentences[row.name]} ({', '.join(filter(None, place))})"
        caveat = row.reason
        if row.stands == "not comparable":
            caveat = f"not comparable: {row.reason}"
        yield from _list_measured(row, key, says, caveat)


def _list_measured(
    row: ClaimVerdict | Comparison, key: str, says: str, caveat: str
) -> Iterator[KeyedNumber]:
    """Yield the measured number, and the published ratio where there is one."""
    yield KeyedNumber(
        key=key,
        value=row.estimate,
        says=f"{says}: {count_blocks(row.blocks, row.machine_days)}",
        studies=(row.study,),
        low=row.low,
        high=row.high,
        unit=row.unit if row.kind == "difference" else "",
        blocks=row.blocks,
        caveat=caveat,
    )
    if not math.isnan(row.published):
        about = f"{says.partition(' (')[0]}: the paper's ratio ({row.published_source})"
        yield KeyedNumber(f"{key}.published", row.published, about, (row.study,))


def _list_marks(analysis: Analysis, name: str) -> Iterator[KeyedNumber]:
    """Yield the marks of one figure."""
    figure = exhibits.make_exhibit(analysis, name)
    studies = exhibits.find_studies(name)
    for row in iterate_rows(figure.frame):
        if pd.isna(row.value):
            continue
        places = [place for place in (row.panel, row.level, row.series) if place not in ("", None)]
        texts = [f"{place:g}" if isinstance(place, float) else f"{place}" for place in places]
        warnings = [row.caveat] if row.caveat else []
        if row.timed_out:
            warnings.append("a wait ran out: the true value is larger")
        number = KeyedNumber(
            key=".".join(filter(None, (name, _join_key(*places)))),
            value=row.value,
            says=f"{figure.name}: {', '.join(texts)}",
            studies=studies,
            unit="" if row.unit in ("ratio", "claims") else row.unit,
            blocks=int(row.blocks or 0),
            caveat="; ".join(warnings),
        )
        # The paper's mark has a key of its own; this machine's has its interval.
        if row.source != "here":
            yield replace(number, key=f"{number.key}.published")
        else:
            says = f"{number.says}: {format_count(int(row.blocks), 'block')}"
            yield replace(number, says=says, low=row.low, high=row.high)


def describe_number(analysis: Analysis, number: KeyedNumber, run: str) -> dict[str, object]:
    """Return a number and its provenance as one JSON object, without empty fields."""
    ends = (number.value, number.low, number.high)
    value, low, high = (end if math.isfinite(end) else None for end in ends)
    fields: dict[str, object] = {
        "key": number.key,
        "text": number.text,
        "value": value,
        "low": low,
        "high": high,
        "confidence": CONFIDENCE if low is not None else None,
        "unit": number.unit or None,
        "says": number.says,
        "blocks": number.blocks or None,
        "caveat": number.caveat or None,
    }
    if not number.printed:
        fields["provenance"] = exhibits.get_provenance(analysis, number.studies, run)
    return {name: field for name, field in fields.items() if field is not None}


_MACROS: Final = r"""
\makeatletter
\newcommand{\benchbook}[2][text]{%
  \ifcsname benchbook@#2@#1\endcsname\csname benchbook@#2@#1\endcsname
  \else\PackageError{benchbook}{There is no number "#2" (#1)}{"benchbook number" lists the keys.}%
    \textbf{??}\fi}
\newcommand{\benchbook@set}[7]{%
  \@namedef{benchbook@#1@text}{#2}%
  \@namedef{benchbook@#1@value}{#3}%
  \@namedef{benchbook@#1@low}{#4}%
  \@namedef{benchbook@#1@high}{#5}%
  \@namedef{benchbook@#1@unit}{#6}%
  \@namedef{benchbook@#1@blocks}{#7}}
"""


def write_macros(by_key: Mapping[str, KeyedNumber], about: Mapping[str, object]) -> str:
    r"""Return a file for LaTeX that defines ``\benchbook{KEY}`` for every number.

    ``\benchbook[value]{KEY}`` gives a part, as do ``low``, ``high``, ``unit`` and ``blocks``. A key
    that does not exist is an error to LaTeX, and printed as two question marks.
    """
    lines = []
    for key, number in by_key.items():
        fields = (number.text, *number.parts, number.unit, str(number.blocks or ""))
        texts = [key, *map(latex.escape_text, fields)]
        lines.append(r"\benchbook@set" + "".join(f"{{{text}}}" for text in texts))
    comment = latex.write_comment(about)
    return comment + _MACROS.lstrip("\n") + "\n".join(lines) + "\n\\makeatother\n"
