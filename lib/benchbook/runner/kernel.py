"""Kernels that execute notebooks, and the fork server that forks them.

A kernel sees nothing of the user's settings. Its environment is that of `build_environment`, its
home is an empty folder of the run, and it reads no configuration of IPython or Jupyter.

The fork server is a process that has imported the modules of most kernels. It forks a fresh kernel
for each cell, which is half a second faster than to start one. It runs one kernel at a time, opens
no other files and has no threads, so that a kernel starts clean: its own process, session,
environment and log. A kernel is killed when its fork server ends, and the fork server when the
runner ends. Each block, one pass over all cells, has its own fork server, so that no two blocks
share a memory layout or a hash seed. Fork servers need parent-death signals, which only Linux has;
elsewhere each kernel is started anew.
"""

import gc
import importlib
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from benchbook import paths
from benchbook.files import suite_files
from benchbook.files.suite_files import TemporaryFolder
from benchbook.servers import processes
from benchbook.servers.errors import find_remedy

Channel: TypeAlias = "Connection[Any, Any]"

PRELOADED_MODULES: Final = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",
    "IPython.core.application",
    "pandas",
    "pyarrow.parquet",
    "pydantic",
)
"""Modules that each kernel imports."""

NO_THREADS: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Variables that keep numpy and pyarrow from starting threads, which do not survive a fork."""

MAX_FOLDER_LENGTH: Final = 66
"""Characters of a folder for a kernel's sockets.

macOS allows 104 for a socket's whole path; the rest is for its names below the folder.
"""


class ForkedKernel:
    """A forked kernel, with the part of `subprocess.Popen` that Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, channel: Channel, pid: int) -> None:
        self._channel = channel
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        return self.wait() if self.returncode is not None or self._channel.poll() else None

    def wait(self) -> int:
        """Wait until it ends and return the exit status."""
        if self.returncode is None:
            try:
                self.returncode = int(self._channel.recv())
            except (EOFError, OSError):
                # The fork server has ended, and its kernel with it.
                self.returncode = -signal.SIGKILL
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send it a signal, unless it has ended; Jupyter ends it only by signals."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, signum)


class ForkServer(AbstractContextManager["ForkServer"]):
    """The runner's end of a fork server: call `start` before each kernel.

    Parameters
    ----------
    modules
        The modules that it imports before it forks.
    """

    def __init__(self, modules: Iterable[str] = ()) -> None:
        self._modules = sorted(modules)
        self._running = ExitStack()
        self.process: subprocess.Popen[bytes] | None = None
        self._kernel: ForkedKernel | None = None

    def __exit__(self, *_: object) -> None:
        self.process = None
        self._running.close()

    def start(self) -> None:
        """Start the process, unless it runs or the system has no parent-death signals."""
        if not processes.HAS_DEATH_SIGNAL or (self.process and not self.find_failure()):
            return
        self._running.close()
        with ExitStack() as running:
            folder = running.enter_context(make_folder())
            self._log = folder / "fork_server.log"
            self._channel, theirs = Pipe()
            running.enter_context(self._channel)
            with theirs, self._log.open("wb") as log:
                self.process = processes.spawn(
                    [*processes.PYTHON, "-m", "benchbook.runner.kernel", *self._modules],
                    env={**build_environment(folder), **NO_THREADS},
                    stdin=theirs.fileno(),
                    stdout=log,
                    stderr=log,
                )
            running.callback(processes.stop, self.process, signal.SIGKILL)
            self._running = running.pop_all()

    def find_failure(self) -> str | None:
        """Return why the process has ended; None while it runs, or if it was not started."""
        if self.process is None or self.process.poll() is None:
            return None
        last = self._log.read_text()[-500:] if self._log.exists() else "its folder was removed"
        reason = last or "a signal ended it"
        if not last and self.process.returncode == -signal.SIGKILL:
            reason = find_remedy("", self.process.returncode)
        return f"the fork server of the kernels exited: {reason}"

    def fork(
        self, arguments: Sequence[str], env: dict[str, str], cwd: Path, log: Path
    ) -> ForkedKernel:
        """Return a new kernel, after the previous one has ended.

        Raises `RuntimeError` when the fork server has exited.
        """
        if self._kernel is not None:
            self._kernel.wait()
        try:
            self._channel.send((list(arguments), env, str(cwd), str(log)))
            self._kernel = ForkedKernel(self._channel, self._channel.recv())
        except (EOFError, OSError) as error:
            raise RuntimeError("the fork server of the kernels exited") from error
        return self._kernel


def make_folder() -> TemporaryFolder:
    """Return a new folder for kernels' sockets, whose path is short enough for the system."""
    usual = suite_files.find_temporary_folder()
    return TemporaryFolder("run", usual if len(str(usual)) <= MAX_FOLDER_LENGTH else Path("/tmp"))


def build_environment(folder: Path) -> dict[str, str]:
    """Return the environment of kernels that work in a folder, which is their home and TMPDIR.

    The suite's own variables (``BENCHBOOK_*``) are passed on. Matplotlib keeps its list of fonts in
    the checkout, because to make it takes seconds.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    fonts = paths.fonts() if os.access(paths.fonts().parents[1], os.W_OK) else home
    own = {name: value for name, value in os.environ.items() if name.startswith("BENCHBOOK_")}
    return processes.make_environment(home, TMPDIR=str(home), MPLCONFIGDIR=str(fonts), **own)


def preload_modules(modules: Iterable[str]) -> None:
    """Import what each kernel needs, and these modules, before kernels are forked."""
    _hide_debugger()
    for name in (*PRELOADED_MODULES, *modules):
        # If a database's driver is not installed, the cells that need it will say so.
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    # Without it, each kernel's first full collection would visit all that is imported, and copy
    # its pages.
    gc.freeze()


def launch_kernel(arguments: list[str]) -> int | None:
    """Run a kernel in this process, without configuration and history.

    The history would be a database that another thread writes.
    """
    _hide_debugger()
    from ipykernel.kernelapp import IPKernelApp
    from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS

    # The user's configuration is in a home that a kernel does not see.
    ENV_CONFIG_DIRS.clear()
    SYSTEM_CONFIG_DIRS.clear()
    arguments = ["--HistoryManager.enabled=False", *arguments]
    sys.argv = ["ipykernel_launcher", *arguments]
    status: int | None = IPKernelApp.launch_instance(argv=arguments)
    return status


def _hide_debugger() -> None:
    """Keep ipykernel from importing debugpy, which no cell needs."""
    sys.modules["debugpy"] = None  # type: ignore[assignment]


def main(modules: list[str]) -> None:
    """Run the fork server: fork a kernel for each request at the socket on standard input."""
    preload_modules(modules)
    channel: Channel = Connection(os.dup(0))
    fork_server = os.getpid()
    # A signal meant for the run's command ends it, too, without a traceback in a cell's failure.
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            order = channel.recv()
            child = os.fork()
            if not child:
                processes.end_with_owner(fork_server)
                channel.close()
                _become_kernel(*order)
            channel.send(child)
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            # Processes that the kernel started in its process group end with it.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            channel.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _become_kernel(arguments: list[str], env: dict[str, str], cwd: str, log: str) -> NoReturn:
    """Turn a forked process into a kernel: its own session, streams, environment and folder."""
    os.setsid()
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, handle in enumerate((nothing, printed, printed)):
        os.dup2(handle, target)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    try:
        with suppress(SystemExit):
            launch_kernel([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    # The notebook's result says whether the cell succeeded, not this status.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
