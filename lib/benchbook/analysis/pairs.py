"""What the papers compare, level by level, as data: its form in `data/claims/<study>.yaml`."""

import itertools
from typing import Annotated

from pydantic import Field

from benchbook.analysis.block_means import Triple
from benchbook.analysis.claims import Settings, Text, several
from benchbook.analysis.published import Called, CellSettings, Key
from benchbook.registry import STORES, title
from benchbook.strict import StrictModel


class Quantities(StrictModel):
    """Every combination of some operations, roles and metrics."""

    operation: tuple[str, ...]
    role: tuple[str, ...]
    metric: tuple[str, ...]


class Each(StrictModel):
    """Each level over each later one; the level ``stores`` stands for all other stores that the registry knows."""

    each: tuple[str, ...]


class PublishedAt(StrictModel):
    """Where a paper prints the numbers of some quantities."""

    metric: tuple[str, ...]
    operation: tuple[str, ...] = ()  # every one when none is named
    at: Settings = Field(default_factory=dict)  # the levels that they are printed for
    key: Key  # ``{name}`` stands for a side's level, as the paper calls it
    note: str = ""  # what kind of number it is

    def holds(self, quantity: Triple, settings: CellSettings) -> bool:
        """Return whether the numbers are of that operation, role and metric, with those settings."""
        if quantity[2] not in self.metric or (self.operation and quantity[0] not in self.operation):
            return False
        return all(settings.get(name) in several(level) for name, level in self.at.items())


class Pairs(StrictModel):
    """What a paper compares, level by level of all else; it is tested, not judged."""

    name: Text
    by: Text  # the column or parameter whose level tells the sides apart
    pairs: Each | Annotated[tuple[tuple[str, str], ...], Field(min_length=1)]  # the sides' levels
    quantities: Annotated[tuple[Quantities, ...], Field(min_length=1)]
    shown: tuple[str, ...]  # parameters that are shown beside it
    labels: dict[str, str] = Field(default_factory=dict)  # the levels in words; databases have their titles
    loose: tuple[str, ...] = ()  # what may differ with the sides, columns and parameters; all others are the same
    published: bool = True  # False when the paper's ratio is of something else
    missing: bool = False  # True when a side that is missing beside the other is stated
    study: str = ""  # whose, where the paper prints it and what it calls the levels there: as the file says
    places: tuple[PublishedAt, ...] = ()
    called: Called = Field(default_factory=dict)

    def every_pair(self) -> list[tuple[str, str]]:
        """Return the levels of all pairs, the first over the second."""
        if isinstance(self.pairs, Each):
            others = [name for name in STORES if name not in self.pairs.each]
            levels = [name for level in self.pairs.each for name in (others if level == "stores" else [level])]
            return list(itertools.combinations(levels, 2))
        return list(self.pairs)

    def every_quantity(self) -> list[Triple]:
        """Return the quantities (operation, role, metric), each once."""
        combinations = (itertools.product(some.operation, some.role, some.metric) for some in self.quantities)
        return list(dict.fromkeys(itertools.chain.from_iterable(combinations)))

    def words(self, level: str) -> str:
        """Return a level in words."""
        return self.labels.get(level) or (title(level) if self.by == "database" else level)
