"""Files of a user: regular files of a limited size in UTF-8, or refused before they are read."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class InputError(ValueError):
    """A mistake in a user's file or option; nothing was started.

    `where` is the option, the file, or ``file:line``.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


class FileKindError(OSError):
    """A path leads to a folder, a FIFO or a device instead of a regular file."""


def open_regular_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; opening a FIFO could wait for ever.

    Raises `FileKindError` when it is not a regular file, and `OSError` when it cannot be opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileKindError("not a regular file")
    return path.open("rb")


@contextmanager
def open_input(path: Path, name: str) -> Iterator[BinaryIO]:
    """Open a user's file for reading; errors call it `name`.

    Raises `InputError` when it does not exist, cannot be read, or is not a regular file.
    """
    try:
        with open_regular_file(path) as file:
            yield file
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(name, "there is no such file") from error
    except FileKindError as error:
        why = "a folder: give one of its files" if path.is_dir() else error
        raise InputError(name, f"is {why}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(name, f"cannot be read: {reason}") from error


def read_bytes(path: Path, limit: int, where: str | None = None) -> bytes:
    """Return a regular file's bytes.

    Raises `InputError` when it does not exist, cannot be read, is not a regular file, or has more
    bytes than the limit.

    Parameters
    ----------
    path
        The file.
    limit
        Bytes of the largest file that is read.
    where
        The file's name in errors; None: its path.
    """
    name = where or str(path)
    with open_input(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise InputError(name, f"holds {size:,} bytes: at most {limit:,} are read")
        return file.read()


def decode_utf8(data: bytes, name: str) -> str:
    """Return the text of a UTF-8 file, without a byte order mark; errors call the file `name`.

    Raises `InputError`, with the line, when it is not UTF-8.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}:1", "is UTF-16, not UTF-8: save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        reason = f"is not UTF-8 (byte 0x{error.object[error.start]:02X}): save it as UTF-8"
        raise InputError(f"{name}:{line}", reason) from error
