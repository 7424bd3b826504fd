"""The codec xsdata: dataclasses bound to elements and attributes, as JAXB binds classes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from xsdata.exceptions import ConverterError, ParserError, XmlContextError
from xsdata.formats.dataclass.parsers import XmlParser
from xsdata.formats.dataclass.parsers.config import ParserConfig
from xsdata.formats.dataclass.parsers.handlers import LxmlEventHandler
from xsdata.formats.dataclass.serializers import XmlSerializer
from xsdata.formats.dataclass.serializers.config import SerializerConfig

from benchbook.codecs.codec import (
    PARSERS,
    Decoder,
    Encoder,
    FormatError,
    explain_refusal,
    format_value,
    name_refused_fields,
    read_book2,
)
from benchbook.codecs.lxml_codec import parse
from benchbook.codecs.tree_codec import (
    DECLARATION,
    NAMESPACE,
    Element,
    describe_root,
    encode_text,
    escape_name,
    parse_root,
    parse_texts,
    read_moment,
    unescape_name,
    write_json,
    write_moment,
)
from benchbook.schema import (
    AnyBookstore,
    Book1,
    Book2,
    Bookstore,
    Document,
    Field,
    Record,
    Schema,
)

VERSION = 1

MAX_FIELDS: Final = 2_000
"""Fields of a record that is bound to a class: making one costs a thousand times a line of text."""

_MAX_REASON: Final = 400
"""Characters of a reason: one could name each of 2,000 attributes."""

_ATTRIBUTE: Final = {"type": "Attribute"}
_ELEMENT: Final = {"type": "Element", "namespace": ""}
_BOOKS: Final = {**_ELEMENT, "name": "book"}

_REFUSALS: Final = (ParserError, ConverterError, XmlContextError, TypeError, ValueError)
"""The errors with which the library refuses a document that does not fit a class."""

BoundObject: TypeAlias = Any
"""An object of a class that the library reads and writes."""


@dataclass(frozen=True)
class _Member:
    """An attribute of a class that is made for a document: one field's."""

    name: str  # of the attribute, ``field_0`` and so on
    tag: str
    type: Any  # `str`, or the class of the document or array inside
    optional: bool = False
    repeated: bool = False  # a list of them, which may be empty

    @property
    def annotation(self) -> Any:
        """The attribute's type in the class."""
        if self.repeated:
            return list[self.type]  # type: ignore[name-defined]
        return self.type | None if self.optional else self.type

    @property
    def default(self) -> dict[str, Any]:
        """The attribute's default as arguments of `dataclasses.field`; empty if it is required."""
        if self.repeated:
            return {"default_factory": list}
        return {"default": None} if self.optional else {}


@dataclass(frozen=True)
class _Shape:
    """How a field's value becomes text or an object of a class, and is read back from it."""

    type: Any
    bind: Callable[[Any], Any]
    unbind: Callable[[Any], Any]


@dataclass
class _Book1Element:
    id: str = field(metadata=_ATTRIBUTE)
    title: str = field(metadata=_ELEMENT)
    author: str = field(metadata=_ELEMENT)


@dataclass
class _AuthorElement:
    id: str = field(metadata=_ATTRIBUTE)
    name: str = field(metadata=_ELEMENT)
    age: int = field(metadata=_ELEMENT)
    born_on: str = field(metadata=_ELEMENT)


@dataclass
class _Book2Element:
    id: str = field(metadata=_ATTRIBUTE)
    pages: int = field(metadata=_ATTRIBUTE)
    published_on: str = field(metadata=_ATTRIBUTE)
    title: str = field(metadata=_ELEMENT)
    author: _AuthorElement = field(metadata=_ELEMENT)


class _Root:
    name = "bookstore"
    namespace = NAMESPACE


@dataclass
class _Store1Element:
    Meta = _Root
    books: list[_Book1Element] = field(default_factory=list, metadata=_BOOKS)


@dataclass
class _Store2Element:
    Meta = _Root
    books: list[_Book2Element] = field(default_factory=list, metadata=_BOOKS)


_STORES: Final = {1: _Store1Element, 2: _Store2Element}


class XsdataCodec:
    """XML through xsdata: classes of the bookstore, and one for each set of a record's fields.

    Documents are parsed by the guarded parser of `lxml_codec`.
    """

    name = "xsdata"
    format: Literal["xml"] = "xml"

    def __init__(self) -> None:
        self._record_class = lru_cache(maxsize=256)(_make_record_class)
        self._parser = XmlParser(
            ParserConfig(fail_on_unknown_attributes=True), handler=LxmlEventHandler
        )
        self._compact = XmlSerializer(config=SerializerConfig(xml_declaration=False))
        self._formatted = XmlSerializer(
            config=SerializerConfig(xml_declaration=False, indent="    ")
        )

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self._write_record(record)
        except (TypeError, ValueError) as error:
            raise explain_refusal(record, self._write_record, error) from error

    def _write_record(self, record: Record) -> bytes:
        make = self._record_class(tuple(record))
        return encode_text(self._compact.render(make(*map(format_value, record.values()))))

    def encoder(self, schema: Schema) -> Encoder:
        """Return a function that binds a record, its documents and its arrays to classes."""
        shape = _shape_field(describe_root(schema))
        render = self._compact.render
        return name_refused_fields(lambda record: encode_text(render(shape.bind(record))))

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text, bound to a class with the document's own fields."""
        root = parse_root(parse, data)
        return self._read_texts(root, tuple(unescape_name(child.tag) for child in root))

    def decoder(self, schema: Schema) -> Decoder:
        """Return a function that binds a document to a class and parses texts by their types."""
        if schema.is_flat:
            names = tuple(field.name for field in schema.fields)
            return parse_texts(
                lambda data: self._read_texts(parse_root(parse, data), names), schema
            )
        shape = _shape_field(describe_root(schema))

        def decode(data: bytes) -> Document:
            root = parse_root(parse, data)
            try:
                record: Document = shape.unbind(self._bind(root, shape.type))
            except _REFUSALS as error:
                raise _explain_misfit(error) from error
            return record

        return decode

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the document as JAXB formats it."""
        try:
            bound = _bind_store(store)
            document = self._formatted.render(bound, ns_map={"ns2": NAMESPACE})
            return DECLARATION + encode_text(document)
        except (TypeError, ValueError) as error:
            raise FormatError(f"a bookstore that XML cannot hold: {error}") from error

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        root = parse_root(parse, data)
        try:
            return _unbind_store(self._bind(root, _STORES[case]), case)
        except _REFUSALS as error:
            raise _explain_misfit(error) from error

    def _bind(self, root: Element, form: BoundObject) -> BoundObject:
        """Return the class's object that a document holds."""
        return self._parser.parse(root.getroottree(), form)

    def _read_texts(self, root: Element, names: tuple[str, ...]) -> dict[str, str]:
        try:
            bound = self._bind(root, self._record_class(names))
        except _REFUSALS as error:
            raise _explain_misfit(error) from error
        return {name: getattr(bound, f"field_{i}") for i, name in enumerate(names)}


def _make_record_class(names: tuple[str, ...]) -> Callable[..., BoundObject]:
    """Return a new class for a flat record of these fields."""
    _check_names(names)
    attributes = []
    for i, name in enumerate(names):
        element = field(metadata={**_ELEMENT, "name": escape_name(name)})
        attributes.append((f"field_{i}", str, element))
    return make_dataclass("record", attributes)


def _make_nested_class(name: str, members: list[_Member]) -> Callable[..., BoundObject]:
    """Return a new class for a document in an element of that name, or for an array."""
    attributes = []
    for member in members:
        element = field(metadata={**_ELEMENT, "name": member.tag}, **member.default)
        attributes.append((member.name, member.annotation, element))
    meta = type("Meta", (), {"name": escape_name(name)})
    return make_dataclass("nested", attributes, kw_only=True, namespace={"Meta": meta})


def _shape_field(field: Field) -> _Shape:
    if field.type == "document":
        return _shape_document(field)
    if field.type == "array":
        (item,) = field.fields
        inner = _shape_field(item)
        member = _Member("field_0", escape_name(item.name), inner.type, repeated=True)
        array = _make_nested_class(field.name, [member])
        return _Shape(
            array,
            lambda value: array(field_0=[inner.bind(part) for part in value]),
            lambda bound: [inner.unbind(part) for part in bound.field_0],
        )
    if field.type == "json":
        return _Shape(str, write_json, json.loads)
    return _Shape(str, format_value, PARSERS[field.type])


def _shape_document(field: Field) -> _Shape:
    _check_names(tuple(part.name for part in field.fields))
    members, parts = [], []
    for i, part in enumerate(field.fields):
        shape = _shape_field(part)
        member = _Member(f"field_{i}", escape_name(part.name), shape.type, part.optional)
        members.append(member)
        parts.append((part.name, member.name, shape))
    make = _make_nested_class(field.name, members)

    def bind(document: Record) -> BoundObject:
        return make(
            **{at: shape.bind(document[name]) for name, at, shape in parts if name in document}
        )

    def unbind(bound: BoundObject) -> Document:
        values = ((name, getattr(bound, at), shape) for name, at, shape in parts)
        return {name: shape.unbind(value) for name, value, shape in values if value is not None}

    return _Shape(make, bind, unbind)


def _bind_store(store: AnyBookstore) -> BoundObject:
    """Return the library's object with a bookstore's content."""
    books: list[Any] = store.books
    if books and isinstance(books[0], Book2):
        return _Store2Element(books=[_bind_book2(book) for book in books])
    return _Store1Element(
        books=[_Book1Element(id=book.id, title=book.title, author=book.author) for book in books]
    )


def _bind_book2(book: Book2) -> _Book2Element:
    by = book.author
    author = _AuthorElement(id=by.id, name=by.name, age=by.age, born_on=write_moment(by.born_on))
    published_on = write_moment(book.published_on)
    return _Book2Element(
        id=book.id, pages=book.pages, published_on=published_on, title=book.title, author=author
    )


def _unbind_store(bound: BoundObject, case: int) -> AnyBookstore:
    if case == 2:
        return Bookstore([read_book2(book, read_moment) for book in bound.books])
    return Bookstore([Book1(book.id, book.title, book.author) for book in bound.books])


def _check_names(names: tuple[str, ...]) -> None:
    """Raise ValueError when a record has too many fields, or one twice."""
    if len(names) > MAX_FIELDS:
        raise ValueError(
            f"a record of {len(names):,} fields: at most {MAX_FIELDS:,} are bound to a class"
        )
    if len(set(names)) < len(names):
        raise ValueError("a field comes twice")


def _explain_misfit(error: Exception) -> FormatError:
    return FormatError(f"not such a document: {' '.join(str(error).split())[:_MAX_REASON]}")


def make_codec() -> XsdataCodec:
    """Return the codec."""
    return XsdataCodec()
