"""What every study shares: the parameters all cells have, the rows it makes, here or on another lane, and their way."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import wraps
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args, get_origin

import pyarrow as pa
from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from typing_extensions import override

from benchbook import lanes, rooms, strict
from benchbook.datasets import Dataset, own_records
from benchbook.digits import plural
from benchbook.folders import Folder
from benchbook.measure import Reading
from benchbook.results.files import typed, write_table
from benchbook.results.schema import CELLS, OBSERVATIONS, OF_AN_ARM, UNITS, VALUES

if TYPE_CHECKING:
    import pandas as pd

strict.print_refusals_in_a_line()

T = TypeVar("T")

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


RoomName: TypeAlias = Annotated[str, BeforeValidator(rooms.canonical)]
"""The room in which a cell's client and servers stand: its name, of what `benchbook.rooms.Room` reads, or ``none``."""


Columns: TypeAlias = dict[str, Any]
"""What rows state of their cell and arm, by the names of `benchbook.results.CELLS`."""

Output: TypeAlias = tuple[str, str, str]
"""What a repetition delivers: operation, role and metric."""


def refuse_lookalike(field: FieldInfo, value: object) -> object:
    """Refuse what only equals a level of a field: ``true`` is not the case 1, nor 10.0 the number 10."""
    levels = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    if type(value) in (bool, float) and value in levels and type(value) not in map(type, levels):
        raise ValueError(f"should be {' or '.join(map(repr, levels))}, not {value!r}")
    return value


class CellParameters(strict.StrictModel):
    """The parameters of every study's cells; a study adds its own.

    The `seed` is the data's; `repetitions` are timed passes inside the cell; the `lane` is the stack that does the
    work; `arm` is ``b`` for the second of two identical arms, and where a cell's sides share a process (``process:
    together``) that cell measures both arms in turn; `dataset_file` holds own records (JSON, CSV or Parquet) in place
    of the study's.
    """

    model_config = ConfigDict(validate_default=True)
    kind_of_name: ClassVar[str] = "parameter"

    seed: int = Field(20150501, ge=0, lt=2**63)
    repetitions: Repetitions = 1
    lane: Literal["python", "java", "node"] = "python"
    arm: Literal["a", "b"] = "a"
    dataset_file: str | None = None

    of_lane: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """What stands for a parameter that is not named, or None, by lane; on the others its default."""

    anywhere: ClassVar[frozenset[str]] = frozenset({"room"})
    """The parameters that make sense of any cell, whatever else it has."""

    @model_validator(mode="before")
    @classmethod
    def _is_the_lanes_own(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        names = {name for own in cls.of_lane.values() for name in own}
        named = {name: value for name, value in given.items() if value is not None or name not in names}
        return {**cls.of_lane.get(str(given.get("lane")), {}), **named}

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, value: object, info: ValidationInfo) -> object:
        return refuse_lookalike(cls.model_fields[str(info.field_name)], value)

    def as_json(self) -> str:
        """Return all parameters as results state them."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)

    def own_records(self) -> Dataset | None:
        """Return the records of the cell's own file, `n` of them; None when it has none.

        Raises `InputError` when they cannot be read, or are not those that a runner planned the cell with.
        """
        if self.dataset_file is None:
            return None
        return own_records.read(self.dataset_file, getattr(self, "n", None), os.environ.get(RECORDS))

    def arms(self) -> list[dict[str, str]]:
        """Return what each arm that the cell measures states on its rows, by column; one that states nothing else."""
        return [{}]

    def identical_arms(self) -> list[dict[str, str]]:
        """Return what the rows of two identical arms that a cell measures in turn state; one that states nothing else.

        A cell with two begins with an untimed pass of everything: what a first use costs would be one arm's alone.
        """
        both = self.arm == "b" and getattr(self, "process", "apart") == "together"
        return [{"arm": "a"}, {"arm": "b"}] if both else [{}]

    def turns(self) -> list[dict[str, str]]:
        """Return what the rows of each arm state, with the identical ones: all that the cell measures in turn."""
        return [{**identical, **arm} for identical in self.identical_arms() for arm in self.arms()]

    def named(self, generated: str) -> str:
        """Return the name of the cell's records: that of its own, as `own_records.read` gives it, else `generated`."""
        return own_records.name(self.dataset_file) if self.dataset_file else generated


class FormatParameters(CellParameters):
    """The parameters of cells whose arms are formats, each with a codec of its own."""

    of_lane: ClassVar = {"java": {"json_codec": "jackson", "xml_codec": "jaxb"}}

    format: Literal["both", "json", "xml"] = "both"
    json_codec: str
    xml_codec: str

    @override
    def arms(self) -> list[dict[str, str]]:
        names = {"xml": self.xml_codec, "json": self.json_codec}
        return [{"format": kind, "codec": name} for kind, name in names.items() if self.format in (kind, "both")]

    def codecs(self) -> list[str]:
        """Return the names of the codecs that take turns, XML's first."""
        return [arm["codec"] for arm in self.arms()]


Asked = TypeVar("Asked", bound=CellParameters)


def state_parameters(run: Callable[[Asked], "pd.DataFrame"]) -> Callable[[Asked], "pd.DataFrame"]:
    """Make a study's ``run`` state on each row the parameters that it was given.

    The runner compares them with its cell's: a notebook can give others.
    """

    @wraps(run)
    def run_and_state(parameters: Asked) -> "pd.DataFrame":
        return run(parameters).assign(parameters=parameters.as_json())

    return run_and_state


def in_turn(sides: Iterable[T], repetition: int) -> list[T]:
    """Return what a process measures in the order of a repetition: in odd ones from the last to the first.

    So neither side is always first, and drift and warming up are shared.
    """
    return [*sides] if repetition % 2 == 0 else [*sides][::-1]


def passes(count: int) -> Iterator[int]:
    """Yield the repetitions' numbers; a notebook that somebody runs by hand says meanwhile which is next.

    It says so between timed passes, twice a second at most; where a runner waits for the rows nothing is said.
    """
    ipython = sys.modules.get("IPython")
    if not ipython or not ipython.get_ipython() or RESULT in os.environ:
        yield from range(count)
        return
    # Only notebooks need it.
    from IPython.display import display

    shown: Any = None
    latest = 0.0
    for repetition in range(count):
        if (now := time.monotonic()) - latest > 0.5:
            latest, line = now, {"text/plain": f"repetition {repetition + 1} of {count}"}
            if shown is None:
                shown = display(line, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                shown.update(line, raw=True)
        yield repetition
    if shown is not None:
        shown.update({"text/plain": f"{plural(count, 'repetition')} measured"}, raw=True)


class Rows:
    """The values of one cell as they are measured."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

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
        """Add one timed section's readings; raises ValueError on what the results' schema does not hold.

        Each covers `count` items. It is `censored` when a wait ran out: the true value is larger. The `columns` are
        those of `benchbook.results.CELLS` that only the study knows, such as ``dataset_sha256``.
        """
        if unknown := sorted(set(columns) - set(CELLS.names)):
            raise ValueError(f"the results have no column {', '.join(unknown)}")
        section = {"repetition": repetition, "operation": operation, "count": count, "started_at": started_at}
        for reading in readings:
            if UNITS.get(reading.metric) != reading.unit:
                raise ValueError(f"the results hold no metric {reading.metric!r} in {reading.unit}")
            measured = {**asdict(reading), "value": float(reading.value), "resolution": float(reading.resolution)}
            self._rows.append({**section, **measured, "censored": censored, **columns})

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
        **columns: Any,
    ) -> None:
        """Add one value that no meter read, such as a size; the unit is the metric's. Else as `add`."""
        unit = UNITS.get(metric, "")
        self.add(repetition, operation, [Reading(metric, role, value, unit, source, resolution)], count, **columns)

    def add_unmeasured(self, expected: set[Output], repetitions: Iterable[int], reason: str, columns: Columns) -> None:
        """Add what these repetitions still owe: rows without a number (NaN), censored, with the reason as source.

        Counted are the rows of the arm that `columns` name.
        """
        arm = {name: columns[name] for name in OF_AN_ARM if name in columns}
        owed = {(repetition, *output) for repetition in repetitions for output in expected}
        for row in self._rows:
            if arm.items() <= row.items():
                owed.discard((row["repetition"], row["operation"], row["role"], row["metric"]))
        for value in sorted(owed):
            self.add_value(
                *value, nan, f"not measured: {reason}", nan, 0, started_at=datetime.now(UTC), censored=True, **columns
            )

    def frame(self) -> "pd.DataFrame":
        """Return one row a value: the columns of `benchbook.results.VALUES`, then those the study added."""
        # Only now: who plans cells makes no frame, and it is slow to import.
        import pandas as pd

        names = [*VALUES.names, *(name for name in CELLS.names if any(name in row for row in self._rows))]
        rows = [{name: row.get(name) for name in names} for row in self._rows]
        schema = pa.schema([OBSERVATIONS.field(name) for name in names])
        frame: pd.DataFrame = typed(pd.DataFrame(rows, columns=names), schema).to_pandas()
        return frame


def on_lane(
    parameters: CellParameters,
    study: str,
    columns: Columns,
    *,
    data: bytes,
    leaves: Callable[[Path], None] | None = None,
    **addresses: Any,
) -> tuple[Rows, lanes.Closing]:
    """Run a cell on its lane and return its rows and what closed the answer; raises `benchbook.lanes.LaneError`.

    The harness gets all of the cell's parameters, and the `data` that it is to work on in a file of JSON. The
    `addresses` are the servers' ``url`` and ``replica_url``, the ``database`` to work in, and the servers' processes
    on this machine, ``pids``. What the harness `leaves` in its folder can be read by whoever is called with it,
    before it is removed.
    """
    with Folder("cell") as folder:
        file = folder / "data.json"
        file.write_bytes(data)
        asked = parameters.model_dump(mode="json")
        answer, closing = lanes.run(parameters.lane, study, asked, str(folder), data=str(file), **addresses)
        if leaves:
            leaves(folder)
    rows = Rows()
    program = {"driver_version": closing.driver, "runtime": closing.runtime, "heap_limit": closing.heap_limit}
    for repetition in answer:
        for section in repetition.sections:
            given = {**columns, **program, **section.arm}
            about = {name: value for name, value in given.items() if value is not None}
            for readings, censored in ((section.readings, False), (section.censored, True)):
                rows.add(
                    repetition.number,
                    section.operation,
                    readings,
                    section.count,
                    started_at=section.started_at,
                    censored=censored,
                    **about,
                )
    return rows, closing


def deliver(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Hand the rows that a study's ``run`` returned to the runner, when one waits for them, and return them.

    Raises ValueError when they do not fit the results' schema.
    """
    table = typed(frame, OBSERVATIONS)
    if target := os.environ.get(RESULT):
        write_table(Path(target), table)
    return frame
