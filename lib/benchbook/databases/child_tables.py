"""Arrays as tables of their own, as relational designs have them: an element is a row that names its record and place.

A record's own row keeps how many elements each of its arrays has, which tells an empty one from none. Documents, and
arrays inside them or inside other arrays, stay columns of JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from typing_extensions import override

from benchbook.databases.adapter import Adapter, GapError
from benchbook.databases.sql import Relational, Row, RowTable
from benchbook.deployment import Role
from benchbook.schemas import Document, Field, Parent, Record, Schema


@dataclass(frozen=True)
class Elements:
    """An array's elements as rows."""

    array: str
    schema: Schema  # of a row: the record's key, the place in the array, and the element's columns
    of_documents: bool  # an element is a document, whose fields are the columns; another has the column ``item``

    @property
    def place(self) -> str:
        """The column of the place."""
        return self.schema.beside_key[0]

    def rows(self, record: Record) -> list[Document]:
        """Return the rows of a record."""
        key, columns = record["_id"], record.get(self.array, [])
        if not self.of_documents:
            columns = [{"item": element} for element in columns]
        return [{self.schema.key: key, self.place: place, **element} for place, element in enumerate(columns)]


def split(schema: Schema) -> tuple[Schema, list[Elements]]:
    """Return the schema of the records' own rows, where an array is its length, and what the arrays' elements are."""
    arrays = [field for field in schema.fields if field.type == "array"]
    fields = tuple(replace(field, type="integer", fields=()) if field in arrays else field for field in schema.fields)
    own, elements = replace(schema, fields=fields), []
    for number, array in enumerate(arrays, 1):
        (item,) = array.fields
        columns = item.fields if item.type == "document" else (item,)
        names = [column.name.casefold() for column in columns]
        record, place = _free("record", names), _free("place", names)
        row = (Field(record, "string"), Field(place, "integer"), *columns)
        table = Schema(f"{schema.name}_{number}", row, record, Parent(own, record), (place,))
        elements.append(Elements(array.name, table, item.type == "document"))
    return own, elements


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class ChildTable:
    """An array's table."""

    elements: Elements
    table: RowTable
    select: str  # all rows, those of a record in their places' order
    find: Callable[[str], str]  # by a field, the same of the records with a value of it

    @classmethod
    def of(cls, elements: Elements, table: RowTable, parent: RowTable) -> "ChildTable":
        """Return an array's table beside that of its records."""
        quoted, key = table.quoted, table.quoted(elements.schema.key)
        columns = ", ".join(f"e.{quoted(field.name)}" for field in elements.schema.fields)
        select, order = f"SELECT {columns} FROM {table.name} e", f" ORDER BY e.{key}, e.{quoted(elements.place)}"
        join = f" JOIN {parent.name} r ON r.{quoted(parent.schema.key)} = e.{key}"
        find = cache(lambda field: f"{select}{join} WHERE r.{quoted(field)} = %s{order}")
        return cls(elements, table, select + order, find)


class ChildTables(Relational):
    """A relational database's verbs where arrays are tables: each that changes several is one transaction."""

    _children: Sequence[ChildTable] = ()

    @override
    @classmethod
    def unfit_fields(cls, schema: Schema) -> str:
        own, arrays = split(schema)
        if not arrays:
            return "records without arrays as tables: there is nothing to make a table of"
        why = super().unfit_fields(own)
        for elements in arrays:
            if not why and (why := super().unfit_fields(elements.schema)):
                why = f"in the array {elements.array!r} {why}"
        return why

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        why = super().unfit_record(record, gaps)
        for array in record.values():
            for element in array if isinstance(array, list) else ():
                columns = element if isinstance(element, dict) else {"item": element}
                row = {f"element's {name}" if name == "_id" else name: value for name, value in columns.items()}
                why = why or super().unfit_record({**row, "_id": record["_id"]}, gaps)
        return why

    @override
    def insert(self, record: Record) -> None:
        with self._transaction():
            self._cursor.execute(self._insert, self._own_row(record))
            self._insert_elements([record])

    @override
    def insert_many(self, records: Sequence[Record]) -> None:
        with self._transaction():
            self._cursor.executemany(self._insert, [*map(self._own_row, records)])
            self._insert_elements(records)

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        records, sought = super().find(field, value), self._current.sought(field, value)
        return self._complete(records, [self._rows(child.find(field), (sought,)) for child in self._children])

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        records = super().read_all(role)
        return self._complete(records, [self._rows(child.select, role=role) for child in self._children])

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
            for child in self._children:
                self._run(child.table.delete, (key,))
            super().delete(key)

    @override
    def delete_all(self) -> int:
        with self._transaction():
            for child in self._children:
                self._run(child.table.delete_all)
            return super().delete_all()

    def _begin(self, schema: Schema) -> None:
        own, arrays = split(schema)
        super()._begin(own)
        parent, self._children = cast(RowTable, self._current), []
        for elements in arrays:
            table = cast(RowTable, self.table(elements.schema, self.options))
            self._run(table.create + self.ending)
            self._children.append(ChildTable.of(elements, table, parent))

    def _own_row(self, record: Record) -> Row:
        arrays = (child.elements.array for child in self._children)
        lengths = {name: len(record[name]) for name in arrays if name in record}
        return self._values({**record, **lengths})

    def _insert_elements(self, records: Sequence[Record]) -> None:
        for child in self._children:
            rows = [row for record in records for row in child.elements.rows(record)]
            if rows:
                self._cursor.executemany(child.table.insert, [*map(child.table.values, rows)])

    def _complete(self, records: Sequence[Record], children_rows: Sequence[Sequence[Row]]) -> Sequence[Record]:
        """Return records with the elements of their arrays, of which so far they have the numbers."""
        arrays = {child.elements.array for child in self._children}
        by_key = {
            record["_id"]: {name: [] if name in arrays else value for name, value in record.items()}
            for record in records
        }
        for child, rows in zip(self._children, children_rows, strict=True):
            elements = child.elements
            for row in child.table.records(rows):
                array = by_key[row.pop(elements.schema.key)][elements.array]
                del row[elements.place]
                array.append(row if elements.of_documents else row["item"])
        return [*by_key.values()]

    def _expect_no_array(self, changes: Record) -> None:
        if any(isinstance(value, list) for value in changes.values()):
            raise GapError(f"{self.where}: an array that is a table is not updated: no study does")


@cache
def with_child_tables(adapter: type[Adapter]) -> type[Adapter]:
    """Return a relational database that makes tables of arrays."""
    return type(f"{adapter.__name__}WithChildTables", (ChildTables, adapter), {})
