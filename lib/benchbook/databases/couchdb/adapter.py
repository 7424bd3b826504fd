"""CouchDB through its HTTP interface: a database a schema, a record a document, one request at a time.

Records go one at a time by PUT, in bulk by ``_bulk_docs``. An update reads the whole document and writes it back with
its revision; a deletion needs the revision too, so it is read first; ``delete_all`` reads all revisions and writes
their deletions by ``_bulk_docs``. Mango's index, when asked for, is made before the records; CouchDB brings it up to
date when it is read, so the first ``find`` after writes does that.

Durability is the server's: CouchDB, from 3 on, syncs every commit before it answers; its stand-in leaves that to the
operating system (LevelDB without sync). Replication is CouchDB's own, a continuous pull by the replica, set up by
`create` for each database it makes; in topology ``bidirectional`` the primary pulls from the replica as well.

How far the replica has come is known exactly, by every document's revision. What it is due to have is known from the
answers to the writes, each of which states the new revision (a deletion is one too): the primary is not asked, so that
its own work stays what is measured. What the replica lacks of it, it says itself (``_revs_diff``, as replication asks
it). Sequence numbers do not compare, for each node counts its own: but as long as the replica's stays the same, nothing
has come, and what it has at last it had all that time.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import orjson
from typing_extensions import override
from urllib3 import __version__ as urllib3_version  # type: ignore[attr-defined]
from urllib3.exceptions import HTTPError, NewConnectionError, TimeoutError

from benchbook import registry
from benchbook.databases.connected import Connected, Marker, Namespace
from benchbook.databases.couchdb.http import AnswerError, Database, Document, HTTPNode
from benchbook.databases.engine import (
    CATCH_UP_S,
    PATIENCE_S,
    Counter,
    DuplicateKeyError,
    EngineError,
    MissingRecordError,
    RefusedError,
    TypeDecoder,
    UnreachableError,
)
from benchbook.datasets import Dataset
from benchbook.deployment import Node, Role, Topology
from benchbook.schemas import Record, Schema

_PREFIX: Final = "benchbook-"
_MARKER: Final = f"{_PREFIX}marker"
_MISSING: Final = "no such document"


class _Databases(Namespace):
    """Databases by their names' beginning; a pull is the document of ``_replicator`` that goes by its database's name.

    The marker is the only document of a database of its own.
    """

    title = f"what is called {_PREFIX}…"

    def __init__(self, session: HTTPNode) -> None:
        super().__init__(session)
        self._ask = session.ask

    def marker(self) -> Marker | None:
        found = self._ask("GET", f"/{_MARKER}/marker", none=(404,))
        return Marker.from_json(found["marker"]) if found else None

    def exists(self) -> bool:
        return False  # names are there by themselves

    def contents(self) -> list[str]:
        names = [*self._ask("GET", "/_all_dbs"), *self._pulls()]
        return [name for name in dict.fromkeys(names) if name.startswith(_PREFIX) and name != _MARKER]

    def mark(self, marker: Marker) -> None:
        self._ask("PUT", f"/{_MARKER}", none=(412,))
        there = self._ask("GET", f"/{_MARKER}/marker", none=(404,))
        revision = {"_rev": there["_rev"]} if there else {}
        self._ask("PUT", f"/{_MARKER}/marker", {**revision, "marker": marker.to_json()})

    def drop(self, stores: Sequence[str]) -> None:
        for name in stores:
            self.stop_pull(name)
            self._ask("DELETE", f"/{name}", none=(404,))

    def unmark(self, marker: Marker) -> None:
        self._ask("DELETE", f"/{_MARKER}")

    def stop_pull(self, database: str) -> None:
        """Delete the pull into a database, if there is one."""
        if there := self._ask("GET", f"/_replicator/{database}", none=(404,)):
            self._ask("DELETE", f"/_replicator/{database}?rev={there['_rev']}")

    def before(self) -> dict[str, Any]:
        # the first replication makes the database of replications
        return {"replicator": self._ask("GET", "/_replicator", none=(404,)) is not None}

    def restore(self, before: Mapping[str, Any]) -> None:
        # made for us, and used by nobody else
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


class _Replication:
    """A fresh database on the nodes of a topology, and the pulls between them; what was of that name is dropped.

    Attributes
    ----------
    resolution_ns
        By how much the end of the last `reached` may be late: the time from the last question whose answer was that
        something is missing (or from its beginning) until the replica is known to have had all.
    proof_ns
        How long before it returned that was: what it took to ask for every revision.
    """

    def __init__(self, nodes: Mapping[Role, HTTPNode], topology: Topology, database: str) -> None:
        self.resolution_ns = 0.0
        self.proof_ns = 0
        self._due: dict[str, str] = {}
        self._replica = nodes.get("replica", nodes["primary"])
        self._database = database
        for node in nodes.values():
            _Databases(node).stop_pull(database)
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


def _start_pull(source: HTTPNode, target: HTTPNode, database: str) -> None:
    target.ask("PUT", "/_replicator", none=(412,))
    ends = {"source": f"{source.peer}/{database}", "target": f"{target.peer}/{database}"}
    target.ask("PUT", f"/_replicator/{database}", {**ends, "continuous": True})


def _await_pull(source: HTTPNode, target: HTTPNode, mark: str) -> None:
    """Wait until a mark has gone from one node to the other: a server may take seconds to begin."""
    source.ask("PUT", mark, {})
    deadline = time.monotonic() + CATCH_UP_S
    while target.ask("GET", mark, none=(404,)) is None:
        if time.monotonic() > deadline:
            raise EngineError(f"{target.name} did not begin to follow {source.name} in {CATCH_UP_S:g} s ({mark})")
        time.sleep(_POLL_S)


class CouchDB(Connected):
    """Verbs are requests on one kept connection."""

    name = "couchdb"
    product = "couchdb"
    namespace = _Databases
    model = "document"
    driver = f"urllib3 {urllib3_version}"
    raises = (AnswerError, HTTPError, orjson.JSONEncodeError)
    kinds: ClassVar = {
        MissingRecordError: (_MISSING,),
        DuplicateKeyError: (409,),
        RefusedError: (400, 413, orjson.JSONEncodeError),
        UnreachableError: (401, 403, HTTPError),
    }
    lacks: ClassVar[Mapping[str, str]] = {
        **registry.product("couchdb").lacks,
        "constraints": "CouchDB knows neither foreign key nor NOT NULL",
        "large_integers": "JavaScript, in CouchDB's views and its stand-in, rounds integers beyond 2^53",
        "read_only_replica": "every CouchDB node takes writes, whichever it follows",
    }
    server_lacks: ClassVar[Mapping[str, str]] = {"bytes_received": "CouchDB counts no bytes; its stand-in does"}

    @override
    def insert(self, record: Record) -> None:
        self._wrote(self._database.put(record["_id"], record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents; those that are not refused stay."""
        self._write(records)

    @override
    def find(self, field: str, value: Any) -> Sequence[Record]:
        return self._restored(self._database.find(field, value))

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._restored(self._databases[role].documents())

    def update(self, key: str, changes: Record) -> None:
        """Read one document, set fields of it, and write it back."""
        self._wrote(self._database.put(key, self._database.get(key) | dict(changes)))

    def update_all(self, changes: Record) -> int:
        """Read all documents, set fields of them, and write them back."""
        return self._write([document | dict(changes) for document in self._database.documents()])

    def delete(self, key: str) -> None:
        """Delete one document, its revision read before."""
        self._wrote(self._database.delete(key, self._database.get(key)["_rev"]))

    def delete_all(self) -> int:
        """Delete all documents, their revisions read before."""
        revisions = self._database.revisions().items()
        return self._write([{"_id": key, "_rev": revision, "_deleted": True} for key, revision in revisions])

    @override
    def ids(self) -> list[str]:
        return list(self._database.revisions())

    def position(self) -> Position:
        """Return the documents that were written here and not yet seen on the replica."""
        return self._replication.position()

    @override
    def code(self, error: Exception) -> int | str | None:
        if not isinstance(error, AnswerError):
            return None
        # when no document is missing or deleted, it is the database
        return _MISSING if error.status == 404 and error.reason in ("missing", "deleted") else error.status

    def _reached(self, position: Position, deadline_s: float) -> bool:
        caught_up = self._replication.reached(position, deadline_s)
        self.wait_resolution_ns, self.wait_proof_ns = self._replication.resolution_ns, self._replication.proof_ns
        return caught_up

    def _session(self, node: Node) -> HTTPNode:
        session = self._kept(HTTPNode(node.url))
        session.ask("GET", "/", timeout_s=PATIENCE_S)
        return session

    def release(self) -> None:
        """Stop all pulls before a database that one reads goes."""
        for databases in map(_Databases, self._sessions.values()):
            for store in marker.stores if (marker := databases.marker()) else ():
                databases.stop_pull(store)
        super().release()

    def _own(self) -> list[Namespace]:
        return list(self._namespaces().values())

    def _store(self, schema: Schema) -> str:
        return _PREFIX + re.sub("[^a-z0-9]", "_", schema.name.lower())

    def _follow_release(self) -> None:
        """Wait for nothing: each node has been released by itself."""

    def _begin(self, schema: Schema) -> None:
        """Make a fresh database on every node, replicated anew, the current one."""
        name = self._store(schema)
        self._replication = _Replication(self._sessions, self.deployment.topology, name)
        self._wrote = self._replication.wrote
        self._databases = {role: Database(node, name) for role, node in self._sessions.items()}
        self._database = self._databases["primary"]
        self._restore = TypeDecoder(schema)

    def _index(self, field: str) -> None:
        self._wrote(*({"id": key, "rev": revision} for key, revision in self._database.index(field).items()))

    def _fill(self, parent: Dataset) -> None:
        super()._fill(parent)
        self._follow()  # each database has a replication of its own

    def _received(self) -> list[Counter]:
        """Return what the stand-in's pulls received."""
        node = self._sessions["replica"]
        source = "the stand-in's replication sockets (HTTP, headers too)"
        counter = Counter("bytes_received", lambda: float(node.ask("GET", "/_received")["bytes"]), source, 1.0)
        return [] if "bytes_received" in self.gaps else [counter]

    def _write(self, documents: Sequence[Record]) -> int:
        self._wrote(*self._database.write(documents))
        return len(documents)

    def _restored(self, documents: list[Document]) -> list[Document]:
        for document in documents:
            del document["_rev"]
        return self._restore(documents)
