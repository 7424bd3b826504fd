"""Files that are written whole or not at all: whoever reads one meanwhile has what was there before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Yield an empty file, to be written and read, which takes the path's name once the block has ended well.

    Parameters
    ----------
    path
        Of a folder that is there.
    durable
        Whether it, and its name, are on the disk by then, so that a power cut takes neither.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        with beside.open("x+b") as file:  # never what a link of another user's leads to
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # A write to an open file fails without the file's name.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        beside.unlink(missing_ok=True)
    if durable:
        flush_folder(path.parent)


def write(path: Path, content: bytes | str, *, durable: bool = False) -> None:
    """Write a file's whole content, a text as UTF-8, as `replacing` does; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def flush_folder(folder: Path) -> None:
    """Make the folder's names survive a power cut, where it may be read."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
