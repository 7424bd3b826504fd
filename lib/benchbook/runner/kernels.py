"""Fresh kernels: forked from a fork server where the system gives parent-death signals, else started anew.

A kernel finds nothing of the user's: its environment is `environment`'s, its home an empty folder in the run's, and it
reads no configuration of IPython's or Jupyter's, wherever that lies.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any, Final

import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from typing_extensions import override

from benchbook import folders, paths, processes
from benchbook.folders import Folder
from benchbook.schemas import Document

_LONGEST: Final = 66
"""Characters of a folder in which a kernel's sockets find room: macOS allows 104 in all."""

_NO_THREADS: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What keeps numpy and pyarrow from starting threads in a fork server: a thread does not survive a fork."""

_ALONE: Final = "import sys; from benchbook.runner.fork_server import launch; launch(sys.argv[1:])"
"""A kernel that no fork server forks."""

_LOG: Final = "fork_server.log"
_POLL_S: Final = 0.005
_HEARD_S: Final = 0.02

_SPEC: Final = KernelSpec(argv=["-f", "{connection_file}"], display_name="Python 3", language="python")
"""What Jupyter is told of our kernels, so that it looks for no other that goes by the same name."""


def folder() -> Folder:
    """Return a new folder for kernels' sockets, whose names would get longer elsewhere than the system allows."""
    usual = folders.temporary()
    return Folder("run", usual if len(str(usual)) <= _LONGEST else Path("/tmp"))


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of kernels that work in a folder: home and temporary files lie there, and end with it.

    What names the suite's own things is passed on (``BENCHBOOK_*``). Matplotlib keeps its list of fonts in the
    checkout, for making it takes seconds.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    fonts = paths.fonts() if os.access(paths.fonts().parents[1], os.W_OK) else home
    own = {name: value for name, value in os.environ.items() if name.startswith("BENCHBOOK_")}
    return processes.environment(home, TMPDIR=str(home), MPLCONFIGDIR=str(fonts), **own)


class Child:
    """A kernel that a fork server forked, with what Jupyter uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, channel: socket.socket, order: Document) -> None:
        self._channel = channel
        self._lines = b""
        self.returncode: int | None = None
        channel.sendall(json.dumps(order).encode() + b"\n")
        if not (answer := self._next(block=True)):
            raise RuntimeError("what forks the kernels has ended")
        self.pid: int = answer["pid"]

    def poll(self) -> int | None:
        """Return the exit status; None while it runs. A fork server that is gone has taken it along."""
        if self.returncode is None and (answer := self._next(block=False)) is not None:
            self.returncode = answer.get("status", -signal.SIGKILL)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit status."""
        if self.returncode is None:
            self.returncode = (self._next(block=True) or {}).get("status", -signal.SIGKILL)
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _next(self, *, block: bool) -> Document | None:
        """Return what the fork server says next; None when it says nothing yet, nothing in it when it is gone."""
        while b"\n" not in self._lines:
            try:
                part = self._channel.recv(4096, 0 if block else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if not part:
                return {}
            self._lines += part
        line, _, self._lines = self._lines.partition(b"\n")
        message: Document = json.loads(line)
        return message


class ForkServer(AbstractContextManager["ForkServer"]):
    """The runner's end of `benchbook.runner.fork_server`; the context ends it, and its kernel with it."""

    def __init__(self, modules: Sequence[str], log: Path, env: Mapping[str, str]) -> None:
        self._channel, theirs = socket.socketpair()
        with log.open("ab") as file, theirs:
            command = [*processes.PYTHON, "-m", "benchbook.runner.fork_server", *modules]
            self.process = processes.spawn(
                command, env={**env, **_NO_THREADS}, stdin=theirs.fileno(), stdout=file, stderr=file
            )
        # A kernel that has just been forked is in this group, until it is on its own.
        self._group = ExitStack()
        self._group.enter_context(processes.group_ended(self.process.pid))

    def fork(self, arguments: Sequence[str], env: dict[str, str], cwd: Path, log: Path) -> Child:
        """Return a new kernel."""
        return Child(self._channel, {"arguments": list(arguments), "env": env, "cwd": str(cwd), "log": str(log)})

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        processes.stop(self.process, signal.SIGKILL)
        self._group.close()


def fork_server(modules: Sequence[str], folder: Path) -> AbstractContextManager[ForkServer | None]:
    """Return a fork server, its log in the folder; a context with None where forked kernels are not safe (no Linux)."""
    if sys.platform != "linux":
        return nullcontext()
    return ForkServer(modules, folder / _LOG, environment(folder))


class Forks(AbstractContextManager["Forks"]):
    """What forks a block's kernels: a fork server where there can be one, another when it has ended."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._modules = sorted(modules)
        self._up = ExitStack()
        self._folder: Path | None = None
        self.server: ForkServer | None = None

    def __exit__(self, *_: object) -> None:
        self.down()

    def down(self) -> None:
        """End it and remove its folder; the next `ready` starts another."""
        self.server = self._folder = None
        self._up.close()

    def ready(self) -> None:
        """See that it runs; what it imports it does meanwhile."""
        if self._folder is not None and not self.ended():
            return
        self._up.close()
        with ExitStack() as up:
            self._folder = up.enter_context(folder())
            self.server = up.enter_context(fork_server(self._modules, self._folder))
            self._up = up.pop_all()

    def ended(self) -> str | None:
        """Return why it runs no more; None while it does, or where there is none."""
        if self.server is None or self._folder is None or self.server.process.poll() is None:
            return None
        log = self._folder / _LOG
        return f"what forks the kernels has ended: {log.read_text()[-500:] if log.exists() else 'its folder has gone'}"


@dataclass
class Kernel:
    """One cell's kernel: forked, or started anew where there is no fork server; its sockets lie in the folder."""

    fork_server: ForkServer | None
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
    """Starts the kernel it is given: forked where there is a fork server."""

    kernel: Kernel

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        kernel, env = self.kernel, {**environment(self.kernel.folder), **self.kernel.env}
        if kernel.fork_server is None:
            with kernel.log.open("ab") as log:
                streams = {"stdout": log, "stderr": subprocess.STDOUT, "cwd": str(kernel.cwd)}
                await super().launch_kernel([*processes.PYTHON, "-c", _ALONE, *cmd], **kwargs | streams | {"env": env})
        else:
            child = kernel.fork_server.fork(cmd, env, kernel.cwd, kernel.log)
            self.process, self.pid, self.pgid = child, child.pid, child.pid  # type: ignore[assignment]
        kernel.pid = self.pid
        return self.connection_info
