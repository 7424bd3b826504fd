"""Engines whose replica is asked how far it is, again and again, for it cannot be told to wait.

`ReplicaPoll` asks a node that may never answer, through a driver whose calls know no deadline.
"""

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import ClassVar, Generic, TypeVar

from typing_extensions import override

from benchbook.databases.connected import Connected
from benchbook.databases.engine import Options, Position
from benchbook.deployment import Deployment, Role

T = TypeVar("T")


class ReplicaPoll(Generic[T]):
    """A question about a node's progress, asked again and again, each time on a thread of its own.

    An answer that came too late is taken by the next wait: a replica only moves on, so it is still true. Nothing waits
    for a thread whose node never answers. `resolution_ns` says by how much the end of the last `until` may have come
    late: the time since the last question began whose answer did not satisfy.
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


Versions = Mapping[str, object]
"""Each record's version by its key: equal on two nodes only when the records are."""


class Polled(Connected):
    """The wait ends when the replica's log is where the primary's was; its resolution is measured at every wait."""

    poll_s: ClassVar[float] = 0.001  # between an answer and the next question

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._replica = ReplicaPoll(partial(self._stands, "replica"))
        super().__init__(deployment, options)

    def position(self) -> Position:
        """Return how far the primary is; nothing where there is no replica to compare it with."""
        return self._stands("primary") if self.replicated else None

    @abstractmethod
    def _stands(self, role: Role) -> Position:
        """Ask a node how far it is."""

    def _reached(self, position: Position, deadline_s: float) -> bool:
        return self._asked(lambda stands: bool(stands >= position), deadline_s)

    def _asked(self, satisfied: Callable[[Position], bool], deadline_s: float, since_ns: int | None = None) -> bool:
        reached = self._replica.until(satisfied, deadline_s, self.poll_s, since_ns)
        self.wait_resolution_ns = self._replica.resolution_ns
        return reached


class Compared(Polled):
    """No log tells anything: the nodes' records are compared, version by version.

    Exact, and as slow as reading them all is. The time to read the primary's is part of the resolution.
    """

    poll_s = 0.005
    _since_ns = 0

    @override
    def position(self) -> Position:
        self._since_ns = time.perf_counter_ns()
        return super().position()

    def _follow_release(self) -> None:
        """Wait for nothing: there is no store left to compare."""

    @abstractmethod
    def _stands(self, role: Role) -> Versions:
        """Read every record's version on a node."""

    def _reached(self, position: Versions, deadline_s: float) -> bool:
        return self._asked(lambda versions: bool(versions == position), deadline_s, self._since_ns)
