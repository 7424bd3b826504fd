"""Files that are written whole or not at all: until then a reader has the former content."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replace_file(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Yield an empty file to write and read, which replaces `path` when the block ends well.

    Parameters
    ----------
    path
        A file in an existing folder.
    durable
        Whether the file and its name are then on the disk, so that they survive a power cut.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        # With "x" a link that another user made under this name is not followed.
        with temporary.open("x+b") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # An error of writing to an open file does not have the file's name.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        flush_folder(path.parent)


def write_file(path: Path, content: bytes | str, *, durable: bool = False) -> None:
    """Write a file's content, text as UTF-8, as `replace_file` does; make its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def flush_folder(folder: Path) -> None:
    """Write the folder's names to the disk, so that they survive a power cut, if it is readable."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
