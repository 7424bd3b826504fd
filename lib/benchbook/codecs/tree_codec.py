"""The XML codecs' common part, and the standard library's codec.

lxml and the standard library have the same element trees, which `TreeCodec` writes and reads. The
parser of the standard library's codec refuses a DOCTYPE before it declares anything.

A record is ``<record><field>text</field>...</record>``. A bookstore is the document that JAXB
writes, with a declaration, a root in a namespace and four spaces per level. Its ids, pages and
dates of publication are attributes.
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

from benchbook.codecs.codec import (
    PARSERS,
    Decoder,
    Encoder,
    FormatError,
    check_size,
    explain_refusal,
    format_value,
    name_refused_fields,
    parse_fields,
)
from benchbook.schema import (
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
"""Characters that are escaped; ``_`` only if the following text would complete an escape."""
_ESCAPE: Final = re.compile(r"_x([0-9A-F]{4,6})_")

MAX_ATTRIBUTES: Final = 2_000
"""Most attributes of an element: the libraries' time grows with the square of their number."""

_WINDOW: Final = 4096
_SHORT_BYTES: Final = 2 * _WINDOW
"""Bytes of a document too short for so many attributes."""

_UTF_8: Final = b'<?xml version="1.0" encoding="UTF-8"'
_INDENT: Final = tuple("\n" + "    " * depth for depth in range(4))

Element: TypeAlias = Any
"""An element of lxml or of the standard library, which have no common type."""


@lru_cache(maxsize=4096)
def escape_name(name: str) -> str:
    """Return a field's name as an element's, escaped as in SQL/XML.

    ``Club Logo`` becomes ``Club_x0020_Logo``.
    """
    if not name:
        raise ValueError("an XML element needs a name")
    return _NOT_A_NAME.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


@lru_cache(maxsize=4096)
def unescape_name(element: str) -> str:
    """Return the name that `escape_name` wrote.

    Raises `FormatError` when an escape in it does not name a character.
    """
    try:
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), element)
    except ValueError as error:
        reason = f"<{element}> escapes a character beyond U+10FFFF, the last there is"
        raise FormatError(reason) from error


def encode_text(text: str) -> bytes:
    """Return a document as UTF-8, for libraries that neither check characters nor escape CR."""
    illegal = _ILLEGAL.search(text)
    if illegal:
        raise ValueError(f"XML cannot hold the character U+{ord(illegal[0]):04X}")
    return text.replace("\r", "&#13;").encode()


def write_element(field: Field, value: Any) -> str:
    """Return one field as an element, ``<name>value</name>``.

    Raises `FormatError` when XML cannot hold the value.
    """
    try:
        return encode_text(_format_element(field, value)).decode()
    except (TypeError, ValueError) as error:
        raise FormatError(f"field {field.name!r}: {error}") from error


def _format_element(field: Field, value: Any) -> str:
    element = escape_name(field.name)
    if field.type == "document":
        text = "".join(
            _format_element(part, value[part.name]) for part in field.fields if part.name in value
        )
    elif field.type == "array":
        text = "".join(_format_element(field.fields[0], part) for part in value)
    else:
        text = escape(write_json(value) if field.type == "json" else format_value(value))
    return f"<{element}>{text}</{element}>"


def parse_root(parse: Callable[[bytes], Element], data: bytes) -> Element:
    """Return the root that `parse` finds.

    Raises `FormatError` when `parse` refuses the document, or it is over a limit.
    """
    try:
        if len(data) <= _SHORT_BYTES:
            return parse(data)
        root = parse(check_size(data))
    except (ValueError, SyntaxError, LookupError) as error:
        raise FormatError(f"not XML that is accepted here: {error}") from error
    if _may_be_crowded(data):
        # Declarations of namespaces count too; the standard library keeps none.
        namespaces = getattr(root, "nsmap", ())
        if len(namespaces) > MAX_ATTRIBUTES or any(
            len(element.attrib) > MAX_ATTRIBUTES for element in root.iter()
        ):
            raise FormatError(f"an element has more than {MAX_ATTRIBUTES:,} attributes")
    return root


def _may_be_crowded(data: bytes) -> bool:
    """Return whether a tag of the document may have more than `MAX_ATTRIBUTES`.

    Such a tag is at least two windows long, so at least one window has no ``<``, which attributes
    cannot have. A long text may look like that, too. Looking at each window costs little next to
    parsing.
    """
    plain = data.startswith(_UTF_8) or (data[:1] == b"<" and data[1:2] not in (b"?", b"\0"))
    if not plain:
        return True
    find = data.find
    for end in range(_WINDOW, len(data) + 1, _WINDOW):  # noqa: SIM110, a generator is half as fast
        if find(b"<", end - _WINDOW, end) < 0:
            return True
    return False


def write_moment(moment: datetime) -> str:
    """Return the time as JAXB writes it: with milliseconds only where there are some."""
    local = moment.astimezone(ZONE)
    return local.isoformat(timespec="milliseconds" if local.microsecond else "seconds")


def read_moment(text: str) -> datetime:
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
    """Returns an element as UTF-8 without declaration; raises ValueError if XML cannot hold it."""
    parse: Callable[[bytes], Element]
    """Returns a document's root.

    Raises ValueError or SyntaxError when it is not well-formed or has a DOCTYPE.
    """
    format: Literal["xml"] = "xml"

    def _parse_root(self, data: bytes, expected: str) -> Element:
        """Return the document's root, which has the expected tag; raises `FormatError`."""
        element = parse_root(self.parse, data)
        if element.tag != expected:
            raise FormatError(f"<{expected}> is expected, not <{element.tag}>")
        return element

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self._write_record(record)
        except (TypeError, ValueError) as error:
            raise explain_refusal(record, self._write_record, error) from error

    def _write_record(self, record: Record) -> bytes:
        element, child = self.element("record"), self.child
        for name, value in record.items():
            text = value if type(value) is str else format_value(value)
            child(element, escape_name(name)).text = text
        return self.write(element)

    def encoder(self, schema: Schema) -> Encoder:
        """Return a function that writes documents as nested and arrays as repeated elements."""
        write = self._make_writer(describe_root(schema))

        def encode(record: Record) -> bytes:
            root = self.element("record")
            write(root, record)
            return self.write(root)

        return name_refused_fields(encode)

    def _make_writer(self, field: Field) -> Callable[[Element, Any], None]:
        """Return a function that writes a field's value into its element."""
        # A document: one element per field that it has.
        if field.type == "document":
            inner = [
                (part.name, escape_name(part.name), self._make_writer(part))
                for part in field.fields
            ]

            def write_document(element: Element, document: Record) -> None:
                for name, tag, write in inner:
                    if name in document:
                        write(self.child(element, tag), document[name])

            return write_document
        # An array: one element per item, all with the same name.
        if field.type == "array":
            (item,) = field.fields
            tag, write = escape_name(item.name), self._make_writer(item)

            def write_array(element: Element, array: Sequence[Any]) -> None:
                for part in array:
                    write(self.child(element, tag), part)

            return write_array
        # All else is text.
        write_text = write_json if field.type == "json" else format_value

        def write_scalar(element: Element, value: object) -> None:
            element.text = write_text(value)

        return write_scalar

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text."""
        try:
            texts = read_texts(self._parse_root(data, "record"))
            return {unescape_name(element): text for element, text in texts.items()}
        except ValueError as error:
            raise FormatError(f"not a flat record: {error}") from error

    def decoder(self, schema: Schema) -> Decoder:
        """Return a function that parses each field's text by its type, at any depth."""
        if schema.is_flat:
            return parse_texts(self.decode_record, schema)
        read_document = _make_reader(describe_root(schema))

        def decode(data: bytes) -> Document:
            root = self._parse_root(data, "record")
            try:
                record: Document = read_document(root)
            except (KeyError, ValueError) as error:
                raise FormatError(f"not such a record: {error}") from error
            return record

        return decode

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the document as JAXB formats it."""
        root = self.root()
        write: dict[type, Callable[..., None]] = {
            Book1: self._write_book1,
            Book2: self._write_book2,
            Book3: self._write_book3,
        }
        try:
            for book in store.books:
                write[type(book)](root, book)
            if len(root):
                root.text, root[-1].tail = _INDENT[1], _INDENT[0]
            return DECLARATION + self.write(root) + b"\n"
        except (TypeError, ValueError) as error:
            raise FormatError(f"books[{len(root) - 1}]: {error}") from error

    def _add_leaf(self, parent: Element, name: str, text: str, tail: str) -> None:
        leaf = self.child(parent, name)
        leaf.text, leaf.tail = text, tail

    def _add_node(
        self, parent: Element, name: str, attributes: Mapping[str, str], depth: int
    ) -> Element:
        node = self.child(parent, name, attributes)
        node.text, node.tail = _INDENT[depth + 1], _INDENT[depth]
        return node

    def _write_book1(self, root: Element, book: Book1) -> None:
        node = self._add_node(root, "book", {"id": book.id}, 1)
        self._add_leaf(node, "title", book.title, _INDENT[2])
        self._add_leaf(node, "author", book.author, _INDENT[1])

    def _write_book2(self, root: Element, book: Book2) -> None:
        attributes = {
            "id": book.id,
            "pages": str(book.pages),
            "published_on": write_moment(book.published_on),
        }
        node = self._add_node(root, "book", attributes, 1)
        self._add_leaf(node, "title", book.title, _INDENT[2])
        author = self._add_node(node, "author", {"id": book.author.id}, 2)
        author.tail = _INDENT[1]
        self._add_leaf(author, "name", book.author.name, _INDENT[3])
        self._add_leaf(author, "age", str(book.author.age), _INDENT[3])
        self._add_leaf(author, "born_on", write_moment(book.author.born_on), _INDENT[2])

    def _write_book3(self, root: Element, book: Book3) -> None:
        node = self._add_node(root, "book", {"id": book.id}, 1)
        self._add_leaf(node, "title", book.title, _INDENT[2])
        author = self._add_node(node, "author", {}, 2)
        author.tail = _INDENT[1]
        self._add_leaf(author, "name", book.author.name, _INDENT[2])

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        make = _BOOK_READERS[case]
        store: Bookstore[Any] = Bookstore([])
        for number, node in enumerate(self._parse_root(data, ROOT)):
            try:
                store.books.append(make(node))
            except (KeyError, TypeError, ValueError) as error:
                reason = f"books[{number}] is not a book of case {case}: {error!r}"
                raise FormatError(reason) from error
        return store


def describe_root(schema: Schema) -> Field:
    """Return the root element of a schema's records as a field: a document."""
    return Field("record", "document", fields=schema.fields)


def _make_reader(field: Field) -> Callable[[Element], Any]:
    """Return a function that reads a field's value from its element.

    It raises KeyError or ValueError on an element of another shape.
    """
    # A document: its children by their names, and those that every record has must be there.
    if field.type == "document":
        names = {escape_name(part.name): part.name for part in field.fields}
        readers = {escape_name(part.name): _make_reader(part) for part in field.fields}
        needed = [part.name for part in field.fields if not part.optional]

        def read_document(element: Element) -> Document:
            document = {names[child.tag]: readers[child.tag](child) for child in element}
            for name in needed:
                if name not in document:
                    raise ValueError(f"<{escape_name(name)}> is missing in <{element.tag}>")
            return document

        return read_document
    # An array: one item per child.
    if field.type == "array":
        (item,) = field.fields
        read_item = _make_reader(item)
        return lambda element: [read_item(child) for child in element]
    # All else is text, parsed by its type.
    read_text: Callable[[str], Any] = json.loads if field.type == "json" else PARSERS[field.type]

    def read_scalar(element: Element) -> Any:
        if len(element):
            raise ValueError(f"<{element.tag}> has more than text")
        return read_text(element.text or "")

    return read_scalar


def write_json(value: object) -> str:
    """Return a value as JSON text, which stands for a field of mixed types."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse_texts(decode: Decoder, schema: Schema) -> Decoder:
    """Return a decoder that parses the text of the schema's fields by their types."""
    return parse_fields(decode, [field for field in schema.fields if field.type != "string"])


def read_texts(node: Element) -> dict[str, str]:
    """Return each child's text by its tag; raises ValueError when a child has children."""
    by_tag: dict[str, str] = {}
    for child in node:
        if len(child):
            raise ValueError(f"<{child.tag}> has more than text")
        by_tag[child.tag] = child.text or ""
    return by_tag


def _read_book1(node: Element) -> Book1:
    text = read_texts(node)
    return Book1(node.attrib["id"], text["title"], text["author"])


def _read_book2(node: Element) -> Book2:
    children = {child.tag: child for child in node}
    author, given = children["author"], node.attrib
    text = read_texts(author)
    writer = Author(
        author.attrib["id"], text["name"], int(text["age"]), read_moment(text["born_on"])
    )
    return Book2(
        given["id"],
        int(given["pages"]),
        read_moment(given["published_on"]),
        children["title"].text or "",
        writer,
    )


def _read_book3(node: Element) -> Book3:
    children = {child.tag: child for child in node}
    return Book3(
        node.attrib["id"],
        children["title"].text or "",
        Writer(read_texts(children["author"])["name"]),
    )


_BOOK_READERS: Final[dict[int, Callable[[Element], Any]]] = {
    1: _read_book1,
    2: _read_book2,
    3: _read_book3,
}


class _StrictBuilder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse it, so that no entity is ever declared."""
        raise ValueError("it has a DOCTYPE")


def make_codec() -> TreeCodec:
    """Return the codec of the standard library."""
    return TreeCodec(
        "etree",
        element=ElementTree.Element,
        child=ElementTree.SubElement,
        root=lambda: ElementTree.Element(ROOT),
        write=lambda element: encode_text(ElementTree.tostring(element, encoding="unicode")),
        parse=lambda data: ElementTree.fromstring(
            data, ElementTree.XMLParser(target=_StrictBuilder())
        ),
    )
