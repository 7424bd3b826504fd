"""Interrupts that Python drops, raised again where a run can end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from benchbook.servers.processes import SignalHandler, replace_signal_handlers


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

    def record(handler: SignalHandler) -> SignalHandler:
        def handle(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as interrupt:
                interrupts.append(interrupt)
                raise

        return handle

    if threading.current_thread() is not threading.main_thread():
        yield raise_interrupt
        return
    with replace_signal_handlers(record):
        yield raise_interrupt
