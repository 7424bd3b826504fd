"""What data looks like: flat records and their schemas, and the bookstore's classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar

Record: TypeAlias = Mapping[str, Any]
"""A flat record: each field's value by its name."""

Document: TypeAlias = dict[str, Any]
"""A record, or another object of JSON, as it is read: its reader may change it."""

FieldType = Literal["string", "integer", "float", "date", "datetime", "boolean"]


class UnfitError(ValueError):
    """A person's own records that a codec or a store does not take; the message says which, and why.

    The `record` is the first such record's number, from 0; None where it is the fields, which all records have.
    """

    def __init__(self, message: str, record: int | None = None) -> None:
        super().__init__(message)
        self.record = record


@dataclass(frozen=True)
class Field:
    """One attribute of a record; a ``datetime`` is UTC with whole milliseconds."""

    name: str
    type: FieldType


@dataclass(frozen=True)
class Schema:
    """The attributes of a set's records, in the order in which they are written."""

    name: str  # a collection's or a table's
    fields: tuple[Field, ...]  # the key among them
    key: str = "_id"  # the attribute, a string, that identifies a record
    parent: "Parent | None" = None  # the set that one attribute refers to


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
