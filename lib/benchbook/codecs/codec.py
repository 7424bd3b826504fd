"""The protocol of all codecs, how one is found by its name, and the rules that formats share.

A codec's library is imported only when the codec is loaded.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

from benchbook.registry import plugins
from benchbook.schema import (
    AnyBookstore,
    Author,
    Book2,
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
_OWN: Final = (*_JSON, *_XML)
_ADDED: Final = plugins.list_plugins("codecs.json", _OWN) | plugins.list_plugins("codecs.xml", _OWN)

NAMES: Final[dict[str, Literal["json", "xml"]]] = {
    **dict.fromkeys((*_JSON, *plugins.find_entries("codecs.json")), "json"),
    **dict.fromkeys((*_XML, *plugins.find_entries("codecs.xml")), "xml"),
}
"""Each codec's format, by the codec's name: a format's main codec first, plug-ins last."""

# pydantic checks these at run time, and names them in its errors: plug-ins' codecs, too.
if not TYPE_CHECKING:
    JsonName = Literal[tuple(name for name, kind in NAMES.items() if kind == "json")]
    XmlName = Literal[tuple(name for name, kind in NAMES.items() if kind == "xml")]

MAX_BYTES: Final = 64 * 2**20
"""Bytes of the largest document that is decoded."""

Decoder = Callable[[bytes], Document]
Encoder = Callable[[Record], bytes]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class FormatError(ValueError):
    """A format cannot hold an object, or bytes are not a document of it; the message says where."""


class Codec(Protocol):
    """A library that writes and reads one format; it raises `FormatError` on what it refuses.

    All codecs of a format write documents of the same meaning. Dates of records are ISO 8601. Dates
    of bookstores are milliseconds since 1970 in JSON and carry ``+01:00`` in XML, as Jackson and
    JAXB wrote them.
    """

    name: str
    format: Literal["json", "xml"]

    def encode_record(self, record: Record) -> bytes:
        """Return a flat record as a compact document, without an XML declaration."""

    def encoder(self, schema: Schema) -> Encoder:
        """Return a function that encodes records of a schema that is not flat.

        See `choose_encoder` for what such a document looks like.
        """

    def decode_record(self, data: bytes) -> Document:
        """Return a record with the format's own types: dates are text, in XML every value is."""

    def decoder(self, schema: Schema) -> Decoder:
        """Return a function that decodes a record of that schema to an equal one."""

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return a bookstore as a document: compact JSON, or XML as JAXB formats it."""

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return a bookstore of the paper's case 1 or 2.

        Case 3 is case 1 with one level more; codecs that bind a class do not have it.
        """


def find_module(name: str) -> str:
    """Return the dotted name of a codec's module."""
    if name in _ADDED:
        return _ADDED[name].module
    standard_library = {"json": "json_codec", "etree": "tree_codec"}
    return f"benchbook.codecs.{standard_library.get(name, f'{name}_codec')}"


@cache
def load_codec(name: str) -> Codec:
    """Import a codec and return it; raises `LookupError` when no codec has that name."""
    if name not in NAMES:
        raise LookupError(f"no codec {name!r}: there are {', '.join(NAMES)}")
    make_codec = (
        _ADDED[name].load() if name in _ADDED else import_module(find_module(name)).make_codec
    )
    codec: Codec = make_codec()
    return codec


def choose_encoder(codec: Codec, schema: Schema) -> Encoder:
    """Return the function of a codec that encodes records of a schema; flat records need no schema.

    In JSON a document is an object and an array an array. In XML an array is an element with an
    ``item`` for each of its elements, and a value of mixed types is JSON text. Absent fields are
    left out.
    """
    if schema.is_flat:
        return codec.encode_record
    if not hasattr(codec, "encoder"):
        raise FormatError("it has no encoder for records with documents or absent fields")
    return codec.encoder(schema)


@dataclass(frozen=True)
class CodecCheck:
    """A check of a user's records: a codec writes and reads each, and it must come back equal."""

    codec: str
    max_bytes: int = MAX_BYTES  # of a document

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record that the codec refuses."""
        codec = load_codec(self.codec)
        try:
            encode, decode = choose_encoder(codec, schema), codec.decoder(schema)
        except FormatError as error:
            raise UnfitError(f"{self.codec} does not take these fields: {error}") from error
        for number, record in enumerate(records):
            try:
                document = encode(record)
                size = len(document)
                if size > self.max_bytes:
                    raise FormatError(
                        f"a document of {size:,} bytes is over the limit of {self.max_bytes:,}"
                    )
                if decode(document) != record:
                    raise FormatError("what is read back differs")
            except FormatError as error:
                reason = f"{self.codec} does not take this record: {error}"
                raise UnfitError(reason, number) from error


def format_value(value: object) -> str:
    """Return a record's value as text; raises `TypeError` when no field has its type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a type of a record's value")


def _parse_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"neither true nor false: {text!r}")
    return text == "true"


PARSERS: Final[dict[FieldType, Callable[[str], Any]]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": _parse_boolean,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""The inverse of `format_value`, by a scalar's type."""


def parse_fields(decode: Decoder, fields: Iterable[Field]) -> Decoder:
    """Return a decoder that also parses these fields' text by their types.

    Without fields it is `decode` itself.
    """
    parsers, optional = [], set()
    for field in fields:
        parsers.append((field.name, PARSERS[field.type]))
        if field.optional:
            optional.add(field.name)

    def decode_fields(data: bytes) -> Document:
        record = decode(data)
        # Fields that every record has must be there; optional ones may be absent.
        present = parsers
        if optional:
            present = [
                parser for parser in parsers if parser[0] in record or parser[0] not in optional
            ]
        for name, parse in present:
            try:
                record[name] = parse(record[name])
            except (KeyError, TypeError, ValueError) as error:
                raise FormatError(f"field {name!r}: {error!r}") from error
        return record

    return decode_fields if parsers else decode


def count_milliseconds(moment: datetime) -> int:
    """Return the whole milliseconds since 1970."""
    return (moment - _EPOCH) // _MILLISECOND


def read_milliseconds(count: int) -> datetime:
    """Return the UTC time so many milliseconds after 1970."""
    return _EPOCH + count * _MILLISECOND


def check_size(data: bytes) -> bytes:
    """Return the document; raises `FormatError` when it is over the limit."""
    if len(data) > MAX_BYTES:
        raise FormatError(f"a document of {len(data)} bytes is over the limit of {MAX_BYTES}")
    return data


def explain_refusal(
    record: Record, encode: Callable[[Record], object], error: Exception
) -> FormatError:
    """Return an error that names the first field that cannot be encoded on its own."""
    for name, value in record.items():
        try:
            encode({name: value})
        except (TypeError, ValueError) as reason:
            return FormatError(f"field {name!r}: {reason}")
    return FormatError(str(error))


def name_refused_fields(encode: Encoder) -> Encoder:
    """Return an encoder whose error names the field that cannot be encoded."""

    def encode_or_explain(record: Record) -> bytes:
        try:
            return encode(record)
        except (TypeError, ValueError) as error:
            raise explain_refusal(record, encode, error) from error

    return encode_or_explain


def read_book2(book: Any, read_moment: Callable[[Any], datetime]) -> Book2:
    """Return the case-2 book with the attributes of a library's own object, its dates read."""
    by = book.author
    author = Author(by.id, by.name, by.age, read_moment(by.born_on))
    return Book2(book.id, book.pages, read_moment(book.published_on), book.title, author)
