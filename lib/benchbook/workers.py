"""Work for other processes, which end with the one that asked for it, even when they were stopped.

Those of `concurrent.futures` do not: a pool starts a tracker, which stays for ever when it was stopped before its owner
was killed.
"""

import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

from benchbook import processes

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Sequence[T], count: int) -> list[R]:
    """Return what `work` makes of each item, in their order, made by so many processes.

    Parameters
    ----------
    work, items
        Are pickled, and so is what is returned: `work` once a process, what it knows with it.
    count
        How many processes.

    Raises
    ------
    RuntimeError
        When a process ends; outside the main thread.
    Exception
        What `work` raises.
    """
    found: dict[int, R] = {}
    left = iter(range(len(items)))
    busy: dict[Any, int] = {}

    def give(channel: "Connection[Any, Any]") -> None:
        if (number := next(left, None)) is not None:
            busy[channel] = number
            channel.send(items[number])

    with ExitStack() as up:
        for channel in [up.enter_context(_worker(work)) for _ in range(count)]:
            give(channel)
        while busy:
            for channel in cast("list[Connection[Any, Any]]", wait([*busy])):
                number = busy.pop(channel)
                found[number] = _said(channel, items[number])
                give(channel)
    return [found[number] for number in range(len(items))]


@contextmanager
def fresh(work: Callable[[T], R]) -> Iterator[Callable[[T], R]]:
    """Yield what does the work on an item in a new process each time, and raises what `each` raises.

    Where forks are safe, each is forked from one that has imported all that the work needs, and done nothing else.
    """

    def forked(item: T) -> R:
        channel.send(item)
        answer: R = _said(channel, item)
        return answer

    if sys.platform == "linux":
        with _worker(work, forks=True) as channel:
            yield forked
    else:
        yield lambda item: each(work, [item], 1)[0]


def _said(channel: "Connection[Any, Any]", item: object) -> Any:
    """Return what a process made of an item."""
    try:
        done, answer = channel.recv()
    except (EOFError, OSError) as error:
        raise RuntimeError(f"the process that worked on {item!r} has ended") from error
    if not done:
        raise answer
    return answer


@contextmanager
def _worker(work: Callable[[Any], Any], *, forks: bool = False) -> Iterator["Connection[Any, Any]"]:
    """Yield the way to a new process: it takes items, and answers each, or has a fork of its own do so."""
    ours, theirs = socket.socketpair()
    with theirs:
        env = {**os.environ, **(processes.NO_THREADS if forks else {})}
        process = processes.spawn([*processes.PYTHON, "-m", __name__], env=env, stdin=theirs.fileno())
    try:
        with Connection(ours.detach()) as channel:
            channel.send((work, forks))
            yield channel
    finally:
        processes.stop(process, signal.SIGKILL)


def main() -> None:
    """Be a worker, at the socket on standard input."""
    with Connection(os.dup(0)) as channel, suppress(EOFError):
        work, forks = channel.recv()  # which imports what it needs
        here = os.getpid()
        if forks:
            gc.collect()
            gc.freeze()  # else a fork's collections would copy what is imported
        while True:
            item = channel.recv()
            if not forks:
                channel.send(_answer(work, item))
            elif not (child := os.fork()):
                processes.die_with(here)
                channel.send(_answer(work, item))
                os._exit(0)
            elif os.waitpid(child, 0)[1]:
                return


def _answer(work: Callable[[Any], Any], item: Any) -> tuple[bool, Any]:
    try:
        return True, work(item)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return False, error


if __name__ == "__main__":
    main()
