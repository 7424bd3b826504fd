"""The JSON codecs' common part, and the standard library's codec.

A record is an object, a bookstore is ``{"books": [...]}``.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from benchbook.codecs.codec import (
    Decoder,
    Encoder,
    FormatError,
    check_size,
    count_milliseconds,
    explain_refusal,
    parse_fields,
    read_milliseconds,
)
from benchbook.schema import (
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

PYTHON_TYPES: Final[dict[FieldType, type]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "date": date,
    "datetime": datetime,
}
"""The type that a type-checking library reads, by the scalar's type."""


def make_typed_dict(name: str, fields: Iterable[Field]) -> Any:
    """Return the `TypedDict` that a type-checking library reads, for documents inside, too."""
    types = {field.name: _annotate_field(field) for field in fields}
    return TypedDict(name, types)  # type: ignore[operator]


def _annotate_field(field: Field) -> Any:
    kind: Any = Any
    if field.type == "document":
        kind = make_typed_dict(field.name, field.fields)
    elif field.type == "array":
        kind = list[_annotate_field(field.fields[0])]  # type: ignore[misc]
    elif field.type != "json":
        kind = PYTHON_TYPES[field.type]
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
            raise explain_refusal(record, self.dumps, error) from error

    def encoder(self, schema: Schema) -> Encoder:
        """Return `encode_record`, which takes documents and arrays as they are."""
        return self.encode_record

    def decode_record(self, data: bytes) -> Document:
        """Return the object; dates stay ISO 8601 text."""
        try:
            record = self.loads(check_size(data))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}") from error
        if isinstance(record, dict):
            return record
        raise FormatError(f"a JSON object is expected, not {type(record).__name__}")

    def decoder(self, schema: Schema) -> Decoder:
        """Return `decode_record`, which also parses dates where the schema has some."""
        dates = [field for field in schema.fields if field.type in ("date", "datetime")]
        return parse_fields(self.decode_record, dates)

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
        read = _BOOK_READERS[case]
        store: Bookstore[Any] = Bookstore([])
        for number, book in enumerate(books):
            try:
                store.books.append(read(**book))
            except (TypeError, OverflowError) as error:
                reason = f"books[{number}] is not a book of case {case}: {error}"
                raise FormatError(reason) from error
        return store


def _read_book2(id: str, pages: int, published_on: int, title: str, author: Document) -> Book2:
    return Book2(id, pages, read_milliseconds(published_on), title, _read_author(**author))


def _read_author(id: str, name: str, age: int, born_on: int) -> Author:
    return Author(id, name, age, read_milliseconds(born_on))


def _read_book3(id: str, title: str, author: dict[str, str]) -> Book3:
    return Book3(id, title, Writer(**author))


_BOOK_READERS: Final[dict[int, Callable[..., Any]]] = {1: Book1, 2: _read_book2, 3: _read_book3}


def simplify(thing: Any) -> int | Document:
    """Return a bookstore's object as a dictionary, or a date as milliseconds since 1970."""
    if isinstance(thing, datetime):
        return count_milliseconds(thing)
    return {name: getattr(thing, name) for name in thing.__slots__}


def _write_date(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a type of a record's value")


def make_codec() -> JsonCodec:
    """Return the codec of the standard library."""
    options: dict[str, Any] = {
        "separators": (",", ":"),
        "ensure_ascii": False,
        "allow_nan": False,
    }
    record = json.JSONEncoder(default=_write_date, **options)
    books = json.JSONEncoder(default=simplify, **options)
    return JsonCodec(
        "json",
        dumps=lambda thing: record.encode(thing).encode(),
        dumps_books=lambda store: books.encode(store).encode(),
        loads=json.loads,
    )
