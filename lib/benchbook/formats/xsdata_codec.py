"""xsdata: classes bound to elements and attributes, the way JAXB works."""

from dataclasses import dataclass, field, make_dataclass
from functools import lru_cache
from typing import Any, Literal

from xsdata.exceptions import ConverterError, ParserError, XmlContextError
from xsdata.formats.dataclass.parsers import XmlParser
from xsdata.formats.dataclass.parsers.config import ParserConfig
from xsdata.formats.dataclass.parsers.handlers import LxmlEventHandler
from xsdata.formats.dataclass.serializers import XmlSerializer
from xsdata.formats.dataclass.serializers.config import SerializerConfig

from benchbook.formats.codec import Decoder, FormatError, refusal, to_text
from benchbook.formats.lxml_codec import parse
from benchbook.formats.tree import (
    DECLARATION,
    ILLEGAL,
    NAMESPACE,
    bindable,
    field_name,
    read,
    root_of,
    tag,
    typed,
    written,
)
from benchbook.schemas import AnyBookstore, Author, Book1, Book2, Bookstore, Record, Schema

_ATTRIBUTE = {"type": "Attribute"}
_ELEMENT = {"type": "Element", "namespace": ""}
_BOOKS = {**_ELEMENT, "name": "book"}


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
    """XML through bound classes; documents are parsed by the same guarded lxml parser."""

    name = "xsdata"
    format: Literal["xml"] = "xml"

    def __init__(self) -> None:
        self._parser = XmlParser(ParserConfig(fail_on_unknown_attributes=True), handler=LxmlEventHandler)
        self._compact = XmlSerializer(config=SerializerConfig(xml_declaration=False))
        self._formatted = XmlSerializer(config=SerializerConfig(xml_declaration=False, indent="    "))

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self._encode(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, self._encode, error) from error

    def _encode(self, record: Record) -> bytes:
        return _checked(self._compact.render(_bound(tuple(record))(*map(to_text, record.values()))))

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text, bound to a class with the document's own fields."""
        root = self._root(data)
        return self._values(root, tuple(field_name(child.tag) for child in root))

    def decoder(self, schema: Schema) -> Decoder:
        """Return what binds a document to the schema's class and reads the texts by their types."""
        names = tuple(field.name for field in schema.fields)
        return typed(lambda data: self._values(self._root(data), names), schema)

    def _root(self, data: bytes) -> Any:
        try:
            return root_of(parse, data)
        except (ValueError, SyntaxError) as error:
            raise FormatError(f"not XML that is accepted here: {error}") from error

    def _values(self, root: Any, names: tuple[str, ...]) -> dict[str, str]:
        try:
            form = _bound(names)
        except ValueError as error:
            raise FormatError(f"not such a document: {error}") from error
        bound = self._parse(root, form)
        return {name: getattr(bound, f"field_{i}") for i, name in enumerate(names)}

    def _parse(self, root: Any, bound: type) -> Any:
        try:
            return self._parser.parse(root.getroottree(), bound)
        except (ParserError, ConverterError, XmlContextError, TypeError) as error:
            raise FormatError(f"not such a document: {error}") from error

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the document as JAXB formats it."""
        try:
            return DECLARATION + _checked(self._formatted.render(_written(store), ns_map={"ns2": NAMESPACE}))
        except (TypeError, ValueError) as error:
            raise FormatError(f"a bookstore that XML cannot hold: {error}") from error

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        bound = self._parse(self._root(data), _Store2 if case == 2 else _Store1)
        try:
            if case == 2:
                return Bookstore([_book2(book) for book in bound.books])
            return Bookstore([Book1(book.id, book.title, book.author) for book in bound.books])
        except (TypeError, ValueError) as error:
            raise FormatError(f"no bookstore of case {case}: {error}") from error


@lru_cache(maxsize=256)
def _bound(names: tuple[str, ...]) -> type:
    """Return the class whose i-th text field ``field_i`` is bound to the element of the i-th name."""
    fields = [
        (f"field_{i}", str, field(metadata={**_ELEMENT, "name": tag(name)})) for i, name in enumerate(bindable(names))
    ]
    return make_dataclass("record", fields)


def _checked(text: str) -> bytes:
    if found := ILLEGAL.search(text):
        raise ValueError(f"XML cannot hold the character U+{ord(found[0]):04X}")
    return text.replace("\r", "&#13;").encode()


def _written(store: AnyBookstore) -> _Store1 | _Store2:
    """Return the bound object of the same content."""
    if store.books and isinstance(store.books[0], Book2):
        return _Store2([_bound2(book) for book in store.books if isinstance(book, Book2)])
    return _Store1([_Book1(book.id, book.title, book.author) for book in store.books if isinstance(book, Book1)])


def _bound2(book: Book2) -> _Book2:
    author = _Author(book.author.id, book.author.name, book.author.age, written(book.author.born_on))
    return _Book2(book.id, book.pages, written(book.published_on), book.title, author)


def _book2(book: _Book2) -> Book2:
    author = Author(book.author.id, book.author.name, book.author.age, read(book.author.born_on))
    return Book2(book.id, book.pages, read(book.published_on), book.title, author)


def codec() -> XsdataCodec:
    """Return the codec."""
    return XsdataCodec()
