"""ArangoDB through python-arango: a collection in the database that the address names, a record a document.

A record's key is ArangoDB's ``_key`` (its ``_id`` is the collection's name and the key). Durability is the write's
``waitForSync``: ``default`` leaves the collection's (false), ``relaxed`` says false, ``strict`` true.

A pair is a leader and a follower that runs the replication applier, and the replica is where the primary is when its
applier has processed the primary's last log tick. ArangoDB 3.12 dropped asynchronous replication as a way to deploy,
3.12.10 the applier itself: a pair needs an older server, best 3.11.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, Final

import orjson

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines import arangodb_errors
from benchbook.engines.arangodb_database import ArangoDatabase, connect, document, logged, own_record, processed
from benchbook.engines.base import Record
from benchbook.engines.errors import EngineError
from benchbook.engines.polled import Polled
from benchbook.engines.restorer import Restorer
from benchbook.engines.told import told

_SYNC: Final[dict[str, bool | None]] = {"default": None, "relaxed": False, "strict": True}
_BATCH: Final = 1000


class ArangoDB(Polled):
    """Verbs are the collection's own, those on all records AQL."""

    name = "arangodb"
    product = "arangodb"
    model = "document"
    driver = f"python-arango {version('python-arango')}"
    raises: ClassVar[tuple[type[Exception], ...]] = arangodb_errors.RAISES
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "ArangoDB knows no foreign key, and NOT NULL only as a collection's schema",
        "bytes_received": "the applier's state counts requests and documents, not bytes",
        "read_only_replica": "a follower takes writes unless its server is set to read only",
    }

    @told
    def insert(self, record: Record) -> object:
        """Insert one document."""
        return self._collection.insert(document(record, self._key), sync=self._sync, silent=True)

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in batches; those that are not refused stay."""
        for start in range(0, len(records), _BATCH):
            batch = [document(record, self._key) for record in records[start : start + _BATCH]]
            self._collection.insert_many(batch, sync=self._sync, raise_on_document_error=True)

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found."""
        attribute = "_key" if field == self._key else field
        plain = orjson.loads(orjson.dumps(value))
        return self._records("primary", "FILTER d.@field == @value RETURN d", field=attribute, value=plain)

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
        return self._records(role, "RETURN d")

    @told
    def update(self, key: str, changes: Record) -> None:
        """Merge changes into one document."""
        self._collection.update({"_key": key, **changes}, sync=self._sync, silent=True)

    @told
    def update_all(self, changes: Record) -> int:
        """Merge changes into every document."""
        return self._changed("UPDATE d WITH @changes IN @@all", changes=dict(changes))

    @told
    def delete(self, key: str) -> None:
        """Delete one document."""
        self._collection.delete(key, sync=self._sync, silent=True)

    @told
    def delete_all(self) -> int:
        """Delete every document with one query: no truncation."""
        return self._changed("REMOVE d IN @@all")

    @told
    def ids(self) -> list[str]:
        """Return all keys."""
        return list(self._run("primary", "RETURN d._key"))

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell by ArangoDB's error number."""
        return arangodb_errors.kind(error)

    @told
    def _connect(self) -> None:
        self._sync = _SYNC[self.options.durability]
        self._databases = {}
        for node in self.deployment.nodes:
            client, self._databases[node.role] = connect(node.url)
            self._kept(client)
        self._database = self._databases["primary"]

    def _namespaces(self) -> dict[Role, ArangoDatabase]:
        return {role: ArangoDatabase(database) for role, database in self._databases.items()}

    def _store(self, schema: Schema) -> str:
        return re.sub(r"[^A-Za-z0-9_-]", "_", schema.name)

    def _begin(self, schema: Schema) -> None:
        self._name = self._store(schema)
        self._key, self._restored = schema.key, Restorer(schema)
        self._database.delete_collection(self._name, ignore_missing=True)
        self._collection = self._database.create_collection(self._name)

    def _index(self, field: str) -> None:
        self._collection.add_index({"type": "persistent", "fields": [field]})

    def _checkpoint(self) -> None:
        self._database.wal.flush(sync=True, garbage_collect=True)

    def _stands(self, role: Role) -> int:
        """Return the primary's last log tick, or that up to which the replica has processed it."""
        return logged(self._database) if role == "primary" else processed(self._databases[role])

    def _records(self, role: Role, query: str, **values: Any) -> list[dict[str, Any]]:
        """Return the records that a query finds among the documents ``d``."""
        return self._restored([own_record(found, self._key) for found in self._run(role, query, **values)])

    def _changed(self, query: str, **values: Any) -> int:
        wait = "true" if self._sync else "false"
        done = self._run("primary", f"{query} OPTIONS {{ waitForSync: {wait} }}", **values)
        return int(done.statistics()["modified"])

    def _run(self, role: Role, query: str, **values: Any) -> Any:
        values |= {"@all": self._name}
        return self._databases[role].aql.execute(f"FOR d IN @@all {query}", batch_size=_BATCH, bind_vars=values)
