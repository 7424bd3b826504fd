"""A bucket of CouchbaseMock, which knows no queries: its keys are listed by a view."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from couchbase.management.views import DesignDocument, DesignDocumentNamespace, View
from couchbase.options import ViewOptions
from couchbase.views import ViewScanConsistency
from typing_extensions import override

from benchbook.databases.couchbase import adapter

_NAME: Final = "benchbook"
_EVERY_KEY: Final = "function (doc, meta) { emit(meta.id, null); }"


class ViewBucket(adapter.Bucket):
    """A bucket whose keys are a view's."""

    @override
    def prepare(self, database: str) -> None:
        view = DesignDocument(_NAME, {"keys": View(map=_EVERY_KEY)})
        self._bucket.view_indexes().upsert_design_document(view, DesignDocumentNamespace.PRODUCTION)

    @override
    def keys(self, prefix: str) -> list[str]:
        return [key for key in self._every_key() if key.startswith(prefix)]

    @override
    def databases(self) -> list[str]:
        self.prepare(_NAME)
        return list(dict.fromkeys(key.partition(":")[0] for key in self._every_key()))

    @override
    def unindex(self, database: str) -> None:
        """Leave the view, which is every database's."""

    def _every_key(self) -> list[str]:
        options = ViewOptions(scan_consistency=ViewScanConsistency.REQUEST_PLUS)
        return [row.id for row in self._bucket.view_query(_NAME, "keys", options)]


@contextmanager
def in_use() -> Iterator[None]:
    """Let the adapter use such buckets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "Bucket", ViewBucket)
        yield
