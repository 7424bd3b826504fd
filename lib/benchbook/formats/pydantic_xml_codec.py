"""pydantic-xml: models bound to elements and attributes, written and read through lxml's trees."""

from functools import lru_cache
from typing import Any, Final, Literal

from lxml import etree
from pydantic import ConfigDict
from pydantic_xml import BaseXmlModel, attr, create_model, element
from pydantic_xml.element.element import SearchMode
from pydantic_xml.errors import BaseError

from benchbook.formats.codec import Decoder, FormatError, refusal, to_text
from benchbook.formats.lxml_codec import parse
from benchbook.formats.tree import (
    DECLARATION,
    NAMESPACE,
    ROOT,
    bindable,
    field_name,
    read,
    root_of,
    tag,
    texts,
    typed,
    written,
)
from benchbook.schemas import AnyBookstore, Author, Book1, Book2, Bookstore, Record, Schema

_LONGEST: Final = 400
"""Characters of a reason: one that names each of 2,000 attributes says no more."""


class _Strict(BaseXmlModel):
    model_config = ConfigDict(extra="forbid")


class _Record(_Strict, search_mode=SearchMode.UNORDERED):
    """What records are bound to: their fields may come in any order, as those of JSON may."""


class _Book1(_Strict, tag="book"):
    id: str = attr()
    title: str = element()
    author: str = element()


class _Author(_Strict, tag="author"):
    id: str = attr()
    name: str = element()
    age: int = element()
    born_on: str = element()


class _Book2(_Strict, tag="book"):
    id: str = attr()
    pages: int = attr()
    published_on: str = attr()
    title: str = element()
    author: _Author


class _Store1(_Strict, tag=ROOT, nsmap={"ns2": NAMESPACE}):
    books: list[_Book1] = element(tag="book", default_factory=list)


class _Store2(_Strict, tag=ROOT, nsmap={"ns2": NAMESPACE}):
    books: list[_Book2] = element(tag="book", default_factory=list)


class PydanticXmlCodec:
    """XML through models; documents are parsed by the same guarded lxml parser."""

    name = "pydantic_xml"
    format: Literal["xml"] = "xml"

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self._encode(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, self._encode, error) from error

    def _encode(self, record: Record) -> bytes:
        values = {f"field_{i}": to_text(value) for i, value in enumerate(record.values())}
        return _bytes(_bound(tuple(record))(**values).to_xml_tree())

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text, bound to a model with the document's own fields."""
        root = _root(data)
        return self._values(root, tuple(field_name(child.tag) for child in root))

    def decoder(self, schema: Schema) -> Decoder:
        """Return what binds a document to the schema's model and reads the texts by their types."""
        names = tuple(field.name for field in schema.fields)
        return typed(lambda data: self._values(_root(data), names), schema)

    def _values(self, root: Any, names: tuple[str, ...]) -> dict[str, str]:
        try:
            texts(root)
            bound = _bound(names).from_xml_tree(root, empty_as_string=True)
        except (BaseError, ValueError) as error:
            raise _no_such(error) from error
        return {name: getattr(bound, f"field_{i}") for i, name in enumerate(names)}

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the document as JAXB formats it."""
        try:
            tree = _model(store).to_xml_tree()
            etree.indent(tree, space="    ")
            return DECLARATION + _bytes(tree) + b"\n"
        except (TypeError, ValueError) as error:
            raise FormatError(f"a bookstore that XML cannot hold: {error}") from error

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of that case."""
        root = _root(data)
        try:
            if case == 2:
                second = _Store2.from_xml_tree(root, empty_as_string=True)
                return Bookstore([_book2(book) for book in second.books])
            first = _Store1.from_xml_tree(root, empty_as_string=True)
            return Bookstore([Book1(book.id, book.title, book.author) for book in first.books])
        except (BaseError, ValueError) as error:
            raise _no_such(error) from error


@lru_cache(maxsize=256)
def _bound(names: tuple[str, ...]) -> type[BaseXmlModel]:
    """Return the model whose i-th text field ``field_i`` is bound to the element of the i-th name."""
    fields: dict[str, Any] = {f"field_{i}": (str, element(tag=tag(name))) for i, name in enumerate(bindable(names))}
    model: type[BaseXmlModel] = create_model("record", __tag__="record", __base__=_Record, **fields)
    return model


def _root(data: bytes) -> Any:
    try:
        return root_of(parse, data)
    except (ValueError, SyntaxError) as error:
        raise FormatError(f"not XML that is accepted here: {error}") from error


def _bytes(tree: Any) -> bytes:
    data: bytes = etree.tostring(tree, encoding="UTF-8", xml_declaration=False)
    return data


def _no_such(error: Exception) -> FormatError:
    return FormatError(f"not such a document: {' '.join(str(error).split())[:_LONGEST]}")


def _model(store: AnyBookstore) -> _Store1 | _Store2:
    """Return the model of the same content."""
    if store.books and isinstance(store.books[0], Book2):
        return _Store2(books=[_model2(book) for book in store.books if isinstance(book, Book2)])
    books = [book for book in store.books if isinstance(book, Book1)]
    return _Store1(books=[_Book1(id=book.id, title=book.title, author=book.author) for book in books])


def _model2(book: Book2) -> _Book2:
    by = book.author
    author = _Author(id=by.id, name=by.name, age=by.age, born_on=written(by.born_on))
    published_on = written(book.published_on)
    return _Book2(id=book.id, pages=book.pages, published_on=published_on, title=book.title, author=author)


def _book2(book: _Book2) -> Book2:
    author = Author(book.author.id, book.author.name, book.author.age, read(book.author.born_on))
    return Book2(book.id, book.pages, read(book.published_on), book.title, author)


def codec() -> PydanticXmlCodec:
    """Return the codec."""
    return PydanticXmlCodec()
