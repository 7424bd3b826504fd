"""CouchDB through its HTTP interface: a database per schema, a document per record.

There is one request at a time. Records go one by one by PUT, in bulk by ``_bulk_docs``. An update
reads the whole document and writes it back with its revision. A deletion reads the revision first.
``delete_all`` reads all revisions and writes their deletions by ``_bulk_docs``. Mango's index, if
there is one, is made before the records; CouchDB updates it at the first read after writes.

Durability is the server's: CouchDB, from 3 on, syncs every commit before it answers (twice, so that
inserts one at a time are as fast as the disk). It has no weaker level: ``delayed_commits`` went
with 3.0 (apache/couchdb#2208), and ``batch=ok`` answers before the document is stored, without its
revision, and only logs an error. Version 2 at an address still takes ``delayed_commits = true``,
which was the default of 1.5.

Replication is CouchDB's own, a continuous pull by the replica; `create` sets it up for each
database. In topology ``bidirectional`` the primary pulls from the replica as well. CouchDB keeps
pulls over restarts, and they cost both nodes: they end with the adapter that made them, or before
the next begins. No node counts what pulls receive: the replica's go through a proxy that does,
where the option asks for it.

How far the replica has come is known exactly, by every document's revision. The answers to the
writes state the new revisions (a deletion has one, too), so the primary is not asked, and its own
work stays what is measured. The replica itself says which of them it does not have (``_revs_diff``,
as replication asks it). Sequence numbers do not compare, because each node counts its own: but as
long as the replica's stays the same, nothing has come, and it had everything all that time.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Final
from urllib.parse import parse_qs, quote, urlsplit

import orjson
from typing_extensions import override
from urllib3 import __version__ as urllib3_version  # type: ignore[attr-defined]
from urllib3.exceptions import HTTPError

from benchbook.databases.adapter import (
    AdapterError,
    DuplicateKeyError,
    MissingRecordError,
    RefusedError,
    TypeDecoder,
    UnreachableError,
    split_batches,
)
from benchbook.databases.couchdb.node import (
    DIRECTIONS,
    AnswerError,
    Databases,
    HTTPNode,
    Position,
    ReplicatedDatabase,
    make_name,
)
from benchbook.databases.couchdb.proxy import CountingProxy, open_counting_proxy
from benchbook.databases.server_adapter import ServerAdapter
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter
from benchbook.registry import products
from benchbook.schema import Document, Record, Schema
from benchbook.servers.deployment import LOCAL_NAMES, PATIENCE_S, Node, Role

_MISSING_DOCUMENT: Final = "no such document"

_BATCH_SIZE: Final = 1000
"""Documents in one request."""


def _is_design(row: Document) -> bool:
    return str(row["id"]).startswith("_design/")


def _escape_name(field: str) -> str:
    """Return a field's name as Mango takes it: there a dot leads into an object."""
    return field.replace("\\", "\\\\").replace(".", "\\.")


class CouchDB(ServerAdapter[HTTPNode]):
    """Verbs are requests on one connection that stays open."""

    name = "couchdb"
    product = "couchdb"
    grant = "to be an administrator"
    model = "document"
    driver = f"urllib3 {urllib3_version}"
    driver_errors = (AnswerError, HTTPError, orjson.JSONEncodeError)
    error_types: ClassVar = {
        MissingRecordError: (_MISSING_DOCUMENT,),
        DuplicateKeyError: (409,),
        RefusedError: (400, 413, orjson.JSONEncodeError),
        UnreachableError: (401, 403, HTTPError),
    }
    limitations: Mapping[str, str] = {
        **products.load_product("couchdb").limitations,
        "constraints": "CouchDB knows neither foreign key nor NOT NULL",
        "read_only_replica": "every CouchDB node takes writes, whichever it follows",
        "doubles": "CouchDB (3.5) reads 5e-324 as 0",
        "large_records": (
            "CouchDB takes documents of 8,000,000 bytes unless it is told otherwise "
            "(max_document_size)"
        ),
    }

    @override
    @classmethod
    def find_limitations(
        cls, urls: Mapping[Role, str], versions: Iterable[str] = ()
    ) -> dict[str, str]:
        limitations = super().find_limitations(urls, versions)
        # A proxy counts bytes where 127.0.0.1 is this machine to the replica's server, too.
        primary = urlsplit(urls.get("primary", "//127.0.0.1"))
        if primary.hostname not in LOCAL_NAMES or "peer" in parse_qs(primary.query):
            limitations["bytes_received"] = (
                "CouchDB counts no bytes, and the proxy that does listens on this machine's "
                "loopback: it takes nodes that run here, with 127.0.0.1 in their addresses and no "
                "?peer="
            )
        return limitations

    @override
    def insert(self, record: Record) -> None:
        self._record_writes(self._ask("PUT", self._name_document(record["_id"]), record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents; those that are not refused stay."""
        self._write_documents(records)

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        # Without a limit Mango returns 25 documents.
        query = {"selector": {_escape_name(field): {"$eq": value}}, "limit": 1 << 28}
        return self._decode(self._ask("POST", f"{self._path}/_find", query)["docs"])

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._decode(self._read_documents(role))

    def update(self, key: str, changes: Record) -> None:
        """Read one document, set fields of it, and write it back."""
        path = self._name_document(key)
        self._record_writes(self._ask("PUT", path, self._ask("GET", path) | dict(changes)))

    def update_all(self, changes: Record) -> int:
        """Read all documents, set fields of them, and write them back."""
        documents = self._read_documents()
        return self._write_documents([document | dict(changes) for document in documents])

    def delete(self, key: str) -> None:
        """Read one document's revision and delete it."""
        path = self._name_document(key)
        revision = self._ask("GET", path)["_rev"]
        self._record_writes(self._ask("DELETE", f"{path}?rev={revision}"))

    def delete_all(self) -> int:
        """Read all documents' revisions and delete them."""
        revisions = self._read_revisions().items()
        return self._write_documents(
            [{"_id": key, "_rev": revision, "_deleted": True} for key, revision in revisions]
        )

    @override
    def list_ids(self) -> list[str]:
        return list(self._read_revisions())

    def position(self) -> Position:
        """Return the documents that were written and not yet seen on the replica."""
        return self._replicated.position()

    @override
    def read_error_code(self, error: Exception) -> int | str | None:
        if not isinstance(error, AnswerError):
            return None
        # With other reasons it is the database that is missing.
        if error.status == 404 and error.reason in ("missing", "deleted"):
            return _MISSING_DOCUMENT
        return error.status

    def _await_replica(self, position: Position, deadline_s: float) -> bool:
        caught_up = self._replicated.wait_for(position, deadline_s)
        self.wait_resolution_ns = self._replicated.resolution_ns
        self.wait_proof_ns = self._replicated.proof_ns
        return caught_up

    def _connect(self) -> None:
        self._proxy: CountingProxy | None = None
        self._prepared: dict[str, ReplicatedDatabase] = {}
        super()._connect()
        # The default is 8 MB, from 3.0 on; with a larger limit it takes a record of 17 MB.
        sizes = []
        for node in self.deployment.nodes:
            size = self._sessions[node.role].read_setting("couchdb", "max_document_size")
            sizes.append(int(size or 8_000_000))
        if all(size > 18 << 20 for size in sizes):
            self.limitations = {
                capability: reason
                for capability, reason in self.limitations.items()
                if capability != "large_records"
            }
        # Where bytes are to be counted, the replica will read from a proxy.
        if (
            self.options.count_bytes
            and self.is_replicated
            and "bytes_received" not in self.limitations
        ):
            address = urlsplit(self.deployment.node().url)
            port = address.port or (443 if address.scheme == "https" else 80)
            proxy = open_counting_proxy(address.hostname or "", port)
            self._proxy = self._closing.enter_context(proxy)
        self._closing.callback(self._stop_pulls)

    def _open_session(self, node: Node) -> HTTPNode:
        session = self._close_at_end(HTTPNode(node.url))
        session.check_login(PATIENCE_S)
        return session

    @override
    def list_databases(self) -> list[str]:
        names: dict[str, None] = {}
        for node in self._sessions.values():
            names |= dict.fromkeys(Databases(node).list_names())
        return list(names)

    def drop_database(self, name: str) -> None:
        """End all pulls, then drop the database that they read."""
        nodes = [Databases(node) for node in self._sessions.values()]
        for node in nodes:
            node.stop_pulls(name)
        for node in nodes:
            node.drop(name)

    def _stop_pulls(self) -> None:
        """End the database's pulls, on servers that answer."""
        if not self._prepared:
            return
        for _, target in DIRECTIONS.get(self.deployment.topology, ()):
            with suppress(AnswerError, HTTPError, AdapterError):
                databases = Databases(self._sessions[target], PATIENCE_S)
                databases.stop_pulls(self.deployment.database)

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        """Drop the former databases, and make new ones, replicated anew, on every node."""
        # Find the addresses that nodes pull from.
        nodes = self._sessions
        addresses: dict[Role, str] = {role: node.peer for role, node in nodes.items()}
        if self._proxy:
            addresses["primary"] = nodes["primary"].replace_host(self._proxy.address)
        # Drop the former databases.
        self.drop_database(self.deployment.database)
        if self.is_replicated and not self._prepared:
            for node in nodes.values():
                Databases(node, PATIENCE_S).prepare_pulls(self._closing)
        # Make the new ones.
        self._prepared = {}
        for schema in reversed(schemas):
            name = make_name(self.deployment.database, schema.name)
            replicated = ReplicatedDatabase(nodes, addresses, self.deployment.topology, name)
            self._prepared[schema.name] = replicated

    def _create_store(self, schema: Schema) -> None:
        """Make a schema's new database the current one, once its replication has begun."""
        self._replicated = self._prepared[schema.name]
        self._replicated.await_start()
        self._record_writes = self._replicated.record_writes
        self._path = f"/{self._replicated.database}"
        self._ask = self._sessions["primary"].ask
        self._decode_types = TypeDecoder(schema)

    def _create_index(self, field: str) -> None:
        self._ask("POST", f"{self._path}/_index", {"index": {"fields": [_escape_name(field)]}})
        # The index is a document, which the replica must have, too.
        revisions = self._read_revisions(designs=True).items()
        self._record_writes(*({"id": key, "rev": revision} for key, revision in revisions))

    def _create_parent(self, parent: Dataset) -> None:
        super()._create_parent(parent)
        # Each database has its own replication.
        self._await_created_store()

    def _list_receive_counters(self) -> list[Meter]:
        """Return the count of the replica's pulls, where there is a proxy."""
        if self._proxy is None:
            return []
        count = self._proxy.count_received_bytes
        source = "a proxy of its pulls (HTTP, headers too)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, lambda: float(count()))]

    def _name_document(self, key: str) -> str:
        return f"{self._path}/{quote(key, safe='')}"

    def _write_documents(self, documents: Sequence[Record]) -> int:
        """Write documents with the revisions that they follow; all but the refused ones stay."""
        written: list[Document] = []
        path = f"{self._path}/_bulk_docs"
        for batch in split_batches(documents, _BATCH_SIZE):
            answers = self._ask("POST", path, {"docs": batch})
            refused = [answer for answer in answers if "error" in answer]
            if refused:
                is_conflict = any(answer["error"] == "conflict" for answer in refused)
                raise AnswerError(409 if is_conflict else 400, path, refused[0])
            written += answers
        self._record_writes(*written)
        return len(documents)

    def _read_documents(self, role: Role = "primary") -> list[Document]:
        """Return every record's document."""
        rows = self._sessions[role].ask("GET", f"{self._path}/_all_docs?include_docs=true")["rows"]
        return [row["doc"] for row in rows if not _is_design(row)]

    def _read_revisions(self, *, designs: bool = False) -> dict[str, str]:
        """Return every revision by its document's id: of the records, or of indexes (`designs`)."""
        rows = self._ask("GET", f"{self._path}/_all_docs")["rows"]
        return {row["id"]: row["value"]["rev"] for row in rows if _is_design(row) == designs}

    def _decode(self, documents: list[Document]) -> list[Document]:
        for document in documents:
            del document["_rev"]
        return self._decode_types(documents)
