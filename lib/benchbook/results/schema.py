"""The columns of results, and the metrics with their units.

There are two tables: `CELLS` has a row for each cell and block, with a column for each parameter;
`VALUES` has a row for each measured value. A file holds one cell in one block, each value joined
with its cell's columns (Parquet's run-length encoding makes the repetition free), so that reading a
profile is one scan. Raw quantities only: rates, percentages and means are derived when they are
read. What each column and metric means stands in ``data/dictionary.csv``.

`benchbook.results.additions` says which columns came later, and fills them in older rows.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from benchbook.text.suggestions import FORMER_NAMES

TIME_METRICS: Final = ("wall_time", "catch_up_time", "elapsed_time")
"""Metrics of time; the others are what an operation used meanwhile."""

METRIC_UNITS: Final = {
    "wall_time": "ns",
    "catch_up_time": "ns",
    "elapsed_time": "ns",
    "idle_time": "ns",
    "cpu_total": "ns",
    "cpu_user": "ns",
    "cpu_system": "ns",
    "cpu_capacity": "ns",
    "memory_rss": "B",
    "memory_pss": "B",
    "memory_change": "B",
    "memory_peak": "B",
    "heap_change": "B",
    "memory_used": "B",
    "memory_total": "B",
    "bytes_sent": "B",
    "bytes_received": "B",
    "card_bytes_sent": "B",
    "card_bytes_received": "B",
    "size": "B",
    "markup_size": "B",
}
"""Every metric, with its unit as stored."""

_TIME = pa.timestamp("us", tz="UTC")

VALUES: Final = pa.schema(
    [
        ("repetition", pa.int32()),
        ("operation", pa.string()),
        ("role", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("count", pa.int64()),
        ("timed_out", pa.bool_()),
        ("source", pa.string()),
        ("resolution", pa.float64()),
        ("started_at", _TIME),
        ("turn", pa.int32()),
    ]
)
"""What a study returns, one row per value, perhaps with columns of `CELLS` that differ by row."""

CELLS: Final = pa.schema(
    [
        ("cell_id", pa.string()),
        ("block", pa.int32()),
        ("position", pa.int32()),
        ("run_id", pa.string()),
        ("host", pa.string()),
        ("study", pa.string()),
        # What a row was measured with. A study's parameters of these names, those of `OF_AN_ARM`
        # apart, are the same.
        ("language", pa.string()),
        ("arm", pa.string()),
        ("own_level", pa.string()),
        ("database", pa.string()),
        ("database_version", pa.string()),
        ("image", pa.string()),
        ("image_digest", pa.string()),
        ("checked", pa.string()),
        ("topology", pa.string()),
        ("model", pa.string()),
        ("driver", pa.string()),
        ("driver_version", pa.string()),
        ("runtime", pa.string()),
        ("heap_limit", pa.int64()),
        ("codec", pa.string()),
        ("format", pa.string()),
        ("dataset", pa.string()),
        ("dataset_sha256", pa.string()),
        ("dataset_file", pa.string()),
        ("seed", pa.int64()),
        ("transport", pa.string()),
        ("durability", pa.string()),
        ("n", pa.int64()),
        ("repetitions", pa.int32()),
        ("environment", pa.string()),
        ("background_load", pa.float64()),
        ("noisy", pa.bool_()),
        ("own_processors", pa.int32()),
        ("code_hash", pa.string()),
        ("versions", pa.string()),
        ("machine", pa.string()),
        ("boot", pa.string()),
        ("state", pa.string()),
        ("reason", pa.string()),
        ("cell_started_at", _TIME),
        ("cell_ended_at", _TIME),
    ]
)
"""What the runner knows of a cell. `build_schema` adds a column for each further parameter."""

ALTERNATING_COLUMNS: Final = (
    *("database", "driver", "model", "format", "codec", "arm"),
    "own_level",
)
"""Columns whose levels may alternate within a cell: each row has its own level."""

TURN_PARAMETERS: Final = ("constraints", "keys")
"""Parameters whose levels may take turns in a cell, which then names both, as ``on/off``.

The column ``own_level`` has the row's own level; it is empty in other cells.
"""

OBSERVATIONS: Final = pa.schema([*CELLS, *VALUES])
"""The columns of every study's files: each value beside its cell."""


def name_parameter_column(name: str) -> str:
    """Return the column of a parameter.

    It has the parameter's name. Where levels may alternate within a cell, such as both formats, the
    row's own level has that name, and the cell's level is in ``cell_format``.
    """
    return f"cell_{name}" if name in ALTERNATING_COLUMNS else name


def merge_schemas(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the columns of several files: those of `OBSERVATIONS`, and of all parameters, sorted.

    A parameter that is a number in one file and a text in another is a text.
    """
    columns: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            if field.name in OBSERVATIONS.names:
                continue
            if columns.setdefault(field.name, field.type) != field.type:
                columns[field.name] = pa.string()
    added = [pa.field(name, columns[name]) for name in sorted(columns)]
    return pa.schema([*CELLS, *added, *VALUES])


def build_schema(levels: Mapping[str, object]) -> pa.Schema:
    """Return the columns of a file whose parameters have these levels, by their columns.

    A column's type is that of its level: a number, true or false, or a text.
    """
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    fields = [(name, types.get(type(level), pa.string())) for name, level in levels.items()]
    return merge_schemas([pa.schema(fields)])


CURRENT_NAMES: Final[dict[str, str]] = {
    **FORMER_NAMES,
    "engine_version": "database_version",
    "censored": "timed_out",
    "disturbed": "noisy",
    "foreign_load": "background_load",
}
"""Today's name of each column and parameter that had another one."""
