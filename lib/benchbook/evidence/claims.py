"""What the papers claim, as testable statements: the form of `data/claims/<study>.yaml`."""

import itertools
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

Level: TypeAlias = bool | int | float | str
Levels: TypeAlias = Annotated[tuple[Level, ...], Field(min_length=1)]
Settings: TypeAlias = dict[str, Level | Levels]
"""Values of columns, parameters, ``operation``, ``role`` or ``metric``; of several, any one may stand."""

Key: TypeAlias = tuple[str, str, str]
"""Source, row and column of a number in `data/published`; ``{name}`` stands for that factor's level."""

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Direction: TypeAlias = Literal["more", "less", "equal"]


class Strict(BaseModel):
    """Exactly the keys of its form, each of exactly its type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Quantity(Strict):
    """What is compared: a stored or derived metric of a role in an operation."""

    operation: str
    role: str
    metric: str


class Stated(Strict):
    """What every claim says of itself.

    Parameters
    ----------
    id
        ``<study>.<name>``, unique over all files.
    says
        The claim in our own words.
    where
        Where the paper makes it.
    """

    id: Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9][a-z0-9-]*)+$")]
    says: Text
    where: Text

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
    """What every claim has that observations can answer.

    Parameters
    ----------
    quantity
        What is compared.
    at
        What all sides have in common. A parameter that is not named stands at the study's default where it ran there.
    each
        The levels of which every combination is a contrast of its own; its names may also be those of `quantity`.
    published
        Where the paper prints the numbers: for ``a`` and ``b``, or for each of those ranked.
    called
        What the paper calls a factor's levels, by factor and level: the word that stands in a published number's key.
    size
        Claimed ratios that no published number gives: one for all contrasts, or by their `label`.
    than
        A claimed bound: the ratio is above (or below) so much, 2 for "more than doubles". It has no size to meet.
    most
        True when the paper says it of most contrasts only: then more than half must hold.
    margin
        The ratio above 1 up to which a difference does not matter, fixed before anything was measured.
    why_margin
        Why so much.
    """

    compare: str
    quantity: Quantity
    at: Settings = {}
    each: dict[str, Levels] = {}
    published: dict[str, Key] = {}
    called: dict[str, dict[str, str]] = {}
    than: Annotated[float, Field(gt=0)] = 1.0
    most: bool = False
    size: Annotated[float, Field(gt=0)] | dict[str, Annotated[float, Field(gt=0)]] = {}
    margin: Annotated[float, Field(gt=1, le=10)]
    why_margin: Text

    def contrasts(self) -> list[dict[str, Level]]:
        """Return the levels of each contrast, an empty dictionary for the only one."""
        return [dict(zip(self.each, levels, strict=True)) for levels in itertools.product(*self.each.values())]

    @model_validator(mode="after")
    def _sizes_are_of_contrasts(self) -> Self:
        known = [label(levels) for levels in self.contrasts()]
        if isinstance(self.size, dict) and (unknown := sorted(set(self.size) - set(known))):
            raise ValueError(f"size: no contrast is called {unknown[0]!r}; there are {', '.join(known) or 'none'}")
        return self


class Ratio(Tested):
    """``a`` takes more, less or as much as ``b``."""

    compare: Literal["ratio"]
    a: Settings
    b: Settings
    claimed: Direction
    test: Literal["ratio"] = "ratio"


class Trend(Tested):
    """``a`` takes more, less or as much at the last level of `over` as at its first; `per_item`: level for level."""

    compare: Literal["trend"]
    a: Settings = {}
    over: dict[str, Annotated[Levels, Field(min_length=2)]]
    per_item: bool = False
    claimed: Direction
    test: Literal["ratio"] = "ratio"

    @model_validator(mode="after")
    def _has_one_factor(self) -> Self:
        factor = one_factor(self.over, "over")
        if self.per_item and not all(type(level) in (int, float) for level in self.over[factor]):
            raise ValueError(f"per_item: the levels of {factor} are no numbers")
        return self


class Interaction(Tested):
    """``a`` over ``b`` is more, less or as much at the last level of `over` as at its first."""

    compare: Literal["interaction"]
    a: Settings
    b: Settings
    over: dict[str, Annotated[Levels, Field(min_length=2)]]
    claimed: Direction
    test: Literal["ratio"] = "ratio"

    @model_validator(mode="after")
    def _has_one_factor(self) -> Self:
        one_factor(self.over, "over")
        return self


class Order(Strict):
    """Who comes first or last, or the whole order, ascending in the quantity; exactly one of the three."""

    first: Level | None = None
    last: Level | None = None
    order: tuple[Level, ...] = ()

    @property
    def named(self) -> tuple[Level, ...]:
        """Those that the claim names."""
        return self.order or tuple(one for one in (self.first, self.last) if one is not None)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("one of first, last and order, and only one")
        return self


class Rank(Tested):
    """Who comes first, last, or in which order, among the levels of one factor."""

    compare: Literal["rank"]
    among: dict[str, Annotated[Levels, Field(min_length=2)]]
    claimed: Order
    test: Literal["bootstrap over blocks"] = "bootstrap over blocks"

    @model_validator(mode="after")
    def _names_those_ranked(self) -> Self:
        ranked = self.among[one_factor(self.among, "among")]
        if unknown := [one for one in self.claimed.named if one not in ranked]:
            raise ValueError(f"claimed: {unknown[0]!r} is not among {', '.join(map(str, ranked))}")
        return self


Claim: TypeAlias = Ratio | Trend | Interaction | Rank | Untestable


def one_factor(levels: dict[str, Any], name: str) -> str:
    """Return the only factor of `over` or `among`."""
    if len(levels) != 1:
        raise ValueError(f"{name}: one factor with its levels, not {len(levels)}")
    return next(iter(levels))


def label(levels: dict[str, Level]) -> str:
    """Return a contrast's name: its levels as ``n=1000, case=1``."""
    return ", ".join(f"{name}={text(level)}" for name, level in levels.items())


def text(level: Level) -> str:
    """Return a level as YAML writes it."""
    return str(level).lower() if isinstance(level, bool) else str(level)
