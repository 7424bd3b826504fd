"""A user's file, of which only as much is read as its first records need."""

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from benchbook.files.inputs import InputError, open_input, open_regular_file
from benchbook.schema import Record

MAX_BYTES: Final = 256 * 2**20
"""Bytes, unpacked, up to which records are read."""

HEAD_BYTES: Final = 2**18
"""The first bytes, unpacked, by which a file's format, encoding and delimiter are found."""

_SIZES: Final = (HEAD_BYTES, 2**23, MAX_BYTES)
"""Bytes of the beginnings that are read until one has the first records."""

_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""The name of each compression by a file's first bytes."""

_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The codec of each byte order mark."""

ENCODINGS: Final = {
    "utf-8": "utf-8",
    # Without a mark, it is mostly as Windows writes it.
    "utf-16": "utf-16-le",
    "cp1252": "cp1252",
    "latin-1": "latin-1",
}
"""The words of the option ``encoding``, each with its codec."""

_ENCODING_NAMES: Final = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a byte order mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
}

Row = TypeVar("Row")

NumberedRows = Iterator[tuple[int, Row]]
"""Rows or records with their line in the file; in Parquet, with their row."""


class CutOffError(InputError):
    """A text ends in the middle of a record."""


class EncodingError(InputError):
    """A file of text is not in its encoding."""

    place = ""
    """The line and the byte; empty where a mark or an option states the encoding."""


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a file, with their lines."""

    rows: list[Any]
    lines: list[int]
    is_whole: bool  # whether the file has no more rows


@dataclass(frozen=True)
class ReadRecords:
    """The first records of a file, as its format's reader returns them."""

    format: str  # ``JSON Lines``, ``JSON array``, ``delimited text``, ``XML`` or ``Parquet``
    records: Sequence[Record]
    lines: list[int]  # of the records; in Parquet, rows
    is_whole: bool  # whether the file has no more records
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)
    marks: str = ""  # the encoding, the delimiter and the decimal mark, in words
    names: Sequence[str] = ()  # the fields in their order, where records do not tell


@dataclass(frozen=True)
class OpenedFile:
    """A file of records, with the options after its name."""

    path: Path  # without the options
    options: Mapping[str, str] = field(default_factory=dict)
    head: bytes = b""  # its first bytes, unpacked
    compression: str = ""  # ``gzip`` or ``zstd``; empty if there is none

    @property
    def suffix(self) -> str:
        """The suffix of the content, in small letters: ``.csv`` of ``export.csv.gz``."""
        path = self.path
        if self.compression and path.suffix.lower() in (".gz", ".gzip", ".zst", ".zstd"):
            path = path.with_suffix("")
        return path.suffix.lower()

    @property
    def codec(self) -> str:
        """The codec by the byte order mark, by the option, or UTF-8."""
        stated = ENCODINGS[self.options.get("encoding", "utf-8")]
        # The zero byte of a first letter tells the order of the bytes.
        if stated == "utf-16-le" and self.head.startswith(b"\0"):
            stated = "utf-16-be"
        return next((codec for mark, codec in _MARKS.items() if self.head.startswith(mark)), stated)

    def decode_head(self, codec: str = "") -> str:
        """Return the beginning of the text; a character that is not in the encoding is a mark."""
        return self.head.decode(codec or self.codec, errors="replace")

    def read(self, size: int = MAX_BYTES) -> bytes:
        """Return the first bytes, unpacked; raises `InputError` when the file is damaged."""
        try:
            with open_regular_file(self.path) as stream:
                unpacked: Any = stream
                if self.compression == "gzip":
                    # Python's gzip ignores the zeros that some archivers append.
                    unpacked = gzip.GzipFile(fileobj=stream)
                elif self.compression:
                    unpacked = pa.CompressedInputStream(pa.PythonFile(stream), self.compression)
                data: bytes = unpacked.read(size)
                return data
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            why = f"cannot be read: {error}"
            if self.compression:
                packed = f"as {self.compression} it cannot be unpacked"
                why = f"is damaged or cut off: {packed} ({error})"
            raise InputError(str(self.path), why) from error

    def take_rows(
        self, count: int | None, iterate: Callable[[bytes, bool], NumberedRows[Any]]
    ) -> FirstRows:
        """Return the first rows; what is wrong behind them does not matter.

        Raises `InputError` when there is an error in them, or when they take more than `MAX_BYTES`.

        Parameters
        ----------
        count
            How many rows; None: all.
        iterate
            Returns the rows of a beginning of the file, which may be the whole. It raises
            `CutOffError` at an end within a row.
        """
        for size in _SIZES:
            data = self.head if size == HEAD_BYTES else self.read(size)
            is_cut = len(data) >= size
            rows = iterate(data, not is_cut)
            try:
                taken = [*islice(rows, count)]
            except CutOffError:
                if is_cut:
                    continue
                raise
            try:
                is_last = next(rows, None) is None
            except CutOffError:
                is_last = is_cut
            except InputError:
                is_last = False
            # The next row of a beginning may be cut off.
            if not (is_last and is_cut):
                return FirstRows([row for _, row in taken], [line for line, _ in taken], is_last)
        why = f"more than {MAX_BYTES:,} bytes are read for its first records"
        raise InputError(str(self.path), f"{why}: measure fewer, or leave long texts out")

    def take_text_rows(
        self, count: int | None, iterate: Callable[[str], NumberedRows[Any]], codec: str = ""
    ) -> FirstRows:
        """Return the first rows of a text, as `take_rows`; the codec is mostly that of the file.

        Raises `EncodingError` when they are not in the encoding.
        """
        codec = codec or self.codec

        def iterate_decoded(data: bytes, is_whole: bool) -> NumberedRows[Any]:
            try:
                text = codecs.getincrementaldecoder(codec)().decode(data, final=is_whole)
            except UnicodeDecodeError as error:
                # The rows on the lines before the wrong byte may be enough.
                wrong = self._explain_encoding(codec, error)
                before = error.object[: error.start].decode(codec, errors="replace")
                with suppress(CutOffError):
                    yield from iterate(before.rpartition("\n")[0])
                raise wrong from error
            yield from iterate(text)

        return self.take_rows(count, iterate_decoded)

    def _explain_encoding(self, codec: str, error: UnicodeDecodeError) -> EncodingError:
        """Return why a text is refused that is not in its encoding."""
        before = error.object[: error.start]
        line, byte = before.count(b"\n") + 1, f"byte 0x{error.object[error.start]:02X}"
        if codec.startswith("utf-8"):
            remedy = "save it as UTF-8, or state its encoding: FILE#encoding=cp1252"
            wrong = EncodingError(f"{self.path}:{line}", f"is not UTF-8 ({byte}): {remedy}")
        else:
            why = "which you stated" if "encoding" in self.options else "as its first bytes say"
            name = describe_codec(codec)
            wrong = EncodingError(f"{self.path}:1", f"is not {name}, {why}: {error.reason}")
        # In a text of UTF-8, other letters beyond ASCII come before a damaged one.
        if codec == "utf-8" and before.isascii() and "encoding" not in self.options:
            wrong.place = f"line {line}, {byte}"
        return wrong


def open_file(path: Path, options: Mapping[str, str]) -> OpenedFile:
    """Return a file of records.

    Raises `InputError` when it does not exist, is not a regular file, or is damaged.
    """
    with open_input(path, str(path)) as stream:
        start = stream.read(4)
    name = next((name for mark, name in _COMPRESSIONS.items() if start.startswith(mark)), "")
    file = OpenedFile(path, options, compression=name)
    head = file.read(HEAD_BYTES)
    if len(head) == HEAD_BYTES and b"\n" not in head:
        # The header of thousands of columns is longer.
        head = file.read(_SIZES[1])
    return replace(file, head=head)


def describe_codec(codec: str) -> str:
    """Return an encoding in words."""
    return _ENCODING_NAMES.get(codec, codec)
