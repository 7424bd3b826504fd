"""One Parquet file, written whole or not at all."""

import os
from pathlib import Path
from typing import Any, BinaryIO, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.results import seal


def typed(frame: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Return the frame as an Arrow table: the schema's columns in its order; those that the frame lacks are null.

    Raises
    ------
    ValueError
        When the frame has a column that the schema does not know, or a value of another type.
    """
    if unknown := sorted(set(frame.columns) - set(schema.names)):
        raise ValueError(f"the results have no column {', '.join(unknown)}")
    wanted = pa.schema([field for field in schema if field.name in frame.columns])
    try:
        table = pa.Table.from_pandas(frame[wanted.names], schema=wanted, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"a value is not of its column's type: {'; '.join(map(str, error.args))}") from error
    columns = {name: table[name] for name in wanted.names}
    nulls = {field.name: pa.nulls(len(frame), field.type) for field in schema if field.name not in columns}
    return pa.table([{**nulls, **columns}[name] for name in schema.names], schema=schema)


_COUNTED: Final = ("repetition", "started_at")
"""Columns of which each value differs little from the one before; they and the values have no dictionary worth it."""


def write_table(path: Path, table: pa.Table, held: seal.Facts | None = None) -> None:
    """Write a Parquet file under a temporary name, seal it, flush it to the disk, and give it its name.

    Parameters
    ----------
    path, table
        Where, and what.
    held
        What the file says that it holds, of a cell's file in the results' folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w+b") as file:
            _write(file, table, seal.metadata(held))
            seal.seal(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)


def _write(file: BinaryIO, table: pa.Table, metadata: dict[str, str]) -> None:
    kept = [name for name in table.column_names if name not in {"value", *_COUNTED}]
    counted = {name: "DELTA_BINARY_PACKED" for name in _COUNTED if name in table.column_names}
    options: dict[str, Any] = {"use_dictionary": kept, "column_encoding": counted, "write_page_checksum": True}
    with pq.ParquetWriter(file, table.schema, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)


def flush_folder(folder: Path) -> None:
    """Make the folder's names survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
