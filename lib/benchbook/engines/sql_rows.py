"""Records as rows: a table with a typed column for each field.

Every column is NOT NULL, and a field that refers to a parent is a foreign key; ``constraints=False`` leaves both out
and keeps the primary key: without it an update by key would scan the table.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar

from benchbook.datasets import Field, Schema
from benchbook.engines.base import Record
from benchbook.engines.options import Options
from benchbook.engines.restorer import Restore, Restorer
from benchbook.engines.sql_table import Row, Table


class Rows(Table):
    """A column has its field's name.

    Attributes
    ----------
    types
        A column's, by its field's type.
    sent, received
        By a field's type, what the driver is given in place of a value, and what makes the value of what it gives.
    keys
        The fields that are the key, or refer to one.
    """

    types: ClassVar[Mapping[str, str]]
    sent: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    received: ClassVar[Restore] = {}

    def __init__(self, schema: Schema, options: Options) -> None:
        self._fields = [field.name for field in schema.fields]
        ordered: Callable[[Record], Row] = itemgetter(*self._fields)
        self._sent = {field.name: self.sent[field.type] for field in schema.fields if field.type in self.sent}
        self._restored = Restorer(schema, self.received)
        self.keys = {schema.key, schema.parent.field if schema.parent else schema.key}
        super().__init__(schema, options, self._fields, self._fields)
        self.values = (lambda record: ordered(self._encoded(record))) if self._sent else ordered
        self._set = cache(self._setting)

    def definitions(self) -> list[str]:
        """Return each column's type, then the key, then what constrains the columns."""
        schema, strict = self.schema, self.options.constraints
        needed = set(self._fields) if strict else {schema.key}
        columns = [
            f"{self.quoted(field.name)} {self.kind(field)} {'NOT NULL' if field.name in needed else 'NULL'}"
            for field in schema.fields
        ]
        columns.append(f"PRIMARY KEY ({self.quoted(schema.key)})")
        if strict and (parent := schema.parent):
            referred = f"{self.placed(parent.schema.name)} ({self.quoted(parent.schema.key)})"
            columns.append(f"FOREIGN KEY ({self.quoted(parent.field)}) REFERENCES {referred}")
        return columns

    def kind(self, field: Field) -> str:
        """Return a column's type."""
        return self.types[field.type]

    def update(self, changes: Record) -> str:
        """Return the statement that sets columns of one row."""
        return self._set(tuple(changes), self.one)

    def update_all(self, changes: Record) -> str:
        """Return the statement that sets columns of all rows."""
        return self._set(tuple(changes), "")

    def sought_in(self, field: str) -> str:
        """Return the field's column."""
        return self.quoted(field)

    def sought(self, field: str, value: Any) -> Any:
        """Return the value as the column holds it."""
        return self._sent[field](value) if field in self._sent else value

    def changed(self, changes: Record) -> Row:
        """Return the changes' values."""
        return tuple((self._encoded(changes) if self._sent else changes).values())

    def records(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return rows as records."""
        return self._restored([dict(zip(self._fields, row, strict=True)) for row in rows])

    def _encoded(self, record: Record) -> Record:
        return {name: self._sent[name](value) if name in self._sent else value for name, value in record.items()}

    def _setting(self, fields: tuple[str, ...], which: str) -> str:
        changes = ", ".join(f"{self.quoted(field)} = %s" for field in fields)
        return f"UPDATE {self.name} SET {changes}{which}"
