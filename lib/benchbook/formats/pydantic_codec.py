"""pydantic's JSON: models validated while they are read, typed decoders made once per schema."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

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


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Book1(_Strict):
    id: str
    title: str
    author: str


class _Author(_Strict):
    id: str
    name: str
    age: int
    born_on: int


class _Book2(_Strict):
    """A book whose dates are milliseconds, as Jackson writes them."""

    id: str
    pages: int
    published_on: int
    title: str
    author: _Author


class _Store1(_Strict):
    books: list[_Book1]


class _Store2(_Strict):
    books: list[_Book2]


class PydanticCodec(JsonCodec):
    """JSON through models that are filled in, written and read back."""

    def __init__(self) -> None:
        super().__init__("pydantic", to_json, lambda store: _model(store).model_dump_json().encode(), from_json)
        self._read1 = _checked(_Store1.model_validate_json)
        self._read2 = _checked(_Store2.model_validate_json)

    def decoder(self, schema: Schema) -> Decoder:
        """Return a decoder that checks and reads every field's type."""
        fields = {field.name: _TYPES[field.type] for field in schema.fields}
        return _checked(TypeAdapter(TypedDict(schema.name, fields)).validate_json)  # type: ignore[operator]

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        if case == 1:
            return Bookstore([Book1(book.id, book.title, book.author) for book in self._read1(data).books])
        return Bookstore([_book2(book) for book in self._read2(data).books])


def _checked(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return the decoder with its limit and its errors turned to `FormatError`, which say where (``books.3.id``)."""

    def checked(data: bytes) -> Any:
        try:
            return decode(bounded(data))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise FormatError(f"not such JSON: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error

    return checked


def _model(store: AnyBookstore) -> _Store1 | _Store2:
    """Return the model of the same content."""
    if store.books and isinstance(store.books[0], Book2):
        return _Store2(books=[_model2(book) for book in store.books if isinstance(book, Book2)])
    books = [book for book in store.books if isinstance(book, Book1)]
    return _Store1(books=[_Book1(id=book.id, title=book.title, author=book.author) for book in books])


def _model2(book: Book2) -> _Book2:
    by = book.author
    author = _Author(id=by.id, name=by.name, age=by.age, born_on=milliseconds(by.born_on))
    published_on = milliseconds(book.published_on)
    return _Book2(id=book.id, pages=book.pages, published_on=published_on, title=book.title, author=author)


def _book2(book: _Book2) -> Book2:
    author = Author(book.author.id, book.author.name, book.author.age, moment(book.author.born_on))
    return Book2(book.id, book.pages, moment(book.published_on), book.title, author)


def codec() -> JsonCodec:
    """Return the codec."""
    return PydanticCodec()
