"""Which results of earlier versions answer the same question as today's cells.

``pooled.yaml`` says it for each older version of a unit, with the reason; what it does not name
does not count. Begin with `list_counted_versions`.
"""

from collections.abc import Mapping
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


def list_counted_versions(
    study: str, parameters: CellParameters
) -> list[tuple[Versions, Operations]]:
    """Return the versions of results that count for a cell, with the operations that count.

    Today's versions are the first.
    """
    # Each unit has today's version, and older ones that answer the same question.
    choices: list[list[tuple[int | str, Operations]]] = []
    today = read_versions(study, parameters)
    for unit, version in today.items():
        choices.append([(version, None)])
        for pooled in load_pooled_versions():
            if pooled.unit == unit and pooled.has_cell(parameters):
                choices[-1].append((pooled.version, frozenset(pooled.operations) or None))

    # All combinations; an operation counts if it does for each unit.
    counted: list[tuple[Versions, Operations]] = []
    for chosen in product(*choices):
        versions = dict(zip(today, [version for version, _ in chosen], strict=True))
        limits = [operations for _, operations in chosen if operations is not None]
        counted.append((versions, frozenset.intersection(*limits) if limits else None))
    return counted
