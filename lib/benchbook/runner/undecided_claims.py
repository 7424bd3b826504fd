"""Undecided claims: which comparisons need more blocks, and the cells of the next block.

Nothing is stored for this: what is undecided follows from the results, so that a run that was
stopped continues where it was.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from math import inf, isinf, isnan
from operator import itemgetter
from typing import Final, TypeAlias

import pandas as pd

from benchbook.analysis.block_means import (
    MEAN_COLUMNS,
    PASS_PAUSE,
    BlockMeans,
    compute_block_means,
)
from benchbook.analysis.claim_comparisons import (
    ClaimMeans,
    choose_claim_means,
    find_objection,
)
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import Claim, MeasuredClaim, format_levels
from benchbook.analysis.comparisons import Comparison, Outcome
from benchbook.analysis.forecast import (
    BLOCKS_PER_DAY,
    MAX_FORECAST_DAYS,
    SHORT_BLOCKS_PER_DAY,
    SHORT_CELL_S,
    forecast_outcomes,
)
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.runs import Analysis
from benchbook.analysis.study_means import StudyMeans, split_by_study
from benchbook.analysis.verdicts import DECIDED, ClaimVerdict, judge_counts
from benchbook.grid import Cell
from benchbook.grid.cells import Combination, combine
from benchbook.measure.machine import name_host
from benchbook.results.schema import ALTERNATING_COLUMNS
from benchbook.results.server_checks import is_unchecked
from benchbook.servers import networks
from benchbook.servers.networks import Network
from benchbook.studies.catalogue import load_study

MAX_FAILURES: Final = 2
"""Blocks of one run in which a cell may fail before its comparisons are given up."""

RunCells: TypeAlias = Callable[[Sequence[Cell]], Collection[Cell]]
"""Runs cells in their order and returns those that failed."""

_PLANNED: Final = pd.Timestamp("2000-01-01", tz="UTC")
"""When planned cells ran, as far as their rows say."""


@dataclass(frozen=True)
class ComparisonCells:
    """A comparison of a claim, and the cells that it needs."""

    claim: MeasuredClaim
    language: str
    label: str  # its levels, as ``n=1000``
    cells: frozenset[Combination]  # empty if they cannot all run here
    is_comparable: bool = True  # whether these cells would be, with the paper's
    measured: Comparison | None = field(default=None, compare=False)  # what they say so far


def find_comparison_cells(
    cells: Iterable[Cell], selected: Iterable[Claim] | None = None
) -> list[ComparisonCells]:
    """Return the comparisons of claims in the languages of some cells, in the claims' order.

    The cells of a comparison are chosen as `benchbook.analysis.claim_comparisons` chooses block
    means.

    Parameters
    ----------
    cells
        As `benchbook.grid.make_plan` returns them; one block of each cell suffices.
    selected
        The claims; None for all of `data/claims`.
    """
    comparisons = []
    for claim, language, chosen in iterate_planned_means(cells, selected):
        # All terms must run here, through adapters that have met their servers.
        needed = set[Combination]()
        means = chosen.means.values()
        databases = [str(mean.settings.get("database") or "") for mean in means]
        if chosen.is_complete and not any(map(is_unchecked, databases)):
            for mean in means:
                needed |= {(claim.study, cell) for cell in mean.cells}
        label = format_levels(chosen.levels)
        is_comparable = not find_objection(claim, chosen)
        comparisons.append(
            ComparisonCells(claim, language, label, frozenset(needed), is_comparable)
        )
    return comparisons


def iterate_planned_means(
    cells: Iterable[Cell], selected: Iterable[Claim] | None = None
) -> Iterator[tuple[MeasuredClaim, str, ClaimMeans]]:
    """Yield each claim, language and comparison with the block means that cells would have.

    The parameters are those of `find_comparison_cells`.
    """
    planned = _plan_means(cells)
    for claim in load_claims() if selected is None else selected:
        if not isinstance(claim, MeasuredClaim) or claim.fact or claim.study not in planned:
            continue
        of_study = planned[claim.study]
        for language in of_study.languages:
            if claim.languages and language not in claim.languages:
                continue
            for chosen in choose_claim_means(claim, of_study, language):
                means = _predict_own_processors(chosen.means)
                yield claim, language, chosen._replace(means=means)


def _predict_own_processors(means: Mapping[str, BlockMeans]) -> dict[str, BlockMeans]:
    """Return planned means with the number of processors that each role has to itself.

    A machine has enough for all roles, because a network with too few is not planned.
    """
    predicted = {}
    for name, mean in means.items():
        network = str(mean.settings.get("network", networks.NO_NETWORK))
        own = 0
        if network != networks.NO_NETWORK:
            own = int(Network.parse(network).cores or 0)
        predicted[name] = replace(mean, own_processors=own)
    return predicted


def _plan_means(cells: Iterable[Cell]) -> dict[str, StudyMeans]:
    """Return by study the block means that these cells would have if each had run once."""
    runnable = {cell.combination: cell for cell in cells if cell.arm == "a" and not cell.missing}
    rows: list[dict[str, object]] = []
    for cell in runnable.values():
        rows.extend(_plan_rows(cell))
    if not rows:
        return {}
    columns = dict.fromkeys(chain(MEAN_COLUMNS, *rows))
    return split_by_study(compute_block_means(pd.DataFrame(rows).reindex(columns=[*columns])))


def _plan_rows(cell: Cell) -> Iterator[dict[str, object]]:
    """Yield the block means that a cell would have."""
    given = cell.parameters.model_dump(mode="json")
    about: dict[str, object] = {
        **cell.parameters.as_columns(),
        "study": cell.study,
        "topology": cell.topology,
        "cell_id": cell.identity,
        "host": "",
        "block": 0,
        "started_at": _PLANNED,
        "last_started_at": _PLANNED,
        "rows": 1,
        "unit": "",
        "value": 1.0,
        "at_least": 1.0,
        "count": 1.0,
        "timed_out": False,
        "noisy": False,
    }
    for name in ALTERNATING_COLUMNS:
        if isinstance(given.get(name), str):
            about.setdefault(name, given[name])
    # What the cell would measure. Systems that tell PSS deliver it, too.
    quantities = set(load_study(cell.study).expected(cell.parameters))
    for operation, role, metric in [*quantities]:
        if metric == "memory_rss":
            quantities.add((operation, role, "memory_pss"))
    for arm in cell.parameters.variants():
        for operation, role, metric in quantities:
            yield {**about, **arm, "operation": operation, "role": role, "metric": metric}


def select_undecided(
    comparisons: Iterable[ComparisonCells], analysis: Analysis
) -> list[ComparisonCells]:
    """Return the comparisons that need more blocks and whose cells can run here.

    These are the ones with fewer blocks than an interval needs, the open ones of a claim whose
    verdict is undecided, and those that other cells answered which are not comparable.
    """
    rows: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in analysis.comparisons:
        rows.setdefault((row.name, row.language, row.label), []).append(row)
    verdicts = [verdict for verdict in analysis.verdicts if verdict.verdict == "undecided"]
    undecided = {(verdict.id, verdict.language) for verdict in verdicts}

    selected = []
    for comparison in comparisons:
        # Those with one label have the same order; a language in which nothing ran has no rows.
        key = (comparison.claim.id, comparison.language)
        alike = rows.get((*key, comparison.label))
        measured = alike.pop(0) if alike else None
        stands = measured.stands if measured else ""
        is_short = measured is None or measured.blocks < MIN_BLOCKS
        is_open = stands == "open" and key in undecided
        is_replaced = stands == "not comparable" and comparison.is_comparable
        if comparison.cells and (is_short or is_open or is_replaced):
            selected.append(replace(comparison, measured=measured))
    return selected


def choose_affordable(
    comparisons: Iterable[ComparisonCells],
    analysis: Analysis,
    durations: Mapping[Combination, float],
    left_s: float,
) -> set[Combination]:
    """Return the cells of the claims whose blocks of a day can end in the time that is left.

    Claims that need the least time until they are decided come first, with the comparisons that
    decide them. Last are all other comparisons: the forecast does not decide their claims, or their
    claims are decided without them.

    Parameters
    ----------
    comparisons
        The comparisons that need blocks, as `select_undecided` returns them.
    analysis
        What each claim needs.
    durations
        Seconds of each cell that ran before; others count as nothing.
    left_s
        The seconds that are left.
    """
    of_claim: dict[str, list[ComparisonCells]] = {}
    for comparison in comparisons:
        of_claim.setdefault(comparison.claim.id, []).append(comparison)
    offers: list[tuple[bool, float, set[Combination]]] = []
    for verdict in analysis.verdicts:
        if verdict.id not in of_claim:
            continue
        # What decides it at the least cost, and last the rest of its comparisons.
        all_of_claim = of_claim[verdict.id]
        deciding = _choose_deciding(all_of_claim, verdict, analysis, durations)
        is_last = isinf(verdict.more_days) or verdict.verdict in DECIDED
        # One that did not run has no forecast.
        days = 1 if isnan(verdict.more_days) else min(verdict.more_days, MAX_FORECAST_DAYS)
        for is_rest, chosen in ((is_last, deciding), (True, all_of_claim)):
            cells = set[Combination]().union(*(one.cells for one in chosen))
            offers.append((is_rest, days * _estimate_day_s(cells, durations), cells))

    # Claims share cells: each costs what it adds to those before it.
    affordable = set[Combination]()
    for *_, cells in sorted(offers, key=itemgetter(0, 1)):
        together = affordable | cells
        if _estimate_day_s(together, durations) <= left_s:
            affordable = together
    return affordable


def _estimate_day_s(cells: Iterable[Combination], durations: Mapping[Combination, float]) -> float:
    """Return the seconds of a day's blocks of some cells."""
    return BLOCKS_PER_DAY * sum(durations.get(cell, 0) for cell in cells)


def _choose_deciding(
    comparisons: Collection[ComparisonCells],
    verdict: ClaimVerdict,
    analysis: Analysis,
    durations: Mapping[Combination, float],
) -> Collection[ComparisonCells]:
    """Return the comparisons that decide a claim at the least cost, or all where none do.

    The forecast says which are open no more after the claim's days. Of these the cheapest come
    first, whichever way they would stand.
    """
    if not 0 < verdict.more_days < inf:
        return comparisons
    by_cost = sorted(comparisons, key=lambda one: _estimate_day_s(one.cells, durations))
    measured: list[tuple[ComparisonCells, Comparison]] = []
    for one in by_cost:
        if one.language == verdict.language and one.measured and one.measured.stands == "open":
            measured.append((one, one.measured))
    # The decided ones say how much blocks usually scatter.
    key, decided = (verdict.id, verdict.language), ("for", "against")
    rows = [row for _, row in measured]
    for row in analysis.comparisons:
        if (row.name, row.language) == key and row.stands in decided:
            rows.append(row)
    outcomes = forecast_outcomes(rows, int(verdict.more_days))

    counts = Counter[Outcome](
        {"for": verdict.for_, "against": verdict.against, "open": verdict.open}
    )
    chosen = []
    for (one, _), outcome in zip(measured, outcomes, strict=False):
        if outcome in decided:
            chosen.append(one)
            counts.update({"open": -1, outcome: 1})
            if judge_counts(counts) in DECIDED:
                return chosen
    return comparisons


def find_checking_cells(cells: Iterable[Cell]) -> dict[str, set[Combination]]:
    """Return each study's cells of A/A checks, and its loops without a database."""
    checking: dict[str, set[Combination]] = {}
    for cell in cells:
        if cell.missing:
            continue
        of_study = checking.setdefault(cell.study, set())
        if cell.arm != "a":
            of_study.add(cell.combination)
            # A cell that shares its process measures both arms.
            if len(cell.parameters.aa_arms()) == 1:
                first = cell.parameters.model_copy(update={"arm": "a"})
                of_study.add(combine(cell.study, first))
        elif "benchbook.databases.noop" in load_study(cell.study).modules(cell.parameters):
            of_study.add(cell.combination)
    return checking


@dataclass(frozen=True)
class _Pass:
    """One pass over a block's cells on a machine-day."""

    begun: pd.Timestamp
    machine_day: str


def choose_next_block(
    cells: Sequence[Cell],
    comparisons: Iterable[ComparisonCells],
    means: pd.DataFrame,
    now: pd.Timestamp,
    visited: Collection[int] = (),
    *,
    durations: Mapping[Combination, float],
    repeats_noisy: bool = False,
) -> list[Cell]:
    """Return the cells to run in the next block, in the plan's order; an empty list for none.

    The next block is one that was begun within the last hour, else the one in which the most
    comparisons can be completed.

    Two cells share a block if they ran in the same pass over it. If an earlier pass ended before it
    ran both, they can no longer share this block, and use another.

    Parameters
    ----------
    cells
        The plan, of all blocks.
    comparisons
        The comparisons that need blocks. The A/A checks of their studies run with them: in
        `MIN_BLOCKS` blocks, and then once per machine-day.
    means
        Block means of the finished cells, as `compute_block_means` returns them; those of
        other hosts are ignored.
    now
        When the block would begin.
    visited
        The blocks that this run is through with.
    durations
        As in `choose_affordable`.
    repeats_noisy
        Whether noisy cells are to be measured again, once in a run.
    """
    blocks = {cell.block for cell in cells}
    left = blocks - {*visited}
    # Noisy cells of this run count as finished: a busy machine gets no more blocks than a quiet
    # one.
    finished, current = _find_passes(cells, means, now, repeated=left if repeats_noisy else ())
    needed = {comparison.cells for comparison in comparisons}
    shared = _count_shared_blocks(needed, blocks, finished)
    limits = _limit_blocks_per_day(needed, cells, durations)
    checking = find_checking_cells(cells)
    checked = _find_checked(finished, name_machine_day(now))
    runnable = {(cell.combination, cell.block) for cell in cells if not cell.missing}
    new_pass = _Pass(now, name_machine_day(now))

    best: tuple[bool, int] = (False, 0)
    cells_of_best: set[tuple[Combination, int]] = set()
    for block in sorted(left):
        # The comparisons that may have another block today, and can have this one.
        block_pass = current.get(block, new_pass)
        completed = []
        for comparison in needed:
            passes = [finished.get((cell, block), block_pass) for cell in comparison]
            is_of_this_pass = all(one.begun == block_pass.begun for one in passes)
            blocks_of_day = shared[comparison, block_pass.machine_day]
            if is_of_this_pass and blocks_of_day < limits[comparison]:
                completed.append(comparison)

        # Their cells, and those of their studies' A/A checks.
        chosen = {(cell, block) for cell in frozenset().union(*completed)} - finished.keys()
        for study in {study for (study, _), _ in chosen}:
            if not checking.get(study, set()) <= checked:
                chosen |= {(cell, block) for cell in checking[study]} - finished.keys()

        chosen &= runnable
        rank = (block in current, len(completed))
        if chosen and rank > best:
            best, cells_of_best = rank, chosen
    return [cell for cell in cells if (cell.combination, cell.block) in cells_of_best]


def _limit_blocks_per_day(
    comparisons: Iterable[frozenset[Combination]],
    cells: Iterable[Cell],
    durations: Mapping[Combination, float],
) -> dict[frozenset[Combination], int]:
    """Return how many blocks each comparison may have on a machine-day, from its cells."""
    stated = {cell.combination: cell.blocks_per_day for cell in cells if cell.blocks_per_day}
    limits = {}
    for comparison in comparisons:
        is_short = all(durations.get(cell, 0.0) <= SHORT_CELL_S for cell in comparison)
        usual = SHORT_BLOCKS_PER_DAY if is_short else BLOCKS_PER_DAY
        limits[comparison] = min([usual, *(stated[cell] for cell in comparison if cell in stated)])
    return limits


def name_machine_day(now: pd.Timestamp) -> str:
    """Return the machine-day of a block that begins on this host."""
    return f"{name_host()} {now:%Y-%m-%d}"


def _find_passes(
    cells: Sequence[Cell], means: pd.DataFrame, now: pd.Timestamp, repeated: Collection[int]
) -> tuple[dict[tuple[Combination, int], _Pass], dict[int, _Pass]]:
    """Return the pass in which each cell finished in each block, and each block's current pass.

    Noisy cells in the blocks that are to be `repeated` are not finished.
    """
    kind_of = {cell.identity: cell.combination for cell in cells}
    here = means[means["cell_id"].isin(kind_of.keys())]  # a host is part of the identity
    newest = here.sort_values("last_started_at").drop_duplicates(["cell_id", "block"], keep="last")
    finished: dict[tuple[Combination, int], _Pass] = {}
    current: dict[int, _Pass] = {}
    for row in newest.to_dict("records"):
        block, of_row = row["block"], _Pass(row["begun"], row["machine_day"])
        if now - row["last_started_at"] < PASS_PAUSE:
            current[block] = of_row
        if not row["noisy"] or block not in repeated:
            finished[kind_of[row["cell_id"]], block] = of_row
    return finished, current


def _find_checked(
    finished: Mapping[tuple[Combination, int], _Pass], machine_day: str
) -> set[Combination]:
    """Return the cells that have enough blocks for an interval, and one of them on this day."""
    counts = Counter(cell for cell, _ in finished)
    today = {cell for (cell, _), one in finished.items() if one.machine_day == machine_day}
    return {cell for cell in today if counts[cell] >= MIN_BLOCKS}


def _count_shared_blocks(
    comparisons: Iterable[frozenset[Combination]],
    blocks: Iterable[int],
    finished: Mapping[tuple[Combination, int], _Pass],
) -> Counter[tuple[frozenset[Combination], str]]:
    """Return how many blocks all cells of a comparison share on each machine-day."""
    shared: Counter[tuple[frozenset[Combination], str]] = Counter()
    for comparison, block in product(comparisons, blocks):
        first, *others = [finished.get((kind, block)) for kind in comparison]
        if first and all(other == first for other in others):
            shared[comparison, first.machine_day] += 1
    return shared


def run_until_decided(
    cells: Sequence[Cell],
    comparisons: Sequence[ComparisonCells],
    analyse: Callable[[], Analysis],
    run_cells: RunCells,
    left_s: Callable[[], float],
    durations: Mapping[Combination, float],
    now: Callable[[], pd.Timestamp] = lambda: pd.Timestamp.now("UTC"),
    *,
    repeats_noisy: bool = False,
) -> Analysis:
    """Run the blocks of a day for what was undecided before it, until they are done or time is up.

    Returns the analysis of all that is finished then. Claims are judged once per machine-day, as
    the table of errors in ``docs/method.md`` assumes: today's blocks do not decide which run today.

    Parameters
    ----------
    cells
        The plan, of all blocks.
    comparisons
        The claims' comparisons, with the cells of the plan that they need.
    analyse
        Returns the analysis of the finished cells of the plan.
    run_cells
        Runs the cells of a block; it may end before all of them when time is up.
    left_s
        Returns the seconds that are left.
    durations
        As in `choose_affordable`.
    now
        Returns the time.
    repeats_noisy
        As in `choose_next_block`.
    """
    choose = partial(choose_next_block, cells, durations=durations, repeats_noisy=repeats_noisy)
    rare = {cell.combination for cell in cells if cell.blocks_per_day}
    analysis, failures, visited = analyse(), Counter[Combination](), set[int]()
    day = ""
    while left_s() > 0:
        # What was undecided before this day.
        if day != name_machine_day(now()):
            day = name_machine_day(now())
            before = analysis.exclude_machine_day(day)
            undecided = select_undecided(comparisons, before)
            affordable = choose_affordable(undecided, before, durations, left_s())
        # What fits into the time, and then the rest, as far as the time goes. Last are the cells
        # that the grid limits on each machine-day.
        given_up = {kind for kind, count in failures.items() if count >= MAX_FAILURES}
        wanted = [comparison for comparison in undecided if not comparison.cells & given_up]
        usual = [comparison for comparison in wanted if not comparison.cells & rare]
        first = [comparison for comparison in usual if comparison.cells <= affordable]
        chosen: list[Cell] = []
        for candidates in (first, usual, wanted):
            chosen = chosen or choose(candidates, analysis.means, now(), visited)
        if not chosen:
            break
        failures.update(cell.combination for cell in run_cells(chosen))
        visited.add(chosen[0].block)
        analysis = analyse()
    return analysis
