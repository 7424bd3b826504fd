"""Files of a user's records as other systems write them: JSON, delimited text and Parquet.

A file is opened, its format recognised, and its reader does the rest. Options may follow its name:
``FILE#delimiter=semicolon+decimal=comma``.
"""

import codecs
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from benchbook.files.inputs import InputError, read_bytes
from benchbook.own_data import delimited_files, json_files, parquet_files, xml_files
from benchbook.own_data.opened_file import MAX_BYTES, OpenedFile, RecordReader
from benchbook.own_data.other_formats import refuse_other_formats, refuse_other_texts
from benchbook.own_data.text_encoding import ENCODINGS

OPTIONS: Final[Mapping[str, Collection[str]]] = {
    "delimiter": delimited_files.DELIMITERS,
    "decimal": delimited_files.DECIMALS,
    "encoding": ENCODINGS,
    # Any text: a place inside a file of JSON.
    "records": (),
}
"""The options after a file's name, and their words."""

_JSON_SUFFIXES: Final = (
    *(".json", ".jsonl", ".ndjson", ".geojson", ".topojson"),
    *(".jsonc", ".json5", ".har", ".ipynb"),
)
_XML: Final = re.compile(r"<([?!]|[A-Za-z_])")
_JSON_RECORD: Final = re.compile(r'(\[\s*)?\{\s*"[^"\n]*"\s*:|\[\s*\[\s*["0-9-]')
"""How JSON begins, and hardly a table."""
_TABLE_HEAD: Final = re.compile(r'(?:"[^"\n]*"|\w[^"\n,;|\t:]*)[,;|\t][^\n]*\n')
"""The first line of a table, and hardly of JSON: a name, and a delimiter."""
_PEEKED_BYTES: Final = 4096
_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""The name of each compression by a file's first bytes."""


def open_file(path: str | Path) -> OpenedFile:
    """Return a file of records, with the options after its name.

    Raises `InputError` when the file does not exist, is damaged or too large, or an option is
    unknown.
    """
    file, options = split_options(path)
    if file.is_dir():
        raise InputError(str(file), "is a folder: give one of its files")
    packed = read_bytes(file, MAX_BYTES)
    data, compression = _unpack(file, packed)
    sha256 = hashlib.sha256(packed).hexdigest()
    return OpenedFile(file, data, options, sha256, compression)


def _unpack(path: Path, data: bytes) -> tuple[bytes, str]:
    """Return a file's content, and the name of its compression; empty if it has none.

    Raises `InputError` when it is damaged. A small file may unpack to any size: there is a limit.
    """
    name = next((name for mark, name in _COMPRESSIONS.items() if data.startswith(mark)), "")
    if not name:
        return data, ""
    parts: list[bytes] = []
    size = 0
    try:
        # Python's gzip ignores the zeros that some archivers append.
        opened: Any
        if name == "gzip":
            opened = gzip.GzipFile(fileobj=io.BytesIO(data))
        else:
            opened = pa.CompressedInputStream(pa.BufferReader(data), name)
        with opened as stream:
            for part in iter(partial(stream.read, 2**20), b""):
                size += len(part)
                if size > MAX_BYTES:
                    why = f"unpacks to more than {MAX_BYTES:,} bytes: take some of its records"
                    raise InputError(str(path), why)
                parts.append(part)
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        why = f"is damaged or cut off: as {name} it cannot be unpacked ({error})"
        raise InputError(str(path), why) from error
    return b"".join(parts), name


def split_options(path: str | Path) -> tuple[Path, dict[str, str]]:
    """Return a file's path and its options: names in `OPTIONS`, with their words."""
    name, mark, options = str(path).rpartition("#")
    if not mark or "=" not in options or Path(path).exists():
        return Path(path), {}
    stated = {}
    for option in options.split("+"):
        key, _, word = option.partition("=")
        words = OPTIONS.get(key)
        if words is None or not word or (words and word not in words):
            known = ", ".join(
                f"{key}={'|'.join(words) or 'PLACE'}" for key, words in OPTIONS.items()
            )
            raise InputError(str(path), f"{option!r} is not a file option: {known}")
        stated[key] = word
    return Path(name), stated


def find_reader(file: OpenedFile) -> RecordReader:
    """Return the reader of a file's format, which its content tells, else its suffix.

    Raises `InputError` when the file is of a format that is not read, with what to do.
    """
    # Bytes tell Parquet, and formats that are not read.
    if file.data.startswith(b"PAR1") or file.suffix in (".parquet", ".pq"):
        return parquet_files.READER
    if "encoding" not in file.options:
        refuse_other_formats(file.path, file.data)
    if "delimiter" in file.options:
        return delimited_files.READER
    # A text's beginning tells more than its suffix.
    head = _peek_text(file.data)
    is_record = _JSON_RECORD.match(head) is not None
    refuse_other_texts(file.path, "" if is_record else file.suffix, head)
    if is_record:
        return json_files.READER
    is_table = file.suffix in (".csv", ".tsv", ".tab")
    if head.startswith("<?xml") or (_XML.match(head) and not is_table):
        return xml_files.READER
    # Where both JSON and a table are possible, the suffix decides.
    looks_like_json = head.startswith(("{", "[")) and not is_table
    if looks_like_json or (file.suffix in _JSON_SUFFIXES and not _TABLE_HEAD.match(head)):
        return json_files.READER
    return delimited_files.READER


def _peek_text(data: bytes) -> str:
    """Return the beginning of a text, without blanks and marks of JSON's records before it."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    head = data[:_PEEKED_BYTES].decode("utf-16" if is_wide else "utf-8-sig", errors="replace")
    return head.lstrip(" \t\r\n\x1e")
