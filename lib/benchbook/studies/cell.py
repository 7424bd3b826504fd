"""The parameters of every study's cells, and the rows that a cell delivers.

A study runs its cell here, or in another language's harness: `benchbook.studies.language_cell`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import wraps
from itertools import product
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
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from typing_extensions import override

from benchbook.datasets.dataset import Dataset
from benchbook.files import yaml_file
from benchbook.files.inputs import InputError
from benchbook.measure import Reading
from benchbook.own_data import own_records
from benchbook.results.files import build_inferred_table, build_table, write_table
from benchbook.results.schema import (
    ALTERNATING_COLUMNS,
    CELLS,
    METRIC_UNITS,
    OBSERVATIONS,
    VALUES,
    name_parameter_column,
)
from benchbook.servers import networks
from benchbook.studies.assigned_names import find_unknown_names
from benchbook.text.number_format import format_count, format_duration
from benchbook.text.suggestions import suggest_name

if TYPE_CHECKING:
    import pandas as pd

yaml_file.print_refusals_on_one_line()

T = TypeVar("T")

RESULT_VARIABLE: Final = "BENCHBOOK_RESULT"
"""Environment variable with the path to which a cell's rows are written for the runner."""

NOISE_ATTRIBUTE: Final = "noise"
"""The attribute of rows with the load that disturbed their measuring, in words; empty: none."""

RECORDS_VARIABLE: Final = "BENCHBOOK_RECORDS"
"""Environment variable with the path to which the runner wrote the cell's records of a user."""

Count: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000)]
"""Records or objects of a cell: at most ten times the papers' largest number."""

Repetitions: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]
"""Timed passes inside a cell: at most a hundred times the papers' largest number."""

Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
"""A timeout of at most a day."""

NetworkName: TypeAlias = Annotated[str, BeforeValidator(networks.normalize_network)]
"""The name of a cell's network, as `benchbook.servers.networks.Network` reads it, or ``none``."""

Columns: TypeAlias = dict[str, Any]
"""Values of columns of `benchbook.results.schema.CELLS`, by the columns' names."""

RESERVED_NAMES: Final = frozenset({*OBSERVATIONS.names}) - {
    *ALTERNATING_COLUMNS,
    *(
        "dataset_file",
        "durability",
        "heap_limit",
        "language",
        "n",
        "repetitions",
        "seed",
        "topology",
        "transport",
    ),
}
"""Columns of results that parameters cannot be named after, because they mean something else."""

Output: TypeAlias = tuple[str, str, str]
"""Operation, role and metric of a value that a repetition delivers."""


def write_levels(levels: Mapping[str, Any]) -> str:
    """Return a cell's levels as JSON, without None; equal cells have equal texts."""
    stated = {name: level for name, level in levels.items() if level is not None}
    return json.dumps(stated, sort_keys=True)


def _list_levels(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def _is_mixed(field: FieldInfo) -> bool:
    """Return whether a parameter's levels are of several types."""
    return len({type(level) for level in _list_levels(field)}) > 1


def refuse_lookalike(field: FieldInfo, value: object) -> object:
    """Return a parameter's value.

    Raises ValueError when it equals a level but has another type: ``true`` is not 1, nor 10.0 the
    number 10.
    """
    levels = _list_levels(field)
    if type(value) in (bool, float) and value in levels and type(value) not in map(type, levels):
        raise ValueError(f"should be {' or '.join(map(repr, levels))}, not {value!r}")
    return value


class CellParameters(yaml_file.StrictModel):
    """The parameters of every study's cells; a study adds its own.

    Parameters
    ----------
    seed
        The seed of the data.
    repetitions
        Timed passes inside the cell.
    language
        The language that does the work.
    arm
        ``b`` for the second measurement of an A/A check. With ``process: together`` that cell
        measures both arms alternately.
    dataset_file
        A user's file (JSON, CSV, XML or Parquet) in place of the study's data.
    """

    model_config = ConfigDict(validate_default=True)
    kind_of_name: ClassVar[str] = "parameter"

    seed: int = Field(20150501, ge=0, lt=2**63)
    repetitions: Repetitions = 1
    language: Literal["python", "java", "node"] = "python"
    arm: Literal["a", "b"] = "a"
    dataset_file: str | None = None

    language_levels: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Levels in place of defaults, by language, for parameters that are not given or None."""

    general_parameters: ClassVar[frozenset[str]] = frozenset({"network"})
    """The parameters that every cell can have, whatever its other levels are."""

    added: ClassVar[Mapping[str, Any]] = {}
    """Parameters that came later, each with the level at which a cell is the same as before.

    Benchbook's own are in `benchbook.results.additions.LATER_LEVELS`, too.
    """

    data_parameters: ClassVar[frozenset[str]] = frozenset()
    """The parameters of the study's own data that mean nothing with a `dataset_file`."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name in cls.model_fields:
            if name in RESERVED_NAMES:
                what = f"parameter {name!r} of {cls.__module__}"
                raise TypeError(f"{what} has the name of a column of results: rename it")

    @model_validator(mode="before")
    @classmethod
    def _add_language_levels(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        optional = set[str]().union(*cls.language_levels.values())
        levels = cls.language_levels.get(str(given.get("language")), {})
        stated = {
            name: value
            for name, value in given.items()
            if value is not None or name not in optional
        }
        return {**levels, **stated}

    @field_validator("*", mode="before")
    @classmethod
    def _check_type(cls, value: object, info: ValidationInfo) -> object:
        return refuse_lookalike(cls.model_fields[str(info.field_name)], value)

    @property
    def record_count(self) -> int | None:
        """The parameter ``n``; None in a study without it."""
        return self._find_level("n", None)

    @property
    def network_name(self) -> str:
        """The parameter ``network``; ``none`` in a study without it."""
        return self._find_level("network", networks.NO_NETWORK)

    @property
    def commit_time(self) -> str:
        """When servers sync what they write, ``commit``; as they do in a study without it."""
        return self._find_level("commit", "each")

    @property
    def shares_process(self) -> bool:
        """Whether variants alternate in one process, as with ``process: together``."""
        return self._find_level("process", "apart") == "together"

    def _find_level(self, name: str, default: T) -> T:
        """Return the level of a parameter that not all studies have, else the default."""
        level: T = self.__dict__.get(name, default)
        return level

    @classmethod
    def of(cls, names: Mapping[str, Any]) -> Self:
        """Return the parameters from a mapping with all of them, such as ``globals()``.

        Raises `InputError` when one is missing, because its default might not be the intended
        level, and when a notebook's cell of parameters assigns a name that is not a parameter.
        """
        unknown = find_unknown_names(names, cls.model_fields)
        if unknown:
            advice = suggest_name(unknown[0], cls.model_fields)
            raise InputError("parameters", f"no parameter {unknown[0]!r}: {advice}")
        missing = [name for name in cls.model_fields if name not in names]
        if missing:
            remedy = "assign it in the notebook cell with the tag parameters"
            raise InputError("parameters", f"{', '.join(missing)}: no such name: {remedy}")
        return cls(**{name: names[name] for name in cls.model_fields})

    def list_identifying_levels(self) -> dict[str, Any]:
        """Return the levels that tell the cell from others."""
        return self.drop_later_levels(self.model_dump(mode="json"))

    @classmethod
    def drop_later_levels(cls, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Return levels without later parameters at the level at which they were not there."""
        kept = dict(levels)
        for name, level in cls.added.items():
            if kept.get(name) == level:
                del kept[name]
        return kept

    def as_json(self) -> str:
        """Return the levels as JSON, by which a plan identifies the cell."""
        return write_levels(self.list_identifying_levels())

    def as_columns(self) -> dict[str, Any]:
        """Return the levels by their columns in results.

        When a parameter has numbers and texts as levels, such as ``all`` and 10000, all are texts.
        """
        columns = {}
        for name, level in self.model_dump(mode="json").items():
            if level is not None:
                mixed = _is_mixed(type(self).model_fields[name])
                columns[name_parameter_column(name)] = str(level) if mixed else level
        return columns

    @classmethod
    def read_levels(cls, row: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the levels in a row of results."""
        levels: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            level = row.get(name_parameter_column(name))
            # In a frame of several studies, the others' parameters are NaN.
            if level is None or level != level:
                continue
            if _is_mixed(field):
                level = next((one for one in _list_levels(field) if str(one) == level), level)
            else:
                kinds: set[Any] = {type(one) for one in _list_levels(field)} or {field.annotation}
                (kind,) = kinds
                level = kind(level) if kind in (bool, int, float) else level
            levels[name] = level
        return levels

    def own_records(self, *, keyed: bool = True) -> Dataset | None:
        """Return `n` records of the user's file; None when the cell has no file.

        Stores need a key: records without an ``_id`` get one if they are to be `keyed`. A runner
        has read them already. Raises `InputError` when they cannot be read.
        """
        if self.dataset_file is None:
            return None
        stored, n = os.environ.get(RECORDS_VARIABLE), self.record_count
        if stored:
            return own_records.load_dataset(Path(stored), n, keyed=keyed)
        return own_records.read_dataset(self.dataset_file, n, keyed=keyed)

    def variants(self) -> list[dict[str, str]]:
        """Return the columns' values of each variant that the cell measures alternately."""
        return [{}]

    def aa_arms(self) -> list[dict[str, str]]:
        """Return the columns' values of each A/A arm that the cell measures alternately.

        A cell with two arms in one process begins with an untimed pass over everything. Otherwise
        only one arm would have the cost of the first use.
        """
        both = self.arm == "b" and self.shares_process
        return [{"arm": "a"}, {"arm": "b"}] if both else [{}]

    def turns(self) -> list[dict[str, str]]:
        """Return the columns' values of each combination of A/A arm and variant, in their order."""
        combinations = product(self.aa_arms(), self.variants())
        return [{**arm, **variant} for arm, variant in combinations]

    def name_dataset(self, generated: str) -> str:
        """Return the name of the cell's data set: the user's file's, else `generated`."""
        return own_records.name_dataset(self.dataset_file) if self.dataset_file else generated


class FormatParameters(CellParameters):
    """The parameters of cells whose variants are formats, each with its codec."""

    language_levels: ClassVar = {"java": {"json_codec": "jackson", "xml_codec": "jaxb"}}

    format: Literal["both", "json", "xml"] = "both"
    json_codec: str
    xml_codec: str

    @override
    def variants(self) -> list[dict[str, str]]:
        names = {"xml": self.xml_codec, "json": self.json_codec}
        return [
            {"format": kind, "codec": name}
            for kind, name in names.items()
            if self.format in (kind, "both")
        ]

    def codecs(self) -> list[str]:
        """Return the names of the codecs that alternate, XML's first."""
        return [variant["codec"] for variant in self.variants()]


ParametersT = TypeVar("ParametersT", bound=CellParameters)


def state_parameters(
    run: Callable[[ParametersT], "pd.DataFrame"],
) -> Callable[[ParametersT], "pd.DataFrame"]:
    """Return a study's ``run`` that adds its parameters to each row, one column per parameter.

    The runner compares them with its cell's, because a notebook can give others. Where no runner
    waits for the rows, as in a notebook that is run by hand, their ``attrs`` have the load of other
    programs meanwhile, as `NOISE_ATTRIBUTE`; a runner reads it itself.
    """

    @wraps(run)
    def run_and_state(parameters: ParametersT) -> "pd.DataFrame":
        if RESULT_VARIABLE in os.environ:
            return run(parameters).assign(**parameters.as_columns())
        # Imported here, because only notebooks need it.
        from benchbook.measure.load import compute_load, take_snapshot

        before = take_snapshot()
        rows = run(parameters).assign(**parameters.as_columns())
        load = compute_load(before, take_snapshot(), [os.getpid()])
        rows.attrs[NOISE_ATTRIBUTE] = "" if load.is_quiet else str(load)
        return rows

    return run_and_state


def order_turns(turns: Iterable[T], repetition: int) -> list[T]:
    """Return a process' turns in the order of a repetition: reversed in odd ones.

    So none is always first, and drift and warm-up affect all.
    """
    return [*turns] if repetition % 2 == 0 else [*turns][::-1]


def iterate_repetitions(count: int, noun: str = "repetition") -> Iterator[int]:
    """Yield the numbers of the repetitions; a notebook that is run by hand shows them meanwhile.

    It shows the next one and the time left between timed passes, at most twice a second. For a
    runner nothing is shown.

    Parameters
    ----------
    noun
        What is counted.
    """
    ipython = sys.modules.get("IPython")
    if not ipython or not ipython.get_ipython() or RESULT_VARIABLE in os.environ:
        yield from range(count)
        return
    # Imported here, because only notebooks need it.
    from IPython.display import display

    output: Any = None
    start = latest = time.monotonic()
    for number in range(count):
        now = time.monotonic()
        if output is None or now - latest > 0.5:
            latest, line = now, f"{noun} {number + 1} of {count}"
            if number:
                left_s = (now - start) / number * (count - number)
                line += f", about {format_duration(max(1, left_s))} left"
            shown = {"text/plain": line}
            if output is None:
                output = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                output.update(shown, raw=True)
        yield number
    if output is not None:
        output.update({"text/plain": f"{format_count(count, noun)} measured"}, raw=True)


class Rows:
    """The measured values of one cell.

    A row's ``turn`` is its side's place (1, 2, ..) among those that share its process.
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []
        self._turns: dict[tuple[object, ...], int] = {}

    def begin_process(self) -> None:
        """State that another process measures what follows: its sides have turns of their own."""
        self._turns = {}

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
        """Add the readings of one timed section, which covers `count` items.

        It is `timed_out` when a wait ended without success, so that the true value is larger. The
        `columns` are those of `benchbook.results.schema.CELLS` that only the study knows, such as
        ``dataset_sha256``. Raises ValueError on a metric, unit or column that results do not have.
        """
        unknown = sorted(set(columns) - set(CELLS.names))
        if unknown:
            raise ValueError(f"the results have no column {', '.join(unknown)}")
        section = {
            "repetition": repetition,
            "operation": operation,
            "count": count,
            "started_at": started_at,
        }
        for reading in readings:
            if METRIC_UNITS.get(reading.metric) != reading.unit:
                raise ValueError(f"the results have no metric {reading.metric!r} in {reading.unit}")
            measured = {
                **asdict(reading),
                "value": float(reading.value),
                "resolution": float(reading.resolution),
            }
            side = tuple(columns.get(name) for name in ALTERNATING_COLUMNS)
            turn = self._turns.setdefault(side, len(self._turns) + 1)
            about = {"timed_out": timed_out, "turn": turn}
            self._rows.append({**section, **measured, **about, **columns})

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
        """Add one value that was not read by a meter, such as a size, in its metric's unit.

        The other parameters are those of `add`.
        """
        unit = METRIC_UNITS.get(metric, "")
        self.add(
            repetition,
            operation,
            [Reading(metric, role, value, unit, source, resolution)],
            count,
            **columns,
        )

    def add_unmeasured(
        self, expected: set[Output], repetitions: Iterable[int], reason: str, columns: Columns
    ) -> None:
        """Add a row without a number (NaN), timed out, for each missing value of these repetitions.

        Its source has the reason. A value is missing when no row of the variant in `columns` has
        it.
        """
        variant = {name: columns[name] for name in ALTERNATING_COLUMNS if name in columns}
        missing = {(repetition, *output) for repetition, output in product(repetitions, expected)}
        for row in self._rows:
            if variant.items() <= row.items():
                missing.discard((row["repetition"], row["operation"], row["role"], row["metric"]))
        for value in sorted(missing):
            self.add_value(
                *value,
                nan,
                f"not measured: {reason}",
                nan,
                0,
                started_at=datetime.now(UTC),
                timed_out=True,
                **columns,
            )

    def frame(self) -> "pd.DataFrame":
        """Return one row per value: the columns of `VALUES`, then those that the study added."""
        # Imported here, because it is slow to import and a plan does not need it.
        import pandas as pd

        names = [
            *VALUES.names,
            *(name for name in CELLS.names if any(name in row for row in self._rows)),
        ]
        rows = [{name: row.get(name) for name in names} for row in self._rows]
        schema = pa.schema([OBSERVATIONS.field(name) for name in names])
        frame: pd.DataFrame = build_table(pd.DataFrame(rows, columns=names), schema).to_pandas()
        return frame


def deliver(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Give the rows of a study's ``run`` to the runner, if one waits for them, and return them.

    Raises ValueError when they do not fit the results' schema.
    """
    table = build_inferred_table(frame)
    target = os.environ.get(RESULT_VARIABLE)
    if target:
        write_table(Path(target), table)
    return frame
