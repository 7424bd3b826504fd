"""What the JSON codecs share, and stdlib json: records as objects, bookstores as ``{"books": [...]}``."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from benchbook.formats import Decoder, Encoder, FormatError, bounded, milliseconds, moment, refusal, typed
from benchbook.schemas import (
    AnyBookstore,
    Author,
    Book1,
    Book2,
    Book3,
    Bookstore,
    Document,
    Field,
    FieldType,
    Record,
    Schema,
    Writer,
)

VERSION = 1

TYPES: Final[dict[FieldType, type]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "date": date,
    "datetime": datetime,
}
"""What a library that checks types is to read, by the scalar's type."""


def form(name: str, fields: Iterable[Field]) -> Any:
    """Return the `TypedDict` that a library which checks types is to read: of each document inside one too."""
    types = {field.name: _annotation(field) for field in fields}
    return TypedDict(name, types)  # type: ignore[operator]


def _annotation(field: Field) -> Any:
    kind: Any = Any
    if field.type == "document":
        kind = form(field.name, field.fields)
    elif field.type == "array":
        kind = list[_annotation(field.fields[0])]  # type: ignore[misc]
    elif field.type != "json":
        kind = TYPES[field.type]
    return NotRequired[kind] if field.optional else kind


@dataclass
class JsonCodec:
    """JSON through a library's functions."""

    name: str
    dumps: Callable[[Record], bytes]
    """Writes a record, compact and in UTF-8, dates as ISO 8601."""
    dumps_books: Callable[[AnyBookstore], bytes]
    """Writes a bookstore, dates as milliseconds since 1970."""
    loads: Callable[[bytes], object]
    format: Literal["json"] = "json"

    def encode_record(self, record: Record) -> bytes:
        """Return a compact JSON object."""
        try:
            return self.dumps(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, self.dumps, error) from error

    def encoder(self, schema: Schema) -> Encoder:
        """Return `encode_record`, which takes documents and arrays as they are."""
        return self.encode_record

    def decode_record(self, data: bytes) -> Document:
        """Return the object; dates stay ISO 8601 text."""
        try:
            record = self.loads(bounded(data))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}") from error
        if isinstance(record, dict):
            return record
        raise FormatError(f"a JSON object is expected, not {type(record).__name__}")

    def decoder(self, schema: Schema) -> Decoder:
        """Return `decode_record`, and where the schema has dates what reads these too."""
        return typed(self.decode_record, [field for field in schema.fields if field.type in ("date", "datetime")])

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the bookstore as compact JSON."""
        try:
            return self.dumps_books(store)
        except (TypeError, ValueError) as error:
            raise FormatError(f"a bookstore that JSON cannot hold: {error}") from error

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        books = self.decode_record(data).get("books")
        if not isinstance(books, list):
            raise FormatError("a bookstore needs a list of books")
        read = _BOOKS[case]
        store: Bookstore[Any] = Bookstore([])
        for number, book in enumerate(books):
            try:
                store.books.append(read(**book))
            except (TypeError, OverflowError) as error:
                raise FormatError(f"books[{number}] is no book of case {case}: {error}") from error
        return store


def _book2(id: str, pages: int, published_on: int, title: str, author: Document) -> Book2:
    return Book2(id, pages, moment(published_on), title, _author(**author))


def _author(id: str, name: str, age: int, born_on: int) -> Author:
    return Author(id, name, age, moment(born_on))


def _book3(id: str, title: str, author: dict[str, str]) -> Book3:
    return Book3(id, title, Writer(**author))


_BOOKS: Final[dict[int, Callable[..., Any]]] = {1: Book1, 2: _book2, 3: _book3}


def plain(thing: Any) -> int | Document:
    """Return what JSON knows in place of a bookstore's object or date: a dictionary, or milliseconds since 1970."""
    if isinstance(thing, datetime):
        return milliseconds(thing)
    return {name: getattr(thing, name) for name in thing.__slots__}


def _iso(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no type of a record's value")


def codec() -> JsonCodec:
    """Return the codec of the standard library."""
    options: dict[str, Any] = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}
    record, books = json.JSONEncoder(default=_iso, **options), json.JSONEncoder(default=plain, **options)
    return JsonCodec("json", lambda o: record.encode(o).encode(), lambda o: books.encode(o).encode(), json.loads)
