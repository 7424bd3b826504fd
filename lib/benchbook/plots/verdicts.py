"""The verdicts on the papers' claims: a row a claim, its ratio beside the published one, and how many came out how."""

from functools import partial
from math import inf
from typing import Final

import pandas as pd

from benchbook.evidence import Counts, Evidence, claims
from benchbook.evidence.judge import DECIDED, IN_PART, NOT_TESTABLE
from benchbook.plots import style
from benchbook.plots.exhibit import Bars, ClaimRow, ClaimSheet, Exhibit, Maker
from benchbook.plots.points import COLUMNS, FrameRow, each, framed, not_run_of, where
from benchbook.plots.ratios import beside
from benchbook.studies import SLUGS

LOOKS: Final[dict[str, style.Look]] = {
    "reproduced": style.Look(style.BLUE, "o"),
    IN_PART: style.Look(style.SKY, "p"),
    "direction only": style.Look(style.GREEN, "^"),
    "equivalent": style.Look(style.PINK, "D"),
    "contradicted": style.Look(style.VERMILION, "X"),
    "other way": style.Look(style.ORANGE, "v"),
    "inconclusive": style.Look(style.FAINT, "s"),
}
"""How each verdict is marked: colour and shape, either of which tells it apart."""

UNTRUSTED: Final = " †"
_OF_A_ROW: Final = ("says", "verdict", "wording", "products_judged", "products", "products_missing", "untrusted")
_COLUMNS: Final = [*COLUMNS, "claim", *_OF_A_ROW]


def sheets(study: str, parts: int = 1) -> dict[str, Maker]:
    """Return the figures of a paper's claims, on so many sheets that each fits a printed page."""
    names = [f"{study}_verdicts{'' if part == 1 else f'_{part}'}" for part in range(1, parts + 1)]
    return {name: partial(claims_sheet, study=study, part=at, parts=parts) for at, name in enumerate(names)}


def claims_sheet(evidence: Evidence, *, study: str, part: int, parts: int) -> Exhibit:
    """Draw one part of a paper's claims, a row each, that have a verdict here."""
    table = where(evidence.outcomes, study=study)
    size = -(-len(table) // parts)
    table = table.iloc[part * size : (part + 1) * size]
    judged = table[table["verdict"] != NOT_TESTABLE]
    than = {claim.id: getattr(claim, "than", 1.0) for claim in claims(study)}
    rows = [_describe_claim(row, several=judged["lane"].nunique() > 1, than=than[row.id]) for row in each(judged)]
    of_parts = f" (sheet {part + 1} of {parts})" if parts > 1 else ""
    title = f"{study}: {decided_of(table)}{of_parts}"
    ran = study in set(evidence.means["study"])
    nothing = f"{study}: nothing ran that could judge these claims" if ran else "not run in this profile"
    notes = _notes(judged, nothing)
    return Exhibit(title, _points(judged, rows), tuple(notes), ClaimSheet(rows, nothing))


def _notes(judged: pd.DataFrame, nothing: str) -> list[str]:
    if judged.empty:
        return [nothing]
    notes = [
        "ratio of the blocks' geometric means, first named over second, with its repeated 95 % interval, which holds "
        "at all looks together, and wider for the number of contrasts where one contradicts or most suffice",
        "of several contrasts the one that decided; of a ranking the smallest lead, of a bound the value here over it",
        "beyond the tint's edge a difference is larger than the margin fixed beforehand",
    ]
    if any(map(_of_products, each(judged))):
        notes.append("2 of 6 products: judged among those that ran; the table of claims names the others")
    if judged["ratio"].isna().any():
        notes.append("no mark: only a difference could be had, or no interval")
    if judged["untrusted"].any():
        notes.append(f"{UNTRUSTED.strip()} identical arms differed here: untrusted")
    return notes


def _points(judged: pd.DataFrame, rows: list[ClaimRow]) -> pd.DataFrame:
    """Return what is drawn: the published ratios, and those of here."""
    points = []
    for row, drawn in zip(each(judged), rows, strict=True):
        about = {name: getattr(row, name) for name in _OF_A_ROW}
        about |= {"level": drawn.says, "claim": row.id, "series": row.verdict}
        points += [about | point for point in beside(row.published, row.ratio, row.low, row.high, row.blocks)]
    return framed(points, unit="ratio").reindex(columns=_COLUMNS)


def _describe_claim(row: FrameRow, *, several: bool, than: float) -> ClaimRow:
    """Return one claim as it is drawn; with its language where `several` judged claims of the paper."""
    about = [*([row.contrast] if row.contrasts > 1 and row.contrast else []), *([row.lane] if several else [])]
    says = str(row.says).rstrip(".") + (f" ({', '.join(about)})" if about else "")
    claimed = open_ended(row.claimed, row.margin, than)
    at = f"look {row.look}, {row.blocks} blocks" if row.verdict in DECIDED else f"after {row.blocks} blocks"
    numbers = (row.ratio, row.low, row.high, row.published)
    return ClaimRow(says, claimed, *numbers, row.verdict, bool(row.untrusted), _of_products(row), at)


def _of_products(row: FrameRow) -> str:
    """Return of how many products a verdict is, where some are missing."""
    return f"{row.products_judged} of {row.products} products" if row.products_judged < row.products else ""


def open_ended(claimed: str, margin: float, than: float = 1.0) -> tuple[float, float]:
    """Return from where to where a claim puts its ratio."""
    sides = {"more": (than * margin, inf), "less": (0.0, than / margin), "equal": (1 / margin, margin)}
    bounds = {"above": sides["more"], "below": sides["less"], "between": sides["equal"]}
    neither = {"different": (inf, inf)}  # more or less, and so no one place
    word = claimed.partition(" ")[0]
    return {**sides, **bounds, **neither}.get(word, (margin, inf))  # a ranking's smallest lead


def counts(evidence: Evidence) -> Exhibit:
    """Draw how many claims of each paper came out how."""
    tally = tallied(evidence.outcomes)
    title = decided_of(evidence.outcomes)
    first = "where several implementations or hosts judged a claim the first counts, the paper's own before others"
    notes = [*not_run_of(evidence), first]
    counted = ((study, name, count) for study, row in tally.iterrows() for name, count in row.items())
    bars = ({"level": study, "series": name, "value": count} for study, name, count in counted)
    points = framed(bars, source="here", unit="claims")
    return Exhibit(title, points, tuple(notes), Bars())


def decided_of(outcomes: pd.DataFrame) -> str:
    """Return how many of some claims were decided here, and how many are open."""
    counts = Counts.of(outcomes)
    few = f" ({counts.of_sittings})" if counts.of_sittings else ""
    return f"{counts.decided} of {counts.claims} claims decided here{few}, {counts.testable - counts.decided} open"


def tallied(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many claims of each study have each verdict: a row a study, a column a verdict."""
    return pd.DataFrame({study: Counts.of(where(table, study=study)).by_verdict for study in SLUGS}).T
