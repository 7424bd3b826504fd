"""A database that does nothing: what is timed on it is the study's own loop."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from typing_extensions import override

from benchbook.databases.adapter import Adapter
from benchbook.datasets import Dataset
from benchbook.deployment import Role
from benchbook.schemas import Record, Schema

VERSION = 1

_KEEPS: Final = "it keeps nothing"


class NoOp(Adapter, has_driver=False):
    """Takes everything, keeps nothing, needs no server."""

    name = "noop"
    product = "none"
    model = "none"
    driver = "none"
    lacks: ClassVar[Mapping[str, str]] = {"contents": _KEEPS, "constraints": _KEEPS}

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
    def ids(self) -> list[str]:
        return []

    def position(self) -> None:
        """Return nothing: it has no log."""

    def close(self) -> None:
        """Do nothing."""

    def _reached(self, position: object, deadline_s: float) -> bool:
        return True
