"""What every study shares: the parameters all cells have, the rows it collects, and where they go."""

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin

import pandas as pd
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from benchbook.datasets import Dataset, own_records
from benchbook.measure import Reading
from benchbook.results.files import typed, write_table
from benchbook.results.schema import CELLS, OBSERVATIONS, UNITS, VALUES

RESULT: Final = "BENCHBOOK_RESULT"
"""Environment variable that names the file into which a runner wants a cell's rows."""

RECORDS: Final = "BENCHBOOK_RECORDS"
"""Environment variable with the digest of the own records that a runner planned a cell with."""

Count: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000)]
"""Records or objects of a cell: ten times the papers' most, and more than a machine's memory holds of most."""

Repetitions: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]
"""Timed passes inside a cell: a hundred times the papers' most."""

Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
"""A wait: a day at most."""


class CellParameters(BaseModel):
    """The parameters of every study's cells; a study adds its own.

    Parameters
    ----------
    seed
        Of the data.
    repetitions
        Timed passes inside the cell.
    lane
        The stack that does the work.
    arm
        ``b`` for the second of two identical arms.
    dataset_file
        Own records (JSON Lines or CSV) in place of the study's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)

    seed: int = Field(20150501, ge=0, lt=2**63)
    repetitions: Repetitions = 1
    lane: Literal["python", "java", "node"] = "python"
    arm: Literal["a", "b"] = "a"
    dataset_file: str | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what only equals a level: ``true`` is not the case 1, nor 10.0 the number 10."""
        form = cls.model_fields[str(info.field_name)].annotation
        levels = get_args(form) if get_origin(form) is Literal else ()
        if type(value) in (bool, float) and value in levels and type(value) not in map(type, levels):
            raise ValueError(f"should be {' or '.join(map(repr, levels))}")
        return value

    def own_records(self) -> Dataset | None:
        """Return the records of the cell's own file, `n` of them; None when it has none.

        Raises
        ------
        InputError
            When they cannot be read, or are not those that a runner planned the cell with.
        """
        if self.dataset_file is None:
            return None
        return own_records.read(self.dataset_file, getattr(self, "n", None), os.environ.get(RECORDS))

    def named(self, generated: str) -> str:
        """Return the name of the cell's records: that of its own, as `own_records.read` gives it, else `generated`."""
        return f"own-{Path(self.dataset_file).stem}" if self.dataset_file else generated


class Rows:
    """The values of one cell as they are measured."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def add(
        self,
        repetition: int,
        operation: str,
        readings: Iterable[Reading],
        count: int,
        *,
        started_at: datetime,
        censored: bool = False,
        **columns: Any,
    ) -> None:
        """Add one timed section's readings.

        Parameters
        ----------
        repetition, operation
            Which pass, from 0, and what it did.
        readings
            What `benchbook.measure.timed` returned.
        count
            Items that each value covers.
        started_at
            When the section began, in UTC.
        censored
            True when a wait ran out: the true value is larger.
        **columns
            Columns of `benchbook.results.CELLS` that only the study knows, such as ``dataset_sha256``.

        Raises
        ------
        ValueError
            When a metric, unit or column is not one of the results' schema.
        """
        for reading in readings:
            if UNITS.get(reading.metric) != reading.unit:  # type: ignore[call-overload]
                raise ValueError(f"the results hold no metric {reading.metric!r} in {reading.unit}")
            self._rows.append(
                {
                    "repetition": repetition,
                    "operation": operation,
                    "role": reading.role,
                    "metric": reading.metric,
                    "value": float(reading.value),
                    "unit": reading.unit,
                    "count": count,
                    "censored": censored,
                    "source": reading.source,
                    "resolution": float(reading.resolution),
                    "started_at": started_at,
                    **_known(columns),
                }
            )

    def add_value(
        self,
        repetition: int,
        operation: str,
        role: str,
        metric: str,
        value: float,
        source: str,
        resolution: float,
        count: int,
        *,
        started_at: datetime,
        censored: bool = False,
        **columns: Any,
    ) -> None:
        """Add one value that no meter read, such as a size; the unit is the metric's. Else as `add`."""
        unit = UNITS.get(metric, "")  # type: ignore[call-overload]
        reading = Reading(metric, role, value, unit, source, resolution)
        self.add(repetition, operation, [reading], count, started_at=started_at, censored=censored, **columns)

    def frame(self) -> pd.DataFrame:
        """Return one row a value: the columns of `benchbook.results.VALUES`, then those the study added."""
        names = [*VALUES.names, *(name for name in CELLS.names if any(name in row for row in self._rows))]
        rows = [{name: row.get(name) for name in names} for row in self._rows]
        schema = pa.schema([OBSERVATIONS.field(name) for name in names])
        frame: pd.DataFrame = typed(pd.DataFrame(rows, columns=names), schema).to_pandas()
        return frame


def _known(columns: dict[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(columns) - set(CELLS.names)):
        raise ValueError(f"the results have no column {', '.join(unknown)}")
    return columns


def deliver(frame: pd.DataFrame) -> pd.DataFrame:
    """Hand a cell's rows to the runner, when one waits for them, and return them.

    Parameters
    ----------
    frame
        What a study's ``run`` returned.

    Raises
    ------
    ValueError
        When the rows do not fit the results' schema.
    """
    table = typed(frame, OBSERVATIONS)
    if target := os.environ.get(RESULT):
        write_table(Path(target), table)
    return frame
