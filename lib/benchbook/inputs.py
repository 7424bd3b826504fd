"""Files that a person gives: regular ones of a limited size and in UTF-8, or refused before they are read."""

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

FORMER_NAMES: Final[dict[str, str]] = {"lane": "language", "room": "network", "engine": "database"}
"""Parameters as they were called until version 0.2, with their names of now."""


class InputError(ValueError):
    """What a person wrote, in a file (``where`` is ``file:line``) or as an option, is wrong: nothing was started."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


class KindError(OSError):
    """A path leads to a folder, a FIFO or a device, not to a regular file."""


def opened(path: Path) -> BinaryIO:
    """Open a regular file for reading; a FIFO would wait for ever.

    Raises `KindError` when it is not a regular file, and `OSError` when it cannot be opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise KindError("not a regular file")
    return path.open("rb")


def contents(path: Path, limit: int, where: str | None = None) -> bytes:
    """Return a regular file's bytes; `where` is what an error calls it, None: its path.

    Raises `InputError` when it is not there, cannot be read, is not a regular file, or holds more bytes than the limit.
    """
    name = where or str(path)
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise InputError(name, f"holds {size:,} bytes: at most {limit:,} are read")
            return file.read()
    except FileNotFoundError as error:
        raise InputError(name, "there is no such file") from error
    except KindError as error:
        raise InputError(name, f"is {error}") from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(name, f"cannot be read: {reason}") from error


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
