"""The columns of what is written, and the enumerated metrics with their units.

A file holds one cell's values in one block, each value joined with its cell's columns (Parquet's run-length encoding
makes the repetition free), so that reading a profile is one scan. Raw quantities only: rates, percentages and means
are derived by whoever reads. What each column and metric means stands in ``data/dictionary.csv``.
"""

from typing import Final

import pyarrow as pa

TIMES: Final = ("wall_time", "catch_up_time", "elapsed_time")
"""What an operation took; the others are what it used meanwhile."""

UNITS: Final = {
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
        ("censored", pa.bool_()),
        ("source", pa.string()),
        ("resolution", pa.float64()),
        ("started_at", _TIME),
    ]
)
"""What a study returns, a row a value; it may add any column of `CELLS` that differs from row to row."""

CELLS: Final = pa.schema(
    [
        ("cell_id", pa.string()),
        ("block", pa.int32()),
        ("position", pa.int32()),
        ("run_id", pa.string()),
        ("campaign", pa.string()),
        ("host", pa.string()),
        ("study", pa.string()),
        ("lane", pa.string()),
        ("arm", pa.string()),
        ("engine", pa.string()),
        ("engine_version", pa.string()),
        ("image", pa.string()),
        ("image_digest", pa.string()),
        ("stand_in", pa.bool_()),  # always false now: means leave out rows of old files where it is true
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
        ("transport", pa.string()),
        ("link", pa.string()),
        ("durability", pa.string()),
        ("n", pa.int64()),
        ("repetitions", pa.int32()),
        ("parameters", pa.string()),
        ("environment", pa.string()),
        ("foreign_load", pa.float64()),
        ("disturbed", pa.bool_()),
        ("code_hash", pa.string()),
        ("state", pa.string()),
        ("reason", pa.string()),
        ("cell_started_at", _TIME),
        ("cell_ended_at", _TIME),
    ]
)
"""What the runner knows of a cell."""

OF_AN_ARM: Final = ("engine", "driver", "model", "format", "codec", "arm")
"""Columns of `CELLS` that tell the arms of one cell apart, where it takes several in turn."""

OBSERVATIONS: Final = pa.schema([*CELLS, *VALUES])
"""One file's columns: every value beside its cell."""
