"""One cell's notebook in a fresh kernel: papermill works in a thread, the main thread watches over it.

The kernel is forked from a fork server where the system gives parent-death signals, else started anew.
"""

import logging
import math
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty
from typing import Any, Final

import papermill
import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_core.utils import ensure_event_loop
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from typing_extensions import override

from benchbook import processes
from benchbook.runner.fork_server import ForkServer
from benchbook.runner.kernel import environment
from benchbook.scrubbing import scrubbed
from benchbook.servers.errors import advised

_ALONE: Final = "import sys; from benchbook.runner.kernel import launch; launch(sys.argv[1:])"
"""A kernel that no fork server forks."""

_SPEC: Final = KernelSpec(argv=["-f", "{connection_file}"], display_name="Python 3", language="python")
"""What Jupyter is told of our kernels, so that it looks for no other that goes by the same name."""

_POLL_S: Final = 0.005
_HEARD_S: Final = 0.02
_GLANCE_S: Final = 1.0
_GRACE_S: Final = 3.0
_KILLED_S: Final = 0.2
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")

# What fails is said by the summary.
logging.getLogger("papermill").setLevel(logging.CRITICAL)


@dataclass
class Kernel:
    """One cell's kernel: forked, or started anew where the fork server does not run; its sockets lie in the folder."""

    fork_server: ForkServer
    folder: Path
    cwd: Path
    log: Path
    """The file of all that it prints past the notebook."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to its `environment`."""
    pid: int | None = field(default=None, init=False)

    def manager(self) -> type[AsyncKernelManager]:
        """Return the class of kernel managers that starts it, over sockets in its folder: no TCP port is opened."""
        kernel = self

        class Manager(AsyncKernelManager):
            def __init__(self, **options: Any) -> None:
                super().__init__(transport="ipc", connection_file=str(kernel.folder / "k.json"), **options)
                self.client_factory = _Client
                self.provisioner = _Provisioner(kernel_id="cell", kernel_spec=_SPEC, parent=self)
                self.provisioner.kernel = kernel

            @property
            def kernel_spec(self) -> KernelSpec:
                return _SPEC

            @override
            async def _async_wait(self, pollinterval: float = _POLL_S) -> None:
                """Wait for the kernel's end: a cell ends with it, and Jupyter looks every tenth of a second."""
                await super()._async_wait(pollinterval)

        return Manager

    def kill(self) -> None:
        """End it and all of its session, if it runs."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Ended:
    """How an execution ended; of one that ended well also where its seconds went."""

    why: str | None  # not well, else None
    kernel_s: float = 0.0  # until its kernel took its first notebook cell
    longest_s: float = 0.0  # in the notebook cell that took longest
    rest_s: float = 0.0  # in all else


def execute(
    notebook: Path,
    parameters: dict[str, object],
    kernel: Kernel,
    kept: Path,
    *,
    broken: Callable[[], str | None] = lambda: None,
    scrub: Callable[[str], str] = scrubbed,
    timeout_s: float = math.inf,
    skipped: str = "draw",
    begun: Callable[[str], object] | None = None,
) -> Ended:
    """Execute a notebook; return how it ended.

    Parameters
    ----------
    kept
        Where the executed notebook is kept.
    broken
        Returns why what the cell uses has died; asked once a second. The cell then has a moment to say so itself.
    scrub
        Returns a text without passwords: what is returned and kept goes through it.
    timeout_s
        Seconds until the cell is given up.
    skipped
        The tag of notebook cells that are left out.
    begun
        Is given the id of each notebook cell that begins.
    """
    endings: list[Ended] = []
    executed = kernel.folder / "executed.ipynb"
    hooks = {"on_cell_start": lambda cell, **_: begun(cell.id)} if begun else {}
    how = (notebook, parameters, kernel, executed, kept.name, {"skip_cells_with_tag": skipped, **hooks})
    worker = threading.Thread(target=lambda: endings.append(_papermill(*how)))
    worker.start()
    try:
        stopped_for = _watch(worker, broken, timeout_s)
    finally:
        # The thread ends with the kernel, which is killed more than once, for it may only be starting.
        while worker.is_alive():
            kernel.kill()
            worker.join(_KILLED_S)
        # A copy to look at: a disk that has no network for it is told by who writes the rows.
        with suppress(OSError):
            kept.write_text(scrub(executed.read_text(encoding="utf-8")), encoding="utf-8")
            executed.unlink()
    (ended,) = endings
    why = stopped_for or ended.why
    return replace(ended, why=why and scrub(why))


def _watch(worker: threading.Thread, broken: Callable[[], str | None], timeout_s: float) -> str | None:
    deadline = time.monotonic() + timeout_s
    while worker.is_alive():
        worker.join(_GLANCE_S)
        if time.monotonic() > deadline:
            return f"it was given up after {timeout_s:g} s"
        if worker.is_alive() and (why := broken()):
            worker.join(_GRACE_S)
            return why
    return None


def _papermill(
    notebook: Path,
    parameters: dict[str, object],
    kernel: Kernel,
    executed: Path,
    kept: str,
    options: dict[str, object],
) -> Ended:
    begun = datetime.now(UTC)
    try:
        # Jupyter makes an event loop for this thread, and leaves it open.
        with closing(ensure_event_loop()):
            done = papermill.execute_notebook(
                notebook,
                executed,
                parameters,
                progress_bar=False,
                request_save_on_cell_execute=False,
                kernel_manager_class=kernel.manager(),
                shutdown_kernel="immediate",
                **options,
            )
    except PapermillExecutionError as error:
        why = advised(f"{error.ename}: {_COLOURS.sub('', error.evalue)}")
        return Ended(f"{why} (notebook cell {error.cell_index} of {kept})")
    except DeadKernelError:
        words = kernel.log.read_text(errors="replace").strip().splitlines() if kernel.log.exists() else []
        return Ended("the kernel died; " + (f"its last words: {words[-1]}" if words else "it said nothing"))
    # Whatever a kernel's start or its messages can raise fails the cell, not the run.
    except Exception as error:
        return Ended(advised(f"{type(error).__name__}: {error}"))
    whole = (datetime.now(UTC) - begun).total_seconds()
    marks = [cell.metadata["papermill"] for cell in done.cells]
    spans = [[datetime.fromisoformat(mark[end]) for end in ("start_time", "end_time")] for mark in marks]
    kernel_s = (spans[0][0] - begun).total_seconds()
    longest_s = max((end - start).total_seconds() for start, end in spans)
    return Ended(None, kernel_s, longest_s, whole - kernel_s - longest_s)


class _Client(AsyncKernelClient):
    """Takes a kernel for ready when it says so; Jupyter's own waits a fifth of a second for what might follow.

    It is there before the kernel listens, and knocks again after a millisecond: ZeroMQ would after a tenth of a second.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.context.setsockopt(zmq.RECONNECT_IVL, 1)

    @override
    async def wait_for_ready(self, timeout: float | None = None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not await self._answers():
            if not await self.is_alive():
                raise RuntimeError("Kernel died before replying to kernel_info")
            if deadline is not None and time.monotonic() > deadline:
                raise RuntimeError(f"Kernel didn't respond in {timeout:g} seconds")

    async def _answers(self) -> bool:
        """Return whether the kernel answers on both channels; on the second it says last that it is idle again.

        Who has just subscribed to that one may have missed it, and asks again.
        """
        asked = self.kernel_info()
        try:
            while (reply := await self.get_shell_msg(timeout=1))["parent_header"].get("msg_id") != asked:
                pass  # to an earlier question, of which the other channel was not heard yet
            while True:
                message = await self.get_iopub_msg(timeout=_HEARD_S)
                of_ours = message["parent_header"].get("msg_id") == asked
                if of_ours and message["content"].get("execution_state") == "idle":
                    break
        except Empty:
            return False
        self._handle_kernel_info_reply(reply)
        return True


class _Provisioner(LocalProvisioner):
    """Starts the kernel it is given: forked where the fork server runs."""

    kernel: Kernel

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        kernel, env = self.kernel, {**environment(self.kernel.folder), **self.kernel.env}
        if kernel.fork_server.process is None:
            with kernel.log.open("ab") as log:
                streams = {"stdout": log, "stderr": subprocess.STDOUT, "cwd": str(kernel.cwd)}
                await super().launch_kernel([*processes.PYTHON, "-c", _ALONE, *cmd], **kwargs | streams | {"env": env})
        else:
            child = kernel.fork_server.fork(cmd, env, kernel.cwd, kernel.log)
            self.process, self.pid, self.pgid = child, child.pid, child.pid  # type: ignore[assignment]
        kernel.pid = self.pid
        return self.connection_info
