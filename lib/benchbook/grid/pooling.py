"""Which results of earlier versions answer the same question as today's cells.

``pooled.yaml`` says it for each older version of a unit, with the reason; what it does not name
does not count. Begin with `find_counted_operations`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import Field

from benchbook.files.yaml_file import StrictModel, load_yaml
from benchbook.grid.units import read_versions
from benchbook.results.folder import Operations
from benchbook.studies.cell import CellParameters

POOLED: Final = Path(__file__).with_name("pooled.yaml")

Versions: TypeAlias = Mapping[str, int | str]
"""The version of each unit that measured a cell, or the digest of its code where that changed."""

NO_OPERATIONS: Final = frozenset[str]()
"""Of a result that does not count."""


class PooledVersion(StrictModel):
    """An older version of a unit that answers the same question as today's."""

    unit: str
    version: int = Field(ge=1)
    why: str = Field(min_length=1)
    operations: tuple[str, ...] = ()
    levels: dict[str, tuple[Any, ...]] = Field(default_factory=dict)

    def has_cell(self, parameters: CellParameters) -> bool:
        """Return whether it holds for a cell."""
        levels = parameters.model_dump(mode="json")
        return all(levels.get(name) in known for name, known in self.levels.items())


class PooledFile(StrictModel):
    """The contents of `POOLED`."""

    pooled: tuple[PooledVersion, ...]


@cache
def load_pooled_versions() -> tuple[PooledVersion, ...]:
    """Return the older versions that ``pooled.yaml`` names."""
    return load_yaml(POOLED).validate(PooledFile).pooled


def find_counted_operations(
    today: Versions, parameters: CellParameters, versions: Versions
) -> Operations:
    """Return which operations of a result count for a cell of today, or `NO_OPERATIONS`.

    Parameters
    ----------
    today
        The versions of the cell's units.
    parameters
        The levels of the cell, and of the result.
    versions
        The versions of the units that measured the result.
    """
    if today.keys() != versions.keys():
        return NO_OPERATIONS
    counted: Operations = None
    for unit, version in today.items():
        if versions[unit] == version:
            continue
        pooled = _find_pooled_version(unit, versions[unit], parameters)
        if pooled is None:
            return NO_OPERATIONS
        if pooled.operations:
            operations = frozenset(pooled.operations)
            counted = operations if counted is None else counted & operations
    return counted


def list_counted_versions(
    study: str, parameters: CellParameters
) -> Iterator[tuple[Versions, Operations]]:
    """Yield the versions of results that count for a cell, today's first, and what counts."""
    today = read_versions(study, parameters)
    choices = []
    for unit, version in today.items():
        older = [
            pooled.version
            for pooled in load_pooled_versions()
            if pooled.unit == unit and pooled.has_cell(parameters)
        ]
        choices.append([version, *older])
    for chosen in product(*choices):
        versions = dict(zip(today, chosen, strict=True))
        yield versions, find_counted_operations(today, parameters, versions)


def _find_pooled_version(
    unit: str, version: int | str, parameters: CellParameters
) -> PooledVersion | None:
    for pooled in load_pooled_versions():
        if (pooled.unit, pooled.version) == (unit, version) and pooled.has_cell(parameters):
            return pooled
    return None
