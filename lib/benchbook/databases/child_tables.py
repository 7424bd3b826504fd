"""Arrays as tables of their own, as relational designs have them: one row per element.

An element's row names its record and its place. The record's row keeps the length of each array,
which tells an empty array from a missing one. Documents, and arrays inside them or inside other
arrays, stay columns of JSON.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from typing_extensions import override

from benchbook.databases.adapter import Adapter, UnsupportedError
from benchbook.databases.sql import RelationalAdapter, Row, RowTable
from benchbook.schema import Document, Field, Parent, Record, Schema
from benchbook.servers.deployment import Role


@dataclass(frozen=True)
class ArrayElements:
    """The elements of an array as rows."""

    array: str
    # Of a row: the record's key, the place in the array, and the element's columns.
    schema: Schema
    # A document's fields are the columns; another element is in the column ``item``.
    are_documents: bool

    @property
    def place(self) -> str:
        """The column of the place."""
        return self.schema.key_parts[0]

    def make_rows(self, record: Record) -> list[Document]:
        """Return the rows of a record."""
        key = record["_id"]
        elements = record.get(self.array, [])
        if not self.are_documents:
            elements = [{"item": element} for element in elements]
        return [
            {self.schema.key: key, self.place: place, **element}
            for place, element in enumerate(elements)
        ]


def split_schema(schema: Schema) -> tuple[Schema, list[ArrayElements]]:
    """Return the schema of the records' own rows, where an array is its length, and the arrays."""
    arrays = [field for field in schema.fields if field.type == "array"]
    fields = tuple(
        replace(field, type="integer", fields=()) if field in arrays else field
        for field in schema.fields
    )
    record_schema = replace(schema, fields=fields)
    elements = []
    for number, array in enumerate(arrays, 1):
        # The columns of an element, and two more whose names it does not have.
        (item,) = array.fields
        columns = item.fields if item.type == "document" else (item,)
        names = [column.name.casefold() for column in columns]
        record = _choose_column_name("record", names)
        place = _choose_column_name("place", names)
        # Its table: record and place are the key, and the record's row is the parent.
        row = (Field(record, "string"), Field(place, "integer"), *columns)
        name = f"{schema.name}_{number}"
        row_schema = Schema(name, row, record, Parent(record_schema, record), (place,))
        elements.append(ArrayElements(array.name, row_schema, item.type == "document"))
    return record_schema, elements


def _choose_column_name(name: str, others: Sequence[str]) -> str:
    while name in others:
        name += "_"
    return name


@dataclass(frozen=True)
class ChildTable:
    """The table of an array."""

    elements: ArrayElements
    table: RowTable
    # Selects all rows, a record's in the order of their places.
    select_statement: str
    # Builds by a field's name the same statement for the records with a value of it.
    build_find: Callable[[str], str]

    @classmethod
    def of(cls, elements: ArrayElements, table: RowTable, parent: RowTable) -> "ChildTable":
        """Return the table of an array in the records of `parent`."""
        quote = table.quote
        key = quote(elements.schema.key)
        columns = ", ".join(f"e.{quote(field.name)}" for field in elements.schema.fields)
        select = f"SELECT {columns} FROM {table.name} e"
        join = f" JOIN {parent.name} r ON r.{quote(parent.schema.key)} = e.{key}"
        order = f" ORDER BY e.{key}, e.{quote(elements.place)}"
        build_find = cache(lambda field: f"{select}{join} WHERE r.{quote(field)} = %s{order}")
        return cls(elements, table, select + order, build_find)


class ChildTableAdapter(RelationalAdapter):
    """A relational database where arrays are tables: a change of several is one transaction."""

    _children: Sequence[ChildTable] = ()

    @override
    def insert(self, record: Record) -> None:
        with self._transaction():
            self._cursor.execute(self._insert_statement, self._make_record_row(record))
            self._insert_elements([record])

    @override
    def insert_many(self, records: Sequence[Record]) -> None:
        with self._transaction():
            rows = [*map(self._make_record_row, records)]
            self._cursor.executemany(self._insert_statement, rows)
            self._insert_elements(records)

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        records = super().find(field, value)
        encoded = self._table.encode_value(field, value)
        rows = [self._fetch_rows(child.build_find(field), (encoded,)) for child in self._children]
        return self._fill_arrays(records, rows)

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        records = super().read_all(role)
        rows = [self._fetch_rows(child.select_statement, role=role) for child in self._children]
        return self._fill_arrays(records, rows)

    @override
    def update(self, key: str, changes: Record) -> None:
        self._expect_no_array(changes)
        super().update(key, changes)

    @override
    def update_all(self, changes: Record) -> int:
        self._expect_no_array(changes)
        return super().update_all(changes)

    @override
    def delete(self, key: str) -> None:
        with self._transaction():
            # Elements go first: their foreign keys refer to the record's row.
            for child in self._children:
                self._execute(child.table.delete_statement, (key,))
            super().delete(key)

    @override
    def delete_all(self) -> int:
        with self._transaction():
            # Elements go first here, too.
            for child in self._children:
                self._execute(child.table.delete_all_statement)
            return super().delete_all()

    def _create_store(self, schema: Schema) -> None:
        record_schema, arrays = split_schema(schema)
        super()._create_store(record_schema)
        parent = cast(RowTable, self._table)
        children = []
        for elements in arrays:
            table = cast(RowTable, self.make_table(elements.schema, self.options))
            self._execute(table.create_statement + self.table_options)
            children.append(ChildTable.of(elements, table, parent))
        self._children = children

    def _make_record_row(self, record: Record) -> Row:
        arrays = (child.elements.array for child in self._children)
        lengths = {name: len(record[name]) for name in arrays if name in record}
        return self._make_row({**record, **lengths})

    def _insert_elements(self, records: Sequence[Record]) -> None:
        for child in self._children:
            rows: list[Document] = []
            for record in records:
                rows += child.elements.make_rows(record)
            if rows:
                values = [*map(child.table.make_row, rows)]
                self._cursor.executemany(child.table.insert_statement, values)

    def _fill_arrays(
        self, records: Sequence[Record], rows_of_children: Sequence[Sequence[Row]]
    ) -> Sequence[Record]:
        """Return records whose arrays, so far their lengths, have their elements."""
        # Begin with empty arrays; a missing one stays missing.
        arrays = {child.elements.array for child in self._children}
        by_key = {
            record["_id"]: {name: [] if name in arrays else value for name, value in record.items()}
            for record in records
        }
        # Append the elements, which come in the order of their places.
        for child, rows in zip(self._children, rows_of_children, strict=True):
            elements = child.elements
            for row in child.table.decode_rows(rows):
                array = by_key[row.pop(elements.schema.key)][elements.array]
                del row[elements.place]
                array.append(row if elements.are_documents else row["item"])
        return [*by_key.values()]

    def _expect_no_array(self, changes: Record) -> None:
        if any(isinstance(value, list) for value in changes.values()):
            raise UnsupportedError(
                f"{self.location}: an array that is a table is not updated: no study does"
            )


@cache
def add_child_tables(adapter: type[Adapter]) -> type[Adapter]:
    """Return a relational database's adapter that makes tables of arrays."""
    return type(f"{adapter.__name__}WithChildTables", (ChildTableAdapter, adapter), {})
