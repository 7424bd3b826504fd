"""The columns of what is written, and the enumerated metrics with their units.

A file holds one cell's values in one block, each value joined with its cell's columns (Parquet's run-length encoding
makes the repetition free), so that reading a profile is one scan. Raw quantities only: rates, percentages and means
are derived by whoever reads.
"""

from typing import Final, Literal, get_args

import pyarrow as pa

Metric = Literal[
    "wall_time",
    "catch_up_time",
    "elapsed_time",
    "idle_time",
    "cpu_total",
    "cpu_user",
    "cpu_system",
    "cpu_capacity",
    "memory_rss",
    "memory_pss",
    "memory_change",
    "heap_change",
    "memory_used",
    "memory_total",
    "bytes_sent",
    "bytes_received",
    "size",
    "markup_size",
]

TIMES: Final[tuple[Metric, ...]] = ("wall_time", "catch_up_time", "elapsed_time")
"""What an operation took; the others are what it used meanwhile."""

UNITS: Final[dict[Metric, str]] = {
    "wall_time": "ns",  # the timed loop, on the clock of the row's role
    "catch_up_time": "ns",  # from the loop's end until the replica holds what the primary holds
    "elapsed_time": "ns",  # wall_time + catch_up_time, read as one interval
    "idle_time": "ns",  # of wall_time, when a server waited for bytes
    "cpu_total": "ns",  # user and system time by one exact counter, where the two alone are told in coarser steps
    "cpu_user": "ns",
    "cpu_system": "ns",
    "cpu_capacity": "ns",  # what all processors of the machine could have given in the window
    "memory_rss": "B",
    "memory_pss": "B",
    "memory_change": "B",  # RSS after minus RSS before
    "heap_change": "B",  # of the language's own heap: what is used after minus before
    "memory_used": "B",
    "memory_total": "B",
    "bytes_sent": "B",
    "bytes_received": "B",
    "size": "B",
    "markup_size": "B",  # of size, what is no value: names, tags, punctuation
}
"""Unit of each metric, as stored."""

assert set(UNITS) == set(get_args(Metric))

_TIME = pa.timestamp("us", tz="UTC")

VALUES: Final = pa.schema(
    [
        ("repetition", pa.int32()),
        ("operation", pa.string()),
        ("role", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),  # exact for whole nanoseconds and bytes below 2**53
        ("unit", pa.string()),
        ("count", pa.int64()),  # items that the value covers
        ("censored", pa.bool_()),  # True: the true value is larger (a wait ran out)
        ("source", pa.string()),
        ("resolution", pa.float64()),  # in the value's unit
        ("started_at", _TIME),
    ]
)
"""What a study returns, a row a value; it may add any column of `CELLS` that differs from row to row."""

CELLS: Final = pa.schema(
    [
        ("cell_id", pa.string()),
        ("block", pa.int32()),
        ("position", pa.int32()),  # rank of the cell in its block's random order
        ("run_id", pa.string()),
        ("campaign", pa.string()),  # UTC start of runs without a pause of an hour or a restart: 2026-11-22T21:14:00Z
        ("host", pa.string()),
        ("study", pa.string()),
        ("lane", pa.string()),
        ("arm", pa.string()),
        ("engine", pa.string()),
        ("engine_version", pa.string()),
        ("image", pa.string()),  # of the containers that its servers ran in, by name, and
        ("image_digest", pa.string()),  # by content: null where they ran on the machine itself
        ("stand_in", pa.bool_()),
        ("topology", pa.string()),
        ("model", pa.string()),
        ("driver", pa.string()),  # as study `drivers` names it: native driver or mapper
        ("driver_version", pa.string()),  # the library that did the work, and its version
        ("runtime", pa.string()),  # what ran another lane's program, and its version
        ("heap_limit", pa.int64()),  # bytes that its heap may grow to
        ("codec", pa.string()),
        ("format", pa.string()),
        ("dataset", pa.string()),
        ("dataset_sha256", pa.string()),
        ("transport", pa.string()),
        ("link", pa.string()),
        ("durability", pa.string()),
        ("n", pa.int64()),  # records stored or objects sent
        ("repetitions", pa.int32()),
        ("parameters", pa.string()),  # JSON
        ("environment", pa.string()),  # JSON
        ("foreign_load", pa.float64()),  # processors that other processes, and the host's other guests, used meanwhile
        ("disturbed", pa.bool_()),  # True: more of them than a quiet machine has
        ("code_hash", pa.string()),
        ("state", pa.string()),  # done, failed, skipped
        ("reason", pa.string()),
        ("cell_started_at", _TIME),
        ("cell_ended_at", _TIME),
    ]
)
"""What the runner knows of a cell."""

OF_AN_ARM: Final = ("driver", "model", "format", "codec", "arm")
"""Columns of `CELLS` that tell the arms of one cell apart, where it takes several in turn."""

OBSERVATIONS: Final = pa.schema([*CELLS, *VALUES])
"""One file's columns: every value beside its cell."""
