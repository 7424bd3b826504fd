"""CouchDB through its HTTP interface: a database a schema, a record a document, one request at a time.

Records go one at a time by PUT, in bulk by ``_bulk_docs``. An update reads the whole document and writes it back with
its revision; a deletion needs the revision too, so it is read first; ``delete_all`` reads all revisions and writes
their deletions by ``_bulk_docs``. Mango's index, when asked for, is made before the records; CouchDB brings it up to
date when it is read, so the first ``find`` after writes does that.

Durability is the server's: CouchDB, from 3 on, syncs every commit before it answers; its stand-in leaves that to the
operating system (LevelDB without sync). Replication is CouchDB's own, a continuous pull by the replica, set up by
`create` for each database it makes; in topology ``bidirectional`` the primary pulls from the replica as well.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import orjson
from urllib3 import __version__ as urllib3_version  # type: ignore[attr-defined]
from urllib3.exceptions import HTTPError

from benchbook.databases.connected import Connected
from benchbook.databases.couchdb.http import AnswerError, Database, Document, Node
from benchbook.databases.couchdb.product import PRODUCTS
from benchbook.databases.couchdb.replication import PREFIX, Databases, Position, Replication
from benchbook.databases.engine import (
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
from benchbook.deployment import Role
from benchbook.schemas import Record, Schema

RAISES: Final = (AnswerError, HTTPError, orjson.JSONEncodeError)

_KINDS: Final[dict[int, type[EngineError]]] = {
    400: RefusedError,
    401: UnreachableError,
    403: UnreachableError,
    409: DuplicateKeyError,
    413: RefusedError,
}


def kind(error: Exception) -> type[EngineError]:
    """Tell unreachable servers, refused, missing and duplicate documents apart."""
    if isinstance(error, AnswerError):
        missing = error.status == 404 and error.reason in ("missing", "deleted")  # else it is the database
        return MissingRecordError if missing else _KINDS.get(error.status, EngineError)
    return RefusedError if isinstance(error, orjson.JSONEncodeError) else UnreachableError


class CouchDB(Connected):
    """Verbs are requests on one kept connection."""

    name = "couchdb"
    product = "couchdb"
    model = "document"
    driver = f"urllib3 {urllib3_version}"
    raises: ClassVar[tuple[type[Exception], ...]] = RAISES
    lacks: ClassVar[Mapping[str, str]] = {
        **PRODUCTS["couchdb"].lacks,
        "constraints": "CouchDB knows neither foreign key nor NOT NULL",
        "large_integers": "JavaScript, in CouchDB's views and its stand-in, rounds integers beyond 2^53",
        "read_only_replica": "every CouchDB node takes writes, whichever it follows",
    }
    server_lacks: ClassVar[Mapping[str, str]] = {"bytes_received": "CouchDB counts no bytes; its stand-in does"}

    def insert(self, record: Record) -> None:
        """Insert one document."""
        self._wrote(self._database.put(record["_id"], record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents; those that are not refused stay."""
        self._write(records)

    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents that Mango finds."""
        return self._restored(self._database.find(field, value))

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
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

    def ids(self) -> list[str]:
        """Return all keys."""
        return list(self._database.revisions())

    def position(self) -> Position:
        """Return the documents that were written here and not yet seen on the replica."""
        return self._replication.position()

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers, refused, missing and duplicate documents apart."""
        return kind(error)

    def _reached(self, position: Position, deadline_s: float) -> bool:
        caught_up = self._replication.reached(position, deadline_s)
        self.wait_resolution_ns, self.wait_proof_ns = self._replication.resolution_ns, self._replication.proof_ns
        return caught_up

    def _connect(self) -> None:
        self._nodes = {node.role: self._kept(Node(node.url)) for node in self.deployment.nodes}
        for node in self._nodes.values():
            node.ask("GET", "/", timeout_s=PATIENCE_S)

    def release(self) -> None:
        """Stop all pulls before a database that one reads goes."""
        for namespace in self._own():
            for store in marker.stores if (marker := namespace.marker()) else ():
                namespace.stop_pull(store)
        super().release()

    def _own(self) -> list[Databases]:
        return list(self._namespaces().values())

    def _namespaces(self) -> dict[Role, Databases]:
        return {role: Databases(node) for role, node in self._nodes.items()}

    def _store(self, schema: Schema) -> str:
        return PREFIX + re.sub("[^a-z0-9]", "_", schema.name.lower())

    def _follow_release(self) -> None:
        """Wait for nothing: each node has been released by itself."""

    def _begin(self, schema: Schema) -> None:
        """Make a fresh database on every node, replicated anew, the current one."""
        name = self._store(schema)
        self._replication = Replication(self._nodes, self.deployment.topology, name)
        self._wrote = self._replication.wrote
        self._databases = {role: Database(node, name) for role, node in self._nodes.items()}
        self._database = self._databases["primary"]
        self._restore = TypeDecoder(schema)

    def _index(self, field: str) -> None:
        self._wrote(*({"id": key, "rev": revision} for key, revision in self._database.index(field).items()))

    def _fill(self, parent: Dataset) -> None:
        super()._fill(parent)
        self._follow()  # each database has a replication of its own

    def _received(self) -> list[Counter]:
        """Return what the stand-in's pulls received."""
        node = self._nodes["replica"]
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
