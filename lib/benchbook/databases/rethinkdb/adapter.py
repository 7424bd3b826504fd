"""RethinkDB through its official driver: a table of the database, a document per record.

A pair is one cluster, whose servers are tagged with their roles as long as the database exists.
Each table's only voting replica is the primary's server, so that an acknowledged write never waits
for the other one, whose replica has no vote. Reads of the replica go to that server only
(``_debug_direct``).

No log says how far the replica has come, but each server counts what it has written of a table: a
wait ends when the replica has written as often as the primary. To prove that both hold the same
then, all records are read on both, outside the measured time.

Durability is a table's: ``default`` leaves the server's (hard: a write waits for the disk),
``relaxed`` asks for soft, ``strict`` for hard, in every write.
"""

import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import rethinkdb
from rethinkdb import r
from rethinkdb.errors import ReqlAuthError, ReqlDriverError, ReqlError, ReqlTimeoutError
from typing_extensions import override

from benchbook.databases.adapter import (
    CATCH_UP_S,
    JSON_DECODERS,
    MAX_EXACT_INTEGER,
    Decoders,
    DuplicateKeyError,
    Options,
    RefusedError,
    TypeDecoder,
    UnreachableError,
    iterate_scalars,
    split_batches,
)
from benchbook.databases.rethinkdb.server import Connection, open_connection
from benchbook.databases.server_adapter import ComparingAdapter, ReplicaPoll, Versions
from benchbook.measure import Meter
from benchbook.schema import Document, Record, Schema
from benchbook.servers.deployment import LOCAL_NAMES, PATIENCE_S, Deployment, Node, Role, list_roles

Query: TypeAlias = Any
"""A query, or a table, as the driver makes them: it has no types."""


def _expect_exact(name: str, value: object) -> None:
    if type(value) is int and not -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        raise OverflowError(f"{name}: {value} has more digits than a double holds")


def _encode(record: Record) -> Record:
    """Return a record with its dates as text; a record without dates is not copied.

    Raises `OverflowError` for a whole number that no double holds: RethinkDB would round it.
    """
    dates = {}
    for name, value in record.items():
        if type(value) is date:
            dates[name] = value.isoformat()
        elif type(value) is int:
            _expect_exact(name, value)
        elif isinstance(value, dict | list):
            for part in iterate_scalars(value):
                _expect_exact(name, part)
    return {**record, **dates} if dates else record


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_DECODERS: Final[Decoders] = {
    **JSON_DECODERS,
    "datetime": lambda raw: _EPOCH + timedelta(milliseconds=round(raw["epoch_time"] * 1000)),
}
"""RethinkDB keeps a moment's seconds in a double: whole milliseconds are exact."""

_DUPLICATE: Final = "Duplicate primary key"
_PSEUDO_TYPE: Final = "Unknown pseudo-type"
"""How the driver begins what it says of a document with a field ``$reql_type$`` of its own."""


class _RefusedWriteError(ReqlError):  # type: ignore[misc]
    """A write that the server refused: it says so in its answer, and the driver raises nothing."""


def _run_write(write: Query, connection: Connection) -> Document:
    """Run a write and return its counts.

    Raises `_RefusedWriteError` when the server refused any of it.
    """
    counts: Document = write.run(connection)
    if counts["errors"]:
        raise _RefusedWriteError(counts["first_error"])
    return counts


def _name_tag(database: str, role: Role) -> str:
    """Return the tag that a pair's server has as long as the database exists."""
    return f"{database}_{role}"


def _place_replicas(database: str) -> dict[str, object]:
    """Return where a pair's tables are created: to move one afterwards takes seconds."""
    primary, replica = (_name_tag(database, role) for role in list_roles("replicated"))
    return {
        "shards": 1,
        "replicas": {primary: 1, replica: 1},
        "primary_replica_tag": primary,
        "nonvoting_replica_tags": [replica],
    }


_BATCH_SIZE: Final = 200
"""Documents in one insert, by RethinkDB's own advice."""

_DURABILITY_OPTIONS: Final = {
    "default": {},
    "relaxed": {"durability": "soft"},
    "strict": {"durability": "hard"},
}


def _read_cluster_port(url: str) -> int | None:
    """Return the cluster's port of a server on this machine: ``?cluster=PORT`` in its address."""
    parts = urlsplit(url)
    port = parse_qs(parts.query).get("cluster", [""])[0]
    return int(port) if parts.hostname in LOCAL_NAMES and port.isdecimal() else None


_ENDS_PATTERN: Final = re.compile(r"^\S+\s+\S+\s+(\S+):(\d+)\s+(\S+):(\d+)\s")
_RECEIVED_PATTERN: Final = re.compile(r"\bbytes_received:(\d+)")


class ReceivedBytes:
    """The bytes that some connections of this machine have received.

    The kernel counts them for each socket (``TCP_INFO``), and ``ss`` (iproute2) shows them to every
    user. A byte of the stream counts once: what the product sends with its own framing, without
    TCP's headers and what was sent again.

    Parameters
    ----------
    is_counted
        Whether a socket counts, by its own port and that of its other end.
    title
        The name of such a connection in messages.
    """

    def __init__(self, is_counted: Callable[[int, int], bool], title: str) -> None:
        self._is_counted = is_counted
        self._title = title
        self._counts: Mapping[tuple[str, ...], int] = {}  # by a socket's ends

    @staticmethod
    def find_obstacle() -> str | None:
        """Return why sockets cannot be read on this machine; None where they can."""
        if sys.platform != "linux":
            return "only Linux says what a socket has received"
        if shutil.which("ss") is None:
            return "ss, which says what a socket has received, is not on PATH: install iproute2"
        return None

    def __call__(self) -> float:
        """Return their sum, which only grows.

        Raises `ConnectionError` without such a connection, or when one has gone since the last
        call: what it had received is unknown then.
        """
        # List all connections.
        options = ("--tcp", "--info", "--numeric", "--no-header", "--oneline")
        command = ["ss", *options, "state", "established"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        # Read the counts of those that count.
        counts = {}
        for line in answer.stdout.splitlines():
            ends = _ENDS_PATTERN.match(line)
            if ends and self._is_counted(int(ends[2]), int(ends[4])):
                # A socket that has received nothing says nothing.
                received = _RECEIVED_PATTERN.search(line)
                counts[ends.groups()] = int(received[1]) if received else 0
        if not counts:
            raise ConnectionError(f"there is no {self._title} on this machine to read")
        # What a closed connection had received would be missing from the sum.
        gone = self._counts.keys() - counts.keys()
        if gone:
            raise ConnectionError(
                f"{self._title}: {len(gone)} closed since it was read, "
                "and with it what it had counted"
            )
        self._counts = counts
        return float(sum(counts.values()))


class RethinkDB(ComparingAdapter[Connection]):
    """Verbs are the table's own, one query each."""

    name = "rethinkdb"
    product = "rethinkdb"
    model = "document"
    grant = "the global permissions read, write and config"
    driver = f"rethinkdb {rethinkdb.__version__.partition('+')[0]}"
    driver_errors = (ReqlError, OSError, OverflowError)
    # The driver raises the same type for a document that it cannot read and for a lost connection.
    error_types: ClassVar = {
        DuplicateKeyError: (_DUPLICATE,),
        RefusedError: (OverflowError, _RefusedWriteError, _PSEUDO_TYPE),
        UnreachableError: (ReqlDriverError, ReqlTimeoutError, OSError),
    }
    limitations: Mapping[str, str] = {
        "constraints": "RethinkDB knows neither foreign keys nor NOT NULL",
        "large_integers": (
            "its numbers are doubles: integers beyond 2^53, which they would round, are refused"
        ),
        "read_only_replica": (
            "every server of a cluster takes writes, and hands them to the table's primary"
        ),
    }

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._comparison_poll = ReplicaPoll(self._compare_records)
        super().__init__(deployment, options)

    @override
    def insert(self, record: Record) -> None:
        self._write(self._table.insert(_encode(record), **self._durability))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in batches; those that are not refused stay."""
        for batch in split_batches(records, _BATCH_SIZE):
            documents = [_encode(record) for record in batch]
            self._write(self._table.insert(documents, **self._durability))

    def find(self, field: str, value: object) -> Sequence[Record]:
        """Return the documents found, by an index where there is one."""
        encoded = value.isoformat() if type(value) is date else value
        if field == self._key:
            query = self._table.get_all(encoded)
        elif field in self.options.index:
            query = self._table.get_all(encoded, index=field)
        else:
            query = self._table.filter({field: encoded})
        return self._decode_types(list(query.run(self._connection, time_format="raw")))

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        cursor = self._tables[role].run(self._sessions[role], time_format="raw")
        return self._decode_types(list(cursor))

    @override
    def update(self, key: str, changes: Record) -> None:
        counts = self._write(self._table.get(key).update(_encode(changes), **self._durability))
        self._expect_one(1 - counts["skipped"], key)

    @override
    def update_all(self, changes: Record) -> int:
        counts = self._write(self._table.update(_encode(changes), **self._durability))
        return int(counts["replaced"] + counts["unchanged"])

    @override
    def delete(self, key: str) -> None:
        counts = self._write(self._table.get(key).delete(**self._durability))
        self._expect_one(counts["deleted"], key)

    @override
    def delete_all(self) -> int:
        return int(self._write(self._table.delete(**self._durability))["deleted"])

    @override
    def list_ids(self) -> list[str]:
        return list(self._table[self._key].run(self._connection))

    @override
    def read_error_code(self, error: Exception) -> str | None:
        message = str(getattr(error, "message", ""))
        known = (sign for sign in (_DUPLICATE, _PSEUDO_TYPE) if message.startswith(sign))
        return next(known, None)

    @override
    def describe_error(self, error: Exception) -> str:
        message = str(getattr(error, "message", "") or error)
        if isinstance(error, ReqlAuthError):
            message = f"authentication failed: {message}"
        return " ".join(message.split())

    @override
    @classmethod
    def find_limitations(
        cls, urls: Mapping[Role, str], versions: Iterable[str] = ()
    ) -> dict[str, str]:
        limitations = super().find_limitations(urls, versions)
        # Bytes are counted where both servers run on this machine and state their cluster ports.
        if not all(map(_read_cluster_port, urls.values())):
            limitations["bytes_received"] = (
                "its statistics count no bytes; of two servers on this machine their connection's "
                "socket is read where both addresses end in ?cluster=PORT, the port of their "
                "cluster"
            )
        else:
            obstacle = ReceivedBytes.find_obstacle()
            if obstacle:
                limitations["bytes_received"] = obstacle
        return limitations

    def _list_receive_counters(self) -> list[Meter]:
        if "bytes_received" in self.limitations:
            return []
        primary, replica = (
            _read_cluster_port(self.deployment.node(role).url) for role in list_roles("replicated")
        )
        read = ReceivedBytes(
            lambda port, peer: peer == primary or port == replica,
            "connection between RethinkDB's servers",
        )
        source = "TCP_INFO of the replica's cluster connection (ss)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    def _connect(self) -> None:
        super()._connect()
        self._connection = self._sessions["primary"]
        pair = self._sessions.items() if self.is_replicated else ()
        self._servers: dict[Role, str] = {
            role: connection.server()["id"] for role, connection in pair
        }
        self._durability = _DURABILITY_OPTIONS[self.options.durability]
        database = self.deployment.database
        if database in self.list_databases():
            # A server that has just started answers before its tables do.
            r.db(database).wait(timeout=PATIENCE_S).run(self._connection)

    def _open_session(self, node: Node) -> Connection:
        return self._closing.enter_context(open_connection(node.url))

    @override
    def list_databases(self) -> list[str]:
        return list(r.db_list().run(self._connection))

    @override
    def make_database(self) -> None:
        """Make the database; tag a pair's servers, which place its tables."""
        name = self.deployment.database
        if name not in self.list_databases():
            tags = {server: _name_tag(name, role) for role, server in self._servers.items()}
            self._tag_servers(name, tags)
            r.db_create(name).run(self._connection)

    @override
    def drop_database(self, name: str) -> None:
        """Drop the database, and remove its tags from the servers."""
        if name in self.list_databases():
            r.db_drop(name).run(self._connection)
        self._tag_servers(name, {})

    def _tag_servers(self, database: str, tags: Mapping[str, str]) -> None:
        """Set the servers' tags of a database, by their ids; other servers have none."""
        configs = r.db("rethinkdb").table("server_config")
        own_tags = {_name_tag(database, role) for role in list_roles("replicated")}
        # Tags of other databases stay.
        for server in configs.pluck("id", "tags").run(self._connection):
            new_tags = [tag for tag in server["tags"] if tag not in own_tags]
            if server["id"] in tags:
                new_tags.append(tags[server["id"]])
            if {*new_tags} != {*server["tags"]}:
                update = configs.get(server["id"]).update({"tags": new_tags})
                _run_write(update, self._connection)

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        self.make_database()

    def _create_store(self, schema: Schema) -> None:
        # Make the table anew. RethinkDB refuses all other characters.
        database = r.db(self.deployment.database)
        name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.name)
        if name in database.table_list().run(self._connection):
            database.table_drop(name).run(self._connection)
        places = _place_replicas(self.deployment.database) if self.is_replicated else {}
        creation = database.table_create(name, primary_key=schema.key, **places)
        result = creation.run(self._connection)
        self._key = schema.key
        self._table = database.table(name)
        # The replica's is read from its own disk.
        self._tables = {
            "primary": self._table,
            "replica": database.table(name, read_mode="_debug_direct"),
        }
        # Wait until the replica has the table, too.
        if self.is_replicated:
            self._table.wait(wait_for="all_replicas_ready").run(self._connection)
            self._table_id = result["config_changes"][0]["new_val"]["id"]
        self._decode_types = TypeDecoder(schema, _DECODERS)

    def _create_index(self, field: str) -> None:
        self._table.index_create(field).run(self._connection)
        self._table.index_wait(field).run(self._connection)

    def _checkpoint(self) -> None:
        self._table.sync().run(self._connection)

    def _read_position(self, role: Role) -> float:
        """Return how many records of the table a server has written, deletions included."""
        key = ["table_server", self._table_id, self._servers[role]]
        row = r.db("rethinkdb").table("stats").get(key)
        return float(row["query_engine"]["written_docs_total"].run(self._sessions[role]))

    def _await_replica(self, position: float, deadline_s: float) -> bool:
        # Wait until the replica has written as often as the primary.
        deadline, self.wait_proof_ns = time.monotonic() + deadline_s, 0
        if not self._poll_replica(
            lambda written: bool(written >= position), deadline_s, self._start_ns
        ):
            return False
        # Prove that both servers hold the same.
        counted_ns = time.perf_counter_ns()
        poll = self._comparison_poll
        if poll.wait_until(lambda answer: answer == (True, position), CATCH_UP_S, math.inf):
            self.wait_proof_ns = time.perf_counter_ns() - counted_ns
            return True
        # Counts do not fit, for example of a replica that had to be filled anew: compare only.
        left_s = max(0.0, deadline - time.monotonic())
        reached = poll.wait_until(lambda answer: answer[0], left_s, self.poll_s, self._start_ns)
        self.wait_resolution_ns = poll.resolution_ns
        return reached

    def _compare_records(self) -> tuple[bool, float]:
        """Return whether both servers hold the same records, and the replica's count of writes."""
        is_same = self._read_versions("primary") == self._read_versions("replica")
        return is_same, self._read_position("replica")

    def _read_versions(self, role: Role) -> Versions:
        """Return the SHA-1 of each document's JSON (as a UUID), made by the server."""
        pairs = self._tables[role].map(lambda row: [row[self._key], r.uuid(row.to_json_string())])
        return dict(pairs.run(self._sessions[role]))

    def _write(self, query: Query) -> Document:
        """Run a write and return its counts."""
        return _run_write(query, self._connection)
