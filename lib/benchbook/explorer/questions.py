"""What can be asked of a study's measurements, and the answers.

Begin with `list_pairs`, which says what can be compared, and `compute_answers`, which compares it:
each answer is a comparison of two levels that were measured with all else equal.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any, Final, TypeAlias

from benchbook.analysis import claim_files
from benchbook.analysis.block_means import BlockMeans, find_shared_blocks, join_blocks
from benchbook.analysis.claims import FREE_PARAMETERS, PaperComparisons
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.configurations import ALTERNATING_SETTINGS
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.paper_comparisons import compare_levels
from benchbook.analysis.published import CellSettings, format_level
from benchbook.analysis.quantities import DERIVED, QuantityKey
from benchbook.analysis.study_means import MatchedMeans, StudyMeans
from benchbook.registry.products import label_level
from benchbook.studies.catalogue import load_study
from benchbook.text.names import name_factor

_IN_OTHER_UNIT: Final = {
    derived.of[0]: derived.metric
    for derived in DERIVED
    if len(derived.of) == 1 and derived.per in (None, "memory_total")
}
"""Stored metrics, each with the metric that has the same ratios in the papers' unit."""

Option: TypeAlias = Any
"""A value that a control can take: a level of a factor, an operation, or a role and metric."""


@dataclass(frozen=True)
class Answer:
    """One answer, with the measurements behind it."""

    chosen: Mapping[str, Option]  # by control; None for a factor that it does not have
    comparison: Comparison
    sides: Mapping[str, BlockMeans]  # a and b
    noisy: bool = False  # whether other programs were busy in all of its blocks


@dataclass(frozen=True)
class Answers:
    """Every answer about one factor, and the controls to choose among them."""

    # Of ``operation``, ``measure``, ``a``, ``b`` and each factor that varies.
    options: Mapping[str, list[Option]]
    defaults: Mapping[str, Option]  # of each factor
    answers: list[Answer]
    fixed: CellSettings  # the factors that have one level in all answers


def list_pairs(measured: StudyMeans) -> list[PaperComparisons]:
    """List the questions: the paper's comparisons, then each other factor that varies."""
    known = claim_files.load_paper_comparisons(measured.study)
    levels: dict[str, set[object]] = {}
    for about in measured.configurations:
        for name, value in about.settings.items():
            if _is_factor(name):
                levels.setdefault(name, set()).add(value)

    compared = {pairs.by for pairs in known}
    others = []
    for name, values in sorted(levels.items()):
        if len(values) > 1 and name not in compared:
            labels = {str(level): label_level(name, level) for level in values}
            pairs = PaperComparisons.model_construct(
                name=f"by {name_factor(name)}",
                by=name,
                pairs=(),
                quantities=(),
                shown=(),
                study=measured.study,
                labels=labels,
            )
            others.append(pairs)

    # Those of which two levels of some pair were measured in one block, with all else equal.
    asked = []
    for pairs in (*known, *others):
        alike = measured.match_levels(pairs.by, pairs.loose, measured.quantities, min_levels=2)
        if any(_has_shared_block(pairs, match) for match in alike):
            asked.append(pairs)
    return asked


def _has_shared_block(pairs: PaperComparisons, match: MatchedMeans) -> bool:
    sides = match.by_level
    return any(_ran_together(sides[a], sides[b]) for a, b in _pair_levels(pairs, [sides]))


def _ran_together(*sides: BlockMeans) -> bool:
    """Return whether two levels share a block, be it a noisy one."""
    return len(find_shared_blocks(side.with_noisy_blocks for side in sides)) > 0


def compute_answers(measured: StudyMeans, pairs: PaperComparisons) -> Answers:
    """Return every answer about some pairs of levels, in the order of their options."""
    rows = _list_comparable(measured, pairs)
    both_ways = _pair_levels(pairs, [row.by_level for row in rows])
    # The factors in which some settings differ, those that the paper shows first.
    known = set[str]().union(*(row.settings for row in rows))
    factors = []
    for name in dict.fromkeys([*pairs.shown, *sorted(known)]):
        if _is_factor(name) and len({str(row.settings.get(name)) for row in rows}) > 1:
            factors.append(name)

    # The controls.
    quantities = list(dict.fromkeys(row.quantity for row in rows))
    options: dict[str, list[Option]] = {
        "operation": list(dict.fromkeys(operation for operation, _, _ in quantities)),
        "measure": list(dict.fromkeys((role, metric) for _, role, metric in quantities)),
        "a": list(dict.fromkeys(a for a, _ in both_ways)),
        "b": list(dict.fromkeys(b for _, b in both_ways)),
    }
    for factor in factors:
        # Each level once, numbers in their order.
        levels = [row.settings.get(factor) for row in rows]
        by_text = {format_level(level): level for level in levels if level is not None}
        options[factor] = [by_text[text] for text in sorted(by_text, key=_rank_level)]
    fields = load_study(measured.study).Parameters.model_fields
    defaults = {factor: getattr(fields.get(factor), "default", None) for factor in factors}

    # The answers, by quantity.
    answers = []
    for quantity in quantities:
        groups = _group_turns([row for row in rows if row.quantity == quantity], pairs.by)
        for (a, b), group in product(both_ways, groups):
            both = []
            for row in group:
                if {a, b} <= {*row.by_level} and _ran_together(row.by_level[a], row.by_level[b]):
                    both.append(row)
            if both:
                row = _pool_rows(both, pairs.by, (a, b))
                answers.append(_compute_answer(measured, pairs, row, a, b, factors))
    answers = _choose_answers(answers)

    # The factors that all answers share.
    fixed: dict[str, object] = {}
    for row in rows:
        fixed |= {name: row.settings[name] for name in row.settings if _is_factor(name)}
    for factor in factors:
        fixed.pop(factor, None)
    return Answers(options, defaults, answers, fixed)


def _group_turns(rows: Iterable[MatchedMeans], by: str) -> list[list[MatchedMeans]]:
    """Return means with equal settings together; those in which levels took turns come first."""
    cell_level = f"cell_{by}"
    groups: dict[str, list[MatchedMeans]] = {}
    for row in rows:
        shared = {name: level for name, level in row.settings.items() if name != cell_level}
        group = groups.setdefault(f"{row.language} {sorted(shared.items())}", [])
        group.insert(0 if _has_turns(row, by) else len(group), row)
    return [*groups.values()]


def _has_turns(row: MatchedMeans, by: str) -> bool:
    """Return whether the compared levels took turns in one process."""
    return f"cell_{by}" in row.settings


def _pool_rows(rows: Sequence[MatchedMeans], by: str, levels: Sequence[str]) -> MatchedMeans:
    """Return the means of levels in the blocks of all rows, as for claims.

    Of a block that several rows have, the first row counts.
    """
    pooled: dict[str, BlockMeans] = {}
    for row, level in product(rows, levels):
        means = row.by_level[level]
        if _has_turns(row, by):
            means = replace(means, in_turn=frozenset(means.blocks.tolist()))
        pooled[level] = join_blocks(pooled[level], means) if level in pooled else means
    return rows[0]._replace(by_level=pooled)


def _compute_answer(
    measured: StudyMeans,
    pairs: PaperComparisons,
    row: MatchedMeans,
    a: str,
    b: str,
    factors: Sequence[str],
) -> Answer:
    """Return the comparison of two levels; from noisy blocks where there are no others."""
    operation, role, metric = row.quantity
    chosen: dict[str, Option] = {"operation": operation, "measure": (role, metric), "a": a, "b": b}
    chosen |= {factor: row.settings.get(factor) for factor in factors}

    def compare(sides: Mapping[str, BlockMeans]) -> Comparison:
        return compare_levels(pairs, measured, row, {"a": a, "b": b}, sides)

    sides = {"a": row.by_level[a], "b": row.by_level[b]}
    comparison = compare(sides)
    if not comparison.is_only_noisy:
        return Answer(chosen, comparison, sides)
    noisy = {name: side.with_noisy_blocks for name, side in sides.items()}
    return Answer(chosen, compare(noisy), noisy, noisy=True)


def _choose_answers(answers: Iterable[Answer]) -> list[Answer]:
    """Return one answer per choice.

    One with an interval comes first, then one from cells in which other levels alternate.
    """

    def rank(answer: Answer) -> tuple[bool, bool, bool]:
        has_interval = answer.comparison.blocks >= MIN_BLOCKS
        alternates = any(name in answer.comparison.settings for name in ALTERNATING_SETTINGS)
        return not answer.noisy, has_interval, alternates

    by_choice: dict[str, list[Answer]] = {}
    for answer in answers:
        by_choice.setdefault(repr(answer.chosen), []).append(answer)
    return [max(of_choice, key=rank) for of_choice in by_choice.values()]


def _list_comparable(measured: StudyMeans, pairs: PaperComparisons) -> list[MatchedMeans]:
    """Return all that was measured at two levels of some pair, without repeated quantities.

    What the paper compares comes first.
    """
    papers = [quantity for quantity in pairs.list_quantities() if quantity in measured.quantities]
    ordered = list(dict.fromkeys([*papers, *measured.quantities]))
    rows = [*measured.match_levels(pairs.by, pairs.loose, ordered, min_levels=2)]

    compared = {row.quantity for row in rows if _pair_levels(pairs, [row.by_level])}
    others = compared.difference(papers)
    repeated = {quantity for quantity in others if _is_repeated(quantity, compared, papers, pairs)}
    shown = [row for row in rows if row.quantity in compared - repeated]

    def rank(row: MatchedMeans) -> tuple[bool, bool]:
        _, _, metric = row.quantity
        is_main = metric in ("wall_time", "elapsed_time", "cpu_time")
        return row.quantity not in papers, not is_main

    return sorted(shown, key=rank)


def _is_repeated(
    quantity: QuantityKey,
    others: Collection[QuantityKey],
    papers: Collection[QuantityKey],
    pairs: PaperComparisons,
) -> bool:
    """Return whether another quantity has the same ratios, such as the same time per item."""
    operation, role, metric = quantity
    if metric == "time_per_item":
        # The elapsed time of a single node is its client's.
        times = {"n": (), "topology": ("wall_time",)}.get(pairs.by, ("wall_time", "elapsed_time"))
        return any((operation, role, time) in others for time in times)
    if metric == "wall_time" and pairs.by != "n":
        return (operation, role, "time_per_item") in papers
    if metric == "cpu_capacity":
        # It is the wall time on all processors.
        return (operation, role, "wall_time") in others
    return (operation, role, _IN_OTHER_UNIT.get(metric)) in others


def _pair_levels(
    pairs: PaperComparisons, ran: Sequence[Mapping[str, object]]
) -> list[tuple[str, str]]:
    """Return the pairs of levels that ran together, in the paper's order, then the other way."""
    if pairs.pairs:
        one_way = pairs.list_pairs()
    else:
        levels = sorted(set().union(*ran), key=_rank_level)
        one_way = [(a, b) for b, a in permutations(levels, 2)]
    both_ways = dict.fromkeys([*one_way, *((b, a) for a, b in one_way)])
    return [(a, b) for a, b in both_ways if any(a in sides and b in sides for sides in ran)]


def _rank_level(level: str) -> tuple[float, str]:
    """Return a key that sorts numbers by their values, before texts."""
    try:
        return float(level), ""
    except ValueError:
        return float("inf"), level


def _is_factor(name: str) -> bool:
    if name == "language":
        return True
    return name not in ("dataset", *FREE_PARAMETERS, *ALTERNATING_SETTINGS)
