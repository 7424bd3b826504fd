"""Both ends of a process that has imported what cells import, and forks a fresh kernel for each: half a second less.

It runs one kernel at a time, opens nothing and has no threads of its own, so that a kernel starts clean: its own
process, session, environment and log. A kernel dies with its fork server, and that with the runner. Each block gets one
of its own, so that no two share a memory layout or a hash seed.

A kernel finds nothing of the user's: its environment is `environment`'s, its home an empty folder in the run's, and it
reads no configuration of IPython's or Jupyter's, wherever that lies.
"""

import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Final, NoReturn

from benchbook import folders, paths, processes
from benchbook.folders import Folder
from benchbook.schemas import Document

_EVERY_KERNEL: Final = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "IPython.core.application"),
    *("pandas", "pyarrow.parquet", "pydantic"),
)
"""What each kernel imports."""

_LONGEST: Final = 66
"""Characters of a folder in which a kernel's sockets find room: macOS allows 104 in all."""

_NO_THREADS: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What keeps numpy and pyarrow from starting threads in a fork server: a thread does not survive a fork."""

_LOG: Final = "fork_server.log"


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
    """The runner's end of the process; the context ends it, and its kernel with it."""

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


def main(modules: list[str]) -> None:
    """Import, then fork a kernel for each order that arrives at the socket on standard input."""
    _without_debugger()
    for name in (*_EVERY_KERNEL, *modules):
        # Of a driver that is missing here, the cells that need it will say so.
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    # Else each kernel's first full collection would go through all that is imported, and copy its pages.
    gc.freeze()
    channel = socket.socket(fileno=0)
    fork_server = os.getpid()
    for line in channel.makefile("rb"):
        child = os.fork()
        if not child:
            processes.die_with(fork_server)
            _kernel(json.loads(line), channel)
        _tell(channel, pid=child)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        # What it started in its own session ends with it, stopped or not.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _tell(channel, status=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _kernel(order: Document, channel: socket.socket) -> NoReturn:
    """Become the kernel that the order describes."""
    os.setsid()
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, handle in enumerate((nothing, log, log)):
        os.dup2(handle, target)
    channel.detach()
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    # Else it would be read at import.
    arguments = [*order["arguments"], f"--IPKernelApp.parent_handle={os.getppid()}"]
    status: int | str | None = 1
    try:
        status = launch(arguments)
    except SystemExit as leaving:
        status = leaving.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))


def launch(arguments: list[str]) -> int | None:
    """Be a kernel, which reads no configuration and keeps no history (in a database that another thread writes)."""
    _without_debugger()
    from ipykernel.kernelapp import IPKernelApp
    from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS

    # The user's are in the home that a kernel does not see.
    ENV_CONFIG_DIRS.clear()
    SYSTEM_CONFIG_DIRS.clear()
    arguments = ["--HistoryManager.enabled=False", *arguments]
    sys.argv = ["ipykernel_launcher", *arguments]
    status: int | None = IPKernelApp.launch_instance(argv=arguments)
    return status


def _without_debugger() -> None:
    """Let ipykernel find no debugger, which it would import where it is installed: nobody debugs a cell."""
    sys.modules["debugpy"] = None  # type: ignore[assignment]


def _tell(channel: socket.socket, **what: int) -> None:
    channel.sendall(json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
