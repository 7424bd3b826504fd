"""Temporary folders that are swept by the next start when their owner was killed: all that the suite makes.

A folder's owner holds a lock on the folder itself, which the kernel releases however the owner dies. (A lock, not a
recorded process id: ids are reused, and differ between containers that share a disk.)
"""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final, Literal, get_args

Owner = Literal["servers", "run", "cell"]
"""Whose it is: the servers' of one deployment; a run's, for its kernels; one cell's, or another task's."""

_ATTEMPTS: Final = 20
_PAUSE_S: Final = 0.1


class FolderError(OSError):
    """There is no place for temporary files; the message says which and why."""


class Folder:
    """A locked temporary folder at `path`, closed to all but its owner; a context manager that removes it.

    It is made in `parent`, or among temporary files (`temporary`). Raises `FolderError` when it cannot be made.
    """

    def __init__(self, owner: Owner, parent: Path | None = None) -> None:
        parent = parent or temporary()
        sweep(parent)
        self._lock: int | None = None
        try:
            # Another's sweep may come between.
            while self._lock is None or not self.path.exists():
                self.path = Path(tempfile.mkdtemp(prefix=f"benchbook-{owner}-", dir=parent))
                self._lock = _locked(self.path)
        except OSError as error:
            raise FolderError(f"no temporary folder can be made here ({error})") from error

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder and all in it; a second call does nothing."""
        if self._lock is not None:
            # A process that is just ending may write once more while the folder is being emptied.
            for _ in range(_ATTEMPTS):
                shutil.rmtree(self.path, ignore_errors=True)
                if not self.path.exists():
                    break
                time.sleep(_PAUSE_S)
            os.close(self._lock)
            self._lock = None


def temporary() -> Path:
    """Return the folder of temporary files: what ``TMPDIR`` names, else the system's.

    `FolderError` when ``TMPDIR`` names none that takes files: another in its place could be on another disk.
    """
    if not (given := os.environ.get("TMPDIR")):
        return Path(tempfile.gettempdir())
    if not Path(given).is_dir():
        raise FolderError(f"TMPDIR={given} does not exist: create it or unset TMPDIR")
    if not os.access(given, os.W_OK | os.X_OK):
        raise FolderError(f"TMPDIR ({given}) cannot be written: point it elsewhere, or unset it")
    return Path(given).absolute()


def sweep(parent: Path) -> None:
    """Remove our own folders in `parent` whose owner is dead."""
    for owner in get_args(Owner):
        for folder in parent.glob(f"benchbook-{owner}-*"):
            if (lock := _locked(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """Return an open lock on a folder of ours; None when it is gone, another's, or in use."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    except OSError:
        pass
    os.close(handle)
    return None
