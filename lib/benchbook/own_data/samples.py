"""A sample of a large file: records that DuckDB draws by chance, in a file of their own.

The first records of a sorted file are not like its others. DuckDB reads the whole file, of any
size, and each record is as likely as any other.
"""

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.files import suite_files
from benchbook.files.inputs import InputError
from benchbook.own_data import delimited_files
from benchbook.own_data.opened_file import EncodingError, OpenedFile, open_file
from benchbook.own_data.record_files import find_format, split_options

SEED: Final = 1
"""The seed of the draw: the same file and number give the same records."""

_READ_JSON: Final = "read_json_objects($path, format='auto', compression=$packed)"
_READ_DELIMITED: Final = (
    "read_csv($path, compression=$packed, auto_detect=false, header=false, columns=$columns,"
    " skip=$skip, delim=$delimiter, quote=$quote, escape=$escape, null_padding=true,"
    " parallel=false, max_line_size=$longest)"
)
_READ_PARQUET: Final = "read_parquet($path)"

_DRAWN_FORMATS: Final = (
    "a sample is drawn from CSV in UTF-8, from Parquet, and from JSON with an array or one object "
    "after another: write the file as one of these"
)


def draw_sample(path: str, count: int, folder: Path) -> str:
    """Write records of a file, drawn by chance, into a new file of its format.

    Each record is as it is in the file; the order may be another one. Returns the path of the new
    file, with the options that follow the file's name.

    Raises `InputError` when the file cannot be read, or nothing can be drawn from its format.

    Parameters
    ----------
    path
        The file, with options after its name.
    count
        Records to draw; the file may have fewer.
    folder
        Where the new file is made, under the file's name and the number.
    """
    source, options = split_options(path)
    file = open_file(source, options)
    write = _WRITERS.get(find_format(file))
    is_utf_8 = write is _write_parquet or file.codec.startswith("utf-8")
    if write is None or "records" in options or not is_utf_8:
        raise InputError(str(source), _DRAWN_FORMATS)
    try:
        suffix, content = write(file, count)
    except EncodingError as error:
        raise InputError(str(source), f"is not UTF-8: {_DRAWN_FORMATS}") from error
    except duckdb.Error as error:
        # A row of the file is between the line and the reason.
        why = ", ".join(str(error).splitlines()[:3:2])
        raise InputError(str(source), f"no sample can be drawn: {why}") from error
    written = folder / f"{source.name.partition('.')[0]}-sample-{count}{suffix}"
    suite_files.write_file(written, content)
    return f"{written}{path.removeprefix(str(source))}"


def _write_json(file: OpenedFile, count: int) -> tuple[str, str]:
    """Return the suffix and the content of a sample, one object after another."""
    packed = file.compression or "uncompressed"
    rows = _draw(file, count, _READ_JSON, packed=packed).to_pylist()
    if len(rows) == 1 < count:
        raise InputError(str(file.path), f"is one object of JSON: {_DRAWN_FORMATS}")
    return ".jsonl", "".join(f"{row['json']}\n" for row in rows)


def _write_delimited(file: OpenedFile, count: int) -> tuple[str, str]:
    """Return the suffix and the content of a sample in the file's own dialect."""
    dialect, line, names = delimited_files.find_header(file)
    if dialect.aligns:
        raise InputError(str(file.path), f"has blanks between its values: {_DRAWN_FORMATS}")
    rows = _draw(
        file,
        count,
        _READ_DELIMITED,
        packed=file.compression or "none",
        columns={f"column_{place}": "VARCHAR" for place in range(len(names))},
        skip=line,
        delimiter=dialect.delimiter,
        quote=dialect.quote,
        escape="\\" if dialect.escapes else dialect.quote,
        longest=delimited_files.LONGEST_TEXT,
    )
    written = io.StringIO(newline="")
    writer = csv.writer(written, **dialect.options, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(row.values() for row in rows.to_pylist())
    return ".csv", written.getvalue()


def _write_parquet(file: OpenedFile, count: int) -> tuple[str, bytes]:
    """Return the suffix and the content of a sample with the file's columns."""
    if file.compression:
        raise InputError(str(file.path), f"is packed by {file.compression}: unpack it first")
    written = pa.BufferOutputStream()
    pq.write_table(_draw(file, count, _READ_PARQUET), written)
    return ".parquet", written.getvalue().to_pybytes()


def _draw(file: OpenedFile, count: int, rows: str, **given: Any) -> pa.Table:
    """Return some rows that DuckDB reads, drawn by chance."""
    # With more threads a seed would not repeat the draw.
    with duckdb.connect(config={"threads": 1}) as connection:
        drawn = f"SELECT * FROM {rows} USING SAMPLE reservoir({count} ROWS) REPEATABLE ({SEED})"
        table = connection.sql(drawn, params={"path": str(file.path), **given}).to_arrow_table()
    if not table.num_rows:
        why = "DuckDB finds no record in it: are all line ends alike?"
        raise InputError(str(file.path), f"no sample can be drawn: {why}")
    return table


_WRITERS: Final[Mapping[str, Callable[[OpenedFile, int], tuple[str, bytes | str]]]] = {
    "JSON": _write_json,
    "delimited text": _write_delimited,
    "Parquet": _write_parquet,
}
