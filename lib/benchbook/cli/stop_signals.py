"""The signals that stop a command: SIGTERM, and SIGHUP when its terminal closes."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a command as Ctrl-C does, so that it removes its temporary files."""

REPEAT_S: Final = 1.0
"""Seconds in which further signals count as one: a terminal that closes sends several."""


class StoppedError(KeyboardInterrupt):
    """A signal of `STOP_SIGNALS` came; `status` is the exit status of the command."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


@contextmanager
def raise_on_stop_signals() -> Iterator[None]:
    """Raise `StoppedError` in the main thread when a signal of `STOP_SIGNALS` comes.

    A signal that is ignored, as under `nohup`, or that has a handler, keeps it. Ctrl-C raises
    KeyboardInterrupt, also out of a library that replaces it by an error of its own.
    """
    terminals = [stream for stream in (1, 2) if os.isatty(stream)]
    last_s = -REPEAT_S
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal last_s
        before_s, last_s = last_s, time.monotonic()
        received.append(number)
        # What is printed to a terminal that has closed would be an error.
        for stream in terminals:
            if not os.isatty(stream):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        # A second one would interrupt the removal of temporary files.
        if last_s - before_s >= REPEAT_S:
            raise StoppedError(number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.default_int_handler(number, frame)

    defaults: list[tuple[int, Any, Any]] = [
        (number, signal.SIG_DFL, stop) for number in STOP_SIGNALS
    ]
    defaults.append((signal.SIGINT, signal.default_int_handler, interrupt))
    handled = [row for row in defaults if signal.getsignal(row[0]) == row[1]]
    for number, _, handler in handled:
        signal.signal(number, handler)
    try:
        yield
    except (KeyboardInterrupt, RuntimeError) as error:
        # A library may have replaced the error, as DuckDB does.
        if not received or isinstance(error, StoppedError):
            raise
        if received[0] == signal.SIGINT:
            raise KeyboardInterrupt from error
        raise StoppedError(received[0]) from error
    finally:
        for number, default, _ in handled:
            signal.signal(number, default)
