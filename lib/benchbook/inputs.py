"""Files that a person gives: regular ones of a stated size and in UTF-8, or refused before a byte is waited for."""

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class InputError(ValueError):
    """What a person wrote, in a file (``where`` is ``file:line``) or as an option, is wrong: nothing was started."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


class KindError(OSError):
    """A path leads to no regular file; the message says to what instead."""


def opened(path: Path) -> BinaryIO:
    """Open a regular file for reading, and nothing else: a FIFO would wait for ever, a device might do something.

    Its kind is looked at before it is opened, and again through the handle, for the name may mean another file by then.

    Raises `KindError` when it is no regular file, and `OSError` when it cannot be opened.
    """
    _accept_kind(path.stat().st_mode)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _accept_kind(os.fstat(file.fileno()).st_mode)
    except KindError:
        file.close()
        raise
    return file


def contents(path: Path, limit: int, where: str | None = None) -> bytes:
    """Return a regular file's bytes; `where` is what an error calls it, None: its path.

    Raises `InputError` when it is not there, cannot be read, is no regular file, or holds more bytes than the limit.
    """
    name = where or str(path)
    try:
        with opened(path) as file:
            if (size := os.fstat(file.fileno()).st_size) > limit:
                raise InputError(name, _too_large(f"{size:,}", limit))
            # Some files do not tell their size, others grow: one byte more than the limit is enough to know.
            parts, left = [], limit + 1
            while left and (part := file.read(min(left, 2**20))):
                parts.append(part)
                left -= len(part)
    except FileNotFoundError as error:
        raise InputError(name, "there is no such file") from error
    except KindError as error:
        raise InputError(name, f"is {error}, not a regular file") from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not left:
        raise InputError(name, _too_large(f"more than {limit:,}", limit))
    return b"".join(parts)


def text(data: bytes, name: str) -> str:
    """Return the text of a UTF-8 file, without a byte order mark; `name` is what the error calls the file.

    Raises `InputError` when it is not UTF-8; names the line.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}:1", "is UTF-16, not UTF-8: save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        wrong = error.object[error.start]
        raise InputError(f"{name}:{line}", f"is not UTF-8 (byte 0x{wrong:02X}): save it as UTF-8") from error


def _accept_kind(mode: int) -> None:
    """Raise `KindError` unless it is a regular file's mode."""
    if not stat.S_ISREG(mode):
        raise KindError(next((word for is_kind, word in _KINDS if is_kind(mode)), "something else"))


def _too_large(size: str, limit: int) -> str:
    return f"holds {size} bytes: at most {limit:,} are read"
