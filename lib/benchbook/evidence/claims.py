"""What the papers claim, as data: the form of the claims in `data/claims/<study>.yaml`."""

import itertools
from collections.abc import Collection, Mapping
from math import sqrt
from statistics import geometric_mean
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import override

from benchbook.evidence.means import convert, unit_of
from benchbook.evidence.published import Called, Key, PublishedRatio, Terms, filled, ratio_of, text
from benchbook.strict import StrictModel

Level: TypeAlias = bool | int | float | str
Levels: TypeAlias = Annotated[tuple[Level, ...], Field(min_length=1)]
Factor: TypeAlias = Annotated[dict[str, Annotated[Levels, Field(min_length=2)]], Field(min_length=1, max_length=1)]
"""One parameter or column with its levels."""

Settings: TypeAlias = dict[str, Level | Levels]
"""Values of columns, parameters, ``operation``, ``role`` or ``metric``; of several, any one may stand."""

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Direction: TypeAlias = Literal["more", "less", "equal", "different"]
Lane: TypeAlias = Literal["python", "java", "node"]
Statistic: TypeAlias = Literal["mean", "deviation", "variation"]
"""Of a block's repetitions: their mean, their standard deviation, or this over the mean's absolute value."""


LANES: Final[dict[str, Lane]] = {
    **dict.fromkeys(("jackson", "moxy", "jaxb", "jaxb_context", "dom", "xmldecoder"), "java"),
    **dict.fromkeys(("mongoclient", "mongoose"), "node"),
}
"""The lane of each codec and driver that is not Python's."""


def several(setting: Level | Levels) -> tuple[Level, ...]:
    """Return the levels of which a setting allows any: those that it names, or the one."""
    return setting if isinstance(setting, tuple) else (setting,)


class Quantity(StrictModel):
    """What is compared: a stored or derived metric of a role in an operation."""

    operation: str
    role: str
    metric: str


class Objection(StrictModel):
    """What somebody could hold against a verdict of *contradicted*, and what is to be said to it."""

    claims: Annotated[tuple[str, ...], Field(min_length=1)]  # against those
    says: Text
    answer: str = ""  # empty: none yet, and so the claim is not called contradicted


class Variation(StrictModel):
    """What of the way in which cells run may change a verdict: levels that the grid has, for a reader to try."""

    claims: Annotated[tuple[str, ...], Field(min_length=1)]  # patterns of ids, as ``crud.delete.*``
    try_: Annotated[dict[str, str | int | bool], Field(min_length=1, alias="try")]  # parameters of the study
    says: Text  # what of the verdict it tests


class Stated(StrictModel):
    """What every claim says of itself."""

    id: Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9][a-z0-9-]*)+$")]  # ``<study>.<name>``, unique
    says: Text  # the claim in our own words
    where: Text  # where the paper makes it

    @property
    def study(self) -> str:
        """The study whose paper claims it."""
        return self.id.partition(".")[0]


class Untestable(Stated):
    """A claim that no observation here can answer; `why` says what it would take."""

    compare: Literal["untestable"]
    why: Text
    published: dict[str, Key] = {}


class Tested(Stated):
    """What every claim has that observations can answer."""

    compare: str
    quantity: Quantity
    at: Settings = {}  # what all sides share; a parameter that is not named stands at its default where it ran there
    # every combination of these levels is a contrast of its own; a side that names a factor itself keeps its own level
    each: dict[str, Levels] = {}
    pooled: Factor | None = None  # each side is the mean over these levels, as the paper prints the mean of them alone
    statistic: Statistic = "mean"  # what of a block's repetitions is compared
    lanes: tuple[Lane, ...] = ()  # those that are asked; all that ran when none is named
    published: dict[str, Key] = {}  # where the paper prints the numbers: for ``a`` and ``b``, or for each ranked
    called: Called = {}
    than: Annotated[float, Field(gt=0)] = 1.0  # the ratio is beyond so much, 2 for "more than doubles": it has no size
    most: bool = False  # whether the paper says it of most contrasts only: then more than half must hold
    # claimed ratios that no published number gives: one for all contrasts, or by their `label`
    size: Annotated[float, Field(gt=0)] | dict[str, Annotated[float, Field(gt=0)]] = {}
    # the ratio up to which a difference does not matter, fixed before anything was measured
    margin: Annotated[float, Field(gt=1, le=10)]
    # the same in the metric's unit, for values that can be zero or negative: they have no ratio
    margin_difference: Annotated[float, Field(gt=0)] | None = None
    why_margin: Text
    why_within: str = ""  # why the paper's own ratio is not beyond the margin (of "equal": not within), where it is not
    objections: tuple[Objection, ...] = ()  # against calling it contradicted: those that the file of its study lists
    variations: tuple[Variation, ...] = ()  # what may change its verdict: likewise

    def contrasts(self, lane: str | None = None) -> list[dict[str, Level]]:
        """Return the levels of each contrast, an empty dictionary for the only one; of a lane, those that it can have.

        A codec or a driver is of one lane alone.
        """
        combinations = (dict(zip(self.each, levels, strict=True)) for levels in itertools.product(*self.each.values()))
        return [levels for levels in combinations if lane is None or _lanes(levels) <= {lane}]

    def sides(self) -> dict[str, Settings]:
        """Return what tells the sides of one contrast apart, by name: ``a`` and ``b``, their ends, those ranked."""
        raise NotImplementedError

    def ratios(self, ran: Collection[str]) -> list[Terms]:
        """Return the ratios that the claim is about: one, or of those ranked that ran, each above 1 in their order."""
        raise NotImplementedError

    def needed(self) -> set[str]:
        """Return the sides without which there is nothing to judge."""
        return set(self.sides())

    @property
    def products(self) -> tuple[str, ...]:
        """The engines over which the claim is made, where they are several: levels of `each`, or those ranked."""
        return _engines(self.each)

    @property
    def divisor(self) -> float:
        """What the ratio is divided by."""
        return 1.0

    @property
    def direction(self) -> str:
        """The direction or order that is claimed, in words."""
        raise NotImplementedError

    @property
    def tolerance(self) -> float:
        """The ratio above 1 up to which an effect over `divisor` does not matter: the margin, of a range its half."""
        return self.margin

    @property
    def tolerance_difference(self) -> float | None:
        """The same as a difference in the metric's unit; None where none is known."""
        return self.margin_difference

    @model_validator(mode="after")
    def _pools_what_it_does_not_name(self) -> Self:
        for name in self.pooled or ():
            if name in self.at or name in self.each:
                raise ValueError(f"pooled: {name} is named in at or each, too")
        return self

    @model_validator(mode="after")
    def _sizes_are_of_contrasts(self) -> Self:
        known = [label(levels) for levels in self.contrasts()]
        if isinstance(self.size, dict) and (unknown := sorted(set(self.size) - set(known))):
            raise ValueError(f"size: no contrast is called {unknown[0]!r}; there are {', '.join(known) or 'none'}")
        return self


class Directed(Tested):
    """A claim that something is more, less or as much."""

    claimed: Direction

    @property
    @override
    def direction(self) -> str:
        return self.claimed


class Ratio(Directed):
    """``a`` takes more, less or as much as ``b``."""

    compare: Literal["ratio"]
    a: Settings
    b: Settings

    @override
    def sides(self) -> dict[str, Settings]:
        return {"a": self.a, "b": self.b}

    @override
    def ratios(self, ran: Collection[str]) -> list[Terms]:
        return [((1, "a"), (-1, "b"))]


class Trend(Directed):
    """``a`` takes more, less or as much at the last level of `over` as at its first; `per_item`: level for level."""

    compare: Literal["trend"]
    a: Settings = {}
    over: Factor
    per_item: bool = False

    @model_validator(mode="after")
    def _has_numbers_per_item(self) -> Self:
        ((factor, levels),) = self.over.items()
        if self.per_item and not all(type(level) in (int, float) for level in levels):
            raise ValueError(f"per_item: the levels of {factor} are no numbers")
        return self

    @override
    def sides(self) -> dict[str, Settings]:
        return {f"a {end}": {**self.a, **level} for end, level in _ends(self.over).items()}

    @override
    def ratios(self, ran: Collection[str]) -> list[Terms]:
        return [((1, "a last"), (-1, "a first"))]

    @property
    @override
    def divisor(self) -> float:
        levels: Any = next(iter(self.over.values()))
        return float(levels[-1] / levels[0]) if self.per_item else 1.0


class Interaction(Directed):
    """``a`` over ``b`` is more, less or as much at the last level of `over` as at its first."""

    compare: Literal["interaction"]
    a: Settings
    b: Settings
    over: Factor

    @override
    def sides(self) -> dict[str, Settings]:
        both = {"a": self.a, "b": self.b}
        return {f"{name} {end}": {**both[name], **level} for name in both for end, level in _ends(self.over).items()}

    @override
    def ratios(self, ran: Collection[str]) -> list[Terms]:
        return [((1, "a last"), (-1, "b last"), (-1, "a first"), (1, "b first"))]


class Bound(Tested):
    """``a`` lies here above, below or between numbers that the paper prints of its own machine."""

    compare: Literal["bound"]
    a: Settings = {}
    above: Annotated[float, Field(gt=0)] | None = None
    below: Annotated[float, Field(gt=0)] | None = None
    unit: Text  # of the numbers: the metric's, or another of its kind; of a variation %

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        if not self._ends or self._ends != sorted(set(self._ends)):
            raise ValueError("above or below, or both to say between which numbers, the smaller above")
        if {*self.each, *self.at, *self.a} & {"metric"}:
            raise ValueError("a bound is of the quantity's own metric")
        convert(1.0, self.unit, self._unit)
        return self

    @property
    def _unit(self) -> str:
        return "%" if self.statistic == "variation" else unit_of(self.quantity.metric)

    @property
    def _ends(self) -> list[float]:
        return [end for end in (self.above, self.below) if end is not None]

    @property
    def claimed(self) -> Direction:
        """On which side of the divisor the value lies; between two numbers it equals their geometric mean."""
        if len(self._ends) == 2:
            return "equal"
        return "less" if self.above is None else "more"

    @override
    def sides(self) -> dict[str, Settings]:
        return {"a": self.a}

    @override
    def ratios(self, ran: Collection[str]) -> list[Terms]:
        return [((1, "a"),)]

    @property
    @override
    def divisor(self) -> float:
        bound = convert(geometric_mean(self._ends), self.unit, self._unit)
        return bound / 100 if self.statistic == "variation" else bound

    @property
    @override
    def tolerance(self) -> float:
        return self.margin * sqrt(self._ends[-1] / self._ends[0])

    @property
    @override
    def tolerance_difference(self) -> float:
        # from the bound to the bound times the tolerance
        return self.margin_difference or self.divisor * (self.tolerance - 1)

    @property
    def against(self) -> str:
        """The divisor in words."""
        middle = "the middle of " if len(self._ends) == 2 else ""
        return f"{middle}{' and '.join(f'{end:g}' for end in self._ends)} {self.unit}"

    @property
    @override
    def direction(self) -> str:
        words = {"less": "below", "more": "above", "equal": "between"}
        return f"{words[self.claimed]} {' and '.join(f'{end:g}' for end in self._ends)} {self.unit}, here"


class Order(StrictModel):
    """Who comes first or last, or the whole order, ascending in the quantity; exactly one of the three."""

    first: Level | None = None
    last: Level | None = None
    order: tuple[Level, ...] = ()

    @property
    def named(self) -> tuple[Level, ...]:
        """Those that the claim names."""
        return self.order or tuple(level for level in (self.first, self.last) if level is not None)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("one of first, last and order, and only one")
        return self


class Rank(Tested):
    """Who comes first, last, or in which order, among the levels of one factor."""

    compare: Literal["rank"]
    among: Factor
    claimed: Order

    @model_validator(mode="after")
    def _names_those_ranked(self) -> Self:
        (ranked,) = self.among.values()
        if unknown := [level for level in self.claimed.named if level not in ranked]:
            raise ValueError(f"claimed: {unknown[0]!r} is not among {', '.join(map(str, ranked))}")
        return self

    @override
    def sides(self) -> dict[str, Settings]:
        return {str(level): {factor: level} for factor, levels in self.among.items() for level in levels}

    @override
    def ratios(self, ran: Collection[str]) -> list[Terms]:
        if self.claimed.order:
            order = [str(level) for level in self.claimed.order if str(level) in ran]
            return [((1, after), (-1, before)) for before, after in itertools.pairwise(order)]
        named = str(self.claimed.named[0])
        others = [name for name in self.sides() if name in ran and name != named]
        first = self.claimed.first is not None
        return [((1, other), (-1, named)) if first else ((1, named), (-1, other)) for other in others]

    @property
    @override
    def products(self) -> tuple[str, ...]:
        return _engines(self.among) or super().products

    @override
    def needed(self) -> set[str]:
        return set() if self.claimed.order else {str(level) for level in self.claimed.named}

    @property
    @override
    def direction(self) -> str:
        order = self.claimed
        if order.order:
            return " < ".join(map(text, order.order))
        return f"first: {text(order.first)}" if order.first is not None else f"last: {text(order.named[0])}"


TestedClaim: TypeAlias = Ratio | Trend | Interaction | Bound | Rank
Claim: TypeAlias = TestedClaim | Untestable


def _engines(levels: Mapping[str, Levels]) -> tuple[str, ...]:
    """Return the engines among some levels when they are two or more."""
    engines = tuple(map(str, levels.get("engine", ())))
    return engines if len(engines) > 1 else ()


def _lanes(levels: Mapping[str, Level]) -> set[str]:
    """Return the lanes of some levels, those of codecs and drivers; all lanes have the others."""
    return {LANES.get(str(level), "python") for name, level in levels.items() if name in ("codec", "driver")}


def _ends(over: Factor) -> dict[str, Settings]:
    ((factor, levels),) = over.items()
    return {"first": {factor: levels[0]}, "last": {factor: levels[-1]}}


def label(levels: dict[str, Level]) -> str:
    """Return a contrast's name: its levels as ``n=1000, case=1``."""
    return ", ".join(f"{name}={text(level)}" for name, level in levels.items())


def in_words(settings: Settings) -> str:
    """Return settings with their alternatives: ``trials=sequence, heap=64m or default``."""
    return ", ".join(f"{name}={' or '.join(map(text, several(level)))}" for name, level in settings.items())


def published_keys(claim: Tested, levels: Mapping[str, Level]) -> dict[str, Key]:
    """Return where the paper prints each side's number, by the sides' names; empty when it does not."""
    keys: dict[str, Key] = {}
    for name, side in claim.sides().items():
        if key := claim.published.get(name if isinstance(claim, Rank) else name.partition(" ")[0]):
            keys[name] = filled(key, claim.called, {**claim.at, **levels, **side})
    return keys


def published_ratio(claim: Tested, levels: dict[str, Level], ran: Collection[str] | None = None) -> PublishedRatio:
    """Return the ratio that the paper claims or prints; of a ranking the smallest lead, among those that ran here."""
    size = claim.size if isinstance(claim.size, float) else claim.size.get(label(levels))
    if size is not None:
        return PublishedRatio(size, size, size, claim.where)
    keys = {name: key for name, key in published_keys(claim, levels).items() if ran is None or name in ran}
    ratios = [ratio_of(claim.study, terms, keys, claim.divisor) for terms in claim.ratios(keys)]
    return min((ratio for ratio in ratios if ratio.source), key=lambda ratio: ratio.ratio, default=PublishedRatio())
