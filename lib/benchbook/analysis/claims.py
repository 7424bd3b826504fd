"""What the papers claim, as data: the form of the claims in `data/claims/<study>.yaml`."""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import override

from benchbook.analysis.published import Called, Key, PublishedRatio, Terms, filled, ratio_of, text
from benchbook.strict import StrictModel

Level: TypeAlias = bool | int | float | str
Levels: TypeAlias = Annotated[tuple[Level, ...], Field(min_length=1)]
Factor: TypeAlias = Annotated[dict[str, Annotated[Levels, Field(min_length=2)]], Field(min_length=1, max_length=1)]
"""One parameter or column with its levels."""

Settings: TypeAlias = dict[str, Level | Levels]
"""Values of columns, parameters, ``operation``, ``role`` or ``metric``; of several, any one may stand."""

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Direction: TypeAlias = Literal["more", "less", "equal", "different"]
Language: TypeAlias = Literal["python", "java", "node"]

LANGUAGES: Final[dict[str, Language]] = {
    **dict.fromkeys(("jackson", "moxy", "jaxb", "jaxb_context", "dom", "xmldecoder"), "java"),
    **dict.fromkeys(("mongoclient", "mongoose"), "node"),
}
"""The language of each codec and driver that is not Python's."""


def several(setting: Level | Levels) -> tuple[Level, ...]:
    """Return the levels of which a setting allows any: those that it names, or the one."""
    return setting if isinstance(setting, tuple) else (setting,)


class Quantity(StrictModel):
    """What is compared: a stored or derived metric of a role in an operation."""

    operation: str
    role: str
    metric: str


class NotComparable(StrictModel):
    """What runs here cannot speak for or against the paper, said before the data."""

    claims: Annotated[tuple[str, ...], Field(min_length=1)]  # ids, or patterns of ids, as ``crud.delete.*``
    at: Settings = {}  # of which comparisons: those with a side that has one of these levels; empty: of all
    why: Text
    remedy: Text  # what would make it comparable


class Stated(StrictModel):
    """What every claim says of itself."""

    id: Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9][a-z0-9-]*)+$")]  # ``<study>.<name>``, unique
    says: Text  # the claim in our own words
    where: Text  # where the paper makes it
    fact: str = ""  # why it cannot fail here: then it is shown as a fact, and is no claim

    @property
    def study(self) -> str:
        """The study whose paper claims it."""
        return self.id.partition(".")[0]


class Unmeasured(Stated):
    """A claim, or a fact, that nothing measured here speaks of; `why` says what it would take."""

    compare: Literal["none"]
    why: str = ""
    published: dict[str, Key] = {}

    @model_validator(mode="after")
    def _has_a_reason(self) -> Self:
        if bool(self.why) == bool(self.fact):
            raise ValueError("why, what it would take to judge it, or fact, why it cannot fail: one of them")
        return self


class Tested(Stated):
    """What every claim has that observations can answer."""

    compare: str
    quantity: Quantity
    at: Settings = {}  # what all sides share; a parameter that is not named stands at its default where it ran there
    # Every combination of these levels is a comparison of its own; a side that names a factor itself keeps its level.
    each: dict[str, Levels] = {}
    pooled: Factor | None = None  # each side is the mean over these levels, as the paper prints the mean of them alone
    languages: tuple[Language, ...] = ()  # those that are asked; all that ran when none is named
    published: dict[str, Key] = {}  # where the paper prints the numbers: for ``a`` and ``b``, or for each ranked
    called: Called = {}
    than: Annotated[float, Field(gt=0)] = 1.0  # the ratio that the claim holds it against: 2 for "more than doubles"
    # Claimed ratios that no published number gives: one for all comparisons, or by their `label`.
    size: Annotated[float, Field(gt=0)] | dict[str, Annotated[float, Field(gt=0)]] = {}
    # The smallest difference that matters: a ratio above 1, fixed before anything was measured.
    margin: Annotated[float, Field(gt=1, le=10)]
    # The same in the metric's unit, for values that can be zero or negative: they have no ratio.
    margin_difference: Annotated[float, Field(gt=0)] | None = None
    difference: bool = False  # compared as a difference, where the paper shows one, though there is a ratio
    why_margin: Text
    in_the_paper: str = ""  # what the paper's own numbers say against its sentence
    not_comparable: tuple[NotComparable, ...] = ()  # those that the file of its study lists

    def combinations(self, language: str | None = None) -> list[dict[str, Level]]:
        """Return the levels of `each`, an empty dictionary where there are none; of a language those it can have."""
        combinations = (dict(zip(self.each, levels, strict=True)) for levels in itertools.product(*self.each.values()))
        return [levels for levels in combinations if language is None or _languages(levels) <= {language}]

    def sides(self) -> dict[str, Settings]:
        """Return what tells the sides apart, by name: ``a`` and ``b``, their ends, those ranked."""
        raise NotImplementedError

    def terms(self) -> list[Terms]:
        """Return the comparisons that the claim makes at each combination, as the sides that multiply and divide."""
        raise NotImplementedError

    def direction(self, terms: Terms) -> Direction:
        """Return in which direction a comparison is claimed."""
        raise NotImplementedError

    @property
    def claimed_in_words(self) -> str:
        """The direction or order that is claimed, in words."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _pools_what_it_does_not_name(self) -> Self:
        for name in self.pooled or ():
            if name in self.at or name in self.each:
                raise ValueError(f"pooled: {name} is named in at or each, too")
        return self

    @model_validator(mode="after")
    def _sizes_are_of_comparisons(self) -> Self:
        known = [label(levels) for levels in self.combinations()]
        unknown = sorted(set(self.size) - set(known)) if isinstance(self.size, dict) else []
        if unknown:
            raise ValueError(f"size: no comparison is called {unknown[0]!r}; there are {', '.join(known) or 'none'}")
        return self


class Directed(Tested):
    """A claim that something is more, less or as much."""

    claimed: Direction

    @override
    def direction(self, terms: Terms) -> Direction:
        return self.claimed

    @property
    @override
    def claimed_in_words(self) -> str:
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
    def terms(self) -> list[Terms]:
        return [((1, "a"), (-1, "b"))]


class Trend(Directed):
    """``a`` takes more, less or as much at the last level of `over` as at its first."""

    compare: Literal["trend"]
    a: Settings = {}
    over: Factor

    @override
    def sides(self) -> dict[str, Settings]:
        return {f"a {end}": {**self.a, **level} for end, level in _ends(self.over).items()}

    @override
    def terms(self) -> list[Terms]:
        return [((1, "a last"), (-1, "a first"))]


class Gap(Directed):
    """``a`` over ``b`` is more, less or as much at the last level of `over` as at its first."""

    compare: Literal["gap"]
    a: Settings
    b: Settings
    over: Factor

    @override
    def sides(self) -> dict[str, Settings]:
        both = {"a": self.a, "b": self.b}
        return {f"{name} {end}": {**both[name], **level} for name in both for end, level in _ends(self.over).items()}

    @override
    def terms(self) -> list[Terms]:
        return [((1, "a last"), (-1, "b last"), (-1, "a first"), (1, "b first"))]


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
    """Who comes first, last, or in which order, among the levels of one factor: a comparison with each other one."""

    compare: Literal["rank"]
    among: Factor
    claimed: Order

    @model_validator(mode="after")
    def _names_those_ranked(self) -> Self:
        (ranked,) = self.among.values()
        unknown = [level for level in self.claimed.named if level not in ranked]
        if unknown:
            raise ValueError(f"claimed: {unknown[0]!r} is not among {', '.join(map(str, ranked))}")
        return self

    @override
    def sides(self) -> dict[str, Settings]:
        return {str(level): {factor: level} for factor, levels in self.among.items() for level in levels}

    @override
    def terms(self) -> list[Terms]:
        if self.claimed.order:
            return [((1, str(before)), (-1, str(after))) for before, after in itertools.pairwise(self.claimed.order)]
        named = str(self.claimed.named[0])
        return [((1, named), (-1, other)) for other in self.sides() if other != named]

    @override
    def direction(self, terms: Terms) -> Direction:
        return "more" if self.claimed.last is not None else "less"

    @property
    @override
    def claimed_in_words(self) -> str:
        order = self.claimed
        if order.order:
            return " < ".join(map(text, order.order))
        return f"first: {text(order.first)}" if order.first is not None else f"last: {text(order.named[0])}"


TestedClaim: TypeAlias = Ratio | Trend | Gap | Rank
Claim: TypeAlias = TestedClaim | Unmeasured


def _languages(levels: Mapping[str, Level]) -> set[str]:
    """Return the languages of some levels, those of codecs and drivers; all languages have the others."""
    return {LANGUAGES.get(str(level), "python") for name, level in levels.items() if name in ("codec", "driver")}


def _ends(over: Factor) -> dict[str, Settings]:
    ((factor, levels),) = over.items()
    return {"first": {factor: levels[0]}, "last": {factor: levels[-1]}}


def label(levels: Mapping[str, Level]) -> str:
    """Return a comparison's name: its levels as ``n=1000, case=1``."""
    return ", ".join(f"{name}={text(level)}" for name, level in levels.items())


def in_words(settings: Settings) -> str:
    """Return settings with their alternatives: ``trials=sequence, heap=64m or default``."""
    return ", ".join(f"{name}={' or '.join(map(text, several(level)))}" for name, level in settings.items())


def asked(claim: Tested, levels: Mapping[str, Level]) -> dict[str, Settings]:
    """Return by a side's name all that a claim asks of it at a combination of levels."""
    common: dict[str, Any] = {**claim.quantity.model_dump(), **claim.at, **levels}
    return {name: {**common, **side} for name, side in claim.sides().items()}


def published_keys(claim: Tested, levels: Mapping[str, Level]) -> dict[str, Key]:
    """Return where the paper prints each side's number, by the sides' names; empty when it does not."""
    keys: dict[str, Key] = {}
    for name, side in claim.sides().items():
        key = claim.published.get(name if isinstance(claim, Rank) else name.partition(" ")[0])
        if key:
            keys[name] = filled(key, claim.called, {**claim.at, **levels, **side})
    return keys


def published_ratio(claim: Tested, levels: Mapping[str, Level], terms: Terms) -> PublishedRatio:
    """Return the ratio that the paper claims or prints for one comparison; NaN where it has none."""
    size = claim.size if isinstance(claim.size, float) else claim.size.get(label(levels))
    if size is not None:
        return PublishedRatio(size, size, size, claim.where)
    return ratio_of(claim.study, terms, published_keys(claim, levels))
