"""Fork servers of kernels that the runs of a file's tests share; each run starts its own."""

import os
import tempfile
from collections.abc import Iterable

import pytest
from typing_extensions import override

from benchbook.runner.kernel import ForkServer


class SharedForkServer(ForkServer):
    """A fork server that stays when a run has ended, and knows nothing of the run's test."""

    @override
    def __exit__(self, *_: object) -> None:
        pass

    @override
    def start(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for name in os.environ:
                if name == "TMPDIR" or name.startswith("BENCHBOOK_"):
                    patch.delenv(name)
            patch.setattr(tempfile, "tempdir", None)
            super().start()

    def end(self) -> None:
        super().__exit__()


class SharedForkServers:
    """One fork server for each set of modules that a block's cells import."""

    def __init__(self) -> None:
        self._servers: dict[frozenset[str], SharedForkServer] = {}

    def provide(self, modules: Iterable[str]) -> SharedForkServer:
        """Return the fork server with these modules, in the place of a new one."""
        return self._servers.setdefault(frozenset(modules), SharedForkServer(modules))

    def end(self) -> None:
        for server in self._servers.values():
            server.end()
