"""Couchbase through its SDK, key by key: a document per record, its key the schema's and its own.

A pair replicates the bucket that the address names, so a run on a user's server makes no other: its
keys begin alike, and so do the names of its indexes, which list the databases.

An update reads the whole document and replaces it, as the paper did. So do the calls that change or
delete all, which list the keys first: key-value access has no such calls. Searching by a field, and
listing, are SQL++ queries that see all writes. A pair is two clusters with XDCR from the primary's
bucket to the replica's. XDCR keeps a document's CAS, so the nodes are equal when their keys and CAS
are.

Durability: ``default`` and ``relaxed`` are acknowledged from memory, ``strict`` when persisted on
the active node.
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
    split_batches,
)
from benchbook.databases.server_adapter import ComparingAdapter, Versions
from benchbook.schema import Document, Record, Schema
from benchbook.servers.deployment import PATIENCE_S, Node, Role
from benchbook_more_databases.couchbase import PRODUCTS

_BATCH_SIZE: Final = 1000


class _OrjsonSerializer(Serializer):  # type: ignore[misc]
    """Encodes and decodes documents, dates as ISO 8601."""

    def serialize(self, value: object) -> bytes:
        return orjson.dumps(value)

    def deserialize(self, value: bytes) -> object:
        return orjson.loads(value)


class Bucket:
    """One node's bucket, named in the address's path; methods are on keys with a common prefix.

    `durability` are options of every write; `documents` is its default collection.
    """

    def __init__(self, url: str, durability: Mapping[str, ServerDurability]) -> None:
        # Connect with the address's user, for a limited time.
        parts = urlsplit(url)
        self.name = parts.path.strip("/") or "benchbook"
        self._options = {"return_exceptions": False, **durability}
        patience = timedelta(seconds=PATIENCE_S)
        options = ClusterOptions(
            PasswordAuthenticator(unquote(parts.username or ""), unquote(parts.password or "")),
            transcoder=JSONTranscoder(_OrjsonSerializer()),
            timeout_options=ClusterTimeoutOptions(bootstrap_timeout=patience, kv_timeout=patience),
        )
        host = parts.netloc.rpartition("@")[2]
        self._cluster = Cluster(urlunsplit((parts.scheme, host, "", "", "")), options)
        self._bucket = self._cluster.bucket(self.name)
        self.documents = self._bucket.default_collection()

    def prepare(self, database: str) -> None:
        """Make a database's primary index, without which nothing is listed or searched."""
        self._execute(f"CREATE PRIMARY INDEX `{database}_` IF NOT EXISTS ON `{self.name}`")

    def create_index(self, database: str, field: str) -> None:
        """Index a field, unless it is indexed."""
        index = _quote_name(f"{database}_{field}")
        self._execute(f"CREATE INDEX {index} IF NOT EXISTS ON `{self.name}`({_quote_name(field)})")

    def drop_indexes(self, database: str) -> None:
        """Drop every index of a database."""
        for name in self._list_indexes():
            if name.startswith(f"{database}_"):
                self._execute(f"DROP INDEX {_quote_name(name)} ON `{self.name}`")

    def list_databases(self) -> list[str]:
        """Return the prefix of indexes' names."""
        return list(dict.fromkeys("_".join(name.split("_")[:2]) for name in self._list_indexes()))

    def find(self, prefix: str, field: str, value: object) -> list[Document]:
        """Return the documents with that value."""
        # Dates are text in documents.
        encoded = orjson.loads(orjson.dumps(value))
        return self._query("RAW d", prefix, f"d.{_quote_name(field)} = $2", encoded)

    def read_versions(self, prefix: str) -> dict[str, int]:
        """Return each document's CAS."""
        rows = self._query("META(d).id, META(d).cas", prefix)
        return {row["id"]: row["cas"] for row in rows}

    def list_keys(self, prefix: str) -> list[str]:
        """Return the keys."""
        # To SQL++ an underscore is any character.
        return [key for key in self._query("RAW META(d).id", prefix) if key.startswith(prefix)]

    def insert(self, documents: Mapping[str, Record]) -> None:
        """Insert documents in batches; those before a refused one stay."""
        for batch in split_batches(list(documents), _BATCH_SIZE):
            self.documents.insert_multi({key: documents[key] for key in batch}, **self._options)

    def read_all(self, prefix: str) -> Iterator[Document]:
        """Yield the documents, without those that are deleted meanwhile."""
        for batch in split_batches(self.list_keys(prefix), _BATCH_SIZE):
            answer = self.documents.get_multi(batch)
            yield from (result.content_as[dict] for result in answer.results.values())

    def update_all(self, prefix: str, changes: Record) -> int:
        """Read every document and replace it, with the changes; return how many."""
        keys = self.list_keys(prefix)
        for batch in split_batches(keys, _BATCH_SIZE):
            results = self.documents.get_multi(batch, return_exceptions=False).results
            changed = {key: result.content_as[dict] | changes for key, result in results.items()}
            self.documents.replace_multi(changed, **self._options)
        return len(keys)

    def delete_all(self, prefix: str) -> int:
        """Delete every document; return how many."""
        keys = self.list_keys(prefix)
        for batch in split_batches(keys, _BATCH_SIZE):
            self.documents.remove_multi(batch, **self._options)
        return len(keys)

    def close(self) -> None:
        """Close the cluster's connections."""
        self._cluster.close()

    def _list_indexes(self) -> list[str]:
        query = "SELECT RAW name FROM system:indexes WHERE keyspace_id = $1"
        return list(self._cluster.query(query, QueryOptions(positional_parameters=[self.name])))

    def _execute(self, statement: str) -> None:
        self._cluster.query(statement).execute()

    def _query(
        self, selected: str, prefix: str, condition: str = "TRUE", *values: object
    ) -> list[Any]:
        """Return the results of a query over the documents ``d`` that sees all writes."""
        query = (
            f"SELECT {selected} FROM `{self.name}` AS d WHERE META(d).id LIKE $1 AND {condition}"
        )
        options = QueryOptions(
            positional_parameters=[f"{prefix}%", *values],
            scan_consistency=QueryScanConsistency.REQUEST_PLUS,
        )
        return list(self._cluster.query(query, options))


def _quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# Only their text tells these exceptions: a value that is too large, and a fault of the network.
_TOO_LARGE: Final = "<ec=104,"
_NETWORK: Final = "category=couchbase.network"


class Couchbase(ComparingAdapter[Bucket]):
    """Verbs are the collection's own."""

    name = "couchbase"
    product = "couchbase"
    model = "document"
    driver = f"couchbase {couchbase.__version__}"
    grant = "the right to make indexes of the bucket"
    driver_errors = (CouchbaseException, orjson.JSONEncodeError)
    error_types: ClassVar = {
        DuplicateKeyError: (DocumentExistsException,),
        MissingRecordError: (DocumentNotFoundException,),
        RefusedError: (orjson.JSONEncodeError, _TOO_LARGE),
        UnreachableError: (
            *(AuthenticationException, AmbiguousTimeoutException, UnAmbiguousTimeoutException),
            *(RequestCanceledException, _NETWORK),
        ),
    }
    limitations: Mapping[str, str] = {
        "constraints": "Couchbase knows neither foreign key nor NOT NULL",
        **PRODUCTS["couchbase"].limitations,
        "read_only_replica": "the target of one-way XDCR takes writes of its own",
    }

    @override
    def insert(self, record: Record) -> object:
        return self._documents.insert(self._prefix + record[self._key], record, **self._durability)

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in the SDK's batches; those before a refused one stay."""
        # A dictionary would keep the last record of a key, and hide that there were two.
        documents = {self._prefix + record[self._key]: record for record in records}
        if len(documents) < len(records):
            raise DuplicateKeyError(f"{self.location}: two of the records have one key")
        self._bucket.insert(documents)

    def find(self, field: str, value: object) -> Sequence[Record]:
        """Return the documents found: by the key, or by a query."""
        if field != self._key:
            self._require("find")
            return self._decode_types(self._bucket.find(self._prefix, field, value))
        try:
            result = self._documents.get(f"{self._prefix}{value}")
            return self._decode_types([result.content_as[dict]])
        except DocumentNotFoundException:
            return []

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._decode_types(list(self._sessions[role].read_all(self._prefix)))

    def update(self, key: str, changes: Record) -> None:
        """Read a document, and replace it, with the changes."""
        result = self._documents.get(self._prefix + key)
        document = result.content_as[dict] | changes
        self._documents.replace(self._prefix + key, document, cas=result.cas, **self._durability)

    def update_all(self, changes: Record) -> int:
        """Read every document, and replace it, with the changes."""
        return self._bucket.update_all(self._prefix, changes)

    @override
    def delete(self, key: str) -> None:
        self._documents.remove(self._prefix + key, **self._durability)

    @override
    def delete_all(self) -> int:
        return self._bucket.delete_all(self._prefix)

    @override
    def list_ids(self) -> list[str]:
        return [key.removeprefix(self._prefix) for key in self._bucket.list_keys(self._prefix)]

    @override
    def describe_error(self, error: Exception) -> str:
        description = super().describe_error(error)
        if isinstance(error, AuthenticationException):
            return f"authentication failed: {description}"
        return description

    @override
    def read_error_code(self, error: Exception) -> int | str | None:
        return next((sign for sign in (_TOO_LARGE, _NETWORK) if sign in str(error)), None)

    def _connect(self) -> None:
        self._durability: dict[str, ServerDurability] = {}
        if self.options.durability == "strict":
            level = ServerDurability(DurabilityLevel.PERSIST_TO_MAJORITY)
            self._durability = {"durability": level}
        super()._connect()
        self._bucket = self._sessions["primary"]
        self._documents = self._bucket.documents

    def _open_session(self, node: Node) -> Bucket:
        return self._close_at_end(Bucket(node.url, self._durability))

    @override
    def list_databases(self) -> list[str]:
        return self._bucket.list_databases()

    @override
    def make_database(self) -> None:
        for bucket in self._sessions.values():
            bucket.prepare(self.deployment.database)

    def drop_database(self, name: str) -> None:
        """Delete the documents, and drop every node's indexes, which are not replicated."""
        self._bucket.prepare(name)
        self._bucket.delete_all(f"{name}:")
        for bucket in self._sessions.values():
            bucket.drop_indexes(name)

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        self.make_database()

    def _create_store(self, schema: Schema) -> None:
        """Make a schema's documents the current ones, and delete those that exist."""
        prefix = f"{self.deployment.database}:" if self.deployment.is_given else ""
        self._prefix = f"{prefix}{schema.name}:"
        self._key = schema.key
        self._decode_types = TypeDecoder(schema)
        self.delete_all()

    def _create_index(self, field: str) -> None:
        for bucket in self._sessions.values():
            bucket.create_index(self.deployment.database, field)

    def _read_position(self, role: Role) -> Versions:
        return self._sessions[role].read_versions(self._prefix)
