"""msgspec's JSON: typed decoders made once per schema, dataclasses written and read by the library itself."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from typing_extensions import override

from benchbook.formats import Decoder, FormatError, bounded, milliseconds, moment, unbound2
from benchbook.formats.json_codecs import JsonCodec, form
from benchbook.schemas import AnyBookstore, Book1, Book2, Bookstore, Schema

VERSION = 1

T = TypeVar("T")


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
        self._read1, self._read2 = _reader(Bookstore[Book1]), _reader(_Store2)

    @override
    def decoder(self, schema: Schema) -> Decoder:
        return _reader(form(schema.name, schema.fields))

    @override
    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        if case == 1:
            return self._read1(data)
        return Bookstore([unbound2(book, moment) for book in self._read2(data).books])


def _reader(form: type[T]) -> Callable[[bytes], T]:
    """Return what reads a type; its errors say where (``$.books[3].id``)."""
    decode = msgspec.json.Decoder(form).decode

    def checked(data: bytes) -> T:
        try:
            return decode(bounded(data))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise FormatError(f"not such JSON: {error}") from error

    return checked


def _written(store: AnyBookstore) -> AnyBookstore | _Store2:
    """Return what msgspec writes as the paper's JSON."""
    books: list[Any] = store.books
    return _Store2([_struct(book) for book in books]) if books and isinstance(books[0], Book2) else store


def _struct(book: Book2) -> _Book2:
    author = _Author(book.author.id, book.author.name, book.author.age, milliseconds(book.author.born_on))
    return _Book2(book.id, book.pages, milliseconds(book.published_on), book.title, author)


def codec() -> JsonCodec:
    """Return the codec."""
    return MsgspecCodec()
