"""What data looks like: records and their schemas, and the bookstore's classes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

Record: TypeAlias = Mapping[str, Any]
"""A record: each field's value by its name. A study's own is flat; one of a person's file may hold documents."""

Document: TypeAlias = dict[str, Any]
"""A record, or another object of JSON, as it is read: its reader may change it."""

FieldType = Literal["string", "integer", "float", "date", "datetime", "boolean", "document", "array", "json"]
"""The scalars; an object of JSON, an array of it, and what differs in kind from record to record, as JSON has it."""

NESTED: Final[frozenset[FieldType]] = frozenset({"document", "array", "json"})
"""The types whose values are not scalars, or not always."""


class UnfitError(ValueError):
    """A person's own records that a codec or a store does not take; the message says which, and why.

    The `record` is the first such record's number, from 0; None where it is the fields, which all records have.
    """

    def __init__(self, message: str, record: int | None = None) -> None:
        super().__init__(message)
        self.record = record


@dataclass(frozen=True)
class Field:
    """One attribute of a record; a ``datetime`` is UTC with whole milliseconds.

    What is inside a document or an array is text, numbers, booleans, and such again.
    """

    name: str
    type: FieldType
    optional: bool = False  # a record may lack it; none holds null
    fields: "tuple[Field, ...]" = ()  # a document's own; an array's is one, which each of its elements is

    @property
    def shape(self) -> list[object]:
        """The field as JSON has it: name, type, whether it is optional, and the shapes of the fields inside."""
        return [self.name, self.type, self.optional, [field.shape for field in self.fields]]

    @classmethod
    def of_shape(cls, shape: Sequence[Any]) -> "Field":
        """Return the field of a `shape`."""
        name, kind, optional, fields = shape
        return cls(name, kind, optional, tuple(map(cls.of_shape, fields)))

    def inside(self) -> "Iterator[Field]":
        """Yield the fields inside, at any depth, but for an array's element, which has no name of its own."""
        for field in self.fields:
            if self.type != "array":
                yield field
            yield from field.inside()


@dataclass(frozen=True)
class Schema:
    """The attributes of a set's records, in the order in which they are written."""

    name: str  # a collection's or a table's
    fields: tuple[Field, ...]  # the key among them
    key: str = "_id"  # the attribute, a string, that identifies a record
    parent: "Parent | None" = None  # the set that one attribute refers to
    beside_key: tuple[str, ...] = ()  # attributes that only with the key identify a record

    @property
    def is_flat(self) -> bool:
        """Whether each record has every field, and all are scalars, as in every study's own set."""
        return not any(field.optional or field.type in NESTED for field in self.fields)


@dataclass(frozen=True)
class Parent:
    """A reference: ``field`` holds the key of a record of ``schema``."""

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
    """The first book with a level of nesting more, for what that costs; `id` is an XML attribute."""

    id: str
    title: str
    author: Writer


BookT = TypeVar("BookT", Book1, Book2, Book3)


@dataclass(slots=True)
class Bookstore(Generic[BookT]):
    """The root object: a list of books, all of one class."""

    books: list[BookT]


AnyBookstore: TypeAlias = Bookstore[Book1] | Bookstore[Book2] | Bookstore[Book3]
