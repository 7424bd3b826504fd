"""CouchDB's continuous replication of a database, and how far it has come: exactly, by every document's revision.

What the replica is due to have is known from the answers to the writes, each of which states the new revision (a
deletion is one too): the primary is not asked, so that its own work stays what is measured. What the replica lacks of
it, it says itself (``_revs_diff``, as replication asks it). Sequence numbers do not compare, for each node counts its
own: but as long as the replica's stays the same, nothing has come, and what it has at last it had all that time.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from urllib3.exceptions import NewConnectionError, TimeoutError

from benchbook.databases.connected import Marker, Namespace
from benchbook.databases.couchdb.http import Node
from benchbook.databases.engine import CATCH_UP_S, EngineError
from benchbook.deployment import Role, Topology

PREFIX: Final = "benchbook-"
_MARKER: Final = f"{PREFIX}marker"


class Databases(Namespace):
    """A pull is the document of ``_replicator`` that goes by its database's name."""

    title = f"what is called {PREFIX}…"

    def __init__(self, node: Node) -> None:
        self._ask = node.ask

    def marker(self) -> Marker | None:
        """Return the marker: the only document of a database of its own."""
        found = self._ask("GET", f"/{_MARKER}/marker", none=(404,))
        return Marker.from_json(found["marker"]) if found else None

    def exists(self) -> bool:
        """Return that it is not: names are there by themselves."""
        return False

    def contents(self) -> list[str]:
        """Return the databases, and the pulls that have none."""
        names = [*self._ask("GET", "/_all_dbs"), *self._pulls()]
        return [name for name in dict.fromkeys(names) if name.startswith(PREFIX) and name != _MARKER]

    def mark(self, marker: Marker) -> None:
        """Write the marker, in a database that is made where it is not there."""
        self._ask("PUT", f"/{_MARKER}", none=(412,))
        there = self._ask("GET", f"/{_MARKER}/marker", none=(404,))
        revision = {"_rev": there["_rev"]} if there else {}
        self._ask("PUT", f"/{_MARKER}/marker", {**revision, "marker": marker.to_json()})

    def drop(self, stores: Sequence[str]) -> None:
        """Stop the pulls and drop the databases."""
        for name in stores:
            self.stop_pull(name)
            self._ask("DELETE", f"/{name}", none=(404,))

    def unmark(self, marker: Marker) -> None:
        """Drop the marker's database."""
        self._ask("DELETE", f"/{_MARKER}")

    def stop_pull(self, database: str) -> None:
        """Delete the pull into a database, if there is one."""
        if there := self._ask("GET", f"/_replicator/{database}", none=(404,)):
            self._ask("DELETE", f"/_replicator/{database}?rev={there['_rev']}")

    def before(self) -> dict[str, Any]:
        """Return whether there is a database of replications: the first makes it."""
        return {"replicator": self._ask("GET", "/_replicator", none=(404,)) is not None}

    def restore(self, before: Mapping[str, Any]) -> None:
        """Drop that database when it was made for us, and nobody has used it."""
        if not before["replicator"] and self.before()["replicator"] and not self._pulls():
            self._ask("DELETE", "/_replicator")

    def _pulls(self) -> list[str]:
        rows = (self._ask("GET", "/_replicator/_all_docs", none=(404,)) or {}).get("rows", [])
        return [row["id"] for row in rows if not row["id"].startswith("_design/")]


Position = Sequence[str]
"""The documents that were written and not yet seen on the replica, by their ids, in the order of writing."""

_WAYS: Final[Mapping[Topology, Sequence[tuple[Role, Role]]]] = {
    "replicated": [("primary", "replica")],
    "bidirectional": [("primary", "replica"), ("replica", "primary")],
}
"""From where to where each topology's pulls go."""

_POLL_S: Final = 0.01
_PART: Final = 500
"""Documents that the replica is asked for at once."""


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
        By how much the end of the last `reached` may be late: the time from the last question whose answer was that
        something is missing (or from its beginning) until the replica is known to have had all.
    proof_ns
        How long before it returned that was: what it took to ask for every revision.
    """

    def __init__(self, nodes: Mapping[Role, Node], topology: Topology, database: str) -> None:
        self.resolution_ns = 0.0
        self.proof_ns = 0
        self._due: dict[str, str] = {}
        self._replica = nodes.get("replica", nodes["primary"])
        self._database = database
        for node in nodes.values():
            Databases(node).stop_pull(database)
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

        Asking is work for the replica, so that it is asked for the last written until it has that, and then for all.
        When there is nothing to wait for it is asked all the same: one that is gone must show.
        """
        deadline = time.monotonic() + deadline_s
        self._lacking_ns, self.proof_ns = time.perf_counter_ns(), 0
        try:
            while self._missing(position[-1:], deadline) or (position := self._proved(position, deadline)):
                time.sleep(_POLL_S)
        except NewConnectionError:
            raise
        except TimeoutError:
            return False
        self.resolution_ns = float(self._held_ns - self._lacking_ns)
        self.proof_ns = time.perf_counter_ns() - self._held_ns
        return True

    def _proved(self, keys: Sequence[str], deadline: float) -> list[str]:
        """Return what the replica lacks, asked in parts, and note since when it has not changed."""
        state, self._held_ns = self._state(deadline), time.perf_counter_ns()
        missing = []
        for start in range(0, len(keys), _PART):
            missing += self._missing(keys[start : start + _PART], deadline)
            if (now := self._state(deadline)) != state:
                state, self._held_ns = now, time.perf_counter_ns()
        return missing

    def _missing(self, keys: Sequence[str], deadline: float) -> list[str]:
        """Return whose newest revision the replica lacks; the others are no longer due."""
        asked_ns = time.perf_counter_ns()
        revisions = {one: [self._due[one]] for one in keys if one in self._due}
        missing = self._ask("POST", "/_revs_diff", revisions, deadline)
        if missing:
            self._lacking_ns = asked_ns
        for one in revisions.keys() - missing.keys():
            del self._due[one]
        return [one for one in revisions if one in missing]

    def _state(self, deadline: float) -> object:
        """Return the replica's sequence number: CouchDB's is a text, which it alone can read."""
        return self._ask("GET", "", None, deadline)["update_seq"]

    def _ask(self, method: str, path: str, content: object, deadline: float) -> Any:
        """Return the replica's answer, if it comes before `deadline` (s, monotonic)."""
        if (left := deadline - time.monotonic()) <= 0:
            raise TimeoutError
        return self._replica.ask(method, f"/{self._database}{path}", content, timeout_s=left)


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
