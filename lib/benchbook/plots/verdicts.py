"""The verdicts on the papers' claims: one row per claim, and how many claims have which verdict."""

from collections.abc import Sequence
from functools import partial
from math import isnan
from typing import Final

import pandas as pd

from benchbook.analysis import VERDICTS, Analysis, Counts
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.digits import plural
from benchbook.plots import style
from benchbook.plots.claim_lines import name_ratio, sort_by_verdict
from benchbook.plots.exhibit import Bars, ClaimSheet, Exhibit, Maker
from benchbook.plots.points import COLUMNS, framed, not_run_of, where
from benchbook.plots.ratios import beside
from benchbook.studies import SLUGS

LOOKS: Final[dict[str, style.Look]] = {
    "holds": style.Look(style.BLUE, "o"),
    "mostly holds": style.Look(style.SKY, "p"),
    "does not hold": style.Look(style.VERMILION, "X"),
    "mixed": style.Look(style.ORANGE, "D"),
    "undecided": style.Look(style.FAINT, "s"),
    "not comparable": style.Look("#bdbdbd", "v"),
    "not run": style.Look("#ececec", "."),
}
"""How each verdict is marked: colour and shape, either of which tells it apart."""

_OF_A_ROW: Final = (
    "verdict", "words", "kind", "smallest", "largest", "noisy_estimate", "published_source", "size", "machine_days",
)  # fmt: skip

_ROWS: Final = 14
"""Claims that fit a printed page."""


def sheets(study: str, parts: int = 1) -> dict[str, Maker]:
    """Return the figures of a paper's claims, on so many sheets that each fits a printed page."""
    names = [f"{study}_verdicts{'' if part == 1 else f'_{part}'}" for part in range(1, parts + 1)]
    return {name: partial(claims_sheet, study=study, part=at, parts=parts) for at, name in enumerate(names)}


def claims_sheet(analysis: Analysis, *, study: str, part: int, parts: int) -> Exhibit:
    """Draw one part of a paper's claims, by verdict: those that were judged and have a number."""
    table = where(analysis.verdicts, study=study)
    judged = [claim for claim in ClaimVerdict.of(table) if claim.verdict not in ("not comparable", "not run")]
    drawn = sort_by_verdict(claim for claim in judged if not isnan(claim.estimate) or not isnan(claim.noisy_estimate))
    # as few sheets as hold them, of about the same length
    used = min(parts, -(-len(drawn) // _ROWS)) or 1
    size = -(-len(drawn) // used)
    rows = drawn[part * size : (part + 1) * size]
    of_parts = f" (sheet {part + 1} of {used})" if used > 1 else ""
    nothing = f"{study}: no claim was judged" if study in analysis.measured else "not run in this profile"
    if drawn and not rows:
        nothing = f"{study}: all claims stand on the sheets before"
    notes = [nothing]
    if rows:
        notes = ["in the grey area the claim holds", "thin line: the range over all comparisons of the claim"]
        if len({name_ratio(row) for row in rows}) > 1:
            notes.append("a row that divides something else than the axis names says so")
        if any(isnan(row.estimate) for row in rows):
            notes.append("hollow: noisy blocks, no verdict")
        notes += [f"not drawn: {plural(len(table) - len(drawn), 'claim')} not comparable, not run or without a number"]
    title = f"{study}: {decided_of(table)}{of_parts}"
    return Exhibit(title, _points(rows), tuple(notes), ClaimSheet(rows, nothing))


def _points(rows: Sequence[ClaimVerdict]) -> pd.DataFrame:
    """Return what is drawn: the published values, and those of here."""
    points: list[dict[str, object]] = []
    for row in rows:
        about = {name: getattr(row, name) for name in _OF_A_ROW}
        about |= {"level": row.says, "claim": row.id, "series": row.verdict, "unit": row.unit or "ratio"}
        about["divided"] = name_ratio(row)
        marks = beside(row.published, row.estimate, row.low, row.high, row.blocks)
        points += [about | mark for mark in marks]
    return framed(points).reindex(columns=[*COLUMNS, "claim", "divided", *_OF_A_ROW])


def counts(analysis: Analysis) -> Exhibit:
    """Draw how many claims of each paper have which verdict."""
    bars = []
    for study in SLUGS:
        by_verdict = Counts.of(where(analysis.verdicts, study=study)).by_verdict
        bars += [{"level": study, "series": name, "value": by_verdict[name]} for name in VERDICTS]
    points = framed(bars, source="here", unit="claims")
    return Exhibit(decided_of(analysis.verdicts), points, tuple(not_run_of(analysis)), Bars())


def decided_of(verdicts: pd.DataFrame) -> str:
    """Return how many of some claims are decided."""
    counts = Counts.of(verdicts)
    return f"{counts.decided} of {counts.claims} claims decided here"
