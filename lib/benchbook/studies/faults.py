"""Faults as a parameter: what befalls the replica while records are inserted, and ends by itself.

Once half of the records have been inserted the fault begins, between two of them; so long later, while insertion or the
wait for the replica goes on, it ends:

- ``cut/2s``: the replica's cable is pulled at the room's switch, and plugged in again after 2 s;
- ``stop/2s``: the replica's processes are stopped (SIGSTOP), and go on after 2 s (SIGCONT); no room is needed.

What lasts, such as a low rate or a share of frames that are lost, is the room's: ``room: 10mbit/1%``.
"""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypeAlias

import psutil
from pydantic import AfterValidator

from benchbook import rooms
from benchbook.deployment import Deployment
from benchbook.schemas import Record
from benchbook.studies.cell_store import each

NONE: Final = "none"
CUT: Final = "cut"
STOP: Final = "stop"

LONGEST_S: Final = 3600.0
"""How long a fault may last."""

_UNITS: Final = {"ms": 1e-3, "s": 1.0}


class FaultError(RuntimeError):
    """Such a fault cannot befall this replica; the message says why."""


@dataclass(frozen=True)
class Fault:
    """What happens to the replica, `CUT` or `STOP`, and for how many seconds."""

    kind: str
    seconds: float

    @classmethod
    def of(cls, text: str) -> "Fault":
        """Return the fault that is written so, as ``cut/2s`` or ``stop/500ms``; `ValueError` with what can be."""
        known = re.fullmatch(rf"({CUT}|{STOP})/(\d+(?:\.\d+)?)(ms|s)", text)
        seconds = float(known[2]) * _UNITS[known[3]] if known else 0.0
        if known is None or not 0 < seconds <= LONGEST_S:
            raise ValueError(f"is {NONE}, or like {CUT}/2s or {STOP}/500ms, of {LONGEST_S:g}s at most, not {text!r}")
        return cls(known[1], seconds)


def _is_a_fault(text: str) -> str:
    if text != NONE:
        Fault.of(text)
    return text


FaultName: TypeAlias = Annotated[str, AfterValidator(_is_a_fault)]
"""What befalls a cell's replica, as `Fault.of` reads it, or ``none``."""


def hold_a_cable(fault: str, room: str) -> None:
    """Raise `ValueError` when a cable is to be pulled where there is none."""
    if fault.startswith(CUT) and room == rooms.NONE:
        raise ValueError(f"fault: {fault} pulls a cable, and without a room there is none: take a room, too")


Writing: TypeAlias = tuple[Callable[[], object], Callable[[float], bool]]
"""A loop that is timed, and what waits, for so many seconds at most, until the replica can be asked."""


@contextmanager
def inserting(
    records: Sequence[Record], insert: Callable[[Record], object], fault: str, deployment: Deployment
) -> Iterator[Writing]:
    """Yield the loop that inserts records while the fault begins, and what waits until it is over.

    The first is the loop that is timed. The fault's beginning is in it, so that it is known to lie between two records:
    half a millisecond or so, of stopped processes one. Its end is another thread's work. The second waits for so many
    seconds at most, and returns whether the fault is over. When the context ends, however it does, the fault is.

    Raises `FaultError` where the fault cannot be had.
    """
    if fault == NONE:
        yield partial(each, insert, records), lambda _: True
        return
    half, over = len(records) // 2, threading.Event()
    first, second = records[:half], records[half:]
    with _ready(Fault.of(fault), deployment) as (begin, end):

        def ended() -> None:
            end()
            over.set()

        timer = threading.Timer(Fault.of(fault).seconds, ended)

        def loop() -> None:
            each(insert, first)
            begin()
            timer.start()
            each(insert, second)

        try:
            yield loop, over.wait
        finally:
            timer.cancel()
            if timer.ident is not None:
                timer.join()


@contextmanager
def _ready(fault: Fault, deployment: Deployment) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Yield what begins a fault and what ends it, which is called at the end in any case."""
    if fault.kind == CUT:
        with rooms.cable(deployment.places["replica"]) as cable:
            yield cable.pull, cable.plug_in
        return
    pid = deployment.node("replica").pid
    if pid is None:
        raise FaultError(f"fault {STOP}: the replica's process is not on this machine, or not known")
    if deployment.given:
        # Were this process killed meanwhile, nobody would have them go on.
        raise FaultError(
            f"fault {STOP}: the replica is given by its address: only servers that are started for a cell are stopped"
        )
    # Found before: it takes as long as many insertions. The first forks no more of them once it is stopped.
    server = psutil.Process(pid)
    processes = [server, *server.children(recursive=True)]

    def signal(send: Callable[[psutil.Process], None]) -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                send(process)

    stop, go_on = (partial(signal, send) for send in (psutil.Process.suspend, psutil.Process.resume))
    try:
        yield stop, go_on
    finally:
        go_on()
