"""A schema's table in an SQL database: its statements, and what a record and a row are to each other.

Values come where ``%s`` stands. A model says what the columns are, a product what it spells in its own way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from benchbook.datasets import Schema
from benchbook.engines.base import Record
from benchbook.engines.options import Options

Row = tuple[Any, ...]


class Table(ABC):
    """Its statements, made once.

    Parameters
    ----------
    schema, options
        The records', and how they are kept.
    columns
        Of a new row, in the order of `values`.
    read
        What is read of a row.

    Attributes
    ----------
    name
        The table's, quoted.
    create, insert, select, find, ids, delete, delete_all
        Statements; `find` is one a field.
    values
        Returns a record as a new row.
    """

    values: Callable[[Record], Row]

    def __init__(self, schema: Schema, options: Options, columns: Sequence[str], read: Sequence[str]) -> None:
        self.schema, self.options = schema, options
        self.name = self.placed(schema.name)
        marks = ", ".join(["%s"] * len(columns))
        self.one = f" WHERE {self.quoted(schema.key)} = %s"
        self.create = f"CREATE TABLE {self.name} ({', '.join(self.definitions())})"
        self.insert = f"INSERT INTO {self.name} ({self._listed(columns)}) VALUES ({marks})"
        self.select = f"SELECT {self._listed(read)} FROM {self.name}"
        self.find = cache(lambda field: f"{self.select} WHERE {self.sought_in(field)} = %s")
        self.ids = f"SELECT {self.quoted(schema.key)} FROM {self.name}"
        self.delete = f"DELETE FROM {self.name}{self.one}"
        self.delete_all = f"DELETE FROM {self.name}"

    @staticmethod
    @abstractmethod
    def quoted(name: str) -> str:
        """Return a name as the product's SQL has it, and as its driver leaves it alone."""

    @classmethod
    def placed(cls, table: str) -> str:
        """Return a table's name, quoted."""
        return cls.quoted(table)

    @abstractmethod
    def definitions(self) -> list[str]:
        """Return the columns and constraints."""

    @abstractmethod
    def index(self, field: str) -> str:
        """Return the statement that indexes a field."""

    @abstractmethod
    def update(self, changes: Record) -> str:
        """Return the statement that changes one row: its values are those of `changed`, and the key."""

    @abstractmethod
    def update_all(self, changes: Record) -> str:
        """Return the statement that changes all rows: its values are those of `changed`."""

    @abstractmethod
    def sought_in(self, field: str) -> str:
        """Return the expression that `find` compares."""

    @abstractmethod
    def sought(self, field: str, value: Any) -> Any:
        """Return what `find` compares it with."""

    @abstractmethod
    def changed(self, changes: Record) -> Row:
        """Return an update's values."""

    @abstractmethod
    def records(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return rows as records."""

    def _listed(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self.quoted, columns))
