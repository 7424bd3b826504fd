"""MongoDB through pymongo's AsyncMongoClient: the native adapter's verbs, awaited on an event loop of the engine's own.

Emptying, keys, positions, counters and reading the replica, which no study times, stay the native adapter's. What a
call pays for the loop (see `EventLoop`) is inside every timed section: once a section in bulk, once a record otherwise.
"""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pymongo

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines.base import Record
from benchbook.engines.event_loop import EventLoop
from benchbook.engines.mongodb import DATABASE, MongoDB
from benchbook.engines.mongodb_client import async_client
from benchbook.engines.told import told

T = TypeVar("T")


class AsyncMongoDB(MongoDB):
    """Verbs are the collection's own, one awaited call each."""

    name = "mongodb+async"
    driver = f"pymongo {pymongo.version} (AsyncMongoClient)"

    @told
    def insert(self, record: Record) -> object:
        """Insert one document."""
        return self._await(self._records.insert_one(record))

    @told
    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert documents in the driver's batches; those before a refused one stay."""
        return self._await(self._records.insert_many(records)) if records else None

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found."""
        found: list[Any] = self._await(self._records.find({field: value}).to_list())
        return self._restored(found)

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents: the primary's through the asynchronous client."""
        if role != "primary":
            return super().read_all(role)
        found: list[Any] = self._await(self._records.find().to_list())
        return self._restored(found)

    @told
    def update(self, key: str, changes: Record) -> None:
        """Set fields of one document."""
        result = self._await(self._records.update_one({"_id": key}, {"$set": changes}))
        self._one(result.matched_count, key)

    @told
    def update_all(self, changes: Record) -> int:
        """Set fields of all documents."""
        return int(self._await(self._records.update_many({}, {"$set": changes})).matched_count)

    @told
    def delete(self, key: str) -> None:
        """Delete one document."""
        self._one(self._await(self._records.delete_one({"_id": key})).deleted_count, key)

    @told
    def delete_all(self) -> int:
        """Delete all documents."""
        return int(self._await(self._records.delete_many({})).deleted_count)

    @told
    def _connect(self) -> None:
        super()._connect()
        self._async_client = async_client(self.deployment.node().url, self.options.durability)
        self._loop = self._kept(EventLoop())
        self._closing.callback(lambda: self._await(self._async_client.close()))
        self._await(self._async_client.admin.command("ping"))

    def _begin(self, schema: Schema) -> None:
        super()._begin(schema)
        self._records: Any = self._async_client[DATABASE][schema.name]

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(coroutine)
