"""Observations constructed for tests of figures, shaped like the quick profile's."""

import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchbook.registry.papers import PAPERS
from benchbook.results.additions import LATER_LEVELS
from benchbook.results.files import build_table, infer_schema
from benchbook.results.schema import (
    ALTERNATING_COLUMNS,
    METRIC_UNITS,
    OBSERVATIONS,
    name_parameter_column,
)

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MACHINE = {
    "host": "testhost",
    "cpu": "Test CPU 9000",
    "cores": 2,
    "cores_usable": 2.0,
    "memory": 8_000_000_000,
    "load": [0.1, 0.1, 0.1],
    "kernel": "Linux 6.1 x86_64",
    "file_system": "ext4",
    "file_system_in_memory": False,
    "fsyncs_per_s": 1234.5,
    "python": "CPython 3.11.2",
    "libraries": {"pymongo": "4.20.0"},
}
Quantity = tuple[str, str, str, float]  # operation, role, metric, mean


def observations(
    studies: Iterable[str] = tuple(PAPERS),
    blocks: int = 5,
) -> pd.DataFrame:
    """Return rows of some studies, the same on every call."""
    rows: list[dict[str, Any]] = []
    for study in studies:
        for cell in CELLS[study]():
            rows += _rows(study, blocks, *cell)
    frame = pd.DataFrame(rows)
    table = build_table(frame, infer_schema(frame)) if rows else OBSERVATIONS.empty_table()
    observed: pd.DataFrame = table.to_pandas()
    return observed


def _rows(
    study: str, blocks: int, cell: dict[str, Any], quantities: list[Quantity]
) -> Iterator[dict[str, Any]]:
    parameters = {"seed": 20150501, "repetitions": 2, "language": "python", "arm": "a"} | cell.pop(
        "parameters"
    )
    parameters |= {} if study == "drivers" else {"network": "none"}
    parameters |= {"arrays": "json"} if study == "crud" else {}
    columns = {key: parameters[key] for key in ("database", "model", "arm") if key in parameters}
    columns |= {name_parameter_column(key): level for key, level in parameters.items()}
    arm = [cell.get(name) for name in ALTERNATING_COLUMNS]
    number = zlib.crc32(repr((study, parameters, arm)).encode())
    identity = f"{number:016x}"
    later = LATER_LEVELS.get(study, {}).items()
    columns |= {name: level for name, level in later if name not in parameters}
    noise = np.random.Generator(np.random.PCG64(number))
    for block, repetition in product(range(blocks), range(2)):
        for rank, (operation, role, metric, mean) in enumerate(quantities):
            yield {
                **columns, **cell, "study": study, "cell_id": identity, "block": block,
                "position": 0, "host": "testhost", "language": "python", "state": "done",
                "repetitions": 2, "repetition": repetition,
                "environment": json.dumps(MACHINE),
                "operation": operation, "role": role, "metric": metric,
                "unit": METRIC_UNITS[metric], "count": parameters["n"],
                "value": float(mean * (1 + 0.05 * noise.standard_normal())), "timed_out": False,
                "source": "constructed", "resolution": 1.0,
                "started_at": START + timedelta(minutes=block, seconds=rank),
            }  # fmt: skip


def _bookstore() -> Iterator[tuple[dict[str, Any], list[Quantity]]]:
    for case, n, (kind, codec, factor) in product(
        (1, 2), (10, 1000), (("json", "orjson", 1), ("xml", "lxml", 4))
    ):
        parameters = {
            "case": case,
            "process": "together",
            "format": "both",
            "json_codec": "orjson",
            "xml_codec": "lxml",
            "n": n,
        }
        time = 1.5e3 * n * factor * case
        yield {"parameters": parameters, "format": kind, "codec": codec}, [
            ("marshal", "client", "wall_time", time), ("unmarshal", "client", "wall_time", time),
            ("round_trip", "client", "wall_time", 2 * time),
            ("round_trip", "client", "cpu_user", 1.8 * time),
            ("round_trip", "client", "cpu_system", 0.1 * time),
            ("marshal", "client", "size", 120.0 * n * factor**0.25 * case),
        ]  # fmt: skip


def _tcp() -> Iterator[tuple[dict[str, Any], list[Quantity]]]:
    for n, (kind, codec, factor) in product(
        (20000, 100000), (("json", "orjson", 1), ("xml", "lxml", 3))
    ):
        way = {"n": n, "fields": 12, "transport": "framed", "connections": 1, "encode": "before"}
        parameters = {
            "process": "together",
            "format": "both",
            "json_codec": "orjson",
            "xml_codec": "lxml",
            **way,
        }
        alone = parameters | {
            "process": "apart",
            "format": kind,
            "trials": "sequence",
            "heap": "default",
        }
        time = 6e3 * n * factor
        times = [
            ("receive", "client", "wall_time", time), ("receive", "server", "wall_time", time),
            ("receive", "server", "cpu_user", 0.4 * time),
            ("receive", "server", "cpu_system", 0.2 * time),
            ("receive", "server", "cpu_capacity", 2 * time),
            ("receive", "server", "idle_time", 0.01 * time),
            ("receive", "machine", "cpu_user", 1.3 * time),
            ("receive", "machine", "cpu_system", 0.3 * time),
            ("receive", "machine", "cpu_capacity", 2 * time),
        ]  # fmt: skip
        yield (
            {"parameters": {**parameters, "trials": "alone"}, "format": kind, "codec": codec},
            times,
        )
        yield {"parameters": alone, "format": kind, "codec": codec}, [
            *times, ("receive", "server", "memory_rss", 4e7),
            ("receive", "machine", "memory_used", 3e9), ("receive", "machine", "memory_total", 8e9),
        ]  # fmt: skip


SHARES = {"insert": 1.0, "find": 0.6, "update": 0.4, "delete": 0.3}
"""The time of each operation, relative to an insert."""
MEMORY = "memory_change"


def _drivers() -> Iterator[tuple[dict[str, Any], list[Quantity]]]:
    for attributes, (driver, factor) in product((89, 6), (("pymongo", 1), ("mongoengine", 8))):
        database = "mongodb" if driver == "pymongo" else "mongodb+mongoengine"
        time = 4e7 * factor * attributes**0.5 / 3
        read = {
            "together": ("wall_time", "cpu_user", "cpu_system"),
            "operation": ("memory_change",),
        }
        for process, metrics in read.items():
            parameters = {
                "process": process,
                "driver": "pymongo+mongoengine",
                "attributes": attributes,
                "n": 1000,
            }
            parameters |= {"calls": "bulk", "durability": "default"}
            yield (
                {
                    "parameters": parameters,
                    "database": database,
                    "database_version": "6.0.5",
                    "driver": driver,
                },
                [
                    (operation, "client", metric, share * (2e6 if metric == MEMORY else time))
                    for (operation, share), metric in product(SHARES.items(), metrics)
                ],
            )


def _crud() -> Iterator[tuple[dict[str, Any], list[Quantity]]]:
    databases = {
        "mongodb": (3e8, "6.0.5"),
        "postgresql+jsonb": (4e8, "16.14"),
        "postgresql+relational": (5e8, "16.14"),
        "noop": (2e5, None),
    }
    for (database, (time, version)), topology in product(
        databases.items(), ("single", "replicated")
    ):
        if database == "noop" and topology == "replicated":
            continue
        kept = {
            "delete": "each",
            "comments_per_article": "all",
            "constraints": "on",
            "article_index": False,
            "durability": "default",
        }
        parameters = {
            "database": database,
            "topology": topology,
            "n": 1000,
            "calls": "single",
            **kept,
        }
        operations = ("insert", "update", "delete") + (("select",) if topology == "single" else ())
        quantities = [(operation, "client", "wall_time", time) for operation in operations]
        if topology == "replicated":
            quantities += [
                (operation, "replica", "catch_up_time", time / 50) for operation in operations
            ]
            quantities += [
                (operation, "client", "elapsed_time", time * 1.02) for operation in operations
            ]
        yield {"parameters": parameters, "database_version": version}, quantities


def _replication() -> Iterator[tuple[dict[str, Any], list[Quantity]]]:
    for database, (model, factor) in product(
        ("mongodb", "postgresql+jsonb"), (("document", 0.9), ("json_text", 1), ("xml_text", 1.1))
    ):
        parameters = {
            "database": database,
            "topology": "replicated",
            "process": "together",
            "n": 2000,
        }
        parameters |= {"model": "document+json_text+xml_text", "durability": "default"}
        cell = {"parameters": parameters, "database_version": "6.0.5", "model": model}
        cell |= {"format": "xml" if model == "xml_text" else "json"}
        held = [("insert", role, "memory_rss", 1.4e8 * factor) for role in ("primary", "replica")]
        yield {**cell, "parameters": {**parameters, "process": "apart", "model": model}}, held
        spent = (("cpu_user", 3e8), ("cpu_system", 1e8), ("cpu_capacity", 1.24e9))
        yield (
            cell,
            [
                ("insert", "client", "wall_time", 6e8),
                ("insert", "client", "elapsed_time", 6.2e8),
                ("insert", "replica", "catch_up_time", 2e7),
                ("insert", "replica", "bytes_received", 2e6 * factor),
                *(
                    ("insert", role, metric, mean * factor)
                    for role, (metric, mean) in product(("primary", "replica"), spent)
                ),
            ],
        )


CELLS = {
    "bookstore": _bookstore,
    "tcp": _tcp,
    "drivers": _drivers,
    "crud": _crud,
    "replication": _replication,
}

STACKS = {
    "bookstore": ("java", {"orjson": "jackson", "lxml": "jaxb"}, "Java"),
    "tcp": ("java", {"orjson": "jackson", "lxml": "jaxb"}, "Java"),
    "drivers": ("node", {"pymongo": "mongoclient", "mongoengine": "mongoose"}, "Node.js"),
}
"""The other stack of a study: its language, its names for Python's libraries, its name in print."""


NAMED = ("codec", "driver", "json_codec", "xml_codec", "cell_driver")
"""Columns with names of libraries."""


def on(language: str, names: dict[str, str], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same observations as another stack would have made them, in twice the time."""

    def theirs(value: object) -> object:
        return (
            "+".join(names.get(one, one) for one in value.split("+"))
            if isinstance(value, str)
            else value
        )

    times = frame["value"].where(frame["unit"] != "ns", frame["value"] * 2)
    return frame.assign(
        language=language,
        value=times,
        cell_id=frame["cell_id"] + language,
        **{name: frame[name].map(theirs) for name in NAMED if name in frame},
    )


def on_two_stacks() -> pd.DataFrame:
    """Return observations in Python, and in the language of a study's other libraries."""
    observed = observations()
    parts = [observed]
    for study, paper in PAPERS.items():
        if paper.languages:
            language, names, _ = STACKS[study]
            parts.append(on(language, names, observed[observed["study"] == study]))
    return pd.concat(parts, ignore_index=True)
