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
from typing import Any, ClassVar

import orjson
from urllib3 import __version__ as urllib3_version  # type: ignore[attr-defined]
from urllib3.exceptions import HTTPError

from benchbook.datasets import Dataset, Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines.base import PATIENCE_S, Counter, Engine, Options, Record, told
from benchbook.engines.couchdb_database import Database, Document
from benchbook.engines.couchdb_http import AnswerError, Node
from benchbook.engines.couchdb_replication import Position, Replication
from benchbook.engines.errors import DuplicateKeyError, EngineError, MissingRecordError, RefusedError, UnreachableError
from benchbook.engines.json_records import Restorer


class CouchDB(Engine):
    """Verbs are requests on one kept connection."""

    name = "couchdb"
    product = "couchdb"
    model = "document"
    driver = f"urllib3 {urllib3_version}"
    untested = "CouchDB itself (what ran here was PouchDB's server, its stand-in)"
    raises: ClassVar[tuple[type[Exception], ...]] = (AnswerError, HTTPError, orjson.JSONEncodeError)
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "CouchDB knows neither foreign key nor NOT NULL",
        "durability": "CouchDB syncs every commit and its stand-in none: there is no choice",
        "large_integers": "JavaScript, in CouchDB's views and its stand-in, rounds integers beyond 2^53",
        "read_only_replica": "every CouchDB node takes writes, whichever it follows",
    }

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._nodes = {node.role: Node(node.url) for node in deployment.nodes}
        self._connect()

    @told
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the database and its parents', replication with each; the parents' records are inserted in bulk."""
        for parent in parents:
            self._fresh(parent.schema)
            self.insert_many(parent.records)
            self._follow()
        self._fresh(schema)
        for field in {field.name for field in schema.fields}.intersection(self.options.index):
            self._database.index(field)
        for key, revision in self._database.revisions(designs=True).items():
            self._wrote({"id": key, "rev": revision})
        self._follow()

    @told
    def insert(self, record: Record) -> None:
        """Insert one document."""
        self._wrote(self._database.put(record["_id"], record))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents; those that are not refused stay."""
        self._write(records)

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents that Mango finds."""
        return self._restored(self._database.find(field, value))

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
        return self._restored(self._databases[role].documents())

    @told
    def update(self, key: str, changes: Record) -> None:
        """Read one document, set fields of it, and write it back."""
        self._wrote(self._database.put(key, self._database.get(key) | dict(changes)))

    @told
    def update_all(self, changes: Record) -> int:
        """Read all documents, set fields of them, and write them back."""
        return self._write([document | dict(changes) for document in self._database.documents()])

    @told
    def delete(self, key: str) -> None:
        """Delete one document, its revision read before."""
        self._wrote(self._database.delete(key, self._database.get(key)["_rev"]))

    @told
    def delete_all(self) -> int:
        """Delete all documents, their revisions read before."""
        revisions = self._database.revisions().items()
        return self._write([{"_id": key, "_rev": revision, "_deleted": True} for key, revision in revisions])

    @told
    def ids(self) -> list[str]:
        """Return all keys."""
        return list(self._database.revisions())

    @told
    def position(self) -> Position:
        """Return the documents that were written here and not yet seen on the replica."""
        return self._replication.position()

    @told
    def counters(self, role: Role) -> list[Counter]:
        """Return the bytes that the stand-in's pulls received; CouchDB counts none."""
        if role != "replica" or not self.replicated or not self.deployment.node(role).stand_in:
            return []
        node = self._nodes[role]
        source = "the stand-in's replication sockets (HTTP, headers too)"
        return [Counter("bytes_received", lambda: float(node.ask("GET", "/_received")["bytes"]), source, 1.0)]

    def close(self) -> None:
        """Close all connections."""
        for node in self._nodes.values():
            node.close()

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers, refused, missing and duplicate documents apart."""
        if isinstance(error, AnswerError):
            missing = MissingRecordError if error.reason in ("missing", "deleted") else EngineError
            denied = dict.fromkeys((401, 403), UnreachableError)
            known = {400: RefusedError, 404: missing, 409: DuplicateKeyError, 413: RefusedError, **denied}
            return known.get(error.status, EngineError)
        return RefusedError if isinstance(error, orjson.JSONEncodeError) else UnreachableError

    @told
    def _reached(self, position: Position, deadline_s: float) -> bool:
        caught_up = self._replication.reached(position, deadline_s)
        self.wait_resolution_ns = self._replication.resolution_ns
        return caught_up

    @told
    def _connect(self) -> None:
        try:
            for node in self._nodes.values():
                node.ask("GET", "/", timeout_s=PATIENCE_S)
        except BaseException:
            self.close()
            raise

    def _fresh(self, schema: Schema) -> None:
        name = f"benchbook-{re.sub('[^a-z0-9]', '_', schema.name.lower())}"
        self._replication = Replication(self._nodes, self.deployment.topology, name)
        self._wrote = self._replication.wrote
        self._databases = {role: Database(node, name) for role, node in self._nodes.items()}
        self._database = self._databases["primary"]
        self._restore = Restorer(schema)

    def _write(self, documents: Sequence[Record]) -> int:
        for answer in self._database.write(documents):
            self._wrote(answer)
        return len(documents)

    def _restored(self, documents: list[Document]) -> list[Document]:
        for document in documents:
            del document["_rev"]
        self._restore(documents)
        return documents
