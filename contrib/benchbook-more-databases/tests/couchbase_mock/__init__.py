"""CouchbaseMock in place of Couchbase: ``pytest -p couchbase_mock`` lets the suite's tests use it.

It speaks Couchbase's protocol and knows no queries, so that keys are listed by a view.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from couchbase.management.views import DesignDocument, DesignDocumentNamespace, View
from couchbase.options import ViewOptions
from couchbase.views import ViewScanConsistency
from typing_extensions import override

import owners
import stand_ins
from benchbook.servers.deployment import Role
from benchbook.servers.errors import read_log_end
from benchbook.servers.fleet import USER_NAME, Fleet
from benchbook_more_databases.couchbase import adapter

FOLDER: Final = Path(__file__).parent

JAR: Final = FOLDER / "CouchbaseMock-1.5.27.jar"

_READY: Final = "ready, data on port "
_VIEW: Final = "benchbook"
_EVERY_KEY: Final = "function (doc, meta) { emit(meta.id, null); }"


class ViewBucket(adapter.Bucket):
    """A bucket whose keys a view lists."""

    @override
    def prepare(self, database: str) -> None:
        view = DesignDocument(_VIEW, {"keys": View(map=_EVERY_KEY)})
        self._bucket.view_indexes().upsert_design_document(view, DesignDocumentNamespace.PRODUCTION)

    @override
    def list_keys(self, prefix: str) -> list[str]:
        return [key for key in self._list_all_keys() if key.startswith(prefix)]

    @override
    def list_databases(self) -> list[str]:
        self.prepare(_VIEW)
        return list(dict.fromkeys(key.partition(":")[0] for key in self._list_all_keys()))

    @override
    def drop_indexes(self, database: str) -> None:
        """Keep the view, which all databases share."""

    def _list_all_keys(self) -> list[str]:
        options = ViewOptions(scan_consistency=ViewScanConsistency.REQUEST_PLUS)
        return [row.id for row in self._bucket.view_query(_VIEW, "keys", options)]


class CouchbaseOwner(owners.Owner):
    """A user with documents in the bucket."""

    @contextmanager
    def _open_bucket(self) -> Iterator[adapter.Bucket]:
        with closing(adapter.Bucket(self.node.url, {})) as bucket:
            yield bucket

    @override
    def write(self, name: str) -> None:
        with self._open_bucket() as bucket:
            bucket.documents.upsert(f"{name}:1", owners.MINE)

    @override
    def read(self, name: str) -> list[Any]:
        with self._open_bucket() as bucket:
            return [bucket.documents.get(f"{name}:1").content_as[dict]]

    @override
    def erase(self, name: str) -> None:
        with self._open_bucket() as bucket:
            bucket.documents.remove(f"{name}:1")

    @override
    def list_all(self) -> list[Any]:
        with self._open_bucket() as bucket:
            bucket.prepare("all")
            keys = sorted(bucket.list_keys(""))
            bucket.drop_indexes("all")
            return keys


def start_mock(fleet: Fleet, role: Role, password: str) -> str:
    """Start CouchbaseMock and return its address."""
    secret = fleet.write_secret(f"{role}.login", password)
    program = FOLDER / "Loopback.java"
    server = fleet.start_server(
        role, lambda port: ["java", "-Xmx512m", "-cp", JAR, program, str(port), secret]
    )
    server.await_line(_READY)
    data_port = read_log_end(server.log).partition(_READY)[2].split()[0]
    login = f"{USER_NAME}:{password}"
    return f"couchbase://{login}@{server.host}:{data_port}/benchbook?management={server.port}"


adapter.Bucket = ViewBucket  # type: ignore[misc]
owners.OWNERS["couchbase"] = CouchbaseOwner
stand_ins.STARTERS["couchbase"] = start_mock
stand_ins.NEEDED["couchbase"] = ("javac", JAR)
stand_ins.LIMITATIONS["couchbase"] = {
    "find": "CouchbaseMock knows no SQL++: only the key finds a record",
    "durability": "CouchbaseMock refuses durable writes",
}
