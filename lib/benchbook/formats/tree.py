"""What the XML codecs share: names, limits, types; and element trees, which lxml and the standard library have alike.

The standard library's own codec is here, too: its parser's target refuses a DOCTYPE before anything is declared.

A record is ``<record><field>text</field>...</record>``. A bookstore is the document that JAXB writes: declaration,
root in a namespace, four spaces a level, ids, pages and date of publication as attributes.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from benchbook.formats import FROM_TEXT, Decoder, Encoder, FormatError, bounded, checked, refusal, to_text, typed
from benchbook.schemas import (
    AnyBookstore,
    Author,
    Book1,
    Book2,
    Book3,
    Bookstore,
    Document,
    Field,
    Record,
    Schema,
    Writer,
)

VERSION = 1

DECLARATION: Final = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
NAMESPACE: Final = "org.example"
ROOT: Final = f"{{{NAMESPACE}}}bookstore"
ZONE: Final = timezone(timedelta(hours=1))

_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_A_NAME: Final = re.compile(r"^[\d.-]|[^\w.-]|_(?=x[0-9A-F]{4,6}(?:_|[^\w.-]))", re.ASCII)
"""Characters that are escaped; ``_`` is where what follows, as it is written, would make an escape of it."""
_ESCAPE: Final = re.compile(r"_x([0-9A-F]{4,6})_")

ATTRIBUTES: Final = 2_000
"""Attributes of an element that is read: the libraries' time grows with their number's square."""

_WINDOW: Final = 4096
_SHORT: Final = 2 * _WINDOW
"""Bytes of a document too short for so many attributes."""

_UTF_8: Final = b'<?xml version="1.0" encoding="UTF-8"'
_INDENT: Final = tuple("\n" + "    " * depth for depth in range(4))

Element: TypeAlias = Any
"""An element of a tree: lxml's and the standard library's are used alike, and have no type in common."""


@lru_cache(maxsize=4096)
def tag(name: str) -> str:
    """Return the field's name as an element's: ``Club Logo`` is ``Club_x0020_Logo`` (the escape of SQL/XML)."""
    if not name:
        raise ValueError("an XML element needs a name")
    return _NOT_A_NAME.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


@lru_cache(maxsize=4096)
def field_name(element: str) -> str:
    """Return the name that `tag` wrote; raises `FormatError` when an escape in it names no character."""
    try:
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), element)
    except ValueError as error:
        raise FormatError(f"<{element}> escapes a character beyond U+10FFFF, the last there is") from error


def encoded(text: str) -> bytes:
    """Return a document as UTF-8, after the check and the escape (of CR) that some libraries leave to their user."""
    if illegal := _ILLEGAL.search(text):
        raise ValueError(f"XML cannot hold the character U+{ord(illegal[0]):04X}")
    return text.replace("\r", "&#13;").encode()


def fragment(field: Field, value: Any) -> str:
    """Return one field as an element, ``<name>value</name>``; raises `FormatError` where XML cannot hold it."""
    try:
        return encoded(_fragment(field, value)).decode()
    except (TypeError, ValueError) as error:
        raise FormatError(f"field {field.name!r}: {error}") from error


def _fragment(field: Field, value: Any) -> str:
    element = tag(field.name)
    if field.type == "document":
        text = "".join(_fragment(part, value[part.name]) for part in field.fields if part.name in value)
    elif field.type == "array":
        text = "".join(_fragment(field.fields[0], part) for part in value)
    else:
        text = escape(json_text(value) if field.type == "json" else to_text(value))
    return f"<{element}>{text}</{element}>"


def root_of(parse: Callable[[bytes], Element], data: bytes) -> Element:
    """Return the root that `parse` finds; raises `FormatError` on what it refuses, or what is over a limit."""
    try:
        if len(data) <= _SHORT:
            return parse(data)
        root = parse(bounded(data))
    except (ValueError, SyntaxError, LookupError) as error:
        raise FormatError(f"not XML that is accepted here: {error}") from error
    if _suspected(data):
        # Declarations of namespaces count too; the standard library keeps none.
        namespaces = getattr(root, "nsmap", ())
        if len(namespaces) > ATTRIBUTES or any(len(element.attrib) > ATTRIBUTES for element in root.iter()):
            raise FormatError(f"an element has more than {ATTRIBUTES:,} attributes")
    return root


def _suspected(data: bytes) -> bool:
    """Return whether a tag of the document may hold too many attributes, which takes two windows' length or more.

    Then one window at least holds no ``<``, which no attribute can hold; a long text may look like that too. Any other
    document is known by a glance at each window's first bytes, which costs nothing beside parsing.
    """
    plain = data.startswith(_UTF_8) or (data[:1] == b"<" and data[1:2] not in (b"?", b"\0"))
    if not plain:
        return True
    find = data.find
    for end in range(_WINDOW, len(data) + 1, _WINDOW):  # noqa: SIM110, a generator takes twice as long
        if find(b"<", end - _WINDOW, end) < 0:
            return True
    return False


def written(moment: datetime) -> str:
    """Return the time as JAXB writes it: with milliseconds only where there are some."""
    local = moment.astimezone(ZONE)
    return local.isoformat(timespec="milliseconds" if local.microsecond else "seconds")


def read(text: str) -> datetime:
    """Return the time in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


@dataclass
class TreeCodec:
    """XML through a library with ElementTree's interface."""

    name: str
    element: Callable[[str], Element]
    child: Callable[..., Element]
    root: Callable[[], Element]
    """Returns an empty bookstore's element."""
    write: Callable[[Element], bytes]
    """Returns an element as UTF-8 without declaration; raises ValueError on what XML cannot hold."""
    parse: Callable[[bytes], Element]
    """Returns a document's root; raises ValueError or SyntaxError when it is not well-formed or has a DOCTYPE."""
    format: Literal["xml"] = "xml"

    def _read(self, data: bytes, expected: str) -> Element:
        """Return the document's root, which has the expected tag; raises `FormatError`."""
        element = root_of(self.parse, data)
        if element.tag != expected:
            raise FormatError(f"<{expected}> is expected, not <{element.tag}>")
        return element

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self._encode(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, self._encode, error) from error

    def _encode(self, record: Record) -> bytes:
        element, child = self.element("record"), self.child
        for name, value in record.items():
            child(element, tag(name)).text = value if type(value) is str else to_text(value)
        return self.write(element)

    def encoder(self, schema: Schema) -> Encoder:
        """Return what writes a record's documents as nested elements, and its arrays as repeated ones."""
        write = self._writer(as_field(schema))

        def encode(record: Record) -> bytes:
            root = self.element("record")
            write(root, record)
            return self.write(root)

        return checked(encode)

    def _writer(self, field: Field) -> Callable[[Element, Any], None]:
        """Return what writes a field's value into its element."""
        if field.type == "document":
            inner = [(part.name, tag(part.name), self._writer(part)) for part in field.fields]

            def write_document(element: Element, document: Record) -> None:
                for name, called, write in inner:
                    if name in document:
                        write(self.child(element, called), document[name])

            return write_document
        if field.type == "array":
            (item,) = field.fields
            called, write = tag(item.name), self._writer(item)

            def write_array(element: Element, array: Sequence[Any]) -> None:
                for part in array:
                    write(self.child(element, called), part)

            return write_array
        written_as = json_text if field.type == "json" else to_text

        def write_scalar(element: Element, value: object) -> None:
            element.text = written_as(value)

        return write_scalar

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text."""
        try:
            return {field_name(element): text for element, text in texts(self._read(data, "record")).items()}
        except ValueError as error:
            raise FormatError(f"not a flat record: {error}") from error

    def decoder(self, schema: Schema) -> Decoder:
        """Return what reads every field's text by its type, and the elements inside by those of theirs."""
        if schema.is_flat:
            return textual(self.decode_record, schema)
        read_document = _reader(as_field(schema))

        def decode(data: bytes) -> Document:
            root = self._read(data, "record")
            try:
                record: Document = read_document(root)
            except (KeyError, ValueError) as error:
                raise FormatError(f"not such a record: {error}") from error
            return record

        return decode

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the document as JAXB formats it."""
        root = self.root()
        write: dict[type, Callable[..., None]] = {Book1: self._book1, Book2: self._book2, Book3: self._book3}
        try:
            for book in store.books:
                write[type(book)](root, book)
            if len(root):
                root.text, root[-1].tail = _INDENT[1], _INDENT[0]
            return DECLARATION + self.write(root) + b"\n"
        except (TypeError, ValueError) as error:
            raise FormatError(f"books[{len(root) - 1}]: {error}") from error

    def _leaf(self, parent: Element, name: str, text: str, tail: str) -> None:
        leaf = self.child(parent, name)
        leaf.text, leaf.tail = text, tail

    def _node(self, parent: Element, name: str, attributes: Mapping[str, str], depth: int) -> Element:
        node = self.child(parent, name, attributes)
        node.text, node.tail = _INDENT[depth + 1], _INDENT[depth]
        return node

    def _book1(self, root: Element, book: Book1) -> None:
        node = self._node(root, "book", {"id": book.id}, 1)
        self._leaf(node, "title", book.title, _INDENT[2])
        self._leaf(node, "author", book.author, _INDENT[1])

    def _book2(self, root: Element, book: Book2) -> None:
        attributes = {"id": book.id, "pages": str(book.pages), "published_on": written(book.published_on)}
        node = self._node(root, "book", attributes, 1)
        self._leaf(node, "title", book.title, _INDENT[2])
        author = self._node(node, "author", {"id": book.author.id}, 2)
        author.tail = _INDENT[1]
        self._leaf(author, "name", book.author.name, _INDENT[3])
        self._leaf(author, "age", str(book.author.age), _INDENT[3])
        self._leaf(author, "born_on", written(book.author.born_on), _INDENT[2])

    def _book3(self, root: Element, book: Book3) -> None:
        node = self._node(root, "book", {"id": book.id}, 1)
        self._leaf(node, "title", book.title, _INDENT[2])
        author = self._node(node, "author", {}, 2)
        author.tail = _INDENT[1]
        self._leaf(author, "name", book.author.name, _INDENT[2])

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        make = _READ[case]
        store: Bookstore[Any] = Bookstore([])
        for number, node in enumerate(self._read(data, ROOT)):
            try:
                store.books.append(make(node))
            except (KeyError, TypeError, ValueError) as error:
                raise FormatError(f"books[{number}] is no book of case {case}: {error!r}") from error
        return store


def as_field(schema: Schema) -> Field:
    """Return a record of that schema as the document that its root element is."""
    return Field("record", "document", fields=schema.fields)


def _reader(field: Field) -> Callable[[Element], Any]:
    """Return what reads a field's value from its element; raises KeyError or ValueError on another."""
    if field.type == "document":
        names = {tag(part.name): part.name for part in field.fields}
        readers = {tag(part.name): _reader(part) for part in field.fields}
        needed = [part.name for part in field.fields if not part.optional]

        def read_document(element: Element) -> Document:
            document = {names[child.tag]: readers[child.tag](child) for child in element}
            for name in needed:
                if name not in document:
                    raise ValueError(f"<{tag(name)}> is missing in <{element.tag}>")
            return document

        return read_document
    if field.type == "array":
        (item,) = field.fields
        read_item = _reader(item)
        return lambda element: [read_item(child) for child in element]
    read_text: Callable[[str], Any] = json.loads if field.type == "json" else FROM_TEXT[field.type]

    def read_scalar(element: Element) -> Any:
        if len(element):
            raise ValueError(f"<{element.tag}> holds more than text")
        return read_text(element.text or "")

    return read_scalar


def json_text(value: object) -> str:
    """Return a value as JSON, in place of elements where it differs in kind from record to record."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def textual(decode: Decoder, schema: Schema) -> Decoder:
    """Return a decoder that reads the text of the schema's fields by their types."""
    return typed(decode, [field for field in schema.fields if field.type != "string"])


def texts(node: Element) -> dict[str, str]:
    """Return each child's text by its tag; raises ValueError when a child has children of its own."""
    by_tag: dict[str, str] = {}
    for child in node:
        if len(child):
            raise ValueError(f"<{child.tag}> holds more than text")
        by_tag[child.tag] = child.text or ""
    return by_tag


def _read_book1(node: Element) -> Book1:
    text = texts(node)
    return Book1(node.attrib["id"], text["title"], text["author"])


def _read_book2(node: Element) -> Book2:
    children = {child.tag: child for child in node}
    author, given = children["author"], node.attrib
    text = texts(author)
    writer = Author(author.attrib["id"], text["name"], int(text["age"]), read(text["born_on"]))
    return Book2(given["id"], int(given["pages"]), read(given["published_on"]), children["title"].text or "", writer)


def _read_book3(node: Element) -> Book3:
    children = {child.tag: child for child in node}
    return Book3(node.attrib["id"], children["title"].text or "", Writer(texts(children["author"])["name"]))


_READ: Final[dict[int, Callable[[Element], Any]]] = {1: _read_book1, 2: _read_book2, 3: _read_book3}


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse it, so that no entity is ever declared."""
        raise ValueError("it has a DOCTYPE")


def codec() -> TreeCodec:
    """Return the codec of the standard library."""
    return TreeCodec(
        "etree",
        element=ElementTree.Element,
        child=ElementTree.SubElement,
        root=lambda: ElementTree.Element(ROOT),
        write=lambda element: encoded(ElementTree.tostring(element, encoding="unicode")),
        parse=lambda data: ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder())),
    )
