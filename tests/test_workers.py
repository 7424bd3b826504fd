"""Work for other processes: in order, with its errors, and without one that has ended."""

import math
import os
import signal
from functools import partial

import pytest

from benchbook import workers
from waiting import gone


def test_answers_come_in_the_items_order() -> None:
    assert workers.each(partial(pow, 2), [*range(20)], 2) == [2**number for number in range(20)]
    assert workers.each(math.sqrt, [], 2) == []


def test_what_work_raises_is_raised_with_where_it_was() -> None:
    with pytest.raises(ValueError, match="math domain error") as raised:
        workers.each(math.sqrt, [4, -1, 9], 2)
    assert "work(item)" in raised.value.__notes__[0]


def test_a_process_that_ends_is_told_with_what_it_worked_on() -> None:
    with pytest.raises(RuntimeError, match=r"SIGKILL.* has ended"):
        workers.each(signal.raise_signal, [signal.SIGKILL], 1)


def test_processes_that_wait_do_one_piece_each() -> None:
    with workers.waiting(eval, 3) as ask:
        found = [one("__import__('os').getpid()") for one in ask]
    assert len({os.getpid(), *found}) == 4 and all(map(gone, found))


def test_a_process_that_waits_tells_what_it_raised_or_that_it_ended() -> None:
    with workers.waiting(eval, 2) as (one, two):
        with pytest.raises(ZeroDivisionError):
            one("1 / 0")
        with pytest.raises(RuntimeError, match=r"kill.* has ended"):
            two("__import__('os').kill(__import__('os').getpid(), 9)")
