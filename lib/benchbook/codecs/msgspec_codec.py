"""The codec msgspec, with a typed decoder per schema; it reads and writes dataclasses itself."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from typing_extensions import override

from benchbook.codecs.codec import (
    Decoder,
    FormatError,
    check_size,
    count_milliseconds,
    read_book2,
    read_milliseconds,
)
from benchbook.codecs.json_codec import JsonCodec, make_typed_dict
from benchbook.schema import AnyBookstore, Book1, Book2, Bookstore, Schema

VERSION = 1

T = TypeVar("T")


class _AuthorStruct(msgspec.Struct):
    id: str
    name: str
    age: int
    born_on: int


class _BookStruct(msgspec.Struct):
    """A case-2 book with its dates in milliseconds: msgspec's own dates are ISO 8601 only."""

    id: str
    pages: int
    published_on: int
    title: str
    author: _AuthorStruct


class _StoreStruct(msgspec.Struct):
    books: list[_BookStruct]


class MsgspecCodec(JsonCodec):
    """JSON with types checked while it is read."""

    def __init__(self) -> None:
        encode = msgspec.json.Encoder().encode
        super().__init__(
            "msgspec",
            dumps=encode,
            dumps_books=lambda store: encode(_convert_store(store)),
            loads=msgspec.json.Decoder().decode,
        )
        self._read1 = _make_reader(Bookstore[Book1])
        self._read2 = _make_reader(_StoreStruct)

    @override
    def decoder(self, schema: Schema) -> Decoder:
        return _make_reader(make_typed_dict(schema.name, schema.fields))

    @override
    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        if case == 1:
            return self._read1(data)
        return Bookstore([read_book2(book, read_milliseconds) for book in self._read2(data).books])


def _make_reader(form: type[T]) -> Callable[[bytes], T]:
    """Return a function that reads a type; its errors say where (``$.books[3].id``)."""
    decode = msgspec.json.Decoder(form).decode

    def read(data: bytes) -> T:
        try:
            return decode(check_size(data))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise FormatError(f"not such JSON: {error}") from error

    return read


def _convert_store(store: AnyBookstore) -> AnyBookstore | _StoreStruct:
    """Return the object that msgspec writes as the paper's JSON."""
    books: list[Any] = store.books
    if books and isinstance(books[0], Book2):
        return _StoreStruct([_convert_book(book) for book in books])
    return store


def _convert_book(book: Book2) -> _BookStruct:
    by = book.author
    author = _AuthorStruct(by.id, by.name, by.age, count_milliseconds(by.born_on))
    published_on = count_milliseconds(book.published_on)
    return _BookStruct(book.id, book.pages, published_on, book.title, author)


def make_codec() -> JsonCodec:
    """Return the codec."""
    return MsgspecCodec()
