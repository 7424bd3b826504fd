"""An interrupt ends a run even where Python drops its exception."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Final

import pytest

from benchbook.cli.stop_signals import StoppedError, raise_on_stop_signals
from benchbook.grid import make_plan
from benchbook.runner.batch import Batch, run_cells
from benchbook.runner.interrupts import record_interrupts
from benchbook.runner.progress import Limits, Progress, Summary
from benchbook.servers import processes


class Freed:
    """An object during whose end a signal comes: Python drops what its handler raises."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, StoppedError)]
)
def test_an_interrupt_that_python_drops_is_raised_again(
    number: signal.Signals, error: type[BaseException]
) -> None:
    with raise_on_stop_signals():
        before = signal.getsignal(number)
        with record_interrupts() as raise_interrupt:
            raise_interrupt()
            Freed(number)
            with pytest.raises(error):
                raise_interrupt()
        assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, StoppedError)]
)
def test_an_interrupt_that_a_library_replaces_is_raised_all_the_same(
    number: signal.Signals, error: type[BaseException]
) -> None:
    with pytest.raises(error), raise_on_stop_signals():
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt as interrupt:
            raise RuntimeError("Query interrupted") from interrupt
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_run_ends_at_an_interrupt_that_python_drops(
    results_folder: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = make_plan(["crud"], "smoke", ["database=noop", "topology=single"]).cells

    def run(show_first_block: Callable[[Progress], None]) -> None:
        run_cells(cells, Limits(), Summary(), show_first_block=show_first_block)

    monkeypatch.setattr(Batch, "_run_deployments", lambda *_, **__: Freed(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(lambda _: pytest.fail("a second block began"))


def test_signals_are_left_alone_outside_of_the_main_thread() -> None:
    handlers = [signal.getsignal(signal.SIGINT)]

    def record() -> None:
        with record_interrupts() as raise_interrupt:
            raise_interrupt()
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=record)
    thread.start()
    thread.join()
    assert handlers[0] is handlers[1]


INTERRUPTED_FORK: Final = """
import os, signal
import psutil
from benchbook.servers import processes

os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    processes.spawn(["sleep", "600"])
except KeyboardInterrupt:
    print("interrupted, with", len(psutil.Process().children()), "children")
"""


def test_an_interrupt_while_a_process_is_started_is_raised_and_the_process_ends() -> None:
    done = subprocess.run(
        [*processes.PYTHON, "-c", INTERRUPTED_FORK], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "interrupted, with 0 children\n", done.stderr
