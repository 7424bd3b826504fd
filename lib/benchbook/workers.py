"""Work for other processes, which end with the one that asked for it, even when they were stopped.

Those of `concurrent.futures` do not: a pool starts a tracker, which stays for ever when it was stopped before its owner
was killed.
"""

import os
import signal
import socket
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias, TypeVar, cast

from benchbook import processes

T = TypeVar("T")
R = TypeVar("R")

Channel: TypeAlias = "Connection[Any, Any]"
"""The way to a process: what goes over it is pickled."""


def each(work: Callable[[T], R], items: Sequence[T], count: int) -> list[R]:
    """Return what `work` makes of each item, in their order, made by `count` processes.

    All of them are pickled, and so is what is returned: `work` once a process, with what it knows. Raises what `work`
    raises, and `RuntimeError` when a process ends, or outside the main thread.
    """
    results: dict[int, R] = {}
    left = iter(range(len(items)))
    busy: dict[Channel, int] = {}

    def give(channel: Channel) -> None:
        if (number := next(left, None)) is not None:
            busy[channel] = number
            channel.send(items[number])

    with _workers(work, count) as channels:
        for channel in channels:
            give(channel)
        while busy:
            for channel in cast("list[Channel]", wait([*busy])):
                number = busy.pop(channel)
                results[number] = _received(channel, items[number])
                give(channel)
    return [results[number] for number in range(len(items))]


@contextmanager
def waiting(work: Callable[[T], R], count: int) -> Iterator[list[Callable[[T], R]]]:
    """Yield so many processes, each to be called with one item; all have imported what they need, and rest.

    They raise what `each` raises, and so does a call.
    """

    def asked(channel: Channel, item: T) -> R:
        channel.send(item)
        answer: R = _received(channel, item)
        return answer

    with _workers(work, count) as channels:
        yield [partial(asked, channel) for channel in channels]


@contextmanager
def _workers(work: Callable[[T], R], count: int) -> Iterator[list[Channel]]:
    """Yield the ways to so many new processes that know what they are to do."""
    with ExitStack() as up:
        channels = [up.enter_context(_worker()) for _ in range(count)]
        for channel in channels:
            channel.send(work)
        for channel in channels:
            _received(channel, work)
        yield channels


def _received(channel: Channel, item: object) -> Any:
    """Return what a process answers."""
    try:
        done, answer = channel.recv()
    except (EOFError, OSError) as error:
        raise RuntimeError(f"the process that worked on {item!r} has ended") from error
    if not done:
        raise answer
    return answer


@contextmanager
def _worker() -> Iterator[Channel]:
    """Yield the way to a new process: it takes what it is to do, then items, and answers each."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = processes.spawn([*processes.PYTHON, "-m", __name__], env=os.environ, stdin=theirs.fileno())
    try:
        with Connection(ours.detach()) as channel:
            yield channel
    finally:
        processes.stop(process, signal.SIGKILL)


def main() -> None:
    """Be a worker, at the socket on standard input."""
    with Connection(os.dup(0)) as channel, suppress(EOFError):
        work = channel.recv()  # by which all that it needs is imported
        channel.send((True, None))
        while True:
            item = channel.recv()
            try:
                answer = True, work(item)
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = False, error
            channel.send(answer)


if __name__ == "__main__":
    main()
