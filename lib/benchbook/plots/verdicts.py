"""The verdicts on the papers' claims: one row per claim, and how many claims have which verdict."""

from collections.abc import Sequence
from functools import partial
from math import isnan
from typing import Final

import pandas as pd

from benchbook.analysis import VERDICTS, Analysis, Counts
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.plots import style
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

_OF_A_ROW: Final = ["verdict", "words", "kind", "smallest", "largest", "published_source", "size", "machine_days"]


def sheets(study: str, parts: int = 1) -> dict[str, Maker]:
    """Return the figures of a paper's claims, on so many sheets that each fits a printed page."""
    names = [f"{study}_verdicts{'' if part == 1 else f'_{part}'}" for part in range(1, parts + 1)]
    return {name: partial(claims_sheet, study=study, part=at, parts=parts) for at, name in enumerate(names)}


def claims_sheet(analysis: Analysis, *, study: str, part: int, parts: int) -> Exhibit:
    """Draw one part of a paper's claims, one row for each that something was compared for."""
    table = where(analysis.verdicts, study=study)
    rows = [row for row in ClaimVerdict.of(table) if not isnan(row.estimate)]
    size = -(-len(rows) // parts)
    rows = rows[part * size : (part + 1) * size]
    of_parts = f" (sheet {part + 1} of {parts})" if parts > 1 else ""
    ran = study in analysis.measured
    nothing = f"{study}: nothing ran that these claims compare" if ran else "not run in this profile"
    notes = [nothing]
    if rows:
        notes = [
            "mark: the paper's own headline comparison, first named over second, with its 99 % interval",
            "thin line: the range over all comparisons of the claim",
            "tint: where the claim puts the ratio, beyond the smallest difference that matters",
        ]
        if any(row.kind == "difference" for row in rows):
            notes.append("where a difference was compared it stands as a number")
        absent = len(table) - sum(not isnan(estimate) for estimate in table["estimate"])
        notes += [f"{absent} claims had nothing to compare: the table of claims says why"] if absent else []
    return Exhibit(f"{study}: {decided_of(table)}{of_parts}", _points(rows), tuple(notes), ClaimSheet(rows, nothing))


def _points(rows: Sequence[ClaimVerdict]) -> pd.DataFrame:
    """Return what is drawn: the published values, and those of here."""
    points: list[dict[str, object]] = []
    for row in rows:
        about = {name: getattr(row, name) for name in _OF_A_ROW}
        about |= {"level": row.says, "claim": row.id, "series": row.verdict, "unit": row.unit or "ratio"}
        marks = beside(row.published, row.estimate, row.low, row.high, row.blocks)
        points += [about | mark for mark in marks]
    return framed(points).reindex(columns=[*COLUMNS, "claim", *_OF_A_ROW])


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
