"""Engines whose log cannot be asked for a position: both nodes' records are compared, version by version."""

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from benchbook.deployment import Deployment, Role
from benchbook.engines.base import Engine, Options, told
from benchbook.engines.question import Question

Versions = Mapping[str, Any]
"""Each record's version by its key: equal on two nodes only when the records are."""

_POLL_S: Final = 0.005


class Compared(Engine):
    """The wait ends when the replica's versions are the primary's: exact, and as slow as reading them all is.

    Its resolution is measured at every wait, the time to read the primary's versions included.
    """

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._replica = Question(lambda: self._versions("replica"))
        self._since_ns = 0

    @told
    def position(self) -> Versions:
        """Return the primary's versions; where there is no replica, nothing: no node is compared with it."""
        self._since_ns = time.perf_counter_ns()
        return self._versions("primary") if self.replicated else {}

    @abstractmethod
    def _versions(self, role: Role) -> Versions:
        """Read every record's version on a node."""

    @told
    def _reached(self, position: Versions, deadline_s: float) -> bool:
        reached = self._replica.until(lambda versions: versions == position, deadline_s, _POLL_S, self._since_ns)
        self.wait_resolution_ns = self._replica.resolution_ns
        return reached
