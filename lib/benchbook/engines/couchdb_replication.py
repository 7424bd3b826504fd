"""CouchDB's continuous replication of a database, and how far it has come: exactly, by every document's revision.

What the replica is due to have is known from the answers to the writes, each of which states the new revision (a
deletion is one too): the primary is not asked, so that its own work stays what is measured. What the replica lacks of
it, it says itself (``_revs_diff``, as replication asks it). Sequence numbers tell nothing: each node counts its own.
"""

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from urllib3.exceptions import NewConnectionError, TimeoutError

from benchbook.deployment import Role, Topology
from benchbook.engines.couchdb_http import Node
from benchbook.engines.errors import EngineError
from benchbook.engines.options import CATCH_UP_S

Position = Collection[str]
"""The documents that were written and not yet seen on the replica, by their ids."""

_WAYS: Final[Mapping[Topology, Sequence[tuple[Role, Role]]]] = {
    "replicated": [("primary", "replica")],
    "bidirectional": [("primary", "replica"), ("replica", "primary")],
}
"""From where to where each topology's pulls go."""

_POLL_S: Final = 0.01
_PART: Final = 100
"""Documents that the replica is asked for at once: as many as PouchDB replicates at once."""


class Replication:
    """A database on the nodes of a topology, and the pulls between them.

    Parameters
    ----------
    nodes
        By role.
    topology
        ``single``, ``replicated`` (the replica pulls) or ``bidirectional`` (each pulls from the other).
    database
        Its name; what is of that name is dropped, on every node.

    Attributes
    ----------
    resolution_ns
        By how much the end of the last `reached` may have come late: the time since the last question whose answer
        was that something is missing.
    """

    def __init__(self, nodes: Mapping[Role, Node], topology: Topology, database: str) -> None:
        self.resolution_ns = 0.0
        self._due: dict[str, str] = {}
        self._replica = nodes.get("replica", nodes["primary"])
        self._database = database
        for node in nodes.values():
            _stop_pull(node, database)
        for node in nodes.values():
            node.ask("DELETE", f"/{database}", none=(404,))
            node.ask("PUT", f"/{database}")
        for source, target in _WAYS.get(topology, ()):
            _start_pull(nodes[source], nodes[target], database)
            _await_pull(nodes[source], nodes[target], f"/{database}/_design/from-{source}")

    def wrote(self, *answers: Mapping[str, Any]) -> None:
        """Note what the primary answered to documents' writing."""
        for answer in answers:
            self._due[answer["id"]] = answer["rev"]

    def position(self) -> Position:
        """Return what was written and not yet seen on the replica."""
        return tuple(self._due)

    def reached(self, position: Position, deadline_s: float) -> bool:
        """Ask the replica until it has each document's newest revision; False when the time ran out.

        Asking is work for the replica, so that it is asked for a part of them once it has the last of that part, in the
        order of writing: nearly all are seen while the others are still on their way, and the end does not come later
        the more there are. When there is nothing to wait for it is asked all the same: one that is gone must show.
        """
        deadline = time.monotonic() + deadline_s
        waiting = deque(one for one in position if one in self._due)
        lacking_ns = time.perf_counter_ns()
        try:
            while True:
                sent_ns = time.perf_counter_ns()
                part = list(islice(waiting, _PART))
                if self._lacks(part[-1:], deadline) or (len(part) > 1 and self._lacks(part[:-1], deadline)):
                    lacking_ns = sent_ns
                    time.sleep(_POLL_S)
                    continue
                for _ in part:
                    del self._due[waiting.popleft()]
                if not waiting:
                    break
        except NewConnectionError:
            raise
        except TimeoutError:
            return False
        self.resolution_ns = float(time.perf_counter_ns() - lacking_ns)
        return True

    def _lacks(self, keys: Sequence[str], deadline: float) -> bool:
        """Return whether a revision is missing on the replica, as it answers before `deadline` (s, monotonic)."""
        if (left := deadline - time.monotonic()) <= 0:
            raise TimeoutError
        asked = {one: [self._due[one]] for one in keys}
        return bool(self._replica.ask("POST", f"/{self._database}/_revs_diff", asked, timeout_s=left))


def _start_pull(source: Node, target: Node, database: str) -> None:
    target.ask("PUT", "/_replicator", none=(412,))
    ends = {"source": f"{source.peer}/{database}", "target": f"{target.peer}/{database}"}
    target.ask("PUT", f"/_replicator/{database}", {**ends, "continuous": True})


def _await_pull(source: Node, target: Node, mark: str) -> None:
    """Wait until a mark has gone from one node to the other: a server may take seconds to begin."""
    source.ask("PUT", mark, {})
    deadline = time.monotonic() + CATCH_UP_S
    while target.ask("GET", mark, none=(404,)) is None:
        if time.monotonic() > deadline:
            raise EngineError(f"{target.name} did not begin to follow {source.name} in {CATCH_UP_S:g} s ({mark})")
        time.sleep(_POLL_S)


def _stop_pull(target: Node, database: str) -> None:
    if there := target.ask("GET", f"/_replicator/{database}", none=(404,)):
        target.ask("DELETE", f"/_replicator/{database}?rev={there['_rev']}")
