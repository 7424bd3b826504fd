"""The child process of a Dask task: it works in the main thread, as servers need.

Standard input brings the work, and standard output takes the answer. When the input ends, the worker
has gone or the run no longer waits: the work is interrupted.
"""

import os
import pickle
import signal
import sys
import threading

from benchbook.hosts import HostsError, describe_suite


def main() -> None:
    """Check that this is the run's benchbook, do the work and write the answer, or the error."""
    # What the work prints goes to the log, so that standard output holds the answer alone.
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
        threading.Thread(target=_interrupt_at_end, daemon=True).start()
        outcome = work(*arguments)
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


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
