"""Interrupts that Python drops, raised again where a run can end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals whose handlers may raise an interrupt."""


@contextmanager
def record_interrupts() -> Iterator[Callable[[], None]]:
    """Yield a function that raises an interrupt that came inside the context, if one did.

    The handlers of signals raise their interrupts as ever. But Python drops an exception that is
    raised while an object is freed: then only the record is left. In a thread other than the main
    one nothing is recorded, because no signal comes there.
    """
    interrupts: list[BaseException] = []

    def raise_interrupt() -> None:
        if interrupts:
            raise interrupts[0]

    def record(handler: Callable[[int, FrameType | None], Any]) -> Callable[..., None]:
        def handle(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as interrupt:
                interrupts.append(interrupt)
                raise

        return handle

    handlers: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, record(handler))
    try:
        yield raise_interrupt
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
