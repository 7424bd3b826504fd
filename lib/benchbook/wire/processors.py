"""Which processors a trial's client and server run on: one each of their own, where the machine has enough of them.

The paper's client and server had a machine each. Here they share one, and the scheduler moves both about. A core each
is theirs alone only if the kernel, a notebook's kernel and whatever else runs have another to be on: so with fewer than
three cores (the threads of one count once) nothing is pinned. With two, what else runs would land on the decoder's.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_TOPOLOGY: Final = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_ENOUGH: Final = 3
"""Cores: the client's, the server's, and that of all else."""


class Own(NamedTuple):
    """A processor each."""

    client: int
    server: int


def own() -> Own | None:
    """Return a processor for the client and one for the server, on cores of their own; None without enough cores."""
    if sys.platform != "linux":
        return None
    cores: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        cores.setdefault(_threads(processor), processor)
    # The last ones: interrupts are mostly served by the first.
    return Own(*list(cores.values())[-2:]) if len(cores) >= _ENOUGH else None


def _threads(processor: int) -> str:
    """Return which processors are threads of the same core, itself among them."""
    try:
        return Path(_TOPOLOGY.format(processor)).read_text(encoding="ascii")
    except OSError:
        return str(processor)


@contextmanager
def on(processor: int | None) -> Iterator[None]:
    """Run this thread, and what it starts meanwhile, on one processor; on None where it ran before."""
    if sys.platform != "linux" or processor is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
