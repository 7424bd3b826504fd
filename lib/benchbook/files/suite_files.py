"""The suite's own files, written whole or not at all, and its temporary folders.

Begin with `write_file` and `TemporaryFolder`. The next temporary folder that is made beside those
of a killed owner removes them, and ends what still runs there. An owner has a lock on the folder
itself, which the kernel releases however the owner ends. A recorded process id would not do: ids
are reused, and differ between containers that share a disk.
"""

import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Literal, get_args

import psutil

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import fcntl

FolderOwner = Literal["servers", "run", "cell"]
"""The servers of a deployment; a run, for its kernels; or a cell or another short task."""

_ATTEMPTS: Final = 20
_PAUSE_S: Final = 0.1


class FolderError(OSError):
    """A temporary folder cannot be made; the message has the folder and the reason."""


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


def remove_unfinished(path: Path) -> None:
    """Remove what killed processes wrote in place of a file of the user, and did not finish.

    Not for files that several containers write, where an id of another one is unknown.
    """
    prefix = f".{path.name}."
    for file in path.parent.glob(f"{glob.escape(prefix)}*"):
        number = file.name.removeprefix(prefix)
        # An id may be too large for the system.
        with suppress(OSError, OverflowError):
            if number.isdecimal() and not psutil.pid_exists(int(number)):
                file.unlink()


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


class TemporaryFolder:
    """A locked temporary folder at `path`, which only its account can open.

    As a context manager it is removed at the end. It is made in `parent`, else in the folder that
    `find_temporary_folder` returns. Raises `FolderError` when it cannot be made or locked.
    """

    def __init__(self, owner: FolderOwner, parent: Path | None = None) -> None:
        parent = parent or find_temporary_folder()
        sweep_folders(parent)
        self._lock: int | None = None
        try:
            # Another process may sweep a folder before it is locked: then make another.
            for _ in range(_ATTEMPTS):
                self.path = Path(tempfile.mkdtemp(prefix=f"benchbook-{owner}-", dir=parent))
                self._lock = _lock_folder(self.path)
                if self._lock is not None and self.path.exists():
                    return
        except OSError as error:
            raise FolderError(f"no temporary folder can be made here ({error})") from error
        raise FolderError(f"{parent} cannot lock folders: point TMPDIR at a local disk")

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder and all in it; a second call does nothing."""
        if self._lock is not None:
            # A child process that is ending may still write: then empty the folder again.
            for _ in range(_ATTEMPTS):
                shutil.rmtree(self.path, ignore_errors=True)
                if not self.path.exists():
                    break
                time.sleep(_PAUSE_S)
            os.close(self._lock)
            self._lock = None


def find_temporary_folder() -> Path:
    """Return the folder of temporary files: the one in ``TMPDIR``, else the system's.

    Raises `FolderError` when the folder in ``TMPDIR`` cannot take files. There is no fallback: it
    could be on another disk.
    """
    given = os.environ.get("TMPDIR")
    if not given:
        return Path(tempfile.gettempdir())
    if not Path(given).is_dir():
        raise FolderError(f"TMPDIR={given} does not exist: create it or unset TMPDIR")
    if not os.access(given, os.W_OK | os.X_OK):
        raise FolderError(f"TMPDIR ({given}) cannot be written: point it elsewhere, or unset it")
    return Path(given).absolute()


def sweep_folders(parent: Path) -> None:
    """Remove the suite's folders in `parent` whose owner has ended."""
    for owner in get_args(FolderOwner):
        for folder in parent.glob(f"benchbook-{owner}-*"):
            lock = _lock_folder(folder)
            if lock is not None:
                _kill_processes(folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _kill_processes(folder: Path) -> None:
    """Kill the processes that work in the folder of an owner that has ended.

    A suspended server takes its death signal only when it continues, unless that is SIGKILL.
    """
    resolved = folder.resolve()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if Path(process.cwd()).is_relative_to(resolved):
                process.kill()


def _lock_folder(folder: Path) -> int | None:
    """Return an open lock on a folder of this user; None if it is gone, in use or another's."""
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
