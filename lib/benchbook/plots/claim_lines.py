"""Claims as every page and figure shows them: one line per claim, and counts of verdicts.

`write_line` gives the parts of a claim's line, `make_claim_sheet` and `make_verdict_bars` the
figures.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, isnan
from typing import Final

import pandas as pd

from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import VERDICTS, ClaimVerdict, VerdictCounts
from benchbook.plots import style
from benchbook.plots.exhibit import Bars, ClaimSheet, Exhibit, Maker
from benchbook.plots.points import POINT_COLUMNS, describe_missing_studies, frame_points
from benchbook.plots.ratio_plot import describe_place, list_marks
from benchbook.studies.catalogue import SLUGS
from benchbook.text.names import name_metric
from benchbook.text.number_format import format_comparison, format_count
from benchbook.text.sentences import (
    NOISY_NOTE,
    SIZE_PHRASES,
    count_blocks,
    write_paper_ratio,
    write_published,
    write_ratio,
)

ALL_STUDIES: Final = "all"
"""The last line of `count_verdicts`."""

VERDICT_STYLES: Final[dict[str, style.SeriesStyle]] = {
    "holds": style.SeriesStyle(style.BLUE, "o"),
    "mostly holds": style.SeriesStyle(style.SKY, "p"),
    "does not hold": style.SeriesStyle(style.VERMILION, "X"),
    "mixed": style.SeriesStyle(style.ORANGE, "D"),
    "undecided": style.SeriesStyle(style.FAINT, "s"),
    "not comparable": style.SeriesStyle("#bdbdbd", "v"),
    "not run": style.SeriesStyle("#ececec", "."),
}
"""How each verdict is marked: colour and shape, either of which tells it apart."""

_CLAIM_COLUMNS: Final = (
    "verdict",
    "words",
    "kind",
    "smallest",
    "largest",
    "noisy_estimate",
    "published_source",
    "size",
    "machine_days",
)
"""Columns of a claim sheet's points, besides those of all points."""


@dataclass(frozen=True)
class ClaimLine:
    """The parts of a claim's line, in their order; texts, empty where there is nothing to say."""

    verdict: str  # ``holds``
    counts: str  # ``10 of 10 for``, counter-examples, and what an undecided claim needs
    says: str  # the claim in a sentence
    here: str  # ``5.2 (5.0 to 5.4)``: the ratio with its interval, or a difference with its unit
    published: str  # the ratio of the paper's numbers, ``5.67``
    paper: str  # the same with its source: ``from the paper's times: 5.67``
    size: str  # ``ours agrees``, ``ours is larger`` or ``ours is smaller``
    measured: str  # ``10 blocks of 2 machine-days``
    range: str  # ``1.9 to 5.2``: over all comparisons of the claim, where they differ
    why: str  # why it is not comparable or did not run
    divided: str = ""  # what is divided: ``XML / JSON, time``
    place: str = ""  # where: ``case = 1, n = 10,000, Java``
    notes: tuple[int, ...] = ()  # the numbers of the study's notes that are about it

    @property
    def result(self) -> str:
        """What came out, and of what: ``XML / JSON, time: 5.2 (5.0 to 5.4)``."""
        return f"{self.divided}: {self.here}" if self.here and self.divided else self.here


def write_line(claim: ClaimVerdict, notes: Iterable[Collection[str]] = ()) -> ClaimLine:
    """Return the parts of a claim's line.

    Parameters
    ----------
    notes
        The ids of the claims that each note is about, as `number_notes` returns them.
    """
    write = partial(format_comparison, claim.kind, unit=claim.unit)
    # The estimate, or that of noisy blocks where there are no others.
    ran = not isnan(claim.estimate)
    is_noisy = not ran and not isnan(claim.noisy_estimate)
    here, measured, extremes = "", "", list[str]()
    if ran:
        here = write(claim.estimate, claim.low, claim.high)
    elif is_noisy:
        here, measured = write(claim.noisy_estimate), NOISY_NOTE
    if ran and claim.smallest < claim.largest:
        extremes = [write(end) for end in (claim.smallest, claim.largest)]
    if claim.blocks:
        measured = count_blocks(claim.blocks, claim.machine_days)
    if claim.turns:
        measured += f"; {claim.turns}"
    return ClaimLine(
        verdict=claim.verdict,
        counts="; ".join(filter(None, [claim.words, _count_examples(claim), claim.needs])),
        says=claim.says.rstrip("."),
        here=here,
        published=write_published(claim.published),
        paper=write_paper_ratio(claim.published, claim.metric),
        size=SIZE_PHRASES.get(claim.size, ""),
        measured=measured,
        range=" to ".join(extremes),
        why=claim.why,
        divided=name_ratio(claim),
        place=describe_place(claim) if ran or is_noisy else "",
        notes=tuple(number for number, ids in enumerate(notes, 1) if claim.id in ids),
    )


def _count_examples(claim: ClaimVerdict) -> str:
    """Return how many comparisons are against a claim that is not refuted; empty without one."""
    if not claim.against_it:
        return ""
    counted = format_count(claim.against, "counter-example")
    return f"{counted}: two thirds against would refute it"


def name_ratio(claim: ClaimVerdict) -> str:
    """Return the two sides and the quantity of a claim: ``XML / JSON, time``."""
    if not claim.a:
        return ""
    return f"{write_ratio(claim.a, claim.b, claim.kind)}, {name_metric(claim.metric)}"


def number_notes(
    comparisons: Iterable[Comparison], claims: Iterable[ClaimVerdict]
) -> dict[str, list[str]]:
    """Return each reason why something is not comparable, with the ids of its claims.

    Parameters
    ----------
    comparisons
        Of all claims, in their order.
    claims
        Of one study.
    """
    languages = {claim.id: claim.language for claim in claims}
    notes: dict[str, dict[str, None]] = {}
    for row in comparisons:
        if row.stands == "not comparable" and row.language == languages.get(row.name):
            notes.setdefault(row.reason, {})[row.name] = None
    return {reason: list(ids) for reason, ids in notes.items()}


def sort_by_verdict(claims: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """Return claims by their verdicts, in the verdicts' order."""
    return sorted(claims, key=lambda claim: VERDICTS.index(claim.verdict))


def count_verdicts(
    verdicts: Sequence[ClaimVerdict], studies: Sequence[str] = SLUGS
) -> pd.DataFrame:
    """Return the table "Does it hold?": how many claims of each study have which verdict.

    Returns
    -------
    pandas.DataFrame
        One row per study and one for `ALL_STUDIES`. Columns: ``study, claims``, one per verdict,
        and ``noisy``, the number of undecided claims with noisy blocks only.
    """
    rows = []
    for study in (*studies, ALL_STUDIES):
        of_study = [claim for claim in verdicts if study in (claim.study, ALL_STUDIES)]
        counts = VerdictCounts.count(of_study)
        rows.append(
            {
                "study": study,
                "claims": counts.claims,
                "noisy": counts.noisy,
                **counts.by_verdict,
            }
        )
    return pd.DataFrame(rows, columns=["study", "claims", *VERDICTS, "noisy"])


def list_failed(verdicts: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """Return the claims that do not hold, in the papers' order."""
    return [claim for claim in verdicts if claim.verdict == "does not hold"]


def list_claim_sheets(study: str, sheets: int = 1) -> dict[str, Maker]:
    """Return the figures of a paper's claims, on so many sheets that each fits a printed page."""
    makers: dict[str, Maker] = {}
    for sheet in range(1, sheets + 1):
        name = f"{study}_verdicts" + (f"_{sheet}" if sheet > 1 else "")
        makers[name] = partial(make_claim_sheet, study=study, sheet=sheet, sheets=sheets)
    return makers


def make_claim_sheet(analysis: Analysis, *, study: str, sheet: int, sheets: int) -> Exhibit:
    """Draw one sheet of a paper's claims, by verdict: those that were judged and have a number.

    Parameters
    ----------
    sheet, sheets
        The number of the sheet, from 1, and how many sheets there are at most.
    """
    of_study = [claim for claim in analysis.verdicts if claim.study == study]
    drawn = sort_by_verdict(filter(_is_drawn, of_study))

    # As few sheets as are needed, of about the same length: 14 claims fit a printed page.
    used = min(sheets, ceil(len(drawn) / 14)) or 1
    size = ceil(len(drawn) / used)
    rows = drawn[(sheet - 1) * size : sheet * size]
    number = f" (sheet {sheet} of {used})" if used > 1 and rows else ""

    nothing = "not run in this profile"
    if drawn:
        nothing = f"{study}: all claims stand on the sheets before"
    elif study in analysis.studies:
        nothing = f"{study}: no claim was judged"
    notes = _write_notes(rows, left_out=len(of_study) - len(drawn)) if rows else [nothing]
    title = f"{describe_decided(of_study)}{number}"
    return Exhibit(title, _make_points(rows), tuple(notes), ClaimSheet(rows, nothing))


def _is_drawn(claim: ClaimVerdict) -> bool:
    """Return whether a claim was judged and has a number."""
    if claim.verdict in ("not comparable", "not run"):
        return False
    return not isnan(claim.estimate) or not isnan(claim.noisy_estimate)


def _write_notes(rows: Sequence[ClaimVerdict], left_out: int) -> list[str]:
    notes = [
        "in the shaded area the claim holds",
        "thin line: the range over all comparisons of the claim",
    ]
    if len({name_ratio(row) for row in rows}) > 1:
        notes.append("a row that divides something else than the axis names says so")
    if any(isnan(row.estimate) for row in rows):
        notes.append("hollow: noisy blocks, no verdict")
    count = format_count(left_out, "claim")
    return [*notes, f"not drawn: {count} not comparable, not run or without a number"]


def _make_points(rows: Sequence[ClaimVerdict]) -> pd.DataFrame:
    """Return the points of claims: the published values and this machine's."""
    points: list[dict[str, object]] = []
    for row in rows:
        shared = {
            "level": row.says,
            "claim": row.id,
            "series": row.verdict,
            "unit": row.unit or "ratio",
            "divided": name_ratio(row),
            **{name: getattr(row, name) for name in _CLAIM_COLUMNS},
        }
        points += [shared | mark for mark in list_marks(row)]
    columns = [*POINT_COLUMNS, "claim", "divided", *_CLAIM_COLUMNS]
    return frame_points(points).reindex(columns=columns)


def make_verdict_bars(analysis: Analysis) -> Exhibit:
    """Draw how many claims of each paper have which verdict."""
    bars = []
    for study in SLUGS:
        by_verdict = VerdictCounts.count(
            claim for claim in analysis.verdicts if claim.study == study
        ).by_verdict
        bars += [{"level": study, "series": name, "value": by_verdict[name]} for name in VERDICTS]
    points = frame_points(bars, source="here", unit="claims")
    title, notes = describe_decided(analysis.verdicts), describe_missing_studies(analysis)
    return Exhibit(title, points, tuple(notes), Bars())


def describe_decided(verdicts: Iterable[ClaimVerdict]) -> str:
    """Return how many of some claims are decided."""
    counts = VerdictCounts.count(verdicts)
    return f"{counts.decided} of {counts.claims} claims decided here"
