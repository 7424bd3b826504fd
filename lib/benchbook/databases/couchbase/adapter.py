"""Couchbase through its SDK, key by key: a document a record, its key the schema's name and the record's own.

An update reads the whole document and replaces it, as the paper did; so do the calls that change or delete all, which
list the keys first: key-value access has no such calls. Searching by a field, and listing, are SQL++ queries that see
all writes. A pair is two clusters with XDCR from the primary's bucket to the replica's; XDCR keeps a document's CAS,
so the nodes are equal when their keys and CAS are.

Durability: ``default`` and ``relaxed`` are acknowledged from memory, ``strict`` when persisted on the active node.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import couchbase
import orjson
from couchbase.durability import DurabilityLevel, ServerDurability
from couchbase.exceptions import (
    AmbiguousTimeoutException,
    AuthenticationException,
    CouchbaseException,
    DocumentExistsException,
    DocumentNotFoundException,
    RequestCanceledException,
    UnAmbiguousTimeoutException,
)

from benchbook.databases.connected import Marker
from benchbook.databases.couchbase.bucket import Bucket, BucketNamespace, StandInBucket
from benchbook.databases.engine import (
    DuplicateKeyError,
    EngineError,
    MissingRecordError,
    RefusedError,
    TypeDecoder,
    UnreachableError,
)
from benchbook.databases.replica_polling import Compared, Versions
from benchbook.deployment import Role
from benchbook.schemas import Record, Schema

RAISES: Final = (CouchbaseException, orjson.JSONEncodeError)

_KINDS: Final[dict[type[Exception], type[EngineError]]] = {
    DocumentExistsException: DuplicateKeyError,
    DocumentNotFoundException: MissingRecordError,
    orjson.JSONEncodeError: RefusedError,
    AuthenticationException: UnreachableError,
    AmbiguousTimeoutException: UnreachableError,
    UnAmbiguousTimeoutException: UnreachableError,
    RequestCanceledException: UnreachableError,
}
_TOLD: Final = {"<ec=104,": RefusedError, "category=couchbase.network": UnreachableError}
"""Exceptions that only their text tells apart: a value that is too large, and what the network did."""


def kind(error: Exception) -> type[EngineError]:
    """Return what an exception is to be raised as."""
    known = [kind for type_, kind in _KINDS.items() if isinstance(error, type_)]
    known += [kind for text, kind in _TOLD.items() if text in str(error)]
    return known[0] if known else EngineError


_STRICT: Final = {"durability": ServerDurability(DurabilityLevel.PERSIST_TO_MAJORITY)}


class Couchbase(Compared):
    """Verbs are the collection's own."""

    name = "couchbase"
    product = "couchbase"
    model = "document"
    driver = f"couchbase {couchbase.__version__}"
    raises: ClassVar[tuple[type[Exception], ...]] = RAISES
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "Couchbase knows neither foreign key nor NOT NULL",
        "bytes_received": "XDCR's statistics are sampled: no counter of its bytes is exact",
        "read_only_replica": "the target of one-way XDCR takes writes of its own",
    }
    stand_in_lacks: ClassVar[Mapping[str, str]] = {
        "wait_for": "CouchbaseMock has no XDCR, hence no replica: two real clusters by their addresses do",
        "find": "CouchbaseMock knows no SQL++: only the key finds a record",
        "durability": "CouchbaseMock refuses durable writes",
        "passwords": "CouchbaseMock does not verify them",
    }

    def insert(self, record: Record) -> object:
        """Insert one document."""
        return self._documents.insert(self._prefix + record[self._key], record, **self._durability)

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in the SDK's batches; those before a refused one stay."""
        documents = {self._prefix + record[self._key]: record for record in records}
        if len(documents) < len(records):
            raise DuplicateKeyError(f"{self.where}: two of the records have one key")
        self._bucket.insert(documents)

    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found: by the key, or by a query."""
        if field != self._key:
            self._has("find")
            return self._restored(self._bucket.find(self._prefix, field, value))
        try:
            return self._restored([self._documents.get(self._prefix + value).content_as[dict]])
        except DocumentNotFoundException:
            return []

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
        return self._restored(list(self._buckets[role].get(self._prefix)))

    def update(self, key: str, changes: Record) -> None:
        """Read a document, and replace it by itself with the changes."""
        found = self._documents.get(self._prefix + key)
        document = found.content_as[dict] | changes
        self._documents.replace(self._prefix + key, document, cas=found.cas, **self._durability)

    def update_all(self, changes: Record) -> int:
        """Read every document, and replace it by itself with the changes."""
        return self._bucket.update(self._prefix, changes)

    def delete(self, key: str) -> None:
        """Delete one document."""
        self._documents.remove(self._prefix + key, **self._durability)

    def delete_all(self) -> int:
        """Delete every document."""
        return self._bucket.remove(self._prefix)

    def ids(self) -> list[str]:
        """Return all keys."""
        return [key.removeprefix(self._prefix) for key in self._bucket.keys(self._prefix)]

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers, missing keys and refused documents apart."""
        return kind(error)

    def _connect(self) -> None:
        self._durability = _STRICT if self.options.durability == "strict" else {}
        self._buckets: dict[Role, Bucket] = {}
        for node in self.deployment.nodes:
            kind = StandInBucket if node.stand_in else Bucket
            self._buckets[node.role] = self._kept(kind(node.url, self._durability))
        self._bucket = self._buckets["primary"]
        self._documents = self._bucket.documents

    def release(self) -> None:
        """Drop the indexes of every node: replication leaves them out."""
        super().release()
        for bucket in self._buckets.values():
            bucket.unindex()

    def _namespaces(self) -> dict[Role, BucketNamespace]:
        return {role: BucketNamespace(bucket) for role, bucket in self._buckets.items()}

    def _prepare(self, schemas: Sequence[Schema], marker: Marker) -> None:
        for bucket in self._buckets.values():
            bucket.prepare()

    def _begin(self, schema: Schema) -> None:
        """Make a schema's documents the current ones, and delete those that are there."""
        self._prefix, self._key, self._restored = f"{schema.name}:", schema.key, TypeDecoder(schema)
        self.delete_all()

    def _index(self, field: str) -> None:
        for bucket in self._buckets.values():
            bucket.index(field)

    def _stands(self, role: Role) -> Versions:
        return self._buckets[role].versions(self._prefix)
