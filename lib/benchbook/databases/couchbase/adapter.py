"""Couchbase through its SDK, key by key: a document a record, its key the schema's name and the record's own.

A pair replicates the bucket that the address names, so a run on a user's server makes no other: its keys begin alike,
and so do the names of its indexes, which say what is there.

An update reads the whole document and replaces it, as the paper did; so do the calls that change or delete all, which
list the keys first: key-value access has no such calls. Searching by a field, and listing, are SQL++ queries that see
all writes. A pair is two clusters with XDCR from the primary's bucket to the replica's; XDCR keeps a document's CAS, so
the nodes are equal when their keys and CAS are.

Durability: ``default`` and ``relaxed`` are acknowledged from memory, ``strict`` when persisted on the active node.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import couchbase
import orjson
from couchbase.auth import PasswordAuthenticator
from couchbase.cluster import Cluster
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
from couchbase.n1ql import QueryScanConsistency
from couchbase.options import ClusterOptions, ClusterTimeoutOptions, QueryOptions
from couchbase.serializer import Serializer
from couchbase.transcoder import JSONTranscoder
from typing_extensions import override

from benchbook.databases.adapter import (
    DuplicateKeyError,
    MissingRecordError,
    RefusedError,
    TypeDecoder,
    UnreachableError,
    batches,
)
from benchbook.databases.connected import Compared, Versions
from benchbook.databases.couchbase import PRODUCTS
from benchbook.deployment import PATIENCE_S, Node, Role
from benchbook.schemas import Document, Record, Schema

_NAME: Final = "benchbook"
_BATCH: Final = 1000
_KEY_B: Final = 200
_DOCUMENT_B: Final = 20 * 2**20 - 2**10


class _Orjson(Serializer):  # type: ignore[misc]
    """Encodes and decodes documents, dates as ISO 8601."""

    def serialize(self, value: object) -> bytes:
        return orjson.dumps(value)

    def deserialize(self, value: bytes) -> object:
        return orjson.loads(value)


class Bucket:
    """One node's bucket, named in the address's path: its documents, one and many, by keys that begin alike.

    `durability` are options of every write, `documents` is its default collection.
    """

    def __init__(self, url: str, durability: Mapping[str, ServerDurability]) -> None:
        parts = urlsplit(url)
        self.name = parts.path.strip("/") or _NAME
        self._options = {"return_exceptions": False, **durability}
        patience = timedelta(seconds=PATIENCE_S)
        options = ClusterOptions(
            PasswordAuthenticator(unquote(parts.username or ""), unquote(parts.password or "")),
            transcoder=JSONTranscoder(_Orjson()),
            timeout_options=ClusterTimeoutOptions(bootstrap_timeout=patience, kv_timeout=patience),
        )
        at = parts.netloc.rpartition("@")[2]
        self._cluster = Cluster(urlunsplit((parts.scheme, at, "", "", "")), options)
        self._bucket = self._cluster.bucket(self.name)
        self.documents = self._bucket.default_collection()

    def prepare(self, database: str) -> None:
        """Make a database's primary index, without which nothing is listed or searched."""
        self._cluster.query(f"CREATE PRIMARY INDEX `{database}_` IF NOT EXISTS ON `{self.name}`").execute()

    def index(self, database: str, field: str) -> None:
        """Index a field, if it is not."""
        self._cluster.query(
            f"CREATE INDEX {_quoted(f'{database}_{field}')} IF NOT EXISTS ON `{self.name}`({_quoted(field)})"
        ).execute()

    def unindex(self, database: str) -> None:
        """Drop every index of a database."""
        for name in self._indexes():
            if name.startswith(f"{database}_"):
                self._cluster.query(f"DROP INDEX {_quoted(name)} ON `{self.name}`").execute()

    def databases(self) -> list[str]:
        """Return what the names of indexes begin with."""
        return list(dict.fromkeys("_".join(name.split("_")[:2]) for name in self._indexes()))

    def find(self, prefix: str, field: str, value: object) -> list[Document]:
        """Return the documents with that value."""
        plain = orjson.loads(orjson.dumps(value))
        return self._ask("RAW d", prefix, f"d.{_quoted(field)} = $2", plain)

    def versions(self, prefix: str) -> dict[str, int]:
        """Return each document's CAS."""
        return {row["id"]: row["cas"] for row in self._ask("META(d).id, META(d).cas", prefix)}

    def keys(self, prefix: str) -> list[str]:
        """Return the keys."""
        # To SQL++ an underscore is any character.
        return [key for key in self._ask("RAW META(d).id", prefix) if key.startswith(prefix)]

    def insert(self, documents: Mapping[str, Record]) -> None:
        """Insert documents in batches; those before a refused one stay."""
        for batch in batches(list(documents), _BATCH):
            self.documents.insert_multi({key: documents[key] for key in batch}, **self._options)

    def get(self, prefix: str) -> Iterator[Document]:
        """Yield the documents."""
        for batch in batches(self.keys(prefix), _BATCH):
            # what was deleted meanwhile is left out
            answer = self.documents.get_multi(batch)
            yield from (result.content_as[dict] for result in answer.results.values())

    def update(self, prefix: str, changes: Record) -> int:
        """Read every document and replace it by itself with the changes; return how many."""
        keys = self.keys(prefix)
        for batch in batches(keys, _BATCH):
            results = self.documents.get_multi(batch, return_exceptions=False).results
            changed = {key: result.content_as[dict] | changes for key, result in results.items()}
            self.documents.replace_multi(changed, **self._options)
        return len(keys)

    def remove(self, prefix: str) -> int:
        """Delete every document; return how many."""
        keys = self.keys(prefix)
        for batch in batches(keys, _BATCH):
            self.documents.remove_multi(batch, **self._options)
        return len(keys)

    def close(self) -> None:
        """Close the cluster's connections."""
        self._cluster.close()

    def _indexes(self) -> list[str]:
        named = "SELECT RAW name FROM system:indexes WHERE keyspace_id = $1"
        return list(self._cluster.query(named, QueryOptions(positional_parameters=[self.name])))

    def _ask(self, wanted: str, prefix: str, condition: str = "TRUE", *values: object) -> list[Any]:
        """Return what a query that sees all writes finds among the documents ``d`` whose key begins so."""
        query = f"SELECT {wanted} FROM `{self.name}` AS d WHERE META(d).id LIKE $1 AND {condition}"
        parameters = [f"{prefix}%", *values]
        options = QueryOptions(positional_parameters=parameters, scan_consistency=QueryScanConsistency.REQUEST_PLUS)
        return list(self._cluster.query(query, options))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


_TOO_LARGE: Final = "<ec=104,"
_NETWORK: Final = "category=couchbase.network"
"""What only their text tells of exceptions: a value that is too large, and what the network did."""


_STRICT: Final = {"durability": ServerDurability(DurabilityLevel.PERSIST_TO_MAJORITY)}


class Couchbase(Compared[Bucket]):
    """Verbs are the collection's own."""

    name = "couchbase"
    product = "couchbase"
    model = "document"
    driver = f"couchbase {couchbase.__version__}"
    grant = "the right to make indexes of the bucket"
    raises = (CouchbaseException, orjson.JSONEncodeError)
    kinds: ClassVar = {
        DuplicateKeyError: (DocumentExistsException,),
        MissingRecordError: (DocumentNotFoundException,),
        RefusedError: (orjson.JSONEncodeError, _TOO_LARGE),
        UnreachableError: (
            *(AuthenticationException, AmbiguousTimeoutException, UnAmbiguousTimeoutException),
            *(RequestCanceledException, _NETWORK),
        ),
    }
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "Couchbase knows neither foreign key nor NOT NULL",
        **PRODUCTS["couchbase"].lacks,
        "read_only_replica": "the target of one-way XDCR takes writes of its own",
    }

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        key = record["_id"]
        if (size := len(key.encode())) > _KEY_B:
            return f"a key of {size:,} bytes: Couchbase's have 250 with the store's name, which leaves {_KEY_B}"
        if (size := len(orjson.dumps(record))) > _DOCUMENT_B:
            return f"a document of {size:,} bytes: Couchbase's have {_DOCUMENT_B:,} at most"
        return super().unfit_record(record, gaps)

    @override
    def insert(self, record: Record) -> object:
        return self._documents.insert(self._prefix + record[self._key], record, **self._durability)

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in the SDK's batches; those before a refused one stay."""
        documents = {self._prefix + record[self._key]: record for record in records}
        if len(documents) < len(records):
            raise DuplicateKeyError(f"{self.where}: two of the records have one key")
        self._bucket.insert(documents)

    def find(self, field: str, value: object) -> Sequence[Record]:
        """Return the documents found: by the key, or by a query."""
        if field != self._key:
            self._has("find")
            return self._restored(self._bucket.find(self._prefix, field, value))
        try:
            return self._restored([self._documents.get(f"{self._prefix}{value}").content_as[dict]])
        except DocumentNotFoundException:
            return []

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._restored(list(self._sessions[role].get(self._prefix)))

    def update(self, key: str, changes: Record) -> None:
        """Read a document, and replace it by itself with the changes."""
        result = self._documents.get(self._prefix + key)
        document = result.content_as[dict] | changes
        self._documents.replace(self._prefix + key, document, cas=result.cas, **self._durability)

    def update_all(self, changes: Record) -> int:
        """Read every document, and replace it by itself with the changes."""
        return self._bucket.update(self._prefix, changes)

    @override
    def delete(self, key: str) -> None:
        self._documents.remove(self._prefix + key, **self._durability)

    @override
    def delete_all(self) -> int:
        return self._bucket.remove(self._prefix)

    @override
    def ids(self) -> list[str]:
        return [key.removeprefix(self._prefix) for key in self._bucket.keys(self._prefix)]

    @override
    def text(self, error: Exception) -> str:
        return f"{'authentication failed: ' * isinstance(error, AuthenticationException)}{super().text(error)}"

    @override
    def code(self, error: Exception) -> int | str | None:
        return next((sign for sign in (_TOO_LARGE, _NETWORK) if sign in str(error)), None)

    def _connect(self) -> None:
        self._durability = _STRICT if self.options.durability == "strict" else {}
        super()._connect()
        self._bucket = self._sessions["primary"]
        self._documents = self._bucket.documents

    def _session(self, node: Node) -> Bucket:
        return self._kept(Bucket(node.url, self._durability))

    @override
    def list_databases(self) -> list[str]:
        return self._bucket.databases()

    @override
    def make_database(self) -> None:
        for bucket in self._sessions.values():
            bucket.prepare(self.deployment.database)

    def drop_database(self, name: str) -> None:
        """Delete the documents, and drop the indexes of every node: replication leaves them out."""
        self._bucket.prepare(name)
        self._bucket.remove(f"{name}:")
        for bucket in self._sessions.values():
            bucket.unindex(name)

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        self.make_database()

    def _begin(self, schema: Schema) -> None:
        """Make a schema's documents the current ones, and delete those that are there."""
        prefix = f"{self.deployment.database}:" if self.deployment.given else ""
        self._prefix, self._key, self._restored = f"{prefix}{schema.name}:", schema.key, TypeDecoder(schema)
        self.delete_all()

    def _index(self, field: str) -> None:
        for bucket in self._sessions.values():
            bucket.index(self.deployment.database, field)

    def _position_of(self, role: Role) -> Versions:
        return self._sessions[role].versions(self._prefix)
