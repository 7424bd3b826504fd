"""MongoDB through its native driver: a collection of the database, a document per record.

Durability is the write concern: ``default`` is ``w: 1`` (which does not wait for the journal),
``relaxed`` says so (``j: false``), ``strict`` waits for it (``j: true``). Writes and reads are
never retried: the driver retries only in a replica set, at some 10 % of an insert's time, which
would count as replication's, and would hide a fault.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Final

import pymongo
from bson import Timestamp
from bson.codec_options import TypeRegistry
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
from pymongo.results import UpdateResult
from typing_extensions import override

from benchbook.databases.adapter import (
    DuplicateKeyError,
    Durability,
    RefusedError,
    TypeDecoder,
    UnreachableError,
)
from benchbook.databases.server_adapter import ServerAdapter
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter
from benchbook.schema import Document, Record, Schema
from benchbook.servers.deployment import PATIENCE_S, Node, Role

Client = pymongo.MongoClient[Document]

_WRITE_CONCERNS: Final[dict[Durability, dict[str, object]]] = {
    "default": {"w": 1},
    "relaxed": {"w": 1, "journal": False},
    "strict": {"w": 1, "journal": True},
}


def _encode_date(value: object) -> object:
    """Return a date as BSON can hold it: midnight, UTC."""
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


Position = tuple[Timestamp | None, Mapping[str, object] | None]
"""The operation time that the replica must reach, and its cluster time; None on a lone server."""


def _is_answered(replica: Client, session: ClientSession, timeout_s: float) -> bool:
    """Return whether a read that must wait for the session's time is answered in time."""
    try:
        with pymongo.timeout(timeout_s):
            replica["benchbook"]["nothing"].find_one(session=session)
    except ServerSelectionTimeoutError:
        states = replica.topology_description.server_descriptions().values()
        if any(not isinstance(state.error, NetworkTimeout | None) for state in states):
            # The server is gone, not only slow.
            raise
        return False
    except PyMongoError as error:
        if isinstance(error, OperationFailure) and error.code == _KEY_NOT_FOUND:
            # In the first seconds of a set, its replica may not have the key of the time yet.
            time.sleep(0.01)
        elif not error.timeout:
            raise
        return False
    return True


_DUPLICATE: Final = 11000
_KEY_NOT_FOUND: Final = 211


class _LiteralCollection(Collection[Any]):
    """A collection of a user's records whose fields' names have dots, or begin with ``$``.

    An update's ``$set`` would take such a name for a path. `$setField` takes it as it is, from
    MongoDB 5.0 on.
    """

    def update_one(self, filter: Any, update: Any, *_: Any, **__: Any) -> UpdateResult:
        return super().update_one(filter, _set_literally(update["$set"]))

    def update_many(self, filter: Any, update: Any, *_: Any, **__: Any) -> UpdateResult:
        return super().update_many(filter, _set_literally(update["$set"]))


def _set_literally(changes: Record) -> list[Document]:
    """Return the pipeline that sets fields, whatever their names and texts are."""
    stages: list[Document] = []
    for name, value in changes.items():
        field = {"field": {"$literal": name}, "value": {"$literal": value}, "input": "$$ROOT"}
        stages.append({"$replaceWith": {"$setField": field}})
    return stages


class MongoDB(ServerAdapter[Client]):
    """Verbs are the collection's own, one call each."""

    name = "mongodb"
    product = "mongodb"
    grant = "the role readWriteAnyDatabase"
    model = "document"
    driver = f"pymongo {pymongo.version}"
    driver_errors: ClassVar[tuple[type[Exception], ...]] = (PyMongoError, BSONError, OverflowError)
    error_types: ClassVar = {
        DuplicateKeyError: (_DUPLICATE,),
        # No rights, no login, no space on the disk, no server.
        UnreachableError: (13, 18, 14031, ConnectionFailure),
        RefusedError: (BulkWriteError, DocumentTooLarge, BSONError, OverflowError),
    }
    # The position's round trip, and a causally consistent read on the replica.
    wait_resolution_ns = 500_000.0
    limitations: Mapping[str, str] = {
        "constraints": "MongoDB has no foreign keys to leave out",
        "large_records": "a BSON document takes 16 MB at most",
    }

    @override
    def insert(self, record: Record) -> object:
        return self._collection.insert_one(record)

    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert documents in the driver's batches; those before a refused one stay."""
        return self._collection.insert_many(records) if records else None

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        return self._decode_types(list(self._collection.find({field: value})))

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        database = self._sessions[role][self.deployment.database]
        return self._decode_types(list(database[self._collection.name].find()))

    @override
    def update(self, key: str, changes: Record) -> None:
        result = self._collection.update_one({"_id": key}, {"$set": changes})
        self._expect_one(result.matched_count, key)

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
    def list_ids(self) -> list[str]:
        return [document["_id"] for document in self._collection.find({}, {"_id": 1})]

    def position(self) -> Position:
        """Return the primary's operation time, that of its last write, from a command's answer."""
        primary = self._sessions["primary"]
        with primary.start_session() as session:
            primary.admin.command("ping", session=session)
            return session.operation_time, session.cluster_time

    def _await_replica(self, position: Position, deadline_s: float) -> bool:
        """Read from the replica what must be as new as `position`, without polling."""
        operation_time, cluster_time = position
        assert operation_time is not None and cluster_time is not None
        deadline = time.monotonic() + deadline_s
        replica = self._sessions["replica"]
        # A causally consistent session's reads wait until the server has reached its time.
        with replica.start_session(causal_consistency=True) as session:
            session.advance_cluster_time(cluster_time)
            session.advance_operation_time(operation_time)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                if _is_answered(replica, session, min(left, PATIENCE_S)):
                    return True

    @override
    def read_error_code(self, error: Exception) -> int | str | None:
        if isinstance(error, BulkWriteError):
            codes = {failure["code"] for failure in error.details.get("writeErrors", ())}
            return _DUPLICATE if _DUPLICATE in codes else None
        return error.code if isinstance(error, OperationFailure) else None

    def describe_error(self, error: Exception) -> str:
        """Return the driver's message without the topology after it."""
        return super().describe_error(error).partition(", Timeout: ")[0]

    @override
    def list_databases(self) -> list[str]:
        return self._sessions["primary"].list_database_names()

    @override
    def make_database(self) -> None:
        # A database exists as long as it has a collection.
        self._database.create_collection("benchbook")

    @override
    def drop_database(self, name: str) -> None:
        """Drop the collections: to drop the database takes one more right."""
        database = self._sessions["primary"][name]
        for collection in database.list_collection_names():
            database.drop_collection(collection)

    @property
    def _database(self) -> Database[Document]:
        """The deployment's database on the primary."""
        return self._sessions["primary"][self.deployment.database]

    def _open_session(self, node: Node) -> Client:
        # The client may read from a secondary, and retries nothing.
        options: dict[str, Any] = {
            **_WRITE_CONCERNS[self.options.durability],
            "retryWrites": False,
            "retryReads": False,
            "readPreference": "secondaryPreferred",
            "serverSelectionTimeoutMS": PATIENCE_S * 1000,
            "connectTimeoutMS": PATIENCE_S * 1000,
            "tz_aware": True,
            "uuidRepresentation": "standard",
            "type_registry": TypeRegistry(fallback_encoder=_encode_date),
        }
        client: Client = self._close_at_end(pymongo.MongoClient(node.url, **options))
        # The first command waits for the connection.
        client.admin.command("ping")
        return client

    def _create_store(self, schema: Schema) -> None:
        self._create_collection(schema)
        self.select_collection(schema)

    def select_collection(self, schema: Schema) -> None:
        """Make a schema's existing collection the current one."""
        self._collection: Collection[Any] = self._database[schema.name]
        # An update would take such a name for a path or an operator.
        if any("." in field.name or field.name.startswith("$") for field in schema.fields):
            self._collection = _LiteralCollection(self._database, schema.name)
        # BSON has moments, no dates.
        self._decode_types = TypeDecoder(schema, {"date": datetime.date})

    def _create_index(self, field: str) -> None:
        self._collection.create_index(field)

    def _create_parent(self, parent: Dataset) -> None:
        self._create_collection(parent.schema).insert_many(parent.records)

    def _checkpoint(self) -> None:
        for client in self._sessions.values():
            client.admin.command("fsync")

    def _list_receive_counters(self) -> list[Meter]:
        def read() -> float:
            status = self._sessions["replica"].admin.command("serverStatus")
            return float(status["metrics"]["repl"]["network"]["bytes"])

        source = "serverStatus metrics.repl.network.bytes (oplog entries, uncompressed)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    def _create_collection(self, schema: Schema) -> Collection[Any]:
        self._database.drop_collection(schema.name)
        collection: Collection[Any] = self._database.create_collection(schema.name)
        return collection
