"""Claims and comparisons of the papers, as `data/claims/<study>.yaml` states them.

Begin with `MeasuredClaim` and its kinds `Ratio`, `Trend`, `Gap` and `Rank`. `PaperComparisons` are
what a paper's tables compare. `benchbook.analysis.claim_files` reads and checks the files.
"""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import override

from benchbook.analysis.published import (
    CellSettings,
    LevelNames,
    PublishedKey,
    PublishedRatio,
    Terms,
    compute_published_ratio,
    fill_key,
    format_level,
)
from benchbook.analysis.quantities import QuantityKey
from benchbook.files.yaml_file import StrictModel
from benchbook.registry.papers import Language, find_language
from benchbook.registry.products import STORES, name_database

Level: TypeAlias = bool | int | float | str

Levels: TypeAlias = Annotated[tuple[Level, ...], Field(min_length=1)]

Factor: TypeAlias = Annotated[
    dict[str, Annotated[Levels, Field(min_length=2)]], Field(min_length=1, max_length=1)
]
"""One parameter or column with its levels."""

Settings: TypeAlias = dict[str, Level | Levels]
"""Levels of columns, parameters, ``operation``, ``role`` or ``metric``; any of several is taken."""

Text: TypeAlias = Annotated[str, Field(min_length=1)]

Direction: TypeAlias = Literal["more", "less", "equal", "different"]

ROW_COLUMNS: Final = (
    *("database", "topology", "model", "driver", "codec", "format", "transport", "durability"),
)
"""Columns of the observations that a claim may name, besides the study's parameters."""

FREE_PARAMETERS: Final = ("language", "arm", "seed", "repetitions")
"""Parameters that no claim names: it is judged in each language, on arm a, for any seed."""


def list_levels(setting: Level | Levels) -> tuple[Level, ...]:
    """Return all levels that a setting names."""
    return setting if isinstance(setting, tuple) else (setting,)


def list_own_levels(setting: Level | Levels, language: str) -> tuple[Level, ...]:
    """Return the levels of a setting that are a language's own; all, if none is."""
    levels = list_levels(setting)
    return tuple(level for level in levels if find_language(level) == language) or levels


class Quantity(StrictModel):
    """The quantity that is compared: a stored or derived metric of a role in an operation."""

    operation: str
    role: str
    metric: str


class Bound(StrictModel):
    """A quantity of a claim's operation that is below a bound, as the mean of its blocks."""

    role: str
    metric: str
    below: float  # in the metric's unit


class NotComparable(StrictModel):
    """Why claims cannot be judged with what runs here, stated before the data."""

    # Ids, or patterns of ids, as ``crud.delete.*``.
    claims: Annotated[tuple[str, ...], Field(min_length=1)]
    # Only comparisons with a term that has one of these levels; empty: all comparisons.
    at: Settings = {}
    # Not where this was measured and is below the bound, in the term that has these levels.
    unless: Bound | None = None
    why: Text
    remedy: Text  # what would make it comparable


class Caveat(StrictModel):
    """What to know beside some claims. It moves no verdict."""

    # Ids, or patterns of ids, as ``crud.delete.*``.
    claims: Annotated[tuple[str, ...], Field(min_length=1)]
    says: Text


class StatedClaim(StrictModel):
    """What every claim states."""

    # ``<study>.<name>``, unique.
    id: Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9][a-z0-9-]*)+$")]
    says: Text  # the claim in our own words
    where: Text  # where the paper makes it
    fact: str = ""  # why it cannot fail here: it is then shown as a fact and not judged

    @property
    def study(self) -> str:
        """The study whose paper claims it."""
        return self.id.partition(".")[0]


class UnmeasuredClaim(StatedClaim):
    """A fact about what is not measured here, or a claim that is not testable."""

    compare: Literal["none"]
    not_testable: str = ""  # why nothing that could be measured would speak for or against it
    published: dict[str, PublishedKey] = {}

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if bool(self.not_testable) == bool(self.fact):
            raise ValueError("it has one of not_testable and fact, with the reason")
        return self


class MeasuredClaim(StatedClaim):
    """A claim that observations can answer; each kind says which terms it compares."""

    compare: str
    quantity: Quantity
    # Settings of all terms. A parameter that is not named is at its default if that ran.
    at: Settings = {}
    # Each combination of these levels is one comparison. A term that names a factor itself keeps
    # its level.
    each: dict[str, Levels] = {}
    # Each term is the mean over these levels, where the paper prints their mean only.
    pooled: Factor | None = None
    languages: tuple[Language, ...] = ()  # in which it is judged; all that ran if empty
    # Where the paper prints the numbers of ``a`` and ``b``, or of each ranked level.
    published: dict[str, PublishedKey] = {}
    called: LevelNames = {}
    # The claim is on a over so many times b: 2 for "more than doubles".
    than: Annotated[float, Field(gt=0)] = 1.0
    # Claimed ratios that no published number has: one for all comparisons, or by their `label`.
    size: Annotated[float, Field(gt=0)] | dict[str, Annotated[float, Field(gt=0)]] = {}
    # The smallest difference that matters: a ratio above 1, fixed before the data. Of a change of
    # memory, which has no ratio, 1.05 is 5 % of the larger mean.
    margin: Annotated[float, Field(gt=1, le=10)]
    why_margin: Text
    in_the_paper: str = ""  # what the paper's own numbers say against its sentence
    # What was chosen here by the printed number, which therefore cannot be confirmed.
    fitted: str = ""
    finding: str = ""  # a name that claims share which are one event
    # Of its study's file.
    not_comparable: tuple[NotComparable, ...] = ()
    caveats: tuple[str, ...] = ()

    def list_combinations(self, language: str | None = None) -> list[dict[str, Level]]:
        """Return the levels of each comparison: all combinations of `each`.

        Parameters
        ----------
        language
            Only combinations that can run in it; None: all.
        """
        combinations = []
        for levels in itertools.product(*self.each.values()):
            combination = dict(zip(self.each, levels, strict=True))
            # Codecs and drivers belong to a language.
            named = [combination[name] for name in ("codec", "driver") if name in combination]
            languages = {find_language(level) for level in named}
            if language is None or languages <= {language}:
                combinations.append(combination)
        return combinations

    def name_terms(self) -> dict[str, Settings]:
        """Return the settings that tell the terms apart, by their names, as ``a`` or ``a last``."""
        raise NotImplementedError

    def list_terms(self) -> list[Terms]:
        """Return the signed terms of each comparison of one combination."""
        raise NotImplementedError

    def find_direction(self, terms: Terms) -> Direction:
        """Return the direction in which a comparison is claimed."""
        raise NotImplementedError

    @property
    def claimed_text(self) -> str:
        """The direction or order that is claimed, in words."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check_pooled(self) -> Self:
        for name in self.pooled or ():
            if name in self.at or name in self.each:
                raise ValueError(f"pooled: {name} is named in at or each, too")
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        known = [format_levels(levels) for levels in self.list_combinations()]
        unknown = sorted(set(self.size) - set(known)) if isinstance(self.size, dict) else []
        if unknown:
            names = ", ".join(known) or "none"
            raise ValueError(f"size: no comparison is called {unknown[0]!r}; there are {names}")
        return self


class DirectedClaim(MeasuredClaim):
    """A claim that something is more, less or as much."""

    claimed: Direction

    @override
    def find_direction(self, terms: Terms) -> Direction:
        return self.claimed

    @property
    @override
    def claimed_text(self) -> str:
        return self.claimed


class Ratio(DirectedClaim):
    """``a`` takes more, less or as much as ``b``."""

    compare: Literal["ratio"]
    a: Settings
    b: Settings

    @override
    def name_terms(self) -> dict[str, Settings]:
        return {"a": self.a, "b": self.b}

    @override
    def list_terms(self) -> list[Terms]:
        return [((1, "a"), (-1, "b"))]


class Trend(DirectedClaim):
    """``a`` takes more, less or as much at the last level of `over` as at its first."""

    compare: Literal["trend"]
    a: Settings = {}
    over: Factor

    @override
    def name_terms(self) -> dict[str, Settings]:
        return {f"a {end}": {**self.a, **level} for end, level in _list_ends(self.over).items()}

    @override
    def list_terms(self) -> list[Terms]:
        return [((1, "a last"), (-1, "a first"))]


class Gap(DirectedClaim):
    """``a`` over ``b`` is more, less or as much at the last level of `over` as at its first."""

    compare: Literal["gap"]
    a: Settings
    b: Settings
    over: Factor

    @override
    def name_terms(self) -> dict[str, Settings]:
        terms = {}
        for name, settings in (("a", self.a), ("b", self.b)):
            for end, level in _list_ends(self.over).items():
                terms[f"{name} {end}"] = {**settings, **level}
        return terms

    @override
    def list_terms(self) -> list[Terms]:
        return [((1, "a last"), (-1, "b last"), (-1, "a first"), (1, "b first"))]


class Order(StrictModel):
    """The first level, the last one, or the whole order, ascending: one of the three."""

    first: Level | None = None
    last: Level | None = None
    order: tuple[Level, ...] = ()

    @property
    def named(self) -> tuple[Level, ...]:
        """The levels that the claim names."""
        return self.order or tuple(level for level in (self.first, self.last) if level is not None)

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("one of first, last and order, and only one")
        return self


class Rank(MeasuredClaim):
    """A level of a factor comes first or last, or all levels have an order."""

    compare: Literal["rank"]
    among: Factor
    claimed: Order

    @model_validator(mode="after")
    def _check_named(self) -> Self:
        (ranked,) = self.among.values()
        unknown = [level for level in self.claimed.named if level not in ranked]
        if unknown:
            raise ValueError(f"claimed: {unknown[0]!r} is not among {', '.join(map(str, ranked))}")
        return self

    @override
    def name_terms(self) -> dict[str, Settings]:
        ((factor, levels),) = self.among.items()
        return {str(level): {factor: level} for level in levels}

    @override
    def list_terms(self) -> list[Terms]:
        if self.claimed.order:
            pairs = itertools.pairwise(map(str, self.claimed.order))
            return [((1, before), (-1, after)) for before, after in pairs]
        named = str(self.claimed.named[0])
        return [((1, named), (-1, other)) for other in self.name_terms() if other != named]

    @override
    def find_direction(self, terms: Terms) -> Direction:
        return "more" if self.claimed.last is not None else "less"

    @property
    @override
    def claimed_text(self) -> str:
        order = self.claimed
        if order.order:
            return " < ".join(map(format_level, order.order))
        end = "last" if order.first is None else "first"
        return f"{end}: {format_level(order.named[0])}"


AnyMeasuredClaim: TypeAlias = Ratio | Trend | Gap | Rank

Claim: TypeAlias = AnyMeasuredClaim | UnmeasuredClaim


def _list_ends(over: Factor) -> dict[str, Settings]:
    ((factor, levels),) = over.items()
    return {"first": {factor: levels[0]}, "last": {factor: levels[-1]}}


def format_levels(levels: Mapping[str, Level]) -> str:
    """Return the label of a comparison: its levels as ``n=1000, case=1``."""
    return ", ".join(f"{name}={format_level(level)}" for name, level in levels.items())


def describe_level(name: str, level: Level) -> str:
    """Return a level in words; databases have their titles."""
    return name_database(str(level)) if name == "database" else format_level(level)


def build_term_settings(claim: MeasuredClaim, levels: Mapping[str, Level]) -> dict[str, Settings]:
    """Return all settings of each term of a claim, by its name, at a combination of levels."""
    common: dict[str, Any] = {**claim.quantity.model_dump(), **claim.at, **levels}
    return {name: {**common, **side} for name, side in claim.name_terms().items()}


def find_published_keys(
    claim: MeasuredClaim, levels: Mapping[str, Level]
) -> dict[str, PublishedKey]:
    """Return where the paper prints the number of each term, by its name; empty if it does not."""
    keys: dict[str, PublishedKey] = {}
    for name, side in claim.name_terms().items():
        key = claim.published.get(name if isinstance(claim, Rank) else name.partition(" ")[0])
        if key:
            keys[name] = fill_key(key, claim.called, {**claim.at, **levels, **side})
    return keys


def find_published_ratio(
    claim: MeasuredClaim, levels: Mapping[str, Level], terms: Terms
) -> PublishedRatio:
    """Return the ratio that the paper claims or prints for a comparison; NaN if it has none."""
    size = claim.size if isinstance(claim.size, float) else claim.size.get(format_levels(levels))
    if size is not None:
        return PublishedRatio(size, size, size, claim.where)
    return compute_published_ratio(claim.study, terms, find_published_keys(claim, levels))


class Quantities(StrictModel):
    """Every combination of some operations, roles and metrics."""

    operation: tuple[str, ...]
    role: tuple[str, ...]
    metric: tuple[str, ...]


class EachPair(StrictModel):
    """Each level over each later one; ``stores`` means all other stores that the registry knows."""

    each: tuple[str, ...]


class PublishedPlace(StrictModel):
    """Where a paper prints the numbers of some quantities."""

    metric: tuple[str, ...]
    operation: tuple[str, ...] = ()  # every one when none is named
    at: Settings = Field(default_factory=dict)  # the levels that they are printed for
    key: PublishedKey  # ``{name}`` stands for a side's level, as the paper calls it
    note: str = ""  # what kind of number it is

    def holds(self, quantity: QuantityKey, settings: CellSettings) -> bool:
        """Return whether the numbers are those of a quantity with some settings."""
        if quantity[2] not in self.metric or (self.operation and quantity[0] not in self.operation):
            return False
        return all(settings.get(name) in list_levels(level) for name, level in self.at.items())


class PaperComparisons(StrictModel):
    """What a paper compares, for each combination of all other levels. It is tested, not judged."""

    name: Text
    by: Text  # the column or parameter whose level tells the sides apart
    # The sides' levels.
    pairs: EachPair | Annotated[tuple[tuple[str, str], ...], Field(min_length=1)]
    quantities: Annotated[tuple[Quantities, ...], Field(min_length=1)]
    shown: tuple[str, ...]  # parameters that label a comparison
    # The levels in words; databases have their titles.
    labels: dict[str, str] = Field(default_factory=dict)
    # Columns and parameters that may differ, too.
    loose: tuple[str, ...] = ()
    published: bool = True  # False when the paper's ratio is of something else
    missing: bool = False  # whether a comparison is listed of which one level did not run
    # From the file: its study, where the paper prints the numbers, how it calls the levels.
    study: str = ""
    places: tuple[PublishedPlace, ...] = ()
    called: LevelNames = Field(default_factory=dict)

    def list_pairs(self) -> list[tuple[str, str]]:
        """Return the levels of all pairs, the first over the second."""
        if isinstance(self.pairs, EachPair):
            others = [name for name in STORES if name not in self.pairs.each]
            levels = []
            for level in self.pairs.each:
                levels += others if level == "stores" else [level]
            return list(itertools.combinations(levels, 2))
        return list(self.pairs)

    def list_quantities(self) -> list[QuantityKey]:
        """Return the quantities (operation, role, metric), each once."""
        quantities: list[QuantityKey] = []
        for some in self.quantities:
            quantities += itertools.product(some.operation, some.role, some.metric)
        return list(dict.fromkeys(quantities))

    def words(self, level: str) -> str:
        """Return a level in words."""
        return self.labels.get(level) or describe_level(self.by, level)
