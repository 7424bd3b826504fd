"""Codecs: records and bookstores to bytes and back; a library is imported only when its codec is asked for.

In come an object and a codec's name; out go bytes, and from them an equal object, else `FormatError`. Begin with the
protocol `Codec`, then `orjson_codec` and `lxml_codec`: a few lines each on what `json_codecs` and `tree` hold for all.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, get_args

from benchbook import plugins
from benchbook.schemas import (
    AnyBookstore,
    Author,
    Book1,
    Book2,
    Bookstore,
    Document,
    Field,
    FieldType,
    Record,
    Schema,
    UnfitError,
)

VERSION = 1

JsonName = Literal["orjson", "json", "msgspec"]
XmlName = Literal["lxml", "etree", "xsdata"]
_JSON, _XML = get_args(JsonName), get_args(XmlName)
_ADDED: Final = plugins.added("codecs.json", (*_JSON, *_XML)) | plugins.added("codecs.xml", (*_JSON, *_XML))

NAMES: Final[dict[str, Literal["json", "xml"]]] = {
    **dict.fromkeys((*_JSON, *plugins.announced("codecs.json")), "json"),
    **dict.fromkeys((*_XML, *plugins.announced("codecs.xml")), "xml"),
}
"""Every codec's format; each format's first is its main one, those of other packages are its last."""

if not TYPE_CHECKING:  # what pydantic checks, and names in its errors: those of other packages, too
    JsonName = Literal[tuple(name for name, kind in NAMES.items() if kind == "json")]
    XmlName = Literal[tuple(name for name, kind in NAMES.items() if kind == "xml")]

LIMIT: Final = 64 * 2**20
"""Bytes of the largest document that is decoded."""

Decoder = Callable[[bytes], Document]
Encoder = Callable[[Record], bytes]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class FormatError(ValueError):
    """An object that the format cannot hold, or bytes that are no such document; the message says where."""


class Codec(Protocol):
    """One library that writes and reads one format; what it refuses raises `FormatError`.

    All codecs of a format write documents of the same meaning. Dates and datetimes of records are ISO 8601; a
    bookstore's are milliseconds since 1970 in JSON and carry ``+01:00`` in XML, as Jackson and JAXB wrote them.
    """

    name: str
    format: Literal["json", "xml"]

    def encode_record(self, record: Record) -> bytes:
        """Return the flat record as a compact document, without declaration."""

    def encoder(self, schema: Schema) -> Encoder:
        """Return what encodes a record of that schema, where some are not flat, or lack a field: see `encoder`."""

    def decode_record(self, data: bytes) -> Document:
        """Return the record as the format itself types it: dates are text, in XML all is."""

    def decoder(self, schema: Schema) -> Decoder:
        """Return what decodes a record of that schema to an equal one."""

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the bookstore as a document: compact JSON, or XML as JAXB formats it."""

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of the paper's case 1 or 2; trees and plain JSON have 3, 1 with a level more."""


def module(name: str) -> str:
    """Return the module of a codec."""
    if name in _ADDED:
        return _ADDED[name].module
    standard_library = {"json": "json_codecs", "etree": "tree"}
    return f"{__name__}.{standard_library.get(name, f'{name}_codec')}"


@cache
def codec(name: str) -> Codec:
    """Return the codec of that name; raises `LookupError` when there is none."""
    if name not in NAMES:
        raise LookupError(f"no codec {name!r}: there are {', '.join(NAMES)}")
    made: Codec = _ADDED[name].load()() if name in _ADDED else import_module(module(name)).codec()
    return made


def encoder(codec: Codec, schema: Schema) -> Encoder:
    """Return what encodes a record of that schema: flat ones need no schema, whichever codec it is.

    In JSON a document is an object and an array an array; in XML an array is an element with an ``item`` for each of
    its elements, and what differs in kind from record to record is JSON text. What a record lacks is left out.
    """
    if schema.is_flat:
        return codec.encode_record
    if not hasattr(codec, "encoder"):
        raise FormatError("it has no encoder for records that hold documents, or of which some lack a field")
    return codec.encoder(schema)


@dataclass(frozen=True)
class RoundTrip:
    """What a codec is given: each record is written and read back, and comes back equal."""

    codec: str
    limit: int = LIMIT  # bytes of the largest document

    def hold(self, schema: Schema, records: Sequence[Record]) -> None:
        """Write and read every record, as a cell will; raises `UnfitError` at the first that the codec refuses."""
        try:
            encode, decode = encoder(codec(self.codec), schema), codec(self.codec).decoder(schema)
        except FormatError as error:
            raise UnfitError(f"{self.codec} does not take these fields: {error}") from error
        for number, record in enumerate(records):
            try:
                document = encode(record)
                if len(document) > self.limit:
                    raise FormatError(f"a document of {len(document):,} bytes is over the limit of {self.limit:,}")
                if decode(document) != record:
                    raise FormatError("what is read back differs")
            except FormatError as error:
                raise UnfitError(f"{self.codec} does not take this record: {error}", number) from error


def to_text(value: object) -> str:
    """Return a record's value as text; raises `TypeError` when it is of no field's type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no type of a record's value")


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"neither true nor false: {text!r}")
    return text == "true"


FROM_TEXT: Final[dict[FieldType, Callable[[str], Any]]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": _boolean,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""The inverse of `to_text`, by a scalar's type."""


def typed(decode: Decoder, fields: Iterable[Field]) -> Decoder:
    """Return a decoder that reads these fields' text by their types; `decode` itself when there are none."""
    readers, optional = [], set()
    for field in fields:
        readers.append((field.name, FROM_TEXT[field.type]))
        if field.optional:
            optional.add(field.name)

    def decode_typed(data: bytes) -> Document:
        record = decode(data)
        present = readers
        if optional:
            present = [reader for reader in readers if reader[0] in record or reader[0] not in optional]
        for name, read in present:
            try:
                record[name] = read(record[name])
            except (KeyError, TypeError, ValueError) as error:
                raise FormatError(f"field {name!r}: {error!r}") from error
        return record

    return decode_typed if readers else decode


def milliseconds(moment: datetime) -> int:
    """Return the whole milliseconds since 1970."""
    return (moment - _EPOCH) // _MILLISECOND


def moment(count: int) -> datetime:
    """Return the UTC time so many milliseconds after 1970."""
    return _EPOCH + count * _MILLISECOND


def bounded(data: bytes) -> bytes:
    """Return the document; raises `FormatError` when it is over the limit."""
    if len(data) > LIMIT:
        raise FormatError(f"a document of {len(data)} bytes is over the limit of {LIMIT}")
    return data


def refusal(record: Record, encode: Callable[[Record], object], error: Exception) -> FormatError:
    """Return the error that names the first field that cannot be encoded by itself."""
    for name, value in record.items():
        try:
            encode({name: value})
        except (TypeError, ValueError) as reason:
            return FormatError(f"field {name!r}: {reason}")
    return FormatError(str(error))


def checked(encode: Encoder) -> Encoder:
    """Return what encodes as given, and raises `refusal` of a record that cannot be encoded."""

    def encode_checked(record: Record) -> bytes:
        try:
            return encode(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, encode, error) from error

    return encode_checked


Bound: TypeAlias = Any
"""An object of a library's own class: its attributes are those of the class that it stands for."""


@dataclass(frozen=True)
class Binding:
    """A library's own classes for a bookstore, which take their fields by name, and what its dates are there."""

    stores: tuple[Callable[..., Bound], Callable[..., Bound]]
    book1: Callable[..., Bound]
    book2: Callable[..., Bound]
    author: Callable[..., Bound]
    written: Callable[[datetime], object]
    read: Callable[[Any], datetime]

    def bound(self, store: AnyBookstore) -> Bound:
        """Return the library's object of the same content."""
        books: list[Any] = store.books
        if books and isinstance(books[0], Book2):
            return self.stores[1](books=[self._bound2(book) for book in books])
        return self.stores[0](books=[self.book1(id=book.id, title=book.title, author=book.author) for book in books])

    def _bound2(self, book: Book2) -> Bound:
        by = book.author
        author = self.author(id=by.id, name=by.name, age=by.age, born_on=self.written(by.born_on))
        published_on = self.written(book.published_on)
        return self.book2(id=book.id, pages=book.pages, published_on=published_on, title=book.title, author=author)

    def unbound(self, bound: Bound, case: int) -> AnyBookstore:
        """Return the bookstore of that case that the library's object holds."""
        if case == 2:
            return Bookstore([unbound2(book, self.read) for book in bound.books])
        return Bookstore([Book1(book.id, book.title, book.author) for book in bound.books])


def unbound2(book: Bound, read: Callable[[Any], datetime]) -> Book2:
    """Return the second book that an object with the same attributes holds, its dates read."""
    by = book.author
    author = Author(by.id, by.name, by.age, read(by.born_on))
    return Book2(book.id, book.pages, read(book.published_on), book.title, author)
