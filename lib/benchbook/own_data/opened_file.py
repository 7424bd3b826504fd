"""A user's file, opened as a stream: only as much of it is read as its first records need."""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO, TypeVar

import pyarrow as pa

from benchbook.files.inputs import FileKindError, InputError, open_regular_file
from benchbook.schema import Record

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES: Final = 256 * 2**20
"""Bytes, unpacked, up to which records are read."""

HEAD_BYTES: Final = 2**18
"""The first bytes, unpacked, by which a file's format, encoding and delimiter are found."""

_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""The name of each compression by a file's first bytes."""

_MARKS: Final = {
    codecs.BOM_UTF8: ("utf-8", "UTF-8 with a byte order mark"),
    codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16"),
}

ENCODINGS: Final = {
    "utf-8": ("utf-8", "UTF-8"),
    # Without a mark, it is as Windows writes it.
    "utf-16": ("utf-16-le", "UTF-16"),
    "cp1252": ("cp1252", "cp1252"),
    "latin-1": ("latin-1", "latin-1"),
}
"""The words of the option ``encoding``, each with its codec and its name."""


@dataclass(frozen=True)
class Encoding:
    """The encoding of a file of text."""

    codec: str
    words: str
    mark: bytes = b""  # the byte order mark with which the file begins
    is_stated: bool = False


class EncodingError(InputError):
    """A file of text is not in its encoding."""


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
    def encoding(self) -> Encoding:
        """The encoding by the byte order mark, by the option, or UTF-8."""
        stated = self.options.get("encoding", "")
        mark = next((mark for mark in _MARKS if self.head.startswith(mark)), b"")
        codec, words = _MARKS.get(mark, ENCODINGS[stated or "utf-8"])
        return Encoding(codec, words, mark, bool(mark or stated))

    def open(self) -> BinaryIO:
        """Return a stream of the unpacked bytes.

        Reading raises `InputError` when the file is damaged, or after `MAX_BYTES`.
        """
        stream = open_regular_file(self.path)
        unpacked: Any = stream
        if self.compression == "gzip":
            # Python's gzip ignores the zeros that some archivers append.
            unpacked = gzip.GzipFile(fileobj=stream)
        elif self.compression:
            unpacked = pa.CompressedInputStream(pa.PythonFile(stream), self.compression)
        return io.BufferedReader(_LimitedStream(self, unpacked))

    @contextmanager
    def open_text(self, encoding: Encoding) -> Iterator[TextIO]:
        """Yield a stream of the text, with its line ends as they are.

        Raises `EncodingError`, with the line, when it is not in the encoding.
        """
        with self.open() as stream:
            stream.read(len(encoding.mark))
            try:
                yield io.TextIOWrapper(stream, encoding.codec, newline="")
            except UnicodeDecodeError as error:
                line, byte = self.find_wrong_byte()
                where, why = f"{self.path}:1", f"is not {encoding.words}, which you stated"
                if encoding.mark:
                    why = f"is not {encoding.words}, as its first bytes say"
                if encoding.codec == "utf-8" and line:
                    where = f"{self.path}:{line}"
                    remedy = "save it as UTF-8, or state its encoding: FILE#encoding=cp1252"
                    raise EncodingError(
                        where, f"is not UTF-8 (byte 0x{byte:02X}): {remedy}"
                    ) from error
                raise EncodingError(where, f"{why}: {error.reason}") from error

    def find_wrong_byte(self) -> tuple[int, int]:
        """Return the line and the value of the first byte that is not UTF-8; two zeros for none."""
        with self.open() as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    return number, line[error.start]
        return 0, 0

    def decode_head(self, encoding: Encoding) -> str:
        """Return the beginning of the text; a character that is not in the encoding is a mark."""
        return self.head[len(encoding.mark) :].decode(encoding.codec, errors="replace")

    def describe_encoding(self, encoding: Encoding) -> str:
        """Return the encoding and the line ends in words."""
        head = self.decode_head(encoding)
        line_ends = "Unix line ends"
        if "\r\n" in head:
            line_ends = "Windows line ends"
        elif "\r" in head and "\n" not in head:
            line_ends = "old Mac line ends"
        return f"{encoding.words}, {line_ends}"


class _LimitedStream(io.RawIOBase):
    """The unpacked bytes of a file, of which at most `MAX_BYTES` are read."""

    def __init__(self, file: OpenedFile, stream: Any) -> None:
        self._file, self._stream = file, stream
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        try:
            part = self._stream.read(len(view))
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            packed = f"as {self._file.compression} it cannot be unpacked"
            why = f"is damaged or cut off: {packed} ({error})"
            if not self._file.compression:
                why = f"cannot be read: {error}"
            raise InputError(str(self._file.path), why) from error
        self._size += len(part)
        if self._size > MAX_BYTES:
            why = f"more than {MAX_BYTES:,} bytes are read for its first records"
            raise InputError(str(self._file.path), f"{why}: measure fewer, or leave long texts out")
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_file(path: Path, options: Mapping[str, str]) -> OpenedFile:
    """Return a file of records.

    Raises `InputError` when it does not exist, is not a regular file, or is damaged.
    """
    try:
        with open_regular_file(path) as stream:
            start = stream.read(4)
    except FileNotFoundError as error:
        raise InputError(str(path), "there is no such file") from error
    except FileKindError as error:
        why = "a folder: give one of its files" if path.is_dir() else error
        raise InputError(str(path), f"is {why}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(str(path), f"cannot be read: {reason}") from error
    name = next((name for mark, name in _COMPRESSIONS.items() if start.startswith(mark)), "")
    file = OpenedFile(path, options, compression=name)
    with file.open() as stream:
        return replace(file, head=stream.read(HEAD_BYTES))


@dataclass(frozen=True)
class ReadRecords:
    """The first records of a file, as its format's reader returns them."""

    format: str  # ``JSON Lines``, ``JSON array``, ``delimited text``, ``XML`` or ``Parquet``
    records: Sequence[Record]
    lines: list[int]  # of the records; in Parquet, rows
    is_whole: bool  # whether the file has no more records
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)
    encoding: str = ""  # in words, with the line ends; empty for Parquet and XML
    delimiter: str = ""  # its name, as an option after the file's name has it
    decimal: str = ""  # the same for the decimal mark
    names: tuple[str, ...] = ()  # the fields in their order, where records do not tell


Row = TypeVar("Row")

NumberedRecords = Iterator[tuple[int, Record]]
"""Records with their line in the file; in Parquet, with their row."""


def take_records(
    rows: Iterable[tuple[int, Row]], count: int | None
) -> tuple[list[Row], list[int], bool]:
    """Return the first records with their lines, and whether there are no more.

    What is wrong behind them does not matter.
    """
    remaining = iter(rows)
    taken = [*islice(remaining, count)]
    try:
        is_whole = next(remaining, None) is None
    except (InputError, UnicodeDecodeError):
        is_whole = False
    return [record for _, record in taken], [line for line, _ in taken], is_whole


def is_nearly_utf8(head: bytes) -> bool:
    """Return whether most of the characters beyond ASCII are valid UTF-8."""
    decoded = head.decode("utf-8", errors="replace")
    wrong = decoded.count("\ufffd")
    beyond = sum(map(len, re.findall(r"[^\x00-\x7f]+", decoded)))
    return beyond - wrong > wrong
