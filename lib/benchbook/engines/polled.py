"""Engines whose replica is asked how far it is, again and again, for it cannot be told to wait."""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from benchbook.deployment import Deployment, Role
from benchbook.engines.connected import Connected
from benchbook.engines.options import Options
from benchbook.engines.question import Question
from benchbook.engines.told import told

Versions = Mapping[str, Any]
"""Each record's version by its key: equal on two nodes only when the records are."""


class Polled(Connected):
    """The wait ends when the replica's log is where the primary's was; its resolution is measured at every wait.

    Attributes
    ----------
    poll_s
        How long to wait between an answer and the next question, in seconds.
    """

    poll_s: ClassVar[float] = 0.001

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._replica = Question(partial(self._stands, "replica"))
        super().__init__(deployment, options)

    @told
    def position(self) -> Any:
        """Return how far the primary is; nothing where there is no replica to compare it with."""
        return self._stands("primary") if self.replicated else None

    @abstractmethod
    def _stands(self, role: Role) -> Any:
        """Ask a node how far it is."""

    @told
    def _reached(self, position: Any, deadline_s: float) -> bool:
        return self._asked(lambda stands: bool(stands >= position), deadline_s)

    def _asked(self, satisfied: Callable[[Any], bool], deadline_s: float, since_ns: int | None = None) -> bool:
        reached = self._replica.until(satisfied, deadline_s, self.poll_s, since_ns)
        self.wait_resolution_ns = self._replica.resolution_ns
        return reached


class Compared(Polled):
    """No log tells anything: the nodes' records are compared, version by version.

    Exact, and as slow as reading them all is. The time to read the primary's is part of the resolution.
    """

    poll_s = 0.005
    _since_ns = 0

    @told
    def position(self) -> Versions | None:
        """Return the primary's versions; nothing where there is no replica to compare them with."""
        self._since_ns = time.perf_counter_ns()
        return self._stands("primary") if self.replicated else None

    def _follow_release(self) -> None:
        """Wait for nothing: there is no store left to compare."""

    @abstractmethod
    def _stands(self, role: Role) -> Versions:
        """Read every record's version on a node."""

    @told
    def _reached(self, position: Versions, deadline_s: float) -> bool:
        return self._asked(lambda versions: bool(versions == position), deadline_s, self._since_ns)
