"""Processes that work for this one and end with it, however it ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from benchbook import processes


def start_pool(count: int, begin: Callable[..., object] | None = None, *arguments: object) -> ProcessPoolExecutor:
    """Return a pool of `count` new processes, each of which first calls `begin` with these arguments.

    Call it, and submit to it, in the main thread: on Linux a process ends with the thread that started it.
    """
    fresh = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, fresh, _begin, (os.getpid(), begin, arguments))


def _begin(owner: int, begin: Callable[..., object] | None, arguments: tuple[object, ...]) -> None:
    # A Ctrl-C is the owner's, which then ends its processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if processes.HAS_DEATH_SIGNAL:
        processes.die_with(owner)
    else:
        threading.Thread(target=_end_with_owner, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_owner() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
