"""A deployment during one block: freshly started servers, and a folder for the kernels' files."""

import os
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path

from benchbook.databases import catalogue
from benchbook.databases.adapter import AdapterError
from benchbook.files import suite_files
from benchbook.files.suite_files import FolderError, TemporaryFolder
from benchbook.grid.cells import DeploymentKey
from benchbook.measure.machine import describe_environment
from benchbook.runner import kernel
from benchbook.runner.kernel import ForkServer
from benchbook.servers import launcher, processes
from benchbook.servers.deployment import DEPLOYMENT_VARIABLE, NO_DEPLOYMENT, Deployment
from benchbook.servers.errors import ServerError, add_remedy
from benchbook.servers.launcher import RunningServers


class BlockDeployment(AbstractContextManager["BlockDeployment"]):
    """The servers of a deployment during one block, and what its cells' kernels need of it.

    Parameters
    ----------
    place
        The product (``none``: no servers), its topology, its network and when it commits.
    fork_server
        Forks the kernels of the block.
    """

    def __init__(self, place: DeploymentKey, fork_server: ForkServer) -> None:
        self._place = place
        self._up = ExitStack()
        self._running: RunningServers | None = None
        self.fork_server = fork_server
        self._folder: TemporaryFolder | None = None

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        """The folder of the kernels' sockets and rows; the next run removes it after a kill."""
        if self._folder is None:
            self._folder = kernel.make_folder()
        return self._folder.path

    def stop(self) -> None:
        """Stop all that was started and remove the folder; the next `start` makes both again."""
        self._up.close()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def start(self) -> None:
        """Start everything that does not run.

        Raises `benchbook.servers.errors.ServerError` when it cannot, and `FolderError`.
        """
        if self._running is not None and not self.find_failure():
            return
        self.stop()
        try:
            self.fork_server.start()
            with ExitStack() as up:
                up.callback(setattr, self, "_running", None)
                product, topology, network, commit = self._place
                if product == "none":
                    self._running = RunningServers(NO_DEPLOYMENT, lambda: None, lambda: None)
                else:
                    self._running = up.enter_context(
                        launcher.provide_servers(product, topology, network, commit)
                    )
                # A user's servers get a database of ours, which is dropped at the end.
                try:
                    up.enter_context(catalogue.use_fresh_database(self.deployment))
                except AdapterError as error:
                    raise ServerError(str(error)) from error
                self._announcement.unlink(missing_ok=True)
                descriptor = os.open(
                    self._announcement, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
                )
                with os.fdopen(descriptor, "w") as file:
                    file.write(self.deployment.to_json())
                self._up = up.pop_all()
        except FolderError:
            raise
        except OSError as error:
            raise ServerError(f"nothing can be started here: {add_remedy(str(error))}") from error

    def find_failure(self) -> str | None:
        """Return which process has died and why; None while all run."""
        return self.fork_server.find_failure() or (
            self._running.find_failures() if self._running else None
        )

    def find_local_failure(self) -> str | None:
        """Return the failure of processes that were started here.

        To ask the user's servers would disturb what is timed.
        """
        given = self._running is not None and self.deployment.is_given
        return None if given else self.find_failure()

    @property
    def deployment(self) -> Deployment:
        """The nodes that run."""
        assert self._running is not None
        return self._running.deployment

    @property
    def own_pids(self) -> set[int]:
        """The run's processes: this one, and the user's servers on this machine."""
        return {os.getpid(), *(node.pid for node in self.deployment.nodes if node.pid)}

    @property
    def kernel_variables(self) -> dict[str, str]:
        """Environment variables by which a kernel finds the deployment."""
        return {DEPLOYMENT_VARIABLE: str(self._announcement)}

    @property
    def _announcement(self) -> Path:
        return self.folder / "deployment.json"

    @cached_property
    def environment(self) -> dict[str, object]:
        """The machine and the servers that cells are measured on, without addresses and folder."""
        nodes = [{"role": node.role, "version": node.version} for node in self.deployment.nodes]
        settings = {
            name: value for name, value in self.deployment.settings.items() if name != "folder"
        }
        return describe_environment(suite_files.find_temporary_folder()) | {
            "inherited": processes.read_inherited(),
            "servers": {"product": self.deployment.product, "settings": settings, "nodes": nodes},
        }
