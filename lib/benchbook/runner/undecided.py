"""Which comparisons of claims want more blocks, which cells they read, and the blocks that are added to these cells.

Nothing is kept beside the results: what is undecided follows from them, so a run that was ended goes on where it was.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, TypeAlias

import pandas as pd

from benchbook import results, studies
from benchbook.analysis import Analysis, claims, measures
from benchbook.analysis.block_means import PASS_ENDS, block_means
from benchbook.analysis.claims import Claim, Tested, label
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.sides import by_study
from benchbook.analysis.verdicts import ClaimVerdict, claim_sides
from benchbook.grid import Cell, Kind
from benchbook.measure.machine import host
from benchbook.registry import is_experimental
from benchbook.results import OF_AN_ARM

MOST_A_DAY: Final = 3
"""Blocks that are added to a comparison on one machine-day: more would tell less than those of another day."""

GIVEN_UP: Final = 2
"""In how many blocks of one run a cell fails until its comparisons are left alone."""

Execute: TypeAlias = Callable[[Sequence[Cell]], Collection[Cell]]
"""Runs cells in their order and returns those that failed."""

_PLANNED: Final = pd.Timestamp("2000-01-01", tz="UTC")


@dataclass(frozen=True)
class Reading:
    """A comparison of a claim, and the cells that it reads."""

    claim: Tested
    language: str
    label: str  # its levels, as ``n=1000``
    cells: frozenset[Kind]  # empty where no cells of the plan that can run here have all its sides


def readings(cells: Iterable[Cell], wanted: Iterable[Claim] | None = None) -> list[Reading]:
    """Return the comparisons of all claims in the languages of some cells, in the claims' order.

    The sides are found among the cells as they are found among measured ones (`benchbook.analysis.sides`).

    Parameters
    ----------
    cells
        As `benchbook.grid.plan` returns them; of the blocks of a cell one suffices.
    wanted
        The claims; None for all of `data/claims`.
    """
    runnable = {cell.kind: cell for cell in cells if cell.arm == "a" and not cell.missing}
    # The block means that these cells would have if each had run once.
    rows = [row for cell in runnable.values() for row in _planned_rows(cell)]
    columns = dict.fromkeys([*block_means(results.OBSERVATIONS.empty_table().to_pandas()), *(rows[0] if rows else ())])
    for row in rows:
        columns |= dict.fromkeys(row)
    planned = by_study(measures(pd.DataFrame(rows).reindex(columns=[*columns]))) if rows else {}
    found = []
    for claim in claims() if wanted is None else wanted:
        if not isinstance(claim, Tested) or claim.fact or claim.study not in planned:
            continue
        of_study = planned[claim.study]
        for language in of_study.languages:
            if claim.languages and language not in claim.languages:
                continue
            for levels, _, asked, sides in claim_sides(claim, of_study, language):
                read = frozenset[Kind]()
                databases = [str(side.settings.get("database") or "") for side in sides.values()]
                if sides.keys() == asked.keys() and not any(map(is_experimental, databases)):
                    read = frozenset((claim.study, cell) for side in sides.values() for cell in side.cells)
                found.append(Reading(claim, language, label(levels), read))
    return found


def _planned_rows(cell: Cell) -> Iterator[dict[str, object]]:
    """Yield the block means that a cell would have."""
    given = cell.parameters.model_dump(mode="json")
    about: dict[str, object] = {name: given[name] for name in OF_AN_ARM if isinstance(given.get(name), str)}
    about |= cell.parameters.as_columns()
    about |= {"study": cell.study, "topology": cell.topology, "cell_id": cell.identity}
    about |= {"host": "", "block": 0, "started_at": _PLANNED, "last_started_at": _PLANNED, "rows": 1, "unit": ""}
    about |= {"value": 1.0, "at_least": 1.0, "count": 1.0, "timed_out": False, "noisy": False}
    quantities = set(studies.load(cell.study).expected(cell.parameters))
    quantities |= {(operation, role, "memory_pss") for operation, role, metric in quantities if metric == "memory_rss"}
    for arm in cell.parameters.arms():
        for operation, role, metric in quantities:
            yield {**about, **arm, "operation": operation, "role": role, "metric": metric}


def undecided(read: Iterable[Reading], analysis: Analysis) -> list[Reading]:
    """Return the comparisons that more blocks are wanted of, of those whose cells can run here.

    Those with fewer blocks than an interval needs; and the open ones of a claim whose verdict is undecided.
    """
    rows: dict[tuple[str, str], list[Comparison]] = {}
    for row in Comparison.of(analysis.comparisons):
        rows.setdefault((row.name, row.language), []).append(row)
    undecided_in = {
        verdict.id: verdict.language for verdict in ClaimVerdict.of(analysis.verdicts) if verdict.verdict == "undecided"
    }
    by_claim: dict[tuple[str, str], list[Reading]] = {}
    for reading in read:
        by_claim.setdefault((reading.claim.id, reading.language), []).append(reading)

    wanted = []
    for (claim, language), of_claim in by_claim.items():
        # Both have every comparison of the claim, in one order; of a language in which nothing ran there are no rows.
        for reading, row in zip_longest(of_claim, rows.get((claim, language), [])):
            is_short = row is None or row.blocks < MIN_BLOCKS
            is_open = row is not None and row.stands == "open" and undecided_in.get(claim) == language
            if reading.cells and (is_short or is_open):
                wanted.append(reading)
    return wanted


def identical_cells(cells: Iterable[Cell]) -> dict[frozenset[Kind], str]:
    """Return the cells of each A/A check, and the loops without a database, with their study."""
    beside: dict[frozenset[Kind], str] = {}
    for cell in cells:
        parameters = cell.parameters
        if cell.missing:
            continue
        if cell.arm != "a":
            twin = replace(cell, parameters=parameters.model_copy(update={"arm": "a"}))
            has_both = any(arm.get("arm") == "a" for arm in parameters.identical_arms())
            beside[frozenset({cell.kind} if has_both else {cell.kind, twin.kind})] = cell.study
        elif getattr(parameters, "database", "") == "noop":
            beside[frozenset({cell.kind})] = cell.study
    return beside


def next_block(
    cells: Sequence[Cell],
    wanted: Iterable[Reading],
    means: pd.DataFrame,
    now: pd.Timestamp,
    after: int = -1,
) -> list[Cell]:
    """Return the cells of the next block of which something is to be run, in the plan's order; none when none is.

    Sides share a block when they ran in one pass over it. What an earlier pass left half done can be shared no more:
    another block takes its place.

    Parameters
    ----------
    cells
        The plan, of all blocks.
    wanted
        The comparisons that want blocks; beside them run the A/A checks of their studies.
    means
        Block means of what is done of the plan, as `benchbook.analysis.measures` returns them; also on other hosts.
    now
        When the block would begin.
    after
        The number of the block before.
    """
    # Of each cell and block that is done here its pass; of each block the pass that would still go on.
    done: dict[tuple[Kind, int], tuple[pd.Timestamp, str]] = {}
    passes: dict[int, tuple[pd.Timestamp, str]] = {}
    kind_of = {cell.identity: cell.kind for cell in cells}
    here = means[means["cell_id"].isin(kind_of.keys())]  # a host is part of the identity
    of_cells = here.sort_values("last_started_at").drop_duplicates(["cell_id", "block"], keep="last")
    for row in of_cells.to_dict("records"):
        done[kind_of[row["cell_id"]], row["block"]] = row["begun"], row["machine_day"]
        if now - row["last_started_at"] < PASS_ENDS:
            passes[row["block"]] = row["begun"], row["machine_day"]
    # On each machine-day the blocks that all cells of a comparison share.
    shared: Counter[tuple[frozenset[Kind], str]] = Counter()
    blocks = sorted({cell.block for cell in cells})
    comparisons = {reading.cells for reading in wanted}
    for comparison in comparisons:
        for block in blocks:
            first, *others = [done.get((kind, block)) for kind in comparison]
            if first and all(other == first for other in others):
                shared[comparison, first[1]] += 1

    today, beside = f"{host()} {now:%Y-%m-%d}", identical_cells(cells)
    for block in blocks:
        begun, day = passes.get(block, (now, today))
        kinds: set[Kind] = set()
        for comparison in comparisons:
            missing = {kind for kind in comparison if (kind, block) not in done}
            is_of_this_pass = all(done[kind, block][0] == begun for kind in comparison - missing)
            if block > after and is_of_this_pass and shared[comparison, day] < MOST_A_DAY:
                kinds |= missing
        asked = {study for study, _ in kinds}
        for pair, study in beside.items():
            if study in asked:
                kinds |= {kind for kind in pair if (kind, block) not in done}
        chosen = [cell for cell in cells if cell.block == block and cell.kind in kinds and not cell.missing]
        if chosen:
            return chosen
    return []


def run_until_decided(
    cells: Sequence[Cell],
    read: Sequence[Reading],
    analyse: Callable[[], Analysis],
    execute: Execute,
    left_s: Callable[[], float],
    now: Callable[[], pd.Timestamp] = lambda: pd.Timestamp.now("UTC"),
) -> Analysis:
    """Run block after block until no comparison wants more, or until time is up; return what is known at the end.

    Parameters
    ----------
    cells
        The plan, of all blocks.
    read
        What the claims read of it.
    analyse
        Returns the analysis of what is done of the plan.
    execute
        Runs the cells of a block; it may end before all of them when time is up.
    left_s
        Returns the seconds that are left.
    now
        Returns the time.
    """
    analysis, failures, block = analyse(), Counter[Kind](), -1
    while left_s() > 0:
        given_up = {kind for kind, count in failures.items() if count >= GIVEN_UP}
        wanted = [reading for reading in undecided(read, analysis) if not reading.cells & given_up]
        chosen = next_block(cells, wanted, analysis.means, now(), block)
        if not chosen:
            break
        failures.update(cell.kind for cell in execute(chosen))
        block = chosen[0].block
        analysis = analyse()
    return analysis
