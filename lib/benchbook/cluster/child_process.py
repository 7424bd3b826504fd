"""The child process of a Dask task: it works in its main thread, as servers need.

Standard input has the work, and standard output takes the answer. When the input ends, the worker
has gone or the run no longer waits: the work is interrupted.
"""

import os
import pickle
import pkgutil
import signal
import sys
import threading
from importlib import metadata
from typing import Final, get_args

from benchbook.registry import plugins
from benchbook.runner.errors import RunError
from benchbook.version import describe_version

CHILD_CODE: Final = "from benchbook.cluster.child_process import main; main()"
"""The program of the child process; its argument is the run's `describe_suite`."""


class HostsError(RunError):
    """One host or all hosts cannot be used: says why, and what to do."""


def describe_suite() -> str:
    """Return the versions of benchbook, its commit, and plug-ins, which all hosts must share."""
    packages: set[str] = set()
    for group in get_args(plugins.PluginGroup):
        packages |= {entry.distribution for entry in plugins.find_entries(group).values()}
    return ", ".join(
        [describe_version(), *(f"{name} {metadata.version(name)}" for name in sorted(packages))]
    )


def main() -> None:
    """Check that the run has the same benchbook, do its work and write the answer, or the error."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What the work prints goes to the log, so that standard output has only the answer.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    expected = sys.argv[1]
    try:
        # Before anything is unpickled, which another commit may not be able to do.
        present = describe_suite()
        if present != expected:
            advice = "check out the same commit on both"
            raise HostsError(f"it has {present}, the run has {expected}: {advice}")
        work, arguments = pickle.load(sys.stdin.buffer)
        function = pkgutil.resolve_name(f"benchbook.cluster.block:{work}")
        threading.Thread(target=_interrupt_at_end, daemon=True).start()
        outcome = function(*arguments)
    except KeyboardInterrupt:
        outcome = HostsError("stopped")
    except HostsError as error:
        outcome = error
    except Exception as error:
        outcome = HostsError(f"{type(error).__name__}: {error}")
    pickle.dump(outcome, answer)
    answer.close()


def _interrupt_at_end() -> None:
    """Interrupt the main thread as Ctrl-C does once standard input ends."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
