"""CouchDB through its HTTP interface: a database a schema, a record a document, one request at a time.

Records go one at a time by PUT, in bulk by ``_bulk_docs``. An update reads the whole document and writes it back with
its revision; a deletion needs the revision too, so it is read first; ``delete_all`` reads all revisions and writes
their deletions by ``_bulk_docs``. Mango's index, when asked for, is made before the records; CouchDB brings it up to
date when it is read, so the first ``find`` after writes does that.

Durability is the server's: CouchDB, from 3 on, syncs every commit before it answers (twice, so that inserts one at a
time are as fast as the disk). It has no weaker level: ``delayed_commits`` went with 3.0 (apache/couchdb#2208), and
``batch=ok`` answers before the document is stored, without its revision, and only logs an error. Version 2 at an
address still takes ``delayed_commits = true``, which was the default of 1.5. Replication is CouchDB's own, a
continuous pull by the replica, set up by `create` for each database it makes; in topology ``bidirectional`` the
primary pulls from the replica as well. CouchDB keeps pulls over restarts, and they cost both nodes: they end with the
database that made them, or before the next begins. No node counts what pulls receive: where that is asked for, the
replica's go through a proxy that does.

How far the replica has come is known exactly, by every document's revision. What it is due to have is known from the
answers to the writes, each of which states the new revision (a deletion is one too): the primary is not asked, so that
its own work stays what is measured. What the replica lacks of it, it says itself (``_revs_diff``, as replication asks
it). Sequence numbers do not compare, for each node counts its own: but as long as the replica's stays the same, nothing
has come, and what it has at last it had all that time.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from sys import float_info
from typing import ClassVar, Final
from urllib.parse import parse_qs, quote, urlsplit

import orjson
from typing_extensions import override
from urllib3 import __version__ as urllib3_version  # type: ignore[attr-defined]
from urllib3.exceptions import HTTPError

from benchbook import registry
from benchbook.databases.adapter import (
    EXACT,
    AdapterError,
    DuplicateKeyError,
    MissingRecordError,
    RefusedError,
    TypeDecoder,
    UnreachableError,
    batches,
)
from benchbook.databases.connected import Connected
from benchbook.databases.couchdb.node import (
    WAYS,
    AnswerError,
    Databases,
    HTTPNode,
    Position,
    ReplicatedDatabase,
    new_name,
)
from benchbook.databases.couchdb.proxy import CountingProxy, counting_proxy
from benchbook.datasets import Dataset
from benchbook.deployment import LOCAL_NAMES, PATIENCE_S, Node, Role
from benchbook.measure import Meter
from benchbook.schemas import Document, Record, Schema

_MISSING: Final = "no such document"
_FAR: Final = (
    "CouchDB counts no bytes, and the proxy that does listens on this machine's loopback: it takes nodes that run here,"
    " with 127.0.0.1 in their addresses and no ?peer="
)

_LIMIT_B: Final = 8_000_000
"""The largest document that CouchDB takes by default, from 3.0 on."""
_LONG_B: Final = 7_800
"""Of a key in an address: CouchDB takes 8,192 bytes as a request's first line, with database, revision and version."""
_LARGE_B: Final = 18 << 20
"""Of a document that holds a text of 17 MB."""

_BATCH: Final = 1000
"""Documents in one request."""
_ALL: Final = 1 << 28
"""Mango returns 25 unless told how many; this is the most that CouchDB takes."""


def _is_design(row: Document) -> bool:
    return str(row["id"]).startswith("_design/")


def _escaped(field: str) -> str:
    """Return a field's name as Mango takes it: there a dot leads into an object."""
    return field.replace("\\", "\\\\").replace(".", "\\.")


def _is_large_integer(number: float) -> bool:
    """Return whether JavaScript would round a number, or not tell it from others: it writes 1e16 as whole ones."""
    if type(number) is int:
        return abs(number) > EXACT
    return number.is_integer() and EXACT <= abs(number) < 1e21


class CouchDB(Connected[HTTPNode]):
    """Verbs are requests on one kept connection."""

    name = "couchdb"
    product = "couchdb"
    grant = "to be an administrator"
    model = "document"
    driver = f"urllib3 {urllib3_version}"
    raises = (AnswerError, HTTPError, orjson.JSONEncodeError)
    kinds: ClassVar = {
        MissingRecordError: (_MISSING,),
        DuplicateKeyError: (409,),
        RefusedError: (400, 413, orjson.JSONEncodeError),
        UnreachableError: (401, 403, HTTPError),
    }
    lacks: ClassVar[Mapping[str, str]] = {
        **registry.product("couchdb").lacks,
        "constraints": "CouchDB knows neither foreign key nor NOT NULL",
        "read_only_replica": "every CouchDB node takes writes, whichever it follows",
        "doubles": "CouchDB (3.5) reads 5e-324 as 0",
        "large_records": "CouchDB takes documents of 8,000,000 bytes unless it is told otherwise (max_document_size)",
    }

    refused_numbers: ClassVar = {
        "large_integers": _is_large_integer,
        "doubles": lambda number: 0 < abs(number) < float_info.min,
    }
    refused_names: ClassVar = {"CouchDB keeps names that begin with _ for itself": lambda name: name.startswith("_")}

    @classmethod
    def lacks_on(cls, urls: Mapping[Role, str]) -> Mapping[str, str]:
        """Return the gaps: bytes are counted where a server that is told 127.0.0.1 finds this machine."""
        primary = urlsplit(urls.get("primary", "//127.0.0.1"))
        near = primary.hostname in LOCAL_NAMES and "peer" not in parse_qs(primary.query)
        return {**super().lacks_on(urls), **({} if near else {"bytes_received": _FAR})}

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        key = record["_id"]
        if not key or key.startswith("_"):
            return f"the key {key!r}: CouchDB's have a character, and begin with no _"
        if (length := len(quote(key, safe=""))) > _LONG_B:
            return f"a key of {length:,} bytes in an address: CouchDB takes no request whose first line has over 8,192"
        if "large_records" in gaps and (size := len(orjson.dumps(record))) > _LIMIT_B:
            return f"a document of {size:,} bytes: {gaps['large_records']}"
        return super().unfit_record(record, gaps)

    @override
    def insert(self, record: Record) -> None:
        self._wrote(self._ask("PUT", self._document(record["_id"]), record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents; those that are not refused stay."""
        self._write(records)

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        query = {"selector": {_escaped(field): {"$eq": value}}, "limit": _ALL}
        return self._restored(self._ask("POST", f"{self._path}/_find", query)["docs"])

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._restored(self._documents(role))

    def update(self, key: str, changes: Record) -> None:
        """Read one document, set fields of it, and write it back."""
        path = self._document(key)
        self._wrote(self._ask("PUT", path, self._ask("GET", path) | dict(changes)))

    def update_all(self, changes: Record) -> int:
        """Read all documents, set fields of them, and write them back."""
        return self._write([document | dict(changes) for document in self._documents()])

    def delete(self, key: str) -> None:
        """Delete one document, its revision read before."""
        path = self._document(key)
        self._wrote(self._ask("DELETE", f"{path}?rev={self._ask('GET', path)['_rev']}"))

    def delete_all(self) -> int:
        """Delete all documents, their revisions read before."""
        revisions = self._revisions().items()
        return self._write([{"_id": key, "_rev": revision, "_deleted": True} for key, revision in revisions])

    @override
    def ids(self) -> list[str]:
        return list(self._revisions())

    def position(self) -> Position:
        """Return the documents that were written here and not yet seen on the replica."""
        return self._replicated.position()

    @override
    def code(self, error: Exception) -> int | str | None:
        if not isinstance(error, AnswerError):
            return None
        # when no document is missing or deleted, it is the database
        return _MISSING if error.status == 404 and error.reason in ("missing", "deleted") else error.status

    def _reached(self, position: Position, deadline_s: float) -> bool:
        caught_up = self._replicated.reached(position, deadline_s)
        self.wait_resolution_ns, self.wait_proof_ns = self._replicated.resolution_ns, self._replicated.proof_ns
        return caught_up

    def _connect(self) -> None:
        self._proxy: CountingProxy | None = None
        self._prepared: dict[str, ReplicatedDatabase] = {}
        super()._connect()
        # A record of 17 MB: CouchDB takes it where it is told to.
        limits = [
            int(self._sessions[node.role].setting("couchdb", "max_document_size") or _LIMIT_B)
            for node in self.deployment.nodes
        ]
        if all(limit > _LARGE_B for limit in limits):
            self.gaps = {name: why for name, why in self.gaps.items() if name != "large_records"}
        if self.options.counted and self.replicated and "bytes_received" not in self.gaps:
            at = urlsplit(self.deployment.node().url)
            port = at.port or (443 if at.scheme == "https" else 80)
            self._proxy = self._closing.enter_context(counting_proxy(at.hostname or "", port))
        self._closing.callback(self._end_pulls)

    def _session(self, node: Node) -> HTTPNode:
        session = self._kept(HTTPNode(node.url))
        session.check(PATIENCE_S)
        return session

    @override
    def list_databases(self) -> list[str]:
        names = [name for node in self._sessions.values() for name in Databases(node).list_names()]
        return list(dict.fromkeys(names))

    def drop_database(self, name: str) -> None:
        """End all pulls before a database that one reads goes."""
        nodes = [Databases(node) for node in self._sessions.values()]
        for node in nodes:
            node.stop(name)
        for node in nodes:
            node.drop(name)

    def _end_pulls(self) -> None:
        """End the database's pulls, on servers that answer."""
        for _, target in WAYS.get(self.deployment.topology, ()) if self._prepared else ():
            with suppress(AnswerError, HTTPError, AdapterError):
                Databases(self._sessions[target], PATIENCE_S).stop(self.deployment.database)

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        """Drop the former databases, and make new ones, replicated anew, on every node."""
        nodes = self._sessions
        addresses: dict[Role, str] = {role: node.peer for role, node in nodes.items()}
        if self._proxy:
            addresses["primary"] = nodes["primary"].through(self._proxy.address)
        self.drop_database(self.deployment.database)
        if self.replicated and not self._prepared:
            for node in nodes.values():
                Databases(node, PATIENCE_S).prepare(self._closing)
        self._prepared = {}
        for schema in reversed(schemas):
            name = new_name(self.deployment.database, schema.name)
            replication = ReplicatedDatabase(nodes, addresses, self.deployment.topology, name)
            self._prepared[schema.name] = replication

    def _begin(self, schema: Schema) -> None:
        """Make a schema's new database the current one, once it is followed."""
        self._replicated = self._prepared[schema.name]
        self._replicated.begin()
        self._wrote = self._replicated.wrote
        self._path = f"/{self._replicated.database}"
        self._ask = self._sessions["primary"].ask
        self._restore = TypeDecoder(schema)

    def _index(self, field: str) -> None:
        self._ask("POST", f"{self._path}/_index", {"index": {"fields": [_escaped(field)]}})
        self._wrote(*({"id": key, "rev": revision} for key, revision in self._revisions(designs=True).items()))

    def _fill(self, parent: Dataset) -> None:
        super()._fill(parent)
        # Each database has a replication of its own.
        self._follow()

    def _received(self) -> list[Meter]:
        """Return what the replica's pulls received, where that was asked for and can be counted."""
        if self._proxy is None:
            return []
        count = self._proxy.received
        source = "a proxy of its pulls (HTTP, headers too)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, lambda: float(count()))]

    def _document(self, key: str) -> str:
        return f"{self._path}/{quote(key, safe='')}"

    def _write(self, documents: Sequence[Record]) -> int:
        """Write documents, with the revisions that they follow; those before and beside a refused one stay."""
        written: list[Document] = []
        path = f"{self._path}/_bulk_docs"
        for batch in batches(documents, _BATCH):
            answers = self._ask("POST", path, {"docs": batch})
            if refused := [answer for answer in answers if "error" in answer]:
                conflict = any(answer["error"] == "conflict" for answer in refused)
                raise AnswerError(409 if conflict else 400, path, refused[0])
            written += answers
        self._wrote(*written)
        return len(documents)

    def _documents(self, role: Role = "primary") -> list[Document]:
        """Return every record's document."""
        rows = self._sessions[role].ask("GET", f"{self._path}/_all_docs?include_docs=true")["rows"]
        return [row["doc"] for row in rows if not _is_design(row)]

    def _revisions(self, *, designs: bool = False) -> dict[str, str]:
        """Return every document's revision by its id: the records', or those of what is there besides (indexes)."""
        rows = self._ask("GET", f"{self._path}/_all_docs")["rows"]
        return {row["id"]: row["value"]["rev"] for row in rows if _is_design(row) == designs}

    def _restored(self, documents: list[Document]) -> list[Document]:
        for document in documents:
            del document["_rev"]
        return self._restore(documents)
