"""msgspec's JSON: typed decoders made once per schema, dataclasses written and read by the library itself."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Final, TypedDict

import msgspec

from benchbook.formats.codec import Decoder, FormatError, bounded, milliseconds, moment
from benchbook.formats.json_codecs import JsonCodec
from benchbook.schemas import AnyBookstore, Author, Book1, Book2, Bookstore, FieldType, Schema

_TYPES: Final[dict[FieldType, type]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "date": date,
    "datetime": datetime,
}


class _Author(msgspec.Struct):
    id: str
    name: str
    age: int
    born_on: int


class _Book2(msgspec.Struct):
    """A book whose dates are milliseconds: msgspec knows ISO 8601 alone."""

    id: str
    pages: int
    published_on: int
    title: str
    author: _Author


class _Store2(msgspec.Struct):
    books: list[_Book2]


class MsgspecCodec(JsonCodec):
    """JSON with types checked while it is read."""

    def __init__(self) -> None:
        encode = msgspec.json.Encoder().encode
        super().__init__("msgspec", encode, lambda store: encode(_written(store)), msgspec.json.Decoder().decode)
        self._read1 = _checked(msgspec.json.Decoder(Bookstore[Book1]).decode)
        self._read2 = _checked(msgspec.json.Decoder(_Store2).decode)

    def decoder(self, schema: Schema) -> Decoder:
        """Return a decoder that checks and reads every field's type."""
        fields = {field.name: _TYPES[field.type] for field in schema.fields}
        return _checked(msgspec.json.Decoder(TypedDict(schema.name, fields)).decode)  # type: ignore[operator]

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        if case == 1:
            store: Bookstore[Book1] = self._read1(data)
            return store
        return Bookstore([_book2(book) for book in self._read2(data).books])


def _checked(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return the decoder with its limit and its errors turned to `FormatError`, which say where (``$.books[3].id``)."""

    def checked(data: bytes) -> Any:
        try:
            return decode(bounded(data))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise FormatError(f"not such JSON: {error}") from error

    return checked


def _written(store: AnyBookstore) -> Any:
    """Return what msgspec writes as the paper's JSON."""
    if store.books and isinstance(store.books[0], Book2):
        return _Store2([_struct(book) for book in store.books if isinstance(book, Book2)])
    return store


def _struct(book: Book2) -> _Book2:
    author = _Author(book.author.id, book.author.name, book.author.age, milliseconds(book.author.born_on))
    return _Book2(book.id, book.pages, milliseconds(book.published_on), book.title, author)


def _book2(book: _Book2) -> Book2:
    author = Author(book.author.id, book.author.name, book.author.age, moment(book.author.born_on))
    return Book2(book.id, book.pages, moment(book.published_on), book.title, author)


def codec() -> JsonCodec:
    """Return the codec."""
    return MsgspecCodec()
