"""RethinkDB through its official driver: a table of the database, a record a document.

A pair is one cluster, whose servers are tagged with their roles as long as the database is there. Each table's only
voting replica is the primary's server, so that an acknowledged write never waits for the other one, which holds a
replica that never votes. Reads of the replica go to that server alone (``_debug_direct``).
No log says how far the replica has come, but each server counts what it has written of a table: the wait ends when the
replica has written as often as the primary. That both hold the same then, reading all records on both proves, in no
time that is measured.
Durability is a table's: ``default`` leaves the server's (hard: a write waits for the disk), ``relaxed`` asks for soft,
``strict`` for hard, in every write.
"""

import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import orjson
import rethinkdb
from rethinkdb import r
from rethinkdb.errors import ReqlAuthError, ReqlDriverError, ReqlError, ReqlTimeoutError
from typing_extensions import override

from benchbook.databases.adapter import (
    CATCH_UP_S,
    EXACT,
    JSON,
    Decoders,
    DuplicateKeyError,
    Options,
    RefusedError,
    TypeDecoder,
    UnreachableError,
    batches,
    depth,
    scalars,
)
from benchbook.databases.connected import Compared, ReplicaPoll, Versions
from benchbook.databases.rethinkdb.server import Connection, connected
from benchbook.deployment import LOCAL_NAMES, PATIENCE_S, Deployment, Node, Role, roles
from benchbook.measure import Meter
from benchbook.schemas import Document, Record, Schema

Query: TypeAlias = Any
"""A query, or a table, as the driver makes them: it has no types."""

_KEY_B: Final = 127
_QUERY_B: Final = 64 * 2**20
_LEVELS: Final = 18
"""Its driver takes 20, of which a batch takes two."""


def _expect_exact(name: str, value: object) -> None:
    if type(value) is int and not -EXACT <= value <= EXACT:
        raise OverflowError(f"{name}: {value} has more digits than a double holds")


def _encoded(record: Record) -> Record:
    """Return a record with its dates as text: itself, when it has none.

    `OverflowError` when a double cannot hold a whole number exactly: RethinkDB would round it.
    """
    dates = {}
    for name, value in record.items():
        if type(value) is date:
            dates[name] = value.isoformat()
        elif type(value) is int:
            _expect_exact(name, value)
        elif isinstance(value, dict | list):
            for part in scalars(value):
                _expect_exact(name, part)
    return {**record, **dates} if dates else record


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


_DECODERS: Final[Decoders] = {
    **JSON,
    "datetime": lambda raw: _EPOCH + timedelta(milliseconds=round(raw["epoch_time"] * 1000)),
}
"""RethinkDB keeps a moment's seconds in a double: whole milliseconds are exact."""

_DUPLICATE: Final = "Duplicate primary key"


class _RefusedWriteError(ReqlError):  # type: ignore[misc]
    """A write that the server refused: it says so in its answer, and the driver raises nothing."""


def _counted(write: Query, link: Connection) -> Document:
    """Run a write and return what it counted; `_RefusedWriteError` when the server refused any of it."""
    counted: Document = write.run(link)
    if counted["errors"]:
        raise _RefusedWriteError(counted["first_error"])
    return counted


def _tag(database: str, role: Role) -> str:
    """Return the tag of a pair's server by its role, as long as the database is there."""
    return f"{database}_{role}"


def _paired(database: str) -> dict[str, object]:
    """Return where a pair's tables are made: to move one afterwards takes seconds."""
    primary, replica = (_tag(database, role) for role in roles("replicated"))
    placed = {"shards": 1, "replicas": {primary: 1, replica: 1}}
    return {**placed, "primary_replica_tag": primary, "nonvoting_replica_tags": [replica]}


_BATCH: Final = 200  # documents in one insert, as RethinkDB's own advice has it
_DURABILITY: Final = {"default": {}, "relaxed": {"durability": "soft"}, "strict": {"durability": "hard"}}


def _cluster_port(url: str) -> int | None:
    """Return the port at which a server of this machine meets its cluster: ``?cluster=PORT`` in its address."""
    parts = urlsplit(url)
    port = parse_qs(parts.query).get("cluster", [""])[0]
    return int(port) if parts.hostname in LOCAL_NAMES and port.isdecimal() else None


_UNCOUNTED: Final = (
    "its statistics count no bytes; of two servers on this machine their connection's socket is read where both "
    "addresses end in ?cluster=PORT, the port of their cluster"
)
_SOCKETS: Final = ("ss", "--tcp", "--info", "--numeric", "--no-header", "--oneline", "state", "established")
_ENDS: Final = re.compile(r"^\S+\s+\S+\s+(\S+):(\d+)\s+(\S+):(\d+)\s")
_RECEIVED: Final = re.compile(r"\bbytes_received:(\d+)")
_SOCKETS_S: Final = 10.0


class ReceivedBytes:
    """The bytes that some connections of this machine have received; `what` names them in messages.

    `wanted` tells which, by a socket's own port and that of its other end. The bytes are what the kernel counts for
    each socket (``TCP_INFO``), which ``ss`` (iproute2) shows to every user. A byte of the stream counts once: what the
    product sends with its own framing, without TCP's headers and what was sent again.
    """

    def __init__(self, wanted: Callable[[int, int], bool], what: str) -> None:
        self._wanted = wanted
        self._what = what
        self._counts: Mapping[tuple[str, ...], int] = {}  # by a socket's ends

    @staticmethod
    def missing() -> str | None:
        """Return why sockets cannot be read here; None where they can."""
        if sys.platform != "linux":
            return "only Linux says what a socket has received"
        if shutil.which("ss") is None:
            return "ss, which says what a socket has received, is not on PATH: install iproute2"
        return None

    def __call__(self) -> float:
        """Return their sum, which only grows.

        Raises `ConnectionError` when no such connection is there, or one has gone since the last call: what it had
        received is not known then.
        """
        answer = subprocess.run(_SOCKETS, capture_output=True, text=True, check=True, timeout=_SOCKETS_S)
        counts = {}
        for line in answer.stdout.splitlines():
            if (ends := _ENDS.match(line)) and self._wanted(int(ends[2]), int(ends[4])):
                # A socket that has received nothing says nothing.
                received = _RECEIVED.search(line)
                counts[ends.groups()] = int(received[1]) if received else 0
        if not counts:
            raise ConnectionError(f"there is no {self._what} on this machine to read")
        if gone := self._counts.keys() - counts.keys():
            raise ConnectionError(
                f"{self._what}: {len(gone)} closed since it was read, and with it what it had counted"
            )
        self._counts = counts
        return float(sum(counts.values()))


class RethinkDB(Compared[Connection]):
    """Verbs are the table's own, one query each."""

    name = "rethinkdb"
    product = "rethinkdb"
    model = "document"
    grant = "the global permissions read, write and config"
    driver = f"rethinkdb {rethinkdb.__version__.partition('+')[0]}"
    raises = (ReqlError, OSError, OverflowError)
    kinds: ClassVar = {
        UnreachableError: (ReqlDriverError, ReqlTimeoutError, OSError),
        DuplicateKeyError: (_DUPLICATE,),
        RefusedError: (OverflowError, _RefusedWriteError),
    }
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "RethinkDB knows neither foreign keys nor NOT NULL",
        "large_integers": "its numbers are doubles: integers beyond 2^53, which they would round, are refused",
        "read_only_replica": "every server of a cluster takes writes, and hands them to the table's primary",
    }

    refused_names: ClassVar = {
        "RethinkDB tells by it what is no JSON": lambda name: name == "$reql_type$",
        "RethinkDB ends a name at U+0000": lambda name: "\0" in name,
    }

    refused_inside: ClassVar = refused_names

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._proof = ReplicaPoll(self._compared)
        super().__init__(deployment, options)

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        if (size := len(record["_id"].encode())) > _KEY_B:
            return f"a key of {size:,} bytes: RethinkDB's have {_KEY_B} at most"
        if (levels := depth(record)) > _LEVELS:
            return f"{levels} documents and arrays in one another: RethinkDB's driver takes {_LEVELS}"
        if "\0" in record["_id"]:
            return f"the key {record['_id']!r}: RethinkDB's hold no U+0000"
        if (size := len(orjson.dumps(record))) >= _QUERY_B - 2**16:
            return f"a document of {size:,} bytes: a query of RethinkDB's has {_QUERY_B:,} at most"
        return super().unfit_record(record, gaps)

    @override
    def insert(self, record: Record) -> None:
        self._write(self._table.insert(_encoded(record), **self._durability))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in batches; those that are not refused stay."""
        for batch in batches(records, _BATCH):
            self._write(self._table.insert([_encoded(record) for record in batch], **self._durability))

    def find(self, field: str, value: object) -> Sequence[Record]:
        """Return the documents found, by an index where there is one."""
        wanted = value.isoformat() if type(value) is date else value
        if field == self._key:
            query = self._table.get_all(wanted)
        elif field in self.options.index:
            query = self._table.get_all(wanted, index=field)
        else:
            query = self._table.filter({field: wanted})
        return self._restored(list(query.run(self._link, time_format="raw")))

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._restored(list(self._tables[role].run(self._sessions[role], time_format="raw")))

    @override
    def update(self, key: str, changes: Record) -> None:
        counted = self._write(self._table.get(key).update(_encoded(changes), **self._durability))
        self._expect_one(1 - counted["skipped"], key)

    @override
    def update_all(self, changes: Record) -> int:
        counted = self._write(self._table.update(_encoded(changes), **self._durability))
        return int(counted["replaced"] + counted["unchanged"])

    @override
    def delete(self, key: str) -> None:
        self._expect_one(self._write(self._table.get(key).delete(**self._durability))["deleted"], key)

    @override
    def delete_all(self) -> int:
        return int(self._write(self._table.delete(**self._durability))["deleted"])

    @override
    def ids(self) -> list[str]:
        return list(self._table[self._key].run(self._link))

    @override
    def code(self, error: Exception) -> str | None:
        return _DUPLICATE if str(getattr(error, "message", "")).startswith(_DUPLICATE) else None

    @override
    def text(self, error: Exception) -> str:
        message = str(getattr(error, "message", "") or error)
        return " ".join(f"{'authentication failed: ' * isinstance(error, ReqlAuthError)}{message}".split())

    @classmethod
    def lacks_on(cls, urls: Mapping[Role, str]) -> Mapping[str, str]:
        """Return the gaps: bytes are counted where both servers run on this machine and say their cluster ports."""
        why = ReceivedBytes.missing() if all(map(_cluster_port, urls.values())) else _UNCOUNTED
        return {**super().lacks_on(urls), **({"bytes_received": why} if why else {})}

    def _received(self) -> list[Meter]:
        if "bytes_received" in self.gaps:
            return []
        primary, replica = (_cluster_port(self.deployment.node(role).url) for role in roles("replicated"))
        read = ReceivedBytes(
            lambda port, peer: peer == primary or port == replica, "connection between RethinkDB's servers"
        )
        source = "TCP_INFO of the replica's cluster connection (ss)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    def _connect(self) -> None:
        super()._connect()
        self._link = self._sessions["primary"]
        pair = self._sessions.items() if self.replicated else ()
        self._servers: dict[Role, str] = {role: link.server()["id"] for role, link in pair}
        self._durability = _DURABILITY[self.options.durability]
        if self.deployment.database in self.list_databases():
            # A server that has just started answers before its tables do.
            r.db(self.deployment.database).wait(timeout=PATIENCE_S).run(self._link)

    def _session(self, node: Node) -> Connection:
        return self._closing.enter_context(connected(node.url))

    @override
    def list_databases(self) -> list[str]:
        return list(r.db_list().run(self._link))

    @override
    def make_database(self) -> None:
        """Make the database; tag a pair's servers, which its tables go by."""
        if self.deployment.database not in self.list_databases():
            name = self.deployment.database
            tags = {server: _tag(name, role) for role, server in self._servers.items()}
            self._tag_servers(name, tags)
            r.db_create(name).run(self._link)

    @override
    def drop_database(self, name: str) -> None:
        """Drop the database, and take its tags off the servers."""
        if name in self.list_databases():
            r.db_drop(name).run(self._link)
        self._tag_servers(name, {})

    def _tag_servers(self, database: str, tags: Mapping[str, str]) -> None:
        """Let servers have these tags of a database, by their ids, and the others none."""
        configs = r.db("rethinkdb").table("server_config")
        ours = {_tag(database, role) for role in roles("replicated")}
        for server in configs.pluck("id", "tags").run(self._link):
            others = [tag for tag in server["tags"] if tag not in ours]
            wanted = [*others, *([tags[server["id"]]] if server["id"] in tags else [])]
            if {*wanted} != {*server["tags"]}:
                _counted(configs.get(server["id"]).update({"tags": wanted}), self._link)

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        self.make_database()

    def _begin(self, schema: Schema) -> None:
        # RethinkDB refuses all other characters.
        database, name = r.db(self.deployment.database), re.sub(r"[^A-Za-z0-9_-]", "_", schema.name)
        if name in database.table_list().run(self._link):
            database.table_drop(name).run(self._link)
        placed = _paired(self.deployment.database) if self.replicated else {}
        made = database.table_create(name, primary_key=schema.key, **placed).run(self._link)
        self._key, self._table = schema.key, database.table(name)
        # The replica's is read from its own disk.
        self._tables = {"primary": self._table, "replica": database.table(name, read_mode="_debug_direct")}
        if self.replicated:
            self._table.wait(wait_for="all_replicas_ready").run(self._link)
            self._id = made["config_changes"][0]["new_val"]["id"]
        self._restored = TypeDecoder(schema, _DECODERS)

    def _index(self, field: str) -> None:
        self._table.index_create(field).run(self._link)
        self._table.index_wait(field).run(self._link)

    def _checkpoint(self) -> None:
        self._table.sync().run(self._link)

    def _position_of(self, role: Role) -> float:
        """Return how many records a server has written of the table, deletions too, since that was made."""
        row = r.db("rethinkdb").table("stats").get(["table_server", self._id, self._servers[role]])
        return float(row["query_engine"]["written_docs_total"].run(self._sessions[role]))

    def _reached(self, position: float, deadline_s: float) -> bool:
        deadline, self.wait_proof_ns = time.monotonic() + deadline_s, 0
        if not self._wait_until(lambda written: bool(written >= position), deadline_s, self._since_ns):
            return False
        counted_ns = time.perf_counter_ns()
        if self._proof.until(lambda answer: answer == (True, position), CATCH_UP_S, math.inf):
            self.wait_proof_ns = time.perf_counter_ns() - counted_ns
            return True
        # Counts that do not fit, as of a replica that had to be filled anew, leave the comparison itself.
        left_s = max(0.0, deadline - time.monotonic())
        reached = self._proof.until(lambda answer: answer[0], left_s, self.poll_s, self._since_ns)
        self.wait_resolution_ns = self._proof.resolution_ns
        return reached

    def _compared(self) -> tuple[bool, float]:
        """Return whether both servers hold the same records, and how many the replica has written."""
        return self._versions("primary") == self._versions("replica"), self._position_of("replica")

    def _versions(self, role: Role) -> Versions:
        """Return each document's SHA-1 (as a UUID), made by the server of its JSON."""
        pairs = self._tables[role].map(lambda row: [row[self._key], r.uuid(row.to_json_string())])
        return dict(pairs.run(self._sessions[role]))

    def _write(self, query: Query) -> Document:
        """Run a write and return what it counted."""
        return _counted(query, self._link)
