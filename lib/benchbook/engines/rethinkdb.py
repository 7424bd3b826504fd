"""RethinkDB through its official driver: a table in the database ``benchbook``, a record a document.

A pair is one cluster: `create` reconfigures each table so that its only voting replica is the primary's server and the
other server holds a replica that never votes. Reads of the replica go to that server alone (``_debug_direct``).
Durability is a table's: ``default`` leaves the server's (hard: a write waits for the disk), ``relaxed`` asks for soft,
``strict`` for hard, in every write.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, ClassVar, Final

import rethinkdb
from rethinkdb import r

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines import rethinkdb_errors
from benchbook.engines.base import Record
from benchbook.engines.errors import EngineError
from benchbook.engines.polled import Compared, Versions
from benchbook.engines.restorer import Restorer
from benchbook.engines.rethinkdb_cluster import Cluster, connect, fresh, table_name
from benchbook.engines.rethinkdb_values import RESTORE, encoded
from benchbook.engines.told import told

_BATCH: Final = 200  # documents in one insert, as RethinkDB's own advice has it
_DURABILITY: Final = {"default": {}, "relaxed": {"durability": "soft"}, "strict": {"durability": "hard"}}


class RethinkDB(Compared):
    """Verbs are the table's own, one query each."""

    name = "rethinkdb"
    product = "rethinkdb"
    model = "document"
    driver = f"rethinkdb {rethinkdb.__version__.partition('+')[0]}"
    raises: ClassVar[tuple[type[Exception], ...]] = rethinkdb_errors.RAISES
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "RethinkDB knows neither foreign keys nor NOT NULL",
        "large_integers": "its numbers are doubles: integers beyond 2^53, which they would round, are refused",
        "bytes_received": "its statistics count documents, not the bytes between its servers",
    }
    stand_in_lacks: ClassVar[Mapping[str, str]] = {
        "wait_for": "reqlite replicates nothing: a real cluster by its addresses does",
        "durability": "reqlite keeps everything in memory: there is no choice",
    }

    @told
    def insert(self, record: Record) -> None:
        """Insert one document."""
        self._written(self._table.insert(encoded(record), **self._durability))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in batches; those that are not refused stay."""
        for start in range(0, len(records), _BATCH):
            batch = [encoded(record) for record in records[start : start + _BATCH]]
            self._written(self._table.insert(batch, **self._durability))

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found, by an index where there is one."""
        wanted = value.isoformat() if type(value) is date else value
        if field == self._key:
            query = self._table.get_all(wanted)
        elif field in self.options.index:
            query = self._table.get_all(wanted, index=field)
        else:
            query = self._table.filter({field: wanted})
        return self._restored(list(query.run(self._link, time_format="raw")))

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
        return self._restored(list(self._tables[role].run(self._connections[role], time_format="raw")))

    @told
    def update(self, key: str, changes: Record) -> None:
        """Merge changes into one document."""
        found = self._written(self._table.get(key).update(encoded(changes), **self._durability))
        self._one(1 - found["skipped"], key)

    @told
    def update_all(self, changes: Record) -> int:
        """Merge changes into every document."""
        found = self._written(self._table.update(encoded(changes), **self._durability))
        return int(found["replaced"] + found["unchanged"])

    @told
    def delete(self, key: str) -> None:
        """Delete one document."""
        self._one(self._written(self._table.get(key).delete(**self._durability))["deleted"], key)

    @told
    def delete_all(self) -> int:
        """Delete every document."""
        return int(self._written(self._table.delete(**self._durability))["deleted"])

    @told
    def ids(self) -> list[str]:
        """Return all keys."""
        return list(self._table[self._key].run(self._link))

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers and refused documents apart."""
        return rethinkdb_errors.kind(error)

    def text(self, error: Exception) -> str:
        """Return the driver's exception in one line, without the query that it repeats."""
        return rethinkdb_errors.text(error)

    @told
    def _connect(self) -> None:
        self._connections: dict[Role, Any] = {}
        for node in self.deployment.nodes:
            self._connections[node.role] = connection = connect(node.url)
            self._closing.callback(connection.close, noreply_wait=False)  # nothing is sent unacknowledged
        self._link = self._connections["primary"]
        self._durability = _DURABILITY[self.options.durability]

    def _namespaces(self) -> dict[Role, Cluster]:
        tagged = not self.deployment.node().stand_in
        return {role: Cluster(connection, tagged=tagged) for role, connection in self._connections.items()}

    def _store(self, schema: Schema) -> str:
        return table_name(schema)

    def _begin(self, schema: Schema) -> None:
        self._tables, self._key = fresh(self._connections, schema), schema.key
        self._table = self._tables["primary"]
        self._restored = Restorer(schema, RESTORE)

    def _index(self, field: str) -> None:
        self._table.index_create(field).run(self._link)
        self._table.index_wait(field).run(self._link)

    def _checkpoint(self) -> None:
        self._table.sync().run(self._link)

    def _stands(self, role: Role) -> Versions:
        """Return each document's SHA-1 (as a UUID), made by the server of its JSON."""
        pairs = self._tables[role].map(lambda row: [row[self._key], r.uuid(row.to_json_string())])
        return dict(pairs.run(self._connections[role]))

    def _written(self, query: Any) -> dict[str, Any]:
        """Run a write and return what it counted."""
        counted: dict[str, Any] = query.run(self._link)
        if counted["errors"]:
            raise rethinkdb_errors.refusal(counted["first_error"], self.where)
        return counted
