"""What all studies share: parameters of every cell, and rows, made here or by another language's harness."""

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
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
)

import pyarrow as pa
from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from typing_extensions import override

from benchbook import languages, networks, strict
from benchbook.datasets import Dataset, own_records
from benchbook.digits import plural
from benchbook.folders import Folder
from benchbook.inputs import InputError
from benchbook.measure import Reading
from benchbook.results.files import typed, typed_with_parameters, write_table
from benchbook.results.schema import CELLS, OBSERVATIONS, OF_AN_ARM, UNITS, VALUES, parameter_column

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


NetworkName: TypeAlias = Annotated[str, BeforeValidator(networks.canonical)]
"""The name of a cell's network, as `benchbook.networks.Network` reads it, or ``none``."""


Columns: TypeAlias = dict[str, Any]
"""What rows state of their cell and arm, by the names of `benchbook.results.CELLS`."""

RESERVED: Final = frozenset({*OBSERVATIONS.names}) - {
    *OF_AN_ARM,
    *("dataset_file", "durability", "heap_limit", "language", "n", "repetitions", "seed", "topology", "transport"),
}
"""Columns of results that say something else than a parameter of the same name would."""

Output: TypeAlias = tuple[str, str, str]
"""What a repetition delivers: operation, role and metric."""


def write_levels(levels: Mapping[str, Any]) -> str:
    """Return the levels of a cell's parameters as JSON, without those that are None: equal cells have equal texts."""
    return json.dumps({name: level for name, level in levels.items() if level is not None}, sort_keys=True)


def _list_levels(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def _is_mixed(field: FieldInfo) -> bool:
    """Return whether a parameter has numbers as well as texts as levels."""
    return len({type(level) for level in _list_levels(field)}) > 1


def refuse_lookalike(field: FieldInfo, value: object) -> object:
    """Refuse what only equals a level of a field: ``true`` is not the case 1, nor 10.0 the number 10."""
    levels = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    if type(value) in (bool, float) and value in levels and type(value) not in map(type, levels):
        raise ValueError(f"should be {' or '.join(map(repr, levels))}, not {value!r}")
    return value


class CellParameters(strict.StrictModel):
    """The parameters of every study's cells; a study adds its own.

    The `seed` is the data's; `repetitions` are timed passes inside the cell; the `language` is the stack that does the
    work; `arm` is ``b`` for the second of two identical arms, and where a cell's sides share a process (``process:
    together``) that cell measures both arms in turn; `dataset_file` holds own records (JSON, CSV or Parquet) in place
    of the study's.
    """

    model_config = ConfigDict(validate_default=True)
    kind_of_name: ClassVar[str] = "parameter"

    seed: int = Field(20150501, ge=0, lt=2**63)
    repetitions: Repetitions = 1
    language: Literal["python", "java", "node"] = "python"
    arm: Literal["a", "b"] = "a"
    dataset_file: str | None = None

    language_levels: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """What stands for a parameter that is not named, or None, by language; on the others its default."""

    anywhere: ClassVar[frozenset[str]] = frozenset({"network"})
    """The parameters that make sense of any cell, whatever else it has."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name in cls.model_fields:
            if name in RESERVED:
                raise TypeError(
                    f"parameter {name!r} of {cls.__module__} has the name of a column of results: rename it"
                )

    @model_validator(mode="before")
    @classmethod
    def _take_languages_levels(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        names = {name for own in cls.language_levels.values() for name in own}
        named = {name: value for name, value in given.items() if value is not None or name not in names}
        return {**cls.language_levels.get(str(given.get("language")), {}), **named}

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, value: object, info: ValidationInfo) -> object:
        return refuse_lookalike(cls.model_fields[str(info.field_name)], value)

    @classmethod
    def of(cls, names: Mapping[str, Any]) -> Self:
        """Return the parameters from a mapping that names each of them, such as a notebook's ``globals()``.

        Raises `InputError` when one is missing: its default would be measured in place of a level that was meant.
        """
        missing = [name for name in cls.model_fields if name not in names]
        if missing:
            reason = f"{', '.join(missing)}: no such name: assign it in the notebook cell with the tag parameters"
            raise InputError("parameters", reason)
        return cls(**{name: names[name] for name in cls.model_fields})

    def as_json(self) -> str:
        """Return the levels of all parameters that have one, by which a plan knows the cell."""
        return write_levels(self.model_dump(mode="json"))

    def as_columns(self) -> dict[str, Any]:
        """Return the levels by the columns in which results state them.

        Levels of a parameter that are numbers as well as texts, such as ``all`` and 10000, are all written as texts.
        """
        columns = {}
        for name, level in self.model_dump(mode="json").items():
            if level is not None:
                mixed = _is_mixed(type(self).model_fields[name])
                columns[parameter_column(name)] = str(level) if mixed else level
        return columns

    @classmethod
    def read_levels(cls, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the level of each parameter that a row of results states."""
        levels: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            level = row.get(parameter_column(name))
            if level is None or level != level:  # NaN, where a frame has cells of several studies
                continue
            if _is_mixed(field):
                level = next((one for one in _list_levels(field) if str(one) == level), level)
            else:
                kinds: set[Any] = {type(one) for one in _list_levels(field)} or {field.annotation}
                (kind,) = kinds
                level = kind(level) if kind in (bool, int, float) else level
            levels[name] = level
        return levels

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

    language_levels: ClassVar = {"java": {"json_codec": "jackson", "xml_codec": "jaxb"}}

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

    Each has a column. The runner compares them with its cell's: a notebook can give others.
    """

    @wraps(run)
    def run_and_state(parameters: Asked) -> "pd.DataFrame":
        return run(parameters).assign(**parameters.as_columns())

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
        timed_out: bool = False,
        **columns: Any,
    ) -> None:
        """Add one timed section's readings; raises ValueError on what the results' schema does not hold.

        Each covers `count` items. It is `timed_out` when a wait ran out: the true value is larger. The `columns` are
        those of `benchbook.results.CELLS` that only the study knows, such as ``dataset_sha256``.
        """
        if unknown := sorted(set(columns) - set(CELLS.names)):
            raise ValueError(f"the results have no column {', '.join(unknown)}")
        section = {"repetition": repetition, "operation": operation, "count": count, "started_at": started_at}
        for reading in readings:
            if UNITS.get(reading.metric) != reading.unit:
                raise ValueError(f"the results hold no metric {reading.metric!r} in {reading.unit}")
            measured = {**asdict(reading), "value": float(reading.value), "resolution": float(reading.resolution)}
            self._rows.append({**section, **measured, "timed_out": timed_out, **columns})

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
        """Add what these repetitions still owe: rows without a number (NaN), timed out, with the reason as source.

        Counted are the rows of the arm that `columns` name.
        """
        arm = {name: columns[name] for name in OF_AN_ARM if name in columns}
        owed = {(repetition, *output) for repetition in repetitions for output in expected}
        for row in self._rows:
            if arm.items() <= row.items():
                owed.discard((row["repetition"], row["operation"], row["role"], row["metric"]))
        for value in sorted(owed):
            self.add_value(
                *value, nan, f"not measured: {reason}", nan, 0, started_at=datetime.now(UTC), timed_out=True, **columns
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


def run_in_language(
    parameters: CellParameters,
    study: str,
    columns: Columns,
    *,
    data: bytes,
    leaves: Callable[[Path], None] | None = None,
    **addresses: Any,
) -> tuple[Rows, languages.Closing]:
    """Run a cell in its language; return its rows and what closed the answer. Raises `languages.LanguageError`.

    The harness gets all of the cell's parameters, and the `data` that it is to work on in a file of JSON. The
    `addresses` are the servers' ``url`` and ``replica_url``, the ``database`` to work in, and the servers' processes
    on this machine, ``pids``. What the harness `leaves` in its folder can be read by whoever is called with it,
    before it is removed.
    """
    with Folder("cell") as folder:
        file = folder / "data.json"
        file.write_bytes(data)
        asked = parameters.model_dump(mode="json")
        answer, closing = languages.run(parameters.language, study, asked, str(folder), data=str(file), **addresses)
        if leaves:
            leaves(folder)
    rows = Rows()
    program = {"driver_version": closing.driver, "runtime": closing.runtime, "heap_limit": closing.heap_limit}
    for repetition in answer:
        for section in repetition.sections:
            given = {**columns, **program, **section.arm}
            about = {name: value for name, value in given.items() if value is not None}
            for readings, timed_out in ((section.readings, False), (section.timed_out, True)):
                rows.add(
                    repetition.number,
                    section.operation,
                    readings,
                    section.count,
                    started_at=section.started_at,
                    timed_out=timed_out,
                    **about,
                )
    return rows, closing


def deliver(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Hand the rows that a study's ``run`` returned to the runner, when one waits for them, and return them.

    Raises ValueError when they do not fit the results' schema.
    """
    table = typed_with_parameters(frame)
    if target := os.environ.get(RESULT):
        write_table(Path(target), table)
    return frame
