"""What can be asked of a study's measurements, and the answer: a ratio with its interval and all that stands behind."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, permutations, product
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchbook import papers, studies
from benchbook.evidence import claim_files
from benchbook.evidence.compared import Comparison
from benchbook.evidence.comparisons import Compared, Pair, sentence, tested
from benchbook.evidence.means import DERIVED, Triple
from benchbook.evidence.measured import FREE, Measured
from benchbook.evidence.published import CellSettings, text
from benchbook.evidence.sides import Side, shared
from benchbook.plots import names
from benchbook.registry import STORES, title

_NO_FACTOR: Final = {*FREE, "dataset"} - {"lane"}
_CONTROLS: Final = ("operation", "measure", "a", "b")
"""What is chosen of every comparison, before its factors."""

_FIRST: Final = ("wall_time", "elapsed_time", "cpu_time")
_OTHER_UNIT: Final = {
    derived.of[0]: derived.metric
    for derived in DERIVED
    if len(derived.of) == 1 and derived.per in (None, "memory_total")
}
"""Metrics as they are stored, each with the one that says the same in the papers' unit, or as a share of a constant."""

_METRICS: Final = {
    "elapsed_time": "time until on all nodes",
    "time_per_item": "wall time an item",
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
"""What metrics are called where people choose among them, if not by their names."""


Option: TypeAlias = Any
"""A value that a control can take: a level of a factor, an operation, or a role and metric."""


@dataclass(frozen=True)
class Asked:
    """One question, and what else could have been asked in its place."""

    comparison: Comparison  # what is set against what, such as formats or engines
    quantity: Triple  # operation, role and metric
    a: str  # the levels compared: a over b
    b: str
    factors: CellSettings  # the level of each in which the measurements differ beside; ``host`` where there are several
    options: Mapping[str, list[Option]]  # in order, for ``operation``, ``measure``, ``a``, ``b`` and each factor
    pair: Pair  # the two sides


@dataclass(frozen=True)
class Answer:
    """What was found."""

    row: Compared  # the ratio with its 95 % interval and its test
    words: str  # the same in a sentence
    pair: Pair  # what was compared


@dataclass(frozen=True)
class Everything:
    """All questions that can be asked of a comparison, where `ask` asks one."""

    options: Mapping[str, list[Option]]  # in the order that the controls of `Asked.options` have
    defaults: Mapping[str, Option]  # of a factor, where it has one; what a control stands at, else at its first
    pairs: list[tuple[Mapping[str, Option], Pair]]  # each with what is chosen; None of a factor that it lacks
    fixed: CellSettings  # the factors that have one level in all pairs


@lru_cache(16)
def comparisons(measured: Measured) -> dict[str, Comparison]:
    """Return by name what can be compared in a study: what its paper compares, then every other factor that varies."""
    by_name = {comparison.name: comparison for comparison in claim_files.comparisons(measured.study)}
    papers = {comparison.by for comparison in by_name.values()}
    levels: dict[str, set[object]] = {}
    for settings in measured.settings:
        for name, value in settings.items():
            if _is_factor(name):
                levels.setdefault(name, set()).add(value)
    for name, measured_levels in sorted(levels.items()):
        if len(measured_levels) > 1 and name not in papers:
            called = f"by {called_factor(name)}"
            by_name[called] = Comparison.model_construct(
                name=called,
                by=name,
                pairs=(),
                quantities=(),
                shown=(),
                study=measured.study,
                labels={str(level): f"{called_factor(name)} {called_level(name, level)}" for level in measured_levels},
            )
    return {name: comparison for name, comparison in by_name.items() if _has_a_pair(measured, comparison)}


def ask(measured: Measured, name: str, wanted: Mapping[str, Option]) -> Asked:
    """Return the question nearest to what is wanted: each control keeps its value where that can be asked.

    Parameters
    ----------
    measured
        A study's block means.
    name
        Which of its `comparisons` is asked about.
    wanted
        Values of the controls of `Asked.options`; those that cannot be had, or are not named, stand at their first.
    """
    questions = everything(measured, name)
    left = questions.pairs
    options: dict[str, list[Option]] = {}
    chosen: dict[str, Option] = {}
    for control in questions.options:
        levels = list(dict.fromkeys(settings[control] for settings, _ in left if settings[control] is not None))
        default = None
        if control not in _CONTROLS:
            if len(levels := _levels(levels)) < 2:
                continue
            default = left[0][1].host if control == "host" else questions.defaults[control]
        options[control] = levels
        chosen[control] = _kept(wanted.get(control), levels, default)
        left = [(settings, pair) for settings, pair in left if settings[control] == chosen[control]]
    factors = {factor: level for factor, level in chosen.items() if factor not in _CONTROLS}
    _, pair = left[0]
    return Asked(pair.comparison, pair.quantity, chosen["a"], chosen["b"], factors, options, pair)


@lru_cache(1)
def everything(measured: Measured, name: str) -> Everything:
    """Return every pair of sides that `ask` can come to, in the order in which it offers them."""
    comparison = comparisons(measured)[name]
    rows = _measured_alike(measured, comparison)
    both_sides = _pairs(comparison, [sides for _, _, sides in rows])
    factors = _varying(comparison, [common for _, common, _ in rows])
    quantities = list(dict.fromkeys(quantity for quantity, _, _ in rows))
    options: dict[str, list[Option]] = {
        "operation": list(dict.fromkeys(operation for operation, *_ in quantities)),
        "measure": list(dict.fromkeys((role, metric) for _, role, metric in quantities)),
        "a": list(dict.fromkeys(a for a, _ in both_sides)),
        "b": list(dict.fromkeys(b for _, b in both_sides)),
    }
    for factor in factors:
        options[factor] = _levels(common[factor] for _, common, _ in rows if common.get(factor) is not None)
    model = studies.load(measured.study).Parameters.model_fields
    defaults = {factor: getattr(model.get(factor), "default", None) for factor in factors}
    if "host" in factors:  # the first, which ran most
        defaults["host"] = rows[0][1]["host"]
    pairs: list[tuple[Mapping[str, Option], Pair]] = []
    for quantity, of_quantity in groupby(rows, key=itemgetter(0)):
        operation, *measure = quantity
        for (a, b), (_, common, sides) in product(both_sides, of_quantity):
            if sides.keys() >= {a, b}:
                chosen: dict[str, Option] = {"operation": operation, "measure": tuple(measure), "a": a, "b": b}
                chosen |= {factor: common.get(factor) for factor in factors}
                pairs.append((chosen, _pair(comparison, quantity, common, sides, a, b)))
    fixed: dict[str, object] = {}
    for _, common, _ in rows:
        fixed.update({name: level for name, level in common.items() if _is_factor(name) and name not in factors})
    return Everything(options, defaults, pairs, fixed)


def _pair(
    comparison: Comparison, quantity: Triple, common: CellSettings, sides: Mapping[str, Side], a: str, b: str
) -> Pair:
    settings = {name: level for name, level in common.items() if name != "host"}
    return Pair(comparison, quantity, common["host"], settings, {"a": a, "b": b}, {"a": sides[a], "b": sides[b]})


def answer(pair: Pair) -> Answer:
    """Return what a pair of sides says."""
    row = tested(pair)
    words = sentence(row, row.p, tests=1)
    sides = pair.sides.values()
    if len(shared(sides)) and not len(shared([side.undisturbed for side in sides])):
        words += " All of it ran while others used the machine: no claim is judged on it."
    return Answer(row, words[0].upper() + words[1:], pair)


def called_control(name: str) -> str:
    """Return what the control of `Asked.options` is called that chooses a side, a measure or a factor."""
    if words := {"a": "This", "b": "over that", "measure": "What"}.get(name):
        return words
    factor = called_factor(name)
    return factor if len(factor) == 1 else factor[0].upper() + factor[1:]


def called_option(comparison: Comparison, name: str, option: Option) -> str:
    """Return what one of a control's options is called where people read it."""
    if name == "operation":
        return str(option).replace("_", " ")
    if name == "measure":
        return called_measure(*option)
    if name in ("a", "b"):
        return comparison.words(option)
    return called_level(name, option)


def called_factor(name: str) -> str:
    """Return what a factor is called where people read it."""
    return {"lane": "implementation"}.get(name, name.replace("_", " "))


def called_measure(role: str, metric: str) -> str:
    """Return what a metric of a role is called where people read it."""
    return f"{_METRICS.get(metric, metric.replace('_', ' '))}, {role}"


def called_level(name: str, value: object) -> str:
    """Return what a level of a factor is called where people read it."""
    known: dict[str, Mapping[str, str]] = {
        "lane": names.STACKS, "format": names.FORMATS, "codec": names.CODECS,
        "arrays": {"json": "arrays in a column of JSON", "table": "arrays in tables of their own"},
        "topology": {"single": "one node", "replicated": "two nodes, replicated"},
    }  # fmt: skip
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    level = str(value)
    if name == "dataset_file":
        return Path(level).name
    if name == "engine":
        # a title is a store's: what is no store by itself, such as a mapper over one, has it alike
        return title(level) if level in STORES else names.engine(level)
    return known.get(name, papers.called(name)).get(level, level)


def _has_a_pair(measured: Measured, comparison: Comparison) -> bool:
    """Return whether both sides of some pair were measured, all else alike."""
    alike = measured.alike(comparison.by, comparison.loose, measured.quantities)
    return any(_pairs(comparison, [levels]) for _, _, _, levels in alike)


def _measured_alike(
    measured: Measured, comparison: Comparison
) -> list[tuple[Triple, CellSettings, Mapping[str, Side]]]:
    """Return what was measured alike at several levels: the quantity, what they share with their host, their sides.

    Of quantities those that both sides of some pair were measured in, what the paper compares first, and nothing twice.
    """
    ran = dict.fromkeys(measured.quantities)
    papers = dict.fromkeys(comparison.every_quantity() if comparison.quantities else ())
    ordered = [*dict.fromkeys([*(quantity for quantity in papers if quantity in ran), *ran])]
    rows = [
        (quantity, {**common, "host": host}, sides)
        for quantity, host, common, sides in measured.every(comparison.by, comparison.loose, ordered)
        if len(sides) > 1
    ]
    on_both = {quantity for quantity, _, sides in rows if _pairs(comparison, [sides])}
    others = on_both.difference(papers)
    once = on_both - {quantity for quantity in others if _repeats(quantity, on_both, {*papers}, comparison)}
    shown = [row for row in rows if row[0] in once]
    return sorted(shown, key=lambda row: (row[0] not in papers, row[0][2] not in _FIRST))


def _repeats(quantity: Triple, others: Collection[Triple], papers: Collection[Triple], comparison: Comparison) -> bool:
    """Return whether another quantity has the same ratios: in the papers' unit, of all items, of one processor."""
    operation, role, metric = quantity
    if metric == "time_per_item":
        # of a single node alone `ended` calls its client's time the elapsed one
        times = {"n": (), "topology": ("wall_time",)}.get(comparison.by, ("wall_time", "elapsed_time"))
        return any((operation, role, time) in others for time in times)
    if metric == "wall_time" and comparison.by != "n":
        return (operation, role, "time_per_item") in papers
    if metric == "cpu_capacity":  # that time on all processors, of which shares are taken
        return (operation, role, "wall_time") in others
    return (operation, role, _OTHER_UNIT.get(metric)) in others


def _pairs(comparison: Comparison, ran: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return the pairs of levels that were measured alike, in the paper's order and then the other way round."""
    levels = sorted({level for sides in ran for level in sides}, key=_rank)
    pairs = comparison.every_pair() if comparison.pairs else [(a, b) for b, a in permutations(levels, 2)]
    both_ways = [*pairs, *((b, a) for a, b in pairs)]
    return [pair for pair in dict.fromkeys(both_ways) if any(sides.keys() >= {*pair} for sides in ran)]


def _rank(level: str) -> tuple[float, str]:
    try:
        return float(level), ""
    except ValueError:
        return float("inf"), level


def _varying(comparison: Comparison, settings: Sequence[CellSettings]) -> list[str]:
    """Return the factors in which these differ, those that the paper shows first."""
    present = {name for common in settings for name in common if _is_factor(name)}
    shown = [name for name in ("host", *comparison.shown) if name in present]
    ordered = dict.fromkeys([*shown, *sorted(present)])
    return [name for name in ordered if len({str(common.get(name)) for common in settings}) > 1]


def _is_factor(name: str) -> bool:
    return name not in _NO_FACTOR and not name.endswith(" in turn")


def _levels(values: Iterable[Option]) -> list[Option]:
    """Return the levels once each, numbers in their order."""
    by_text = {text(value): value for value in values}
    return [by_text[level] for level in sorted(by_text, key=_rank)]


def _kept(wanted: Option, options: Sequence[Option], otherwise: Option = None) -> Option:
    """Return what is wanted if it is among the options, else what stands otherwise, else the first."""
    return next((value for value in (wanted, otherwise) if value in options), options[0])
