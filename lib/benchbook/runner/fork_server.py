"""Both ends of a process that has imported what cells import, and forks a fresh kernel for each: half a second less.

It runs one kernel at a time, opens nothing and has no threads of its own, so that a kernel starts clean: its own
process, session, environment and log. A kernel ends with its fork server, and that with the runner. Each block gets one
of its own, so that no two share a memory layout or a hash seed. It runs on Linux alone, which has parent-death signals.
"""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from benchbook import processes
from benchbook.runner import kernel

Channel: TypeAlias = "Connection[Any, Any]"


class Child:
    """A forked kernel, with what Jupyter uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, channel: Channel, pid: int) -> None:
        self._channel = channel
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        return self.wait() if self.returncode is not None or self._channel.poll() else None

    def wait(self) -> int:
        """Wait for its end and return the exit status."""
        if self.returncode is None:
            try:
                self.returncode = int(self._channel.recv())
            except (EOFError, OSError):
                # The fork server has ended, and has taken it along.
                self.returncode = -signal.SIGKILL
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send it a signal, unless it has ended: all that Jupyter ends it by."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, signum)


class ForkServer(AbstractContextManager["ForkServer"]):
    """The runner's end of a fork server that has imported some modules: `start` it before each kernel."""

    def __init__(self, modules: Iterable[str] = ()) -> None:
        self._modules = sorted(modules)
        self._running = ExitStack()
        self.process: subprocess.Popen[bytes] | None = None
        self._kernel: Child | None = None

    def __exit__(self, *_: object) -> None:
        self.process = None
        self._running.close()

    def start(self) -> None:
        """Start the process, unless it runs or cannot here; it imports meanwhile."""
        if not processes.HAS_DEATH_SIGNAL or (self.process and not self.failure()):
            return
        self._running.close()
        with ExitStack() as running:
            folder = running.enter_context(kernel.new_folder())
            self._log = folder / "fork_server.log"
            self._channel, theirs = Pipe()
            running.enter_context(self._channel)
            with theirs, self._log.open("wb") as log:
                self.process = processes.spawn(
                    [*processes.PYTHON, "-m", "benchbook.runner.fork_server", *self._modules],
                    env={**kernel.environment(folder), **kernel.NO_THREADS},
                    stdin=theirs.fileno(),
                    stdout=log,
                    stderr=log,
                )
            running.callback(processes.stop, self.process, signal.SIGKILL)
            self._running = running.pop_all()

    def failure(self) -> str | None:
        """Return why the process has ended; None while it runs, or was not started."""
        if self.process is None or self.process.poll() is None:
            return None
        last = self._log.read_text()[-500:] if self._log.exists() else "its folder has gone"
        return f"what forks the kernels has ended: {last}"

    def fork(self, arguments: Sequence[str], env: dict[str, str], cwd: Path, log: Path) -> Child:
        """Return a new kernel, once the one before has ended; `RuntimeError` when the process has."""
        if self._kernel is not None:
            self._kernel.wait()
        try:
            self._channel.send((list(arguments), env, str(cwd), str(log)))
            self._kernel = Child(self._channel, self._channel.recv())
        except (EOFError, OSError) as error:
            raise RuntimeError("what forks the kernels has ended") from error
        return self._kernel


def main(modules: list[str]) -> None:
    """Import, then fork a kernel for each order that arrives at the socket on standard input."""
    kernel.preload(modules)
    channel: Channel = Connection(os.dup(0))
    fork_server = os.getpid()
    with suppress(EOFError):
        while True:
            order = channel.recv()
            child = os.fork()
            if not child:
                processes.die_with(fork_server)
                channel.close()
                _become_kernel(*order)
            channel.send(child)
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            # What it started in its own session ends with it.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            channel.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _become_kernel(arguments: list[str], env: dict[str, str], cwd: str, log: str) -> NoReturn:
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
            kernel.launch([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
