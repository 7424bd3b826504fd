"""A process that has imported what cells import, and forks a fresh kernel for each: half a second less a cell.

It runs one kernel at a time, opens nothing and has no threads of its own, so that a kernel starts clean: its own
process, session, environment and log. A kernel dies with its fork server, and that with the runner. Each block gets one
of its own, so that no two share a memory layout or a hash seed.
"""

import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Final, NoReturn

from benchbook import processes
from benchbook.schemas import Document

_EVERY_KERNEL: Final = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "IPython.core.application"),
    *("pandas", "pyarrow.parquet", "pydantic"),
)
"""What each kernel imports."""


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
