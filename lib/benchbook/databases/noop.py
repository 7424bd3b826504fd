"""A database that does nothing: what is timed on it is the study's own loop."""

from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import override

from benchbook.databases.adapter import Adapter
from benchbook.datasets.dataset import Dataset
from benchbook.schema import Record, Schema
from benchbook.servers.deployment import Role

VERSION = 1

_NO_STORAGE: Final = "it keeps nothing"


class NoOp(Adapter, has_driver=False):
    """Accepts every record, keeps none, needs no server."""

    name = "noop"
    product = "none"
    model = "none"
    driver = "none"
    limitations: Mapping[str, str] = {"contents": _NO_STORAGE, "constraints": _NO_STORAGE}

    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Do nothing."""

    def insert(self, record: Record) -> None:
        """Do nothing."""

    def insert_many(self, records: Sequence[Record]) -> None:
        """Do nothing."""

    @override
    def find(self, field: str, value: object) -> list[Record]:
        return []

    @override
    def read_all(self, role: Role = "primary") -> list[Record]:
        return []

    def update(self, key: str, changes: Record) -> None:
        """Do nothing."""

    @override
    def update_all(self, changes: Record) -> int:
        return 0

    def delete(self, key: str) -> None:
        """Do nothing."""

    @override
    def delete_all(self) -> int:
        return 0

    @override
    def list_ids(self) -> list[str]:
        return []

    def position(self) -> None:
        """Return nothing: there is no log."""

    def close(self) -> None:
        """Do nothing."""

    def _await_replica(self, position: object, deadline_s: float) -> bool:
        return True
