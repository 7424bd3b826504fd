"""One deployment in one block: its servers, freshly started, and what they are written down as."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from benchbook import databases, folders, processes, servers
from benchbook.deployment import NONE, VARIABLE, Deployment, Topology
from benchbook.folders import Folder
from benchbook.measure.environment import environment
from benchbook.runner import kernels, room
from benchbook.runner.kernels import Forks
from benchbook.servers import Running, ServerError
from benchbook.servers.errors import advised

Up = Callable[[str, Topology], Running]
"""Brings up the servers of a product in a topology."""


class Visit(AbstractContextManager["Visit"]):
    """A deployment, without servers if it is ``none``, while its cells run in kernels that the block's `forks` make.

    Its servers are what `up` brings up.
    """

    def __init__(self, product: str, topology: Topology, forks: Forks, up: Up = servers.up) -> None:
        self._place = (product, topology)
        self._bring_up = up
        self._up = ExitStack()
        self._running: Running | None = None
        self.forks = forks

    def __exit__(self, *_: object) -> None:
        self.down()
        if "_folder" in vars(self):
            self._folder.remove()

    @cached_property
    def _folder(self) -> Folder:
        return kernels.folder()

    @property
    def folder(self) -> Path:
        """Where the kernels' sockets and what they deliver lie; the next run sweeps what a killed one left."""
        return self._folder.path

    def down(self) -> None:
        """Stop all that was started; the next `ready` starts it anew."""
        self._up.close()

    def _forget(self) -> None:
        self._running = None

    def ready(self) -> None:
        """See that everything runs; raises `servers.ServerError` when it cannot, or the folder takes nothing."""
        if self._running is not None and not self.broken():
            return
        self.down()
        try:
            self.forks.ready()
            with ExitStack() as up:
                up.callback(self._forget)
                self._running = up.enter_context(self._servers())
                self._reserve(up)
                self._announce()
                self._up = up.pop_all()
        except OSError as error:
            raise ServerError(f"nothing can be started here: {advised(str(error))}") from error

    def clear(self) -> None:
        """Stop all that was started and let go of all that lies in temporary folders; `ready` makes it anew."""
        self.down()
        self.forks.down()
        if "_folder" in vars(self):
            self._folder.remove()
            del self._folder

    def without_room(self, reason: str) -> str | None:
        """Return what of the temporary folder failed a cell, as `benchbook.runner.room.failed` does."""
        return room.failed(reason, self.folder if "_folder" in vars(self) else None)

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
        return {VARIABLE: str(self.folder / "deployment.json")}

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What the cells are measured on: the machine, and the servers without their addresses and their folder."""
        found: dict[str, Any] = environment(folders.temporary())
        found["inherited"] = processes.inherited()
        nodes = [{"role": node.role, "version": node.version} for node in self.deployment.nodes]
        settings = {name: told for name, told in self.deployment.settings.items() if name != "folder"}
        found["servers"] = {"product": self.deployment.product, "settings": settings, "nodes": nodes}
        return found

    def _servers(self) -> AbstractContextManager[Running]:
        product, topology = self._place
        none = Running(NONE, lambda: None, lambda: None)
        return nullcontext(none) if product == "none" else self._bring_up(product, topology)

    def _reserve(self, up: ExitStack) -> None:
        """See to it that given servers take our data, and lose them at the end."""
        try:
            databases.reserve(self.deployment)
        except databases.EngineError as error:
            raise ServerError(str(error)) from error
        up.callback(_release, self.deployment)

    def _announce(self) -> None:
        path = self.folder / "deployment.json"
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(self.deployment.to_json())


def _release(deployment: Deployment) -> None:
    """Remove what cells made on given servers; what cannot be removed is marked, and the next run's to remove."""
    try:
        databases.release(deployment)
    except databases.EngineError as error:
        print(f"benchbook: not removed, and left to the next run: {error}", file=sys.stderr)
