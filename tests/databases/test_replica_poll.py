"""Asking a node that answers late or never."""

import threading
import time
from collections.abc import Iterator

import pytest

from benchbook.databases.server_adapter import ReplicaPoll
from waiting import PATIENCE_S


def counting() -> Iterator[int]:
    yield from range(10**9)


def test_a_node_is_asked_until_its_answer_satisfies() -> None:
    answers = counting()
    question = ReplicaPoll(lambda: next(answers))
    assert question.wait_until(lambda answer: answer == 5, PATIENCE_S, 0.001)
    assert next(answers) == 6


def test_the_deadline_may_come_between_answers() -> None:
    started = time.monotonic()
    assert not ReplicaPoll(lambda: 0).wait_until(lambda answer: answer == 1, 0.1, 0.001)
    assert time.monotonic() - started >= 0.09


def test_after_a_deadline_without_an_answer_the_late_one_counts() -> None:
    let_go, asked = threading.Event(), []

    def ask() -> int:
        asked.append(1)
        let_go.wait()
        return 7

    question = ReplicaPoll(ask)
    for _ in range(2):
        started = time.monotonic()
        assert not question.wait_until(lambda answer: True, 0.05, 0.001)
        assert time.monotonic() - started >= 0.05
    let_go.set()
    assert question.wait_until(lambda answer: answer == 7, PATIENCE_S, 0.001)
    assert len(asked) == 1


@pytest.mark.parametrize("error", [TimeoutError("the driver's own"), ConnectionError("gone")])
def test_an_error_of_the_question_is_raised_and_the_next_question_works(error: Exception) -> None:
    answers: list[Exception | int] = [error, 1]

    def ask() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    question = ReplicaPoll(ask)
    with pytest.raises(type(error), match=str(error)):
        question.wait_until(lambda answer: True, PATIENCE_S, 0.001)
    assert question.wait_until(lambda answer: answer == 1, PATIENCE_S, 0.001)


def test_the_resolution_includes_the_last_answer_that_did_not_satisfy() -> None:
    answers = counting()
    question = ReplicaPoll(lambda: next(answers))
    assert question.wait_until(lambda answer: answer == 2, PATIENCE_S, 0.01)
    assert question.resolution_ns >= 10e6


def test_a_first_answer_that_satisfies_may_have_been_true_from_the_start() -> None:
    question = ReplicaPoll(lambda: 1)
    assert question.wait_until(
        lambda answer: True, PATIENCE_S, 0.001, start_ns=time.perf_counter_ns() - 1_000_000_000
    )
    assert question.resolution_ns >= 1e9
