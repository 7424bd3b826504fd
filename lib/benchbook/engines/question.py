"""Asking a node that may never answer, through a driver whose calls know no deadline."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

T = TypeVar("T")


class Question(Generic[T]):
    """A question about a node's progress, asked again and again, each time on a thread of its own.

    An answer that came too late is taken by the next wait: a replica only moves on, so it is still true. Nothing waits
    for a thread whose node never answers.

    Attributes
    ----------
    resolution_ns
        By how much the end of the last `until` may have come late: the time since the last question began whose
        answer did not satisfy.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._pending: Future[T] | None = None
        self._begun_ns = 0
        self.resolution_ns = 0.0

    def until(
        self, satisfied: Callable[[T], bool], deadline_s: float, poll_s: float, since_ns: int | None = None
    ) -> bool:
        """Ask until an answer satisfies, `poll_s` after each that does not; False when the time ran out.

        Where the first answer satisfies, it may have been true since `since_ns` (of `time.perf_counter_ns`), which is
        now unless said. Raises what the question raises.
        """
        deadline = time.monotonic() + deadline_s
        unsatisfied_ns = since_ns or time.perf_counter_ns()
        while (pending := self._answered(deadline)) is not None:
            reached = satisfied(pending.result())
            self.resolution_ns = float(time.perf_counter_ns() - unsatisfied_ns)
            if reached or time.monotonic() + poll_s > deadline:
                return reached
            unsatisfied_ns = self._begun_ns
            time.sleep(poll_s)
        return False

    def _answered(self, deadline: float) -> Future[T] | None:
        """Return the question with its answer or error; None when there was none by `deadline` (s, monotonic)."""
        if self._pending is None:
            self._begun_ns = time.perf_counter_ns()
            self._pending = self._asked()
        pending = self._pending
        if not wait([pending], max(0.0, deadline - time.monotonic())).done:
            return None
        self._pending = None
        return pending

    def _asked(self) -> Future[T]:
        future: Future[T] = Future()

        def ask() -> None:
            try:
                future.set_result(self._ask())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        return future
