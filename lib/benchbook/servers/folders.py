"""Temporary folders that are swept by the next start when their owner was killed.

A folder's owner holds a lock on the folder itself, which the kernel releases however the owner dies. (A lock, not a
recorded process id: ids are reused, and differ between containers that share a disk.)
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final, Literal

from benchbook.servers.errors import ServerError, remedy

Kind = Literal["servers", "run"]
"""Whose folder it is: the servers' of one deployment, or a run's own, for its kernels."""

_MODES: Final[dict[Kind, int]] = {"servers": 0o711, "run": 0o700}


class Folder:
    """A locked temporary folder.

    Parameters
    ----------
    kind
        Whose it is. A run's own is closed to others; through that of servers, the user of root's servers must get.
    parent
        Where it is made, if not in the system's temporary folder (``TMPDIR`` moves that).

    Attributes
    ----------
    path
        Where it is.

    Raises
    ------
    ServerError
        When none can be made.
    """

    def __init__(self, kind: Kind = "servers", parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        sweep(parent)
        try:
            self.path, self._lock = _create(kind, parent)
        except OSError as error:
            raise ServerError(f"no temporary folder can be made here ({error}): {remedy(str(error), None)}") from error

    def remove(self) -> None:
        """Remove the folder and all in it; a second call does nothing."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def sweep(parent: Path) -> None:
    """Remove our own folders in `parent` whose owner is dead."""
    for folder in (found for kind in _MODES for found in parent.glob(f"benchbook-{kind}-*")):
        if (lock := _locked(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _create(kind: Kind, parent: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"benchbook-{kind}-", dir=parent))
        if (lock := _locked(folder)) is not None and folder.exists():  # else another's sweep came between
            folder.chmod(_MODES[kind])
            return folder, lock


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
