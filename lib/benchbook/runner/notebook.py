"""One cell's notebook in a fresh kernel: papermill works in a thread that the main thread watches.

The kernel is forked from a fork server where the system has parent-death signals, otherwise it is
started as a new process.
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

from benchbook.runner.kernel import ForkServer, build_environment
from benchbook.schema import UnfitError
from benchbook.servers import processes
from benchbook.servers.errors import add_remedy, scrub_passwords

LAUNCH_CODE: Final = (
    "import sys; from benchbook.runner.kernel import launch_kernel; launch_kernel(sys.argv[1:])"
)
"""The program of a kernel that is not forked."""

KERNEL_SPEC: Final = KernelSpec(
    argv=["-f", "{connection_file}"], display_name="Python 3", language="python"
)
"""What Jupyter knows of our kernels, so that it does not look for an installed one."""

_POLL_S: Final = 0.005
"""Seconds between two looks whether a kernel has ended; Jupyter waits a tenth of a second."""

_IOPUB_S: Final = 0.02
"""Seconds to wait for a message on a kernel's second channel."""

_WATCH_S: Final = 1.0
"""Seconds between two checks of a running cell."""

_GRACE_S: Final = 3.0
"""Seconds in which a cell can report itself that its servers died."""

_KILL_S: Final = 0.2
"""Seconds between two attempts to kill a kernel."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")

# The run's summary reports failures.
logging.getLogger("papermill").setLevel(logging.CRITICAL)


@dataclass
class Kernel:
    """One cell's kernel: forked, or started as a new process if the fork server does not run."""

    fork_server: ForkServer
    folder: Path  # of its sockets
    cwd: Path
    log: Path  # all that it prints outside the notebook
    env: Mapping[str, str] = field(default_factory=dict)  # added to its `build_environment`
    pid: int | None = field(default=None, init=False)

    def manager_class(self) -> type[AsyncKernelManager]:
        """Return the class of kernel managers that starts it, over sockets in its folder."""
        kernel = self

        class Manager(AsyncKernelManager):
            def __init__(self, **options: Any) -> None:
                super().__init__(
                    transport="ipc", connection_file=str(kernel.folder / "k.json"), **options
                )
                self.client_factory = _QuickClient
                self.provisioner = _Provisioner(
                    kernel_id="cell", kernel_spec=KERNEL_SPEC, parent=self
                )
                self.provisioner.kernel = kernel

            @property
            def kernel_spec(self) -> KernelSpec:
                return KERNEL_SPEC

            @override
            async def _async_wait(self, pollinterval: float = _POLL_S) -> None:
                """Wait until the kernel has ended, which a cell's end waits for."""
                await super()._async_wait(pollinterval)

        return Manager

    def kill(self) -> None:
        """Kill it and all processes of its session, if it runs."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class NotebookOutcome:
    """How an execution ended; if it succeeded, where its seconds went."""

    failure: str | None  # None: it succeeded
    kernel_s: float = 0.0  # until its kernel took its first notebook cell
    longest_s: float = 0.0  # in the notebook cell that took longest
    rest_s: float = 0.0  # in everything else
    is_refusal: bool = False  # it failed because its servers refuse a user's records


def execute_notebook(
    notebook: Path,
    parameters: dict[str, object],
    kernel: Kernel,
    target: Path,
    *,
    find_failure: Callable[[], str | None] = lambda: None,
    scrub: Callable[[str], str] = scrub_passwords,
    timeout_s: float = math.inf,
    skipped_tag: str = "draw",
    on_cell_start: Callable[[str], object] | None = None,
) -> NotebookOutcome:
    """Execute a notebook and return its outcome.

    Parameters
    ----------
    target
        The file for the executed notebook.
    find_failure
        Returns why a process that the notebook uses has died, else None; called once a second. The
        notebook then has a moment to report it itself.
    scrub
        Removes passwords from a text: the failure and the executed notebook go through it.
    timeout_s
        Seconds until the notebook is stopped.
    skipped_tag
        The tag of notebook cells that are not executed.
    on_cell_start
        Called with the id of each notebook cell that begins.
    """
    # Papermill works in a thread, so that this one can watch it.
    outcomes: list[NotebookOutcome] = []
    executed = kernel.folder / "executed.ipynb"
    options: dict[str, object] = {"skip_cells_with_tag": skipped_tag}
    if on_cell_start is not None:
        options["on_cell_start"] = lambda cell, **_: on_cell_start(cell.id)
    arguments = (notebook, parameters, kernel, executed, target.name, options)
    worker = threading.Thread(target=lambda: outcomes.append(_run_papermill(*arguments)))
    worker.start()
    try:
        stop_reason = _watch(worker, find_failure, timeout_s)
    finally:
        # The thread ends with the kernel, which is killed again and again because it may only be
        # starting.
        while worker.is_alive():
            kernel.kill()
            worker.join(_KILL_S)
        # The copy is only to look at; the code that writes the rows reports a full disk.
        with suppress(OSError):
            target.write_text(scrub(executed.read_text(encoding="utf-8")), encoding="utf-8")
            executed.unlink()
    (outcome,) = outcomes
    failure = stop_reason or outcome.failure
    return replace(outcome, failure=scrub(failure) if failure else failure)


def _watch(
    worker: threading.Thread, find_failure: Callable[[], str | None], timeout_s: float
) -> str | None:
    """Return why a notebook must be stopped; None once its thread has ended."""
    deadline = time.monotonic() + timeout_s
    while worker.is_alive():
        worker.join(_WATCH_S)
        if time.monotonic() > deadline:
            return f"it was given up after {timeout_s:g} s"
        if not worker.is_alive():
            return None
        failure = find_failure()
        if failure:
            worker.join(_GRACE_S)
            return failure
    return None


def _run_papermill(
    notebook: Path,
    parameters: dict[str, object],
    kernel: Kernel,
    executed: Path,
    name: str,
    options: dict[str, object],
) -> NotebookOutcome:
    """Execute a notebook in this thread; `name` is what failures call it."""
    begun = datetime.now(UTC)
    try:
        # Jupyter makes an event loop for this thread, and leaves it open.
        with closing(ensure_event_loop()):
            done = papermill.execute_notebook(
                notebook,
                executed,
                parameters,
                # Whatever kernel the notebook names, or none: it runs in ours.
                kernel_name="python3",
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                kernel_manager_class=kernel.manager_class(),
                shutdown_kernel="immediate",
                **options,
            )
    except PapermillExecutionError as error:
        reason = _COLOURS.sub("", error.evalue)
        if error.ename == UnfitError.__name__:
            return NotebookOutcome(reason, is_refusal=True)
        failure = add_remedy(f"{error.ename}: {reason}")
        return NotebookOutcome(f"{failure} (notebook cell {error.cell_index} of {name})")
    except DeadKernelError:
        return NotebookOutcome(_describe_dead_kernel(kernel.log))
    # Anything else that a kernel's start or its messages raise fails the cell, not the run.
    except Exception as error:
        return NotebookOutcome(add_remedy(f"{type(error).__name__}: {error}"))

    # Papermill notes when each notebook cell began and ended.
    whole_s = (datetime.now(UTC) - begun).total_seconds()
    marks = [cell.metadata["papermill"] for cell in done.cells]
    starts = [datetime.fromisoformat(mark["start_time"]) for mark in marks]
    ends = [datetime.fromisoformat(mark["end_time"]) for mark in marks]
    kernel_s = (starts[0] - begun).total_seconds()
    longest_s = max((end - start).total_seconds() for start, end in zip(starts, ends, strict=True))
    return NotebookOutcome(None, kernel_s, longest_s, whole_s - kernel_s - longest_s)


def _describe_dead_kernel(log: Path) -> str:
    """Return that a kernel died, with the last line that it printed."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    if not lines:
        return "the kernel died without output: see whether memory ran out"
    return f"the kernel died; last output: {lines[-1]}"


class _QuickClient(AsyncKernelClient):
    """A client that takes a kernel as ready when the kernel reports it.

    Jupyter's own waits a fifth of a second for what might follow. This one connects before the
    kernel listens, and tries again after a millisecond; ZeroMQ's default is a tenth of a second.
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
        """Return whether the kernel answers on both channels; the second ends with "idle".

        A client that has just subscribed to the second channel may have missed this, and asks
        again.
        """
        request = self.kernel_info()
        try:
            reply = await self.get_shell_msg(timeout=1)
            # An answer to an earlier request, whose second channel was not heard.
            while reply["parent_header"].get("msg_id") != request:
                reply = await self.get_shell_msg(timeout=1)
            while True:
                message = await self.get_iopub_msg(timeout=_IOPUB_S)
                is_ours = message["parent_header"].get("msg_id") == request
                if is_ours and message["content"].get("execution_state") == "idle":
                    break
        except Empty:
            return False
        self._handle_kernel_info_reply(reply)
        return True


class _Provisioner(LocalProvisioner):
    """Starts a given kernel: forked if the fork server runs."""

    kernel: Kernel

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        kernel = self.kernel
        env = {**build_environment(kernel.folder), **kernel.env}
        if kernel.fork_server.process is None:
            with kernel.log.open("ab") as log:
                streams = {"stdout": log, "stderr": subprocess.STDOUT, "cwd": str(kernel.cwd)}
                await super().launch_kernel(
                    [*processes.PYTHON, "-c", LAUNCH_CODE, *cmd], **kwargs | streams | {"env": env}
                )
        else:
            child = kernel.fork_server.fork(cmd, env, kernel.cwd, kernel.log)
            self.process = child  # type: ignore[assignment]
            self.pid = self.pgid = child.pid
        kernel.pid = self.pid
        return self.connection_info
