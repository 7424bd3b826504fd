"""Records and their schemas, and the classes of the bookstore study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

Record: TypeAlias = Mapping[str, Any]
"""A record: each field's value by its name. A study's is flat; a user's may have documents."""

Document: TypeAlias = dict[str, Any]
"""A JSON object that was read, such as a record; its reader may change it."""

FieldType = Literal[
    "string", "integer", "float", "date", "datetime", "boolean", "document", "array", "json"
]
"""The scalars; a JSON object and array; and ``json`` for values of mixed types."""

NESTED_TYPES: Final[frozenset[FieldType]] = frozenset({"document", "array", "json"})
"""The types whose values can be documents or arrays."""


class UnfitError(ValueError):
    """A codec or a database refuses a user's records; the message says which, and why.

    `record` is the number of the first refused record, from 0; None when it is the fields that are
    refused, which all records have.
    """

    def __init__(self, message: str, record: int | None = None) -> None:
        super().__init__(message)
        self.record = record


@dataclass(frozen=True)
class Field:
    """One attribute of a record; a ``datetime`` is UTC with whole milliseconds.

    Documents and arrays contain texts, numbers, booleans, documents and arrays.
    """

    name: str
    type: FieldType
    optional: bool = False  # it can be absent; it is never null
    # A document's fields; for an array one field, which describes each element.
    fields: "tuple[Field, ...]" = ()

    @property
    def as_json(self) -> list[object]:
        """The field for JSON: name, type, whether it is optional, and its fields in this form."""
        return [self.name, self.type, self.optional, [field.as_json for field in self.fields]]

    @classmethod
    def from_json(cls, shape: Sequence[Any]) -> "Field":
        """Return the field that `as_json` describes."""
        name, kind, optional, fields = shape
        return cls(name, kind, optional, tuple(map(cls.from_json, fields)))

    def iterate_inner(self) -> "Iterator[Field]":
        """Yield the fields inside, at any depth, except an array's element, which has no name."""
        for field in self.fields:
            if self.type != "array":
                yield field
            yield from field.iterate_inner()


@dataclass(frozen=True)
class Schema:
    """The fields of a data set's records, in the order in which they are written."""

    name: str  # of the collection or table
    fields: tuple[Field, ...]  # with the key
    key: str = "_id"  # the text field that identifies a record
    parent: "Parent | None" = None  # the set that one field refers to
    key_parts: tuple[str, ...] = ()  # fields that identify a record together with the key

    @property
    def is_flat(self) -> bool:
        """Whether every record has every field and all are scalars, as in the studies' sets."""
        return not any(field.optional or field.type in NESTED_TYPES for field in self.fields)


@dataclass(frozen=True)
class Parent:
    """A reference: ``field`` has the key of a record of ``schema``."""

    schema: Schema
    field: str


@dataclass(slots=True)
class Book1:
    """The bookstore study's first book; `id` is an XML attribute."""

    id: str
    title: str
    author: str


@dataclass(slots=True)
class Author:
    """The second book's author; `id` is an XML attribute."""

    id: str
    name: str
    age: int
    born_on: datetime


@dataclass(slots=True)
class Book2:
    """The bookstore study's second book; `id`, `pages` and `published_on` are XML attributes."""

    id: str
    pages: int
    published_on: datetime
    title: str
    author: Author


@dataclass(slots=True)
class Writer:
    """An author's name, one level deeper."""

    name: str


@dataclass(slots=True)
class Book3:
    """The first book with one more level of nesting; `id` is an XML attribute."""

    id: str
    title: str
    author: Writer


BookT = TypeVar("BookT", Book1, Book2, Book3)


@dataclass(slots=True)
class Bookstore(Generic[BookT]):
    """The root object: a list of books, all of one class."""

    books: list[BookT]


AnyBookstore: TypeAlias = Bookstore[Book1] | Bookstore[Book2] | Bookstore[Book3]
