"""Files in gzip or zstd, unpacked in memory up to a limit: a small file may unpack to any size."""

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import MAX_BYTES

_READ_BYTES: Final = 2**20


def _open_gzip(data: bytes) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=io.BytesIO(data))


def _open_zstd(data: bytes) -> pa.NativeFile:
    return pa.CompressedInputStream(pa.BufferReader(data), "zstd")


_FORMATS: Final[dict[bytes, tuple[str, Callable[[bytes], Any]]]] = {
    b"\x1f\x8b": ("gzip", _open_gzip),
    b"\x28\xb5\x2f\xfd": ("zstd", _open_zstd),
}
"""The name of each format and what opens it, by a file's first bytes."""


def unpack(path: Path, data: bytes, limit: int = MAX_BYTES) -> tuple[bytes, str]:
    """Return a file's content, and the name of its compression; empty if it has none.

    Raises `InputError` when it is damaged, or more than `limit` bytes are in it.
    """
    for mark, (name, open_stream) in _FORMATS.items():
        if not data.startswith(mark):
            continue
        try:
            with open_stream(data) as stream:
                return _read_stream(path, stream, limit), name
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            reason = f"is damaged or cut off: as {name} it cannot be unpacked ({error})"
            raise InputError(str(path), reason) from error
    return data, ""


def _read_stream(path: Path, stream: Any, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        part = stream.read(_READ_BYTES)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > limit:
            reason = f"unpacks to more than {limit:,} bytes: take some of its records"
            raise InputError(str(path), reason)
        parts.append(part)
