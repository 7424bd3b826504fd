"""Couchbase's bucket: connecting to it, its JSON, and all that concerns many documents, by keys that begin alike.

CouchbaseMock's, which stands in for it, knows no queries, but lists its keys in a view.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import orjson
from couchbase.auth import PasswordAuthenticator
from couchbase.cluster import Cluster
from couchbase.exceptions import DesignDocumentNotFoundException, DocumentNotFoundException
from couchbase.management.views import DesignDocument, DesignDocumentNamespace, View
from couchbase.n1ql import QueryScanConsistency
from couchbase.options import ClusterOptions, ClusterTimeoutOptions, QueryOptions, ViewOptions
from couchbase.serializer import Serializer
from couchbase.transcoder import JSONTranscoder
from couchbase.views import ViewScanConsistency

from benchbook.databases.connected import MARKER, Marker, Namespace
from benchbook.databases.engine import PATIENCE_S

Document = dict[str, Any]

NAME: Final = "benchbook"
_BATCH: Final = 1000
_INDEX: Final = "benchbook_"
"""How the names of indexes begin that are made here."""


class _Orjson(Serializer):  # type: ignore[misc]
    """Encodes and decodes documents, dates as ISO 8601."""

    def serialize(self, value: Any) -> bytes:
        """Return a document's JSON."""
        return orjson.dumps(value)

    def deserialize(self, value: bytes) -> Any:
        """Return the document."""
        return orjson.loads(value)


class Bucket:
    """One node's bucket, named in the address's path.

    Parameters
    ----------
    url
        The node's address.
    durability
        Options of every write.

    Attributes
    ----------
    name
        Its name.
    documents
        Its default collection.
    """

    def __init__(self, url: str, durability: Mapping[str, Any]) -> None:
        parts = urlsplit(url)
        self.name = parts.path.strip("/") or NAME
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

    def prepare(self) -> None:
        """Make the primary index, without which nothing is listed or searched."""
        self._cluster.query(f"CREATE PRIMARY INDEX `{_INDEX}` IF NOT EXISTS ON `{self.name}`").execute()

    def index(self, field: str) -> None:
        """Index a field, if it is not."""
        self._cluster.query(
            f"CREATE INDEX {_quoted(_INDEX + field)} IF NOT EXISTS ON `{self.name}`({_quoted(field)})"
        ).execute()

    def unindex(self) -> None:
        """Drop every index that was made here."""
        named = "SELECT RAW name FROM system:indexes WHERE keyspace_id = $1 AND CONTAINS(name, $2)"
        options = QueryOptions(positional_parameters=[self.name, _INDEX])
        for name in self._cluster.query(named, options):
            if name.startswith(_INDEX):
                self._cluster.query(f"DROP INDEX {_quoted(name)} ON `{self.name}`").execute()

    def beginnings(self) -> list[str]:
        """Return what keys begin with, up to the first colon."""
        return self._ask('DISTINCT RAW SPLIT(META(d).id, ":")[0]', "")

    def find(self, prefix: str, field: str, value: Any) -> list[Document]:
        """Return the documents with that value."""
        plain = orjson.loads(orjson.dumps(value))
        return self._ask("RAW d", prefix, f"d.{_quoted(field)} = $2", plain)

    def versions(self, prefix: str) -> dict[str, int]:
        """Return each document's CAS."""
        return {row["id"]: row["cas"] for row in self._ask("META(d).id, META(d).cas", prefix)}

    def keys(self, prefix: str) -> list[str]:
        """Return the keys."""
        return self._ask("RAW META(d).id", prefix)

    def insert(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Insert documents in batches; those before a refused one stay."""
        for batch in _batches(list(documents)):
            self.documents.insert_multi({key: documents[key] for key in batch}, **self._options)

    def get(self, prefix: str) -> Iterator[Document]:
        """Yield the documents."""
        for batch in _batches(self.keys(prefix)):
            found = self.documents.get_multi(batch)  # what was deleted meanwhile is left out
            yield from (one.content_as[dict] for one in found.results.values())

    def update(self, prefix: str, changes: Mapping[str, Any]) -> int:
        """Read every document and replace it by itself with the changes; return how many."""
        keys = self.keys(prefix)
        for batch in _batches(keys):
            found = self.documents.get_multi(batch, return_exceptions=False).results
            changed = {key: one.content_as[dict] | changes for key, one in found.items()}
            self.documents.replace_multi(changed, **self._options)
        return len(keys)

    def remove(self, prefix: str) -> int:
        """Delete every document; return how many."""
        keys = self.keys(prefix)
        for batch in _batches(keys):
            self.documents.remove_multi(batch, **self._options)
        return len(keys)

    def close(self) -> None:
        """Close the cluster's connections."""
        self._cluster.close()

    def _ask(self, wanted: str, prefix: str, condition: str = "TRUE", *values: Any) -> list[Any]:
        """Return what a query that sees all writes finds among the documents ``d`` whose key begins so."""
        query = f"SELECT {wanted} FROM `{self.name}` AS d WHERE META(d).id LIKE $1 AND {condition}"
        parameters = [f"{prefix}%", *values]
        options = QueryOptions(positional_parameters=parameters, scan_consistency=QueryScanConsistency.REQUEST_PLUS)
        return list(self._cluster.query(query, options))


class BucketNamespace(Namespace):
    """A bucket, which is its user's: it is never made here, and taken only when it is empty. A store is a prefix."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.title = f"the bucket {bucket.name}"

    def marker(self) -> Marker | None:
        """Return the marker's document."""
        try:
            return Marker.from_json(self._bucket.documents.get(MARKER).content_as[dict]["marker"])
        except DocumentNotFoundException:
            return None

    def exists(self) -> bool:
        """Return that it is."""
        return True

    def contents(self) -> list[str]:
        """Return what keys begin with: to list them takes an index, which does not stay where they are another's."""
        self._bucket.prepare()
        found = [name for name in self._bucket.beginnings() if name != MARKER]
        if found and self.marker() is None:
            self._bucket.unindex()
        return found

    def mark(self, marker: Marker) -> None:
        """Write the marker's document."""
        self._bucket.documents.upsert(MARKER, {"marker": marker.to_json()})

    def drop(self, stores: Sequence[str]) -> None:
        """Delete the documents whose keys begin so."""
        for store in stores:
            self._bucket.remove(f"{store}:")

    def unmark(self, marker: Marker) -> None:
        """Delete the marker's document, and drop our indexes."""
        self._bucket.documents.remove(MARKER)
        self._bucket.unindex()


def _batches(keys: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


_EVERY_KEY: Final = "function (doc, meta) { emit(meta.id, null); }"


class StandInBucket(Bucket):
    """A bucket whose keys are a view's."""

    def prepare(self) -> None:
        """Make the view."""
        view = DesignDocument(NAME, {"keys": View(map=_EVERY_KEY)})
        self._bucket.view_indexes().upsert_design_document(view, DesignDocumentNamespace.PRODUCTION)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that begin so."""
        return [key for key in self._every_key() if key.startswith(prefix)]

    def beginnings(self) -> list[str]:
        """Return what keys begin with, up to the first colon."""
        return list(dict.fromkeys(key.partition(":")[0] for key in self._every_key()))

    def unindex(self) -> None:
        """Drop the view."""
        with suppress(DesignDocumentNotFoundException):
            self._bucket.view_indexes().drop_design_document(NAME, DesignDocumentNamespace.PRODUCTION)

    def _every_key(self) -> list[str]:
        options = ViewOptions(scan_consistency=ViewScanConsistency.REQUEST_PLUS)
        rows = self._bucket.view_query(NAME, "keys", options)
        return [row.id for row in rows]
