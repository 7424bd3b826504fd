"""MongoDB through pymongo's AsyncMongoClient: the native adapter's verbs, awaited on an event loop of the engine's own.

Emptying, keys, positions, counters and reading the replica, which no study times, stay the native adapter's. What a
call pays for the loop (see `EventLoop`) is inside every timed section: once a section in bulk, once a record otherwise.
"""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pymongo

from benchbook.databases.mongodb.adapter import DATABASE, MongoDB, async_client
from benchbook.deployment import Role
from benchbook.schemas import Record, Schema

T = TypeVar("T")


class EventLoop:
    """Runs coroutines for a caller that may have a running loop itself, as every notebook has.

    Each call costs two hand-overs between threads, on top of what the coroutine takes; between calls the loop goes on,
    so that a driver's monitors do.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="event loop", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result, or raise what it raises; an interrupted caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and end its thread; once is enough."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


class AsyncMongoDB(MongoDB):
    """Verbs are the collection's own, one awaited call each."""

    name = "mongodb+async"
    driver = f"pymongo {pymongo.version} (AsyncMongoClient)"

    def insert(self, record: Record) -> object:
        """Insert one document."""
        return self._await(self._records.insert_one(record))

    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert documents in the driver's batches; those before a refused one stay."""
        return self._await(self._records.insert_many(records)) if records else None

    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found."""
        found: list[Any] = self._await(self._records.find({field: value}).to_list())
        return self._restored(found)

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents: the primary's through the asynchronous client."""
        if role != "primary":
            return super().read_all(role)
        found: list[Any] = self._await(self._records.find().to_list())
        return self._restored(found)

    def update(self, key: str, changes: Record) -> None:
        """Set fields of one document."""
        result = self._await(self._records.update_one({"_id": key}, {"$set": changes}))
        self._one(result.matched_count, key)

    def update_all(self, changes: Record) -> int:
        """Set fields of all documents."""
        return int(self._await(self._records.update_many({}, {"$set": changes})).matched_count)

    def delete(self, key: str) -> None:
        """Delete one document."""
        self._one(self._await(self._records.delete_one({"_id": key})).deleted_count, key)

    def delete_all(self) -> int:
        """Delete all documents."""
        return int(self._await(self._records.delete_many({})).deleted_count)

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
