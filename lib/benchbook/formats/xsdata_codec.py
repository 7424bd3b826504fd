"""xsdata: dataclasses bound to elements and attributes, the way JAXB works."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from xsdata.exceptions import ConverterError, ParserError, XmlContextError
from xsdata.formats.dataclass.parsers import XmlParser
from xsdata.formats.dataclass.parsers.config import ParserConfig
from xsdata.formats.dataclass.parsers.handlers import LxmlEventHandler
from xsdata.formats.dataclass.serializers import XmlSerializer
from xsdata.formats.dataclass.serializers.config import SerializerConfig

from benchbook.formats import FROM_TEXT, Binding, Bound, Decoder, Encoder, FormatError, checked, refusal, to_text
from benchbook.formats.lxml_codec import parse
from benchbook.formats.tree import (
    DECLARATION,
    NAMESPACE,
    Element,
    as_field,
    encoded,
    field_name,
    json_text,
    read,
    root_of,
    tag,
    textual,
    written,
)
from benchbook.schemas import AnyBookstore, Document, Field, Record, Schema

FIELDS: Final = 2_000
"""Fields of a record that a library binds to a class made for it: a thousand times what a line of text costs."""

_LONGEST: Final = 400
"""Characters of a reason: one that names each of 2,000 attributes says no more."""


VERSION = 1

_ATTRIBUTE: Final = {"type": "Attribute"}
_ELEMENT: Final = {"type": "Element", "namespace": ""}
_BOOKS: Final = {**_ELEMENT, "name": "book"}


@dataclass(frozen=True)
class _Member:
    """What a class made for a document has for one of its fields."""

    name: str  # of the attribute, ``field_0`` and so on
    tag: str
    type: Any  # `str`, or the class of the document or array inside
    optional: bool = False
    repeated: bool = False  # a list of them, which may be empty

    @property
    def annotation(self) -> Any:
        """What the class declares the attribute as."""
        if self.repeated:
            return list[self.type]  # type: ignore[name-defined]
        return self.type | None if self.optional else self.type

    @property
    def default(self) -> dict[str, Any]:
        """What states the attribute's default, as `dataclasses.field` calls it; nothing where it must be given."""
        if self.repeated:
            return {"default_factory": list}
        return {"default": None} if self.optional else {}


@dataclass(frozen=True)
class _Shape:
    """How a field's values are bound: to text, or to an object of a class of its own; and read back."""

    type: Any
    bound: Callable[[Any], Any]
    unbound: Callable[[Any], Any]


@dataclass
class _Book1:
    id: str = field(metadata=_ATTRIBUTE)
    title: str = field(metadata=_ELEMENT)
    author: str = field(metadata=_ELEMENT)


@dataclass
class _Author:
    id: str = field(metadata=_ATTRIBUTE)
    name: str = field(metadata=_ELEMENT)
    age: int = field(metadata=_ELEMENT)
    born_on: str = field(metadata=_ELEMENT)


@dataclass
class _Book2:
    id: str = field(metadata=_ATTRIBUTE)
    pages: int = field(metadata=_ATTRIBUTE)
    published_on: str = field(metadata=_ATTRIBUTE)
    title: str = field(metadata=_ELEMENT)
    author: _Author = field(metadata=_ELEMENT)


class _Root:
    name = "bookstore"
    namespace = NAMESPACE


@dataclass
class _Store1:
    Meta = _Root
    books: list[_Book1] = field(default_factory=list, metadata=_BOOKS)


@dataclass
class _Store2:
    Meta = _Root
    books: list[_Book2] = field(default_factory=list, metadata=_BOOKS)


class XsdataCodec:
    """XML through xsdata: classes of the bookstore, and one for each set of a record's fields, ``field_0`` and so on.

    Documents are parsed by the same guarded lxml parser.
    """

    name = "xsdata"
    format: Literal["xml"] = "xml"
    binding = Binding((_Store1, _Store2), _Book1, _Book2, _Author, written, read)
    refusals = (ParserError, ConverterError, XmlContextError, TypeError, ValueError)
    """What the library raises on a document that does not fit a class, and `ValueError`."""

    def __init__(self) -> None:
        self.form = lru_cache(maxsize=256)(self.made)
        self._parser = XmlParser(ParserConfig(fail_on_unknown_attributes=True), handler=LxmlEventHandler)
        self._compact = XmlSerializer(config=SerializerConfig(xml_declaration=False))
        self._formatted = XmlSerializer(config=SerializerConfig(xml_declaration=False, indent="    "))

    def made(self, names: tuple[str, ...]) -> Callable[..., Bound]:
        """Return a new class for a record of these fields; `form` makes one once, of those that are `_bindable`."""
        elements = [field(metadata={**_ELEMENT, "name": tag(name)}) for name in _bindable(names)]
        return make_dataclass("record", [(f"field_{i}", str, element) for i, element in enumerate(elements)])

    def nested(self, name: str, members: Sequence[_Member]) -> Callable[..., Bound]:
        """Return a new class for a document of an element of that name, or for an array."""
        attributes = [
            (member.name, member.annotation, field(metadata={**_ELEMENT, "name": member.tag}, **member.default))
            for member in members
        ]
        meta = type("Meta", (), {"name": tag(name)})
        return make_dataclass("nested", attributes, kw_only=True, namespace={"Meta": meta})

    def compact(self, bound: Bound) -> bytes:
        """Return an object of a `nested` class as a compact document; what it lacks is left out."""
        return encoded(self._compact.render(bound))

    def bind(self, root: Element, form: Bound) -> Bound:
        """Return the class's object that a document holds."""
        return self._parser.parse(root.getroottree(), form)

    def encode(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        return encoded(self._compact.render(self.form(tuple(record))(*map(to_text, record.values()))))

    def write(self, bound: Bound) -> bytes:
        """Return a bookstore's bound object as a document that is indented, without declaration."""
        return encoded(self._formatted.render(bound, ns_map={"ns2": NAMESPACE}))

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self.encode(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, self.encode, error) from error

    def encoder(self, schema: Schema) -> Encoder:
        """Return what binds a record to the schema's class, its documents and arrays to classes of their own."""
        shape = self._shape(as_field(schema))
        return checked(lambda record: self.compact(shape.bound(record)))

    def _shape(self, field: Field) -> _Shape:
        if field.type == "document":
            return self._document(field)
        if field.type == "array":
            (item,) = field.fields
            inner = self._shape(item)
            array = self.nested(field.name, [_Member("field_0", tag(item.name), inner.type, repeated=True)])
            return _Shape(
                array,
                lambda value: array(field_0=[inner.bound(part) for part in value]),
                lambda bound: [inner.unbound(part) for part in bound.field_0],
            )
        if field.type == "json":
            return _Shape(str, json_text, json.loads)
        return _Shape(str, to_text, FROM_TEXT[field.type])

    def _document(self, field: Field) -> _Shape:
        _bindable(tuple(part.name for part in field.fields))
        members, parts = [], []
        for i, part in enumerate(field.fields):
            shape = self._shape(part)
            member = _Member(f"field_{i}", tag(part.name), shape.type, part.optional)
            members.append(member)
            parts.append((part.name, member.name, shape))
        made = self.nested(field.name, members)

        def bound(document: Record) -> Bound:
            return made(**{at: shape.bound(document[name]) for name, at, shape in parts if name in document})

        def unbound(bound: Bound) -> Document:
            values = ((name, getattr(bound, at), shape) for name, at, shape in parts)
            return {name: shape.unbound(value) for name, value, shape in values if value is not None}

        return _Shape(made, bound, unbound)

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text, bound to a class with the document's own fields."""
        root = root_of(parse, data)
        return self._values(root, tuple(field_name(child.tag) for child in root))

    def decoder(self, schema: Schema) -> Decoder:
        """Return what binds a document to the schema's class and reads the texts by their types."""
        if schema.is_flat:
            names = tuple(field.name for field in schema.fields)
            return textual(lambda data: self._values(root_of(parse, data), names), schema)
        shape = self._shape(as_field(schema))

        def decode(data: bytes) -> Document:
            root = root_of(parse, data)
            try:
                record: Document = shape.unbound(self.bind(root, shape.type))
            except self.refusals as error:
                raise _no_such(error) from error
            return record

        return decode

    def _values(self, root: Element, names: tuple[str, ...]) -> dict[str, str]:
        try:
            bound = self.bind(root, self.form(names))
        except self.refusals as error:
            raise _no_such(error) from error
        return {name: getattr(bound, f"field_{i}") for i, name in enumerate(names)}

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the document as JAXB formats it."""
        try:
            return DECLARATION + self.write(self.binding.bound(store))
        except (TypeError, ValueError) as error:
            raise FormatError(f"a bookstore that XML cannot hold: {error}") from error

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        root = root_of(parse, data)
        try:
            return self.binding.unbound(self.bind(root, self.binding.stores[case - 1]), case)
        except self.refusals as error:
            raise _no_such(error) from error


def _bindable(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a record's fields; raises ValueError when no class should be made of them."""
    if len(names) > FIELDS:
        raise ValueError(f"a record of {len(names):,} fields: at most {FIELDS:,} are bound to a class")
    if len(set(names)) < len(names):
        raise ValueError("a field comes twice")
    return names


def _no_such(error: Exception) -> FormatError:
    return FormatError(f"not such a document: {' '.join(str(error).split())[:_LONGEST]}")


def codec() -> XsdataCodec:
    """Return the codec."""
    return XsdataCodec()
