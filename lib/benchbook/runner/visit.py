"""One deployment in one block: its servers, freshly started, what they are written down as, and room for its files."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path
from typing import Final

from benchbook import databases, folders, processes, servers
from benchbook.deployment import NONE, VARIABLE, Deployment
from benchbook.folders import Folder, FolderError
from benchbook.grid import Place
from benchbook.measure.machine import environment
from benchbook.runner import fork_server
from benchbook.runner.fork_server import Forks
from benchbook.servers import Running, ServerError
from benchbook.servers.errors import advised

ROOM: Final = 64 * 2**20
"""Bytes that are to be free before a cell is measured again, of a small disk an eighth."""

PATIENCE_S: Final = 300.0
"""How long a run waits for that."""

_GLANCE_S: Final = 1.0
_FULL: Final = "the disk is full"
"""What `benchbook.servers.errors.advised` says of an error for want of room."""


class Visit(AbstractContextManager["Visit"]):
    """A deployment, without servers if it is ``none``, while its cells run in kernels that the block's `forks` make."""

    def __init__(self, place: Place, forks: Forks) -> None:
        self._place = place
        self._up = ExitStack()
        self._running: Running | None = None
        self.forks = forks
        self._folder: Folder | None = None

    def __exit__(self, *_: object) -> None:
        self.down()
        self._remove_folder()

    @property
    def folder(self) -> Path:
        """Where the kernels' sockets and what they deliver lie; the next run sweeps what a killed one left."""
        if self._folder is None:
            self._folder = fork_server.folder()
        return self._folder.path

    def _remove_folder(self) -> None:
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def down(self) -> None:
        """Stop all that was started; the next `ready` starts it anew."""
        self._up.close()

    def ready(self) -> None:
        """See that everything runs; raises `servers.ServerError` when it cannot, or the folder takes nothing."""
        if self._running is not None and not self.broken():
            return
        self.down()
        try:
            self.forks.ready()
            with ExitStack() as up:
                up.callback(setattr, self, "_running", None)
                product, topology, room = self._place
                if product == "none":
                    self._running = Running(NONE, lambda: None, lambda: None)
                else:
                    self._running = up.enter_context(servers.up(product, topology, room))
                # Given servers are asked whether they take our data, and lose them at the end.
                try:
                    databases.reserve(self.deployment)
                except databases.EngineError as error:
                    raise ServerError(str(error)) from error
                up.callback(_release, self.deployment)
                self._announcement.unlink(missing_ok=True)
                descriptor = os.open(self._announcement, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as file:
                    file.write(self.deployment.to_json())
                self._up = up.pop_all()
        except OSError as error:
            raise ServerError(f"nothing can be started here: {advised(str(error))}") from error

    def clear(self) -> None:
        """Stop all that was started and let go of all that lies in temporary folders; `ready` makes it anew."""
        self.down()
        self.forks.down()
        self._remove_folder()

    def without_room(self, reason: str) -> str | None:
        """Return what of the temporary folder failed a cell: that it has gone, or was full; None if it did not."""
        if why := _lacking(0):
            return why
        if self._folder is not None and not self.folder.is_dir():
            return f"{self.folder} was removed"
        return _full() if _FULL in reason else None

    def broken(self) -> str | None:
        """Return what has died and why; None while all runs."""
        return self.forks.ended() or (self._running.alive() if self._running else None)

    def died(self) -> str | None:
        """Return what `broken` does, of processes started here: to ask other servers would disturb what is timed."""
        given = self._running is not None and self.deployment.given
        return None if given else self.broken()

    @property
    def deployment(self) -> Deployment:
        """The nodes that run."""
        assert self._running is not None
        return self._running.deployment

    @property
    def own(self) -> set[int]:
        """The processes that with their descendants are the run's: this one, and given servers that run here."""
        return {os.getpid(), *(node.pid for node in self.deployment.nodes if node.pid)}

    @property
    def env(self) -> dict[str, str]:
        """What tells a kernel of the deployment."""
        return {VARIABLE: str(self._announcement)}

    @property
    def _announcement(self) -> Path:
        return self.folder / "deployment.json"

    @cached_property
    def environment(self) -> dict[str, object]:
        """What the cells are measured on: the machine, and the servers without their addresses and their folder."""
        nodes = [{"role": node.role, "version": node.version} for node in self.deployment.nodes]
        settings = {name: value for name, value in self.deployment.settings.items() if name != "folder"}
        return environment(folders.temporary()) | {
            "inherited": processes.inherited(),
            "servers": {"product": self.deployment.product, "settings": settings, "nodes": nodes},
        }


def _release(deployment: Deployment) -> None:
    """Remove what cells made on given servers; what cannot be removed is marked, and the next run's to remove."""
    try:
        databases.release(deployment)
    except databases.EngineError as error:
        print(f"benchbook: not removed, and left to the next run: {error}", file=sys.stderr)


def wait_for_room(say: Callable[[str, str], None], why: str, over: Callable[[], bool]) -> None:
    """Say why a cell is measured again, and wait until temporary files can be written.

    Raises `benchbook.folders.FolderError` when that does not come while patience lasts, or time is `over`.
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
