"""My Example through its driver: one store per schema, which has the records as they are.

`benchbook.databases.adapter` says what each verb must do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from benchbook.databases.adapter import (
    AdapterError,
    DuplicateKeyError,
    MissingRecordError,
    TypeDecoder,
    UnreachableError,
)
from benchbook.databases.server_adapter import ServerAdapter
from benchbook.schema import Record, Schema
from benchbook.servers.deployment import Node, Role
from benchbook_my_example import PRODUCTS
from benchbook_my_example.client import Client, ServerError


class Adapter(ServerAdapter[Client]):
    """The verbs, as the driver's users would write them, without timing."""

    name = "my_example"
    product = "my_example"
    model = "document"
    # The library and its version.
    driver = "benchbook_my_example's example client 0.1"
    # The driver's exceptions, and what they become: by their classes or by `read_error_code`.
    driver_errors = (ServerError, OSError)
    error_types: ClassVar[Mapping[type[AdapterError], tuple[Any, ...]]] = {
        DuplicateKeyError: ("duplicate",),
        MissingRecordError: ("missing",),
        UnreachableError: (OSError,),
    }
    # The features that it does not have, and why. `tools/capabilities.py` lists the names.
    limitations: Mapping[str, str] = {
        **PRODUCTS["my_example"].limitations,
        "wait_for": "the example server replicates nothing",
        "read_only_replica": "the example server replicates nothing",
        "constraints": "the example server has no constraints",
        "passwords": "the example server asks for no password",
    }

    def insert(self, record: Record) -> None:
        self._call("insert", key=self._key, records=[record])

    def insert_many(self, records: Sequence[Record]) -> None:
        self._call("insert", key=self._key, records=list(records))

    def find(self, field: str, value: Any) -> Sequence[Record]:
        return self._decode_types(self._call("find", field=field, value=value))

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._decode_types(self._call("read"))

    def update(self, key: str, changes: Record) -> None:
        self._call("update", of=key, changes=changes)

    def update_all(self, changes: Record) -> int:
        return int(self._call("update_all", changes=changes))

    def delete(self, key: str) -> None:
        self._call("delete", of=key)

    def delete_all(self) -> int:
        return int(self._call("delete_all"))

    def list_ids(self) -> list[str]:
        return [record[self._key] for record in self._call("read")]

    def position(self) -> None:
        """Return None, because there is no replica."""

    def read_error_code(self, error: Exception) -> int | str | None:
        return error.code if isinstance(error, ServerError) else None

    def list_databases(self) -> list[str]:
        """Return the first parts of the stores' names: the example server has no databases."""
        return sorted({name.partition(".")[0] for name in self._sessions["primary"].call("stores")})

    def drop_database(self, name: str) -> None:
        for store in self._sessions["primary"].call("stores"):
            if store.startswith(f"{name}."):
                self._sessions["primary"].call("drop", store=store)

    def _open_session(self, node: Node) -> Client:
        return self._close_at_end(Client(node.url))

    def _create_store(self, schema: Schema) -> None:
        self._name = f"{self.deployment.database}.{schema.name}"
        self._key = schema.key
        self._decode_types = TypeDecoder(schema)
        self._call("make")

    def _create_index(self, field: str) -> None:
        """Make no index, because the example server searches every record."""

    def _await_replica(self, position: Any, deadline_s: float) -> bool:
        return False

    def _call(self, verb: str, **arguments: Any) -> Any:
        return self._sessions["primary"].call(verb, store=self._name, **arguments)
