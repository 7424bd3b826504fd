"""The folder of temporary files during a run: whether a full or vanished one failed a cell, and the wait for room."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchbook import folders
from benchbook.folders import FolderError

ROOM: Final = 64 * 2**20
"""Bytes that are to be free before a cell is measured again, of a small disk an eighth."""

PATIENCE_S: Final = 300.0
"""How long a run waits for that."""

_GLANCE_S: Final = 1.0
_FULL: Final = "the disk is full"
"""What `benchbook.servers.errors.advised` says of an error for want of room."""


def failed(reason: str, folder: Path | None) -> str | None:
    """Return what of the temporary folder failed a cell: that it has gone, or was full; None if it did not.

    Parameters
    ----------
    reason
        Why the cell failed.
    folder
        The run's own folder there, if it has one.
    """
    if why := _lacking(0):
        return why
    if folder is not None and not folder.is_dir():
        return f"{folder} was removed"
    return _full() if _FULL in reason else None


def wait(say: Callable[[str, str], None], why: str, over: Callable[[], bool]) -> None:
    """Say why a cell is measured again, and wait until temporary files can be written.

    Raises
    ------
    benchbook.folders.FolderError
        When that does not come while patience lasts, or time is `over`.
    """
    until = time.monotonic() + PATIENCE_S
    say(why, "the cell is measured again once there is room for temporary files")
    while lacking := _lacking(ROOM):
        if over() or time.monotonic() >= until:
            raise FolderError(lacking)
        time.sleep(_GLANCE_S)


def _lacking(room: int) -> str | None:
    """Return why the folder takes nothing now: it has gone, is closed, or has less room; None when it does."""
    try:
        disk = shutil.disk_usage(folders.temporary())
    except OSError as error:
        return str(error)
    return _full() if disk.free < min(room, disk.total // 8) else None


def _full() -> str:
    return f"the disk of {folders.temporary()} is full: free some of it"
