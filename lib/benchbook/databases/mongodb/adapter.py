"""MongoDB through its native driver: a collection of the database, a record a document.

Durability is the write concern: ``default`` is ``w: 1`` (which does not wait for the journal), ``relaxed`` says so
(``j: false``), ``strict`` waits for it (``j: true``). Writes and reads are never retried: the driver retries only in a
replica set, at some 10 % of an insert's time, which would pass for replication's, and would hide a fault.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Final

import bson
import orjson
import pymongo
from bson import Timestamp
from bson.codec_options import CodecOptions, TypeRegistry
from bson.errors import BSONError
from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import (
    BulkWriteError,
    ConnectionFailure,
    DocumentTooLarge,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)
from typing_extensions import override

from benchbook.databases.adapter import (
    AdapterError,
    DuplicateKeyError,
    Durability,
    RefusedError,
    TypeDecoder,
    UnreachableError,
)
from benchbook.databases.connected import Connected
from benchbook.datasets import Dataset
from benchbook.deployment import PATIENCE_S, Node, Role
from benchbook.measure import Meter
from benchbook.schemas import Document, Record, Schema

Client = pymongo.MongoClient[Document]

_CONCERN: Final[dict[Durability, dict[str, object]]] = {
    "default": {"w": 1},
    "relaxed": {"w": 1, "journal": False},
    "strict": {"w": 1, "journal": True},
}


def _settings(durability: Durability) -> dict[str, Any]:
    """Return a client's settings: it may read from a secondary, and retries nothing."""
    return {
        **_CONCERN[durability],
        "retryWrites": False,
        "retryReads": False,
        "readPreference": "secondaryPreferred",
        "serverSelectionTimeoutMS": PATIENCE_S * 1000,
        "connectTimeoutMS": PATIENCE_S * 1000,
        "tz_aware": True,
        "uuidRepresentation": "standard",
        "type_registry": TypeRegistry(fallback_encoder=_encoded),
    }


def _encoded(value: object) -> object:
    """Return a date as BSON can hold it: midnight, UTC."""
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else value


_CODEC: Final = CodecOptions[Document](type_registry=TypeRegistry(fallback_encoder=_encoded))

Position = tuple[Timestamp | None, Mapping[str, object] | None]
"""The operation time that the replica must reach, and the cluster time it belongs to; a lone server tells neither."""


def _answers(replica: Client, session: ClientSession, timeout_s: float) -> bool:
    """Return whether a read that must wait for the session's time is answered in time."""
    try:
        with pymongo.timeout(timeout_s):
            replica["benchbook"]["nothing"].find_one(session=session)
    except ServerSelectionTimeoutError:
        states = replica.topology_description.server_descriptions().values()
        if any(not isinstance(state.error, NetworkTimeout | None) for state in states):
            # It is gone, not only slow.
            raise
        return False
    except PyMongoError as error:
        if not error.timeout:
            raise
        return False
    return True


_FIRST: Final = "benchbook"
"""The collection that makes a database of a user's server, which is there as long as it has one."""

_DOCUMENT_B: Final = 16 * 2**20
_FIELD_B: Final = 16
"""What BSON adds to a field's name and text at most, and an update to the text; a number takes less."""
_UTF_8_B: Final = 4
"""Bytes of a character at most."""

_DUPLICATE: Final = 11000
_UNAUTHORIZED: Final = (13, 18)


class MongoDB(Connected[Client]):
    """Verbs are the collection's own, one call each."""

    name = "mongodb"
    product = "mongodb"
    grant = "the role readWriteAnyDatabase"
    model = "document"
    driver = f"pymongo {pymongo.version}"
    raises: ClassVar[tuple[type[Exception], ...]] = (PyMongoError, BSONError, OverflowError)
    kinds: ClassVar = {
        DuplicateKeyError: (_DUPLICATE,),
        UnreachableError: (*_UNAUTHORIZED, ConnectionFailure),
        RefusedError: (BulkWriteError, DocumentTooLarge, BSONError, OverflowError),
    }
    wait_resolution_ns = 500_000.0  # the position's round trip, and a causally consistent read on the replica
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "MongoDB has no foreign keys to leave out",
        "large_records": "a BSON document takes 16 MB at most",
    }

    refused_names: ClassVar[Mapping[str, Callable[[str], bool]]] = {
        "BSON ends a name at U+0000": lambda name: "\0" in name,
        "MongoDB takes a name with a dot, or with a $ at its beginning, for a path": (
            lambda name: "." in name or name.startswith("$")
        ),
    }

    refused_inside: ClassVar[Mapping[str, Callable[[str], bool]]] = {
        "BSON ends a name at U+0000": lambda name: "\0" in name,
        "MongoDB takes a name with a $ at its beginning for an operator": lambda name: name.startswith("$"),
    }

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        if any(isinstance(value, dict | list) for value in record.values()):
            # An element of an array takes up to eight times what JSON takes.
            if len(orjson.dumps(record)) > _DOCUMENT_B // 8 and (size := len(bson.encode(record, False, _CODEC))) > (
                _DOCUMENT_B - _FIELD_B
            ):
                return f"a document of {size:,} bytes: {gaps['large_records']}"
            return super().unfit_record(record, gaps)
        texts = [value for value in record.values() if type(value) is str]
        if sum(map(len, texts)) * _UTF_8_B > _DOCUMENT_B:
            others = _FIELD_B * len(record) + sum(len(name.encode()) for name in record)
            if (size := others + sum(len(text.encode()) for text in texts)) > _DOCUMENT_B:
                return f"a document of {size:,} bytes: {gaps['large_records']}"
        return super().unfit_record(record, gaps)

    @override
    def insert(self, record: Record) -> object:
        return self._collection.insert_one(record)

    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert documents in the driver's batches; those before a refused one stay."""
        return self._collection.insert_many(records) if records else None

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        return self._restored(list(self._collection.find({field: value})))

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        database = self._sessions[role][self.deployment.database]
        return self._restored(list(database[self._collection.name].find()))

    @override
    def update(self, key: str, changes: Record) -> None:
        self._expect_one(self._collection.update_one({"_id": key}, {"$set": changes}).matched_count, key)

    @override
    def update_all(self, changes: Record) -> int:
        return int(self._collection.update_many({}, {"$set": changes}).matched_count)

    @override
    def delete(self, key: str) -> None:
        self._expect_one(self._collection.delete_one({"_id": key}).deleted_count, key)

    @override
    def delete_all(self) -> int:
        return int(self._collection.delete_many({}).deleted_count)

    @override
    def ids(self) -> list[str]:
        return [document["_id"] for document in self._collection.find({}, {"_id": 1})]

    def position(self) -> Position:
        """Return the primary's operation time: that of its last write, as any command's answer states it."""
        primary = self._sessions["primary"]
        with primary.start_session() as session:
            primary.admin.command("ping", session=session)
            return session.operation_time, session.cluster_time

    def _reached(self, position: Position, deadline_s: float) -> bool:
        """Read from the replica what must be as new as `position`: no polling."""
        operation_time, cluster_time = position
        assert operation_time is not None and cluster_time is not None
        deadline = time.monotonic() + deadline_s
        replica = self._sessions["replica"]
        with replica.start_session(causal_consistency=True) as session:
            session.advance_cluster_time(cluster_time)
            session.advance_operation_time(operation_time)
            while (left := deadline - time.monotonic()) > 0:
                if _answers(replica, session, min(left, PATIENCE_S)):
                    return True
        return False

    @override
    def code(self, error: Exception) -> int | str | None:
        if isinstance(error, BulkWriteError):
            codes = {failure["code"] for failure in error.details.get("writeErrors", ())}
            return _DUPLICATE if _DUPLICATE in codes else None
        return error.code if isinstance(error, OperationFailure) else None

    def text(self, error: Exception) -> str:
        """Return what the driver said, without the topology that it describes after it."""
        return super().text(error).partition(", Timeout: ")[0]

    @override
    def list_databases(self) -> list[str]:
        return self._sessions["primary"].list_database_names()

    @override
    def make_database(self) -> None:
        self._database.create_collection(_FIRST)

    @override
    def drop_database(self, name: str) -> None:
        """Drop the collections: dropping the database takes a right more."""
        database = self._sessions["primary"][name]
        for collection in database.list_collection_names():
            database.drop_collection(collection)

    @property
    def _database(self) -> Database[Document]:
        """The deployment's database on the primary."""
        return self._sessions["primary"][self.deployment.database]

    def _session(self, node: Node) -> Client:
        client: Client = self._kept(pymongo.MongoClient(node.url, **_settings(self.options.durability)))
        client.admin.command("ping")
        return client

    def _begin(self, schema: Schema) -> None:
        if why := self.unfit_fields(schema):
            raise AdapterError(f"{self.name}: {schema.name} has {why}")
        self._fresh(schema)
        self.attach(schema)

    def attach(self, schema: Schema) -> None:
        """Make a schema's collection, as it is, the current one."""
        self._collection: Collection[Any] = self._database[schema.name]
        # BSON knows moments only.
        self._restored = TypeDecoder(schema, {"date": datetime.date})

    def _index(self, field: str) -> None:
        self._collection.create_index(field)

    def _fill(self, parent: Dataset) -> None:
        self._fresh(parent.schema).insert_many(parent.records)

    def _checkpoint(self) -> None:
        for used in self._sessions.values():
            used.admin.command("fsync")

    def _received(self) -> list[Meter]:
        def read() -> float:
            status = self._sessions["replica"].admin.command("serverStatus")
            return float(status["metrics"]["repl"]["network"]["bytes"])

        source = "serverStatus metrics.repl.network.bytes (oplog entries, uncompressed)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    def _fresh(self, schema: Schema) -> Collection[Any]:
        self._database.drop_collection(schema.name)
        fresh: Collection[Any] = self._database.create_collection(schema.name)
        return fresh
