"""What can be asked of a study's measurements, and every answer: two sides measured alike, with their comparison."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchbook import papers, studies
from benchbook.analysis import DERIVED, Comparison, claim_files
from benchbook.analysis.block_means import Triple
from benchbook.analysis.pairs import Pairs
from benchbook.analysis.published import CellSettings, text
from benchbook.analysis.sides import FREE, IN_TURN, Measured, Side
from benchbook.analysis.tables import compare_levels
from benchbook.plots import names
from benchbook.registry import STORES, title

_NO_FACTOR: Final = {*FREE, "dataset"} - {"language"}
_FIRST: Final = ("wall_time", "elapsed_time", "cpu_time")
_OTHER_UNIT: Final = {
    derived.of[0]: derived.metric
    for derived in DERIVED
    if len(derived.of) == 1 and derived.per in (None, "memory_total")
}
"""Metrics as they are stored, each with the one that says the same in the papers' unit, or as a share of a constant."""

_METRICS: Final = {
    "elapsed_time": "time until on all nodes",
    "time_per_item": "wall time per item",
    "catch_up_time": "catch-up time",
    "cpu_time": "CPU time",
    "cpu_user_time": "user CPU time",
    "cpu_system_time": "system CPU time",
    "cpu_percent": "CPU share",
    "cpu_user_percent": "user CPU share",
    "cpu_system_percent": "system CPU share",
    "cpu_capacity": "time of all processors",
    "idle_percent": "idle share",
    "memory_rss_mb": "resident memory (RSS)",
    "memory_pss_mb": "proportional memory (PSS)",
    "memory_change_kb": "new resident memory (RSS)",
    "heap_change": "new memory on the heap",
    "memory_percent": "memory share",
    "memory_used": "memory in use",
    "memory_total": "all memory",
    "markup_size": "markup",
    "markup_percent": "share of markup",
}
"""The names of metrics where people choose among them, where these differ from the metrics' own."""

_CONTROLS: Final = {"a": "This", "b": "over that", "measure": "Quantity"}

_FACTORS: Final = {
    "json_codec": "JSON codec",
    "xml_codec": "XML codec",
    "held_mb": "held memory (MB)",
    "article_index": "index on articles",
}
"""The labels of factors that are not their names."""

_LEVELS: Final[dict[str, Mapping[str, str]]] = {
    "language": names.STACKS,
    "format": names.FORMATS,
    "codec": names.CODECS,
    "json_codec": names.CODECS,
    "xml_codec": names.CODECS,
    "driver": {"mongoclient": "MongoClient", "mongoose": "Mongoose"},
    "network": {"none": names.network("none")},
    "arrays": {"json": "arrays in a column of JSON", "table": "arrays in tables of their own"},
    "topology": {"single": "one node", "replicated": "two nodes, replicated"},
    "process": {
        "together": "both in one process",
        "apart": "each in a process of its own",
        "operation": "each operation in a process of its own",
        "warm": "both in one process, warmed up",
    },
}
"""The labels of levels that are not their names, by factor."""

_NAMED_ALONE: Final = {"database", "driver", "codec", "json_codec", "xml_codec", "format", "network", "process"}
"""Factors whose levels say by themselves what they are of."""

Option: TypeAlias = Any
"""A value that a control can take: a level of a factor, an operation, or a role and metric."""

Alike: TypeAlias = tuple[Triple, str, CellSettings, dict[str, Side]]
"""What was measured alike, as `Measured.alike` yields it."""


@dataclass(frozen=True)
class Answer:
    """One answer, with the measurements behind it."""

    chosen: Mapping[str, Option]  # by control; None for a factor that it does not have
    comparison: Comparison
    sides: Mapping[str, Side]  # a and b
    noisy: bool = False  # whether other programs were busy in all blocks, which then are those of the comparison


@dataclass(frozen=True)
class Answers:
    """Every answer about one factor, and the controls to choose among them."""

    options: Mapping[str, list[Option]]  # of ``operation``, ``measure``, ``a``, ``b`` and each factor that varies
    defaults: Mapping[str, Option]  # of each factor
    answers: list[Answer]
    fixed: CellSettings  # the factors that have one level in all answers


def list_pairs(measured: Measured) -> list[Pairs]:
    """Return what can be compared in a study: what its paper compares, then every other factor that varies."""
    known = claim_files.pairs(measured.study)
    levels: dict[str, set[object]] = {}
    for about in measured.configurations:
        for name, value in about.settings.items():
            if _is_factor(name):
                levels.setdefault(name, set()).add(value)
    others = [
        Pairs.model_construct(
            name=f"by {call_factor(name)}",
            by=name,
            pairs=(),
            quantities=(),
            shown=(),
            study=measured.study,
            labels={str(level): _call_side(name, level) for level in values},
        )
        for name, values in sorted(levels.items())
        if len(values) > 1 and name not in {pairs.by for pairs in known}
    ]
    return [pairs for pairs in (*known, *others) if _has_a_pair(measured, pairs)]


def answer_all(measured: Measured, pairs: Pairs) -> Answers:
    """Return every answer about some pairs of levels, in the order in which their options are offered."""
    rows = _measured_alike(measured, pairs)
    both_sides = _both_ways(pairs, [sides for *_, sides in rows])
    factors = _varying(pairs, [common for _, _, common, _ in rows])

    # The controls.
    quantities = list(dict.fromkeys(quantity for quantity, *_ in rows))
    options: dict[str, list[Option]] = {
        "operation": list(dict.fromkeys(operation for operation, *_ in quantities)),
        "measure": list(dict.fromkeys((role, metric) for _, role, metric in quantities)),
        "a": list(dict.fromkeys(a for a, _ in both_sides)),
        "b": list(dict.fromkeys(b for _, b in both_sides)),
    }
    for factor in factors:
        options[factor] = _levels(common[factor] for _, _, common, _ in rows if common.get(factor) is not None)
    fields = studies.load(measured.study).Parameters.model_fields
    defaults = {factor: getattr(fields.get(factor), "default", None) for factor in factors}

    # The answers; noisy blocks give one where there are no others.
    answers: list[Answer] = []
    for quantity in quantities:
        operation, *measure = quantity
        of_quantity = [row for row in rows if row[0] == quantity]
        for (a, b), (_, language, common, sides) in product(both_sides, of_quantity):
            if a in sides and b in sides:
                chosen: dict[str, Option] = {"operation": operation, "measure": tuple(measure), "a": a, "b": b}
                chosen |= {factor: common.get(factor) for factor in factors}
                two = {"a": sides[a], "b": sides[b]}
                levels = {"a": a, "b": b}
                row = compare_levels(pairs, measured, quantity, language, common, levels, two)
                is_noisy = row.is_only_noisy
                if is_noisy:
                    two = {name: side.with_noisy for name, side in two.items()}
                    row = compare_levels(pairs, measured, quantity, language, common, levels, two)
                answers.append(Answer(chosen, row, two, is_noisy))

    # The factors that all answers share.
    fixed: dict[str, object] = {}
    for _, _, common, _ in rows:
        fixed |= {name: level for name, level in common.items() if _is_factor(name) and name not in factors}
    return Answers(options, defaults, answers, fixed)


def call_control(name: str) -> str:
    """Return the label of the control that chooses a side, a measure or a factor."""
    factor = call_factor(name)
    return _CONTROLS.get(name, factor if len(factor) == 1 else factor[0].upper() + factor[1:])


def call_option(pairs: Pairs, name: str, option: Option) -> str:
    """Return the label of one of a control's options."""
    if name == "operation":
        return str(option).replace("_", " ")
    if name == "measure":
        role, metric = option
        return f"{_METRICS.get(metric, metric.replace('_', ' '))}, {role}"
    return pairs.words(option) if name in ("a", "b") else call_level(name, option)


def call_factor(name: str) -> str:
    """Return the label of a factor."""
    return _FACTORS.get(name, name.replace("_", " "))


def call_level(name: str, value: object) -> str:
    """Return the label of a factor's level."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    level = str(value)
    if name == "dataset_file":
        return Path(level).name
    if name == "database":
        # A title is a store's: a mapper over a store has the same one.
        return title(level) if level in STORES else names.database(level)
    return _LEVELS.get(name, papers.called(name)).get(level, level)


def _call_side(name: str, level: object) -> str:
    """Return the label of a level where it stands on one side of a comparison."""
    words = call_level(name, level)
    return words if name in _NAMED_ALONE else f"{call_factor(name)} = {words}"


def _has_a_pair(measured: Measured, pairs: Pairs) -> bool:
    """Return whether both sides of some pair were measured, all else alike."""
    alike = measured.alike(pairs.by, pairs.loose, measured.quantities)
    return any(_both_ways(pairs, [sides]) for *_, sides in alike)


def _measured_alike(measured: Measured, pairs: Pairs) -> list[Alike]:
    """Return all that was measured alike at several levels.

    Only quantities that both sides of some pair were measured in, those that the paper compares first, none twice.
    """
    papers = [quantity for quantity in pairs.every_quantity() if quantity in measured.quantities]
    ordered = list(dict.fromkeys([*papers, *measured.quantities]))
    rows = [row for row in measured.alike(pairs.by, pairs.loose, ordered) if len(row[3]) > 1]
    on_both = {row[0] for row in rows if _both_ways(pairs, [row[3]])}
    others = on_both.difference(papers)
    once = on_both - {quantity for quantity in others if _repeats(quantity, on_both, papers, pairs)}
    shown = [row for row in rows if row[0] in once]
    return sorted(shown, key=lambda row: (row[0] not in papers, row[0][2] not in _FIRST))


def _repeats(quantity: Triple, others: Collection[Triple], papers: Collection[Triple], pairs: Pairs) -> bool:
    """Return whether another quantity has the same ratios: in the papers' unit, of all items, of one processor."""
    operation, role, metric = quantity
    if metric == "time_per_item":
        # The elapsed time of a single node is its client's.
        times = {"n": (), "topology": ("wall_time",)}.get(pairs.by, ("wall_time", "elapsed_time"))
        return any((operation, role, time) in others for time in times)
    if metric == "wall_time" and pairs.by != "n":
        return (operation, role, "time_per_item") in papers
    if metric == "cpu_capacity":  # that time on all processors, which shares are of
        return (operation, role, "wall_time") in others
    return (operation, role, _OTHER_UNIT.get(metric)) in others


def _both_ways(pairs: Pairs, ran: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return the pairs of levels that were measured alike, in the paper's order and then the other way round."""
    levels = sorted({level for sides in ran for level in sides}, key=_rank)
    one_way = pairs.every_pair() if pairs.pairs else [(a, b) for b, a in permutations(levels, 2)]
    both_ways = dict.fromkeys([*one_way, *((b, a) for a, b in one_way)])
    return [(a, b) for a, b in both_ways if any(a in sides and b in sides for sides in ran)]


def _rank(level: str) -> tuple[float, str]:
    try:
        return float(level), ""
    except ValueError:
        return float("inf"), level


def _varying(pairs: Pairs, settings: Sequence[CellSettings]) -> list[str]:
    """Return the factors in which these differ, those that the paper shows first."""
    present = {name for common in settings for name in common if _is_factor(name)}
    ordered = dict.fromkeys([*(name for name in pairs.shown if name in present), *sorted(present)])
    return [name for name in ordered if len({str(common.get(name)) for common in settings}) > 1]


def _is_factor(name: str) -> bool:
    return name not in _NO_FACTOR and name not in IN_TURN


def _levels(values: Iterable[Option]) -> list[Option]:
    """Return the levels once each, numbers in their order."""
    by_text = {text(value): value for value in values}
    return [by_text[level] for level in sorted(by_text, key=_rank)]
