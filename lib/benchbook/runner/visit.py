"""One deployment in one block: its servers, freshly started, what they are written down as, and a folder for files."""

import os
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path

from benchbook import databases, folders, processes, servers
from benchbook.deployment import NONE, VARIABLE, Deployment
from benchbook.folders import Folder, FolderError
from benchbook.grid import Place
from benchbook.measure.machine import environment
from benchbook.runner import kernel
from benchbook.runner.fork_server import ForkServer
from benchbook.servers import Running, ServerError
from benchbook.servers.errors import advised


class Visit(AbstractContextManager["Visit"]):
    """A deployment, without servers if it is ``none``, while its cells run in kernels of the block's fork server."""

    def __init__(self, place: Place, fork_server: ForkServer) -> None:
        self._place = place
        self._up = ExitStack()
        self._running: Running | None = None
        self.fork_server = fork_server
        self._folder: Folder | None = None

    def __exit__(self, *_: object) -> None:
        self.down()

    @property
    def folder(self) -> Path:
        """Where the kernels' sockets and what they deliver lie; the next run sweeps what a killed one left."""
        if self._folder is None:
            self._folder = kernel.new_folder()
        return self._folder.path

    def down(self) -> None:
        """Stop all that was started and remove the folder; the next `ready` makes both anew."""
        self._up.close()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def ready(self) -> None:
        """See that everything runs; raises `servers.ServerError` when it cannot, and `FolderError`."""
        if self._running is not None and not self.broken():
            return
        self.down()
        try:
            self.fork_server.start()
            with ExitStack() as up:
                up.callback(setattr, self, "_running", None)
                product, topology, network = self._place
                if product == "none":
                    self._running = Running(NONE, lambda: None, lambda: None)
                else:
                    self._running = up.enter_context(servers.up(product, topology, network))
                # On given servers a database of our own, which is dropped at the end.
                try:
                    up.enter_context(databases.use_fresh_database(self.deployment))
                except databases.AdapterError as error:
                    raise ServerError(str(error)) from error
                self._announcement.unlink(missing_ok=True)
                descriptor = os.open(self._announcement, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as file:
                    file.write(self.deployment.to_json())
                self._up = up.pop_all()
        except FolderError:
            raise
        except OSError as error:
            raise ServerError(f"nothing can be started here: {advised(str(error))}") from error

    def broken(self) -> str | None:
        """Return what has died and why; None while all runs."""
        return self.fork_server.failure() or (self._running.alive() if self._running else None)

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
