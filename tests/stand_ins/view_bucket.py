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
    """A bucket whose keys a view lists."""

    @override
    def prepare(self, database: str) -> None:
        view = DesignDocument(_NAME, {"keys": View(map=_EVERY_KEY)})
        self._bucket.view_indexes().upsert_design_document(view, DesignDocumentNamespace.PRODUCTION)

    @override
    def list_keys(self, prefix: str) -> list[str]:
        return [key for key in self._list_all_keys() if key.startswith(prefix)]

    @override
    def list_databases(self) -> list[str]:
        self.prepare(_NAME)
        return list(dict.fromkeys(key.partition(":")[0] for key in self._list_all_keys()))

    @override
    def drop_indexes(self, database: str) -> None:
        """Keep the view, which all databases share."""

    def _list_all_keys(self) -> list[str]:
        options = ViewOptions(scan_consistency=ViewScanConsistency.REQUEST_PLUS)
        return [row.id for row in self._bucket.view_query(_NAME, "keys", options)]


@contextmanager
def use_view_buckets() -> Iterator[None]:
    """Let the adapter use buckets whose keys a view lists."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "Bucket", ViewBucket)
        yield
