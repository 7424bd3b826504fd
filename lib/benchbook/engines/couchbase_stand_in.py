"""CouchbaseMock's bucket: it knows no queries, but lists its keys in a view."""

from contextlib import suppress
from typing import Final

from couchbase.exceptions import DesignDocumentNotFoundException
from couchbase.management.views import DesignDocument, DesignDocumentNamespace, View
from couchbase.options import ViewOptions
from couchbase.views import ViewScanConsistency

from benchbook.engines.couchbase_bucket import NAME, Bucket

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
