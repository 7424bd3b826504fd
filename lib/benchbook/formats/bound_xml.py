"""XML through libraries that bind documents to classes of their own, the way JAXB works."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from benchbook.formats import Binding, Bound, Decoder, FormatError, refusal
from benchbook.formats.lxml_codec import parse
from benchbook.formats.tree import DECLARATION, Element, field_name, root_of, textual
from benchbook.schemas import AnyBookstore, Record, Schema

FIELDS: Final = 2_000
"""Fields of a record that a library binds to a class made for it: a thousand times what a line of text costs."""

_LONGEST: Final = 400
"""Characters of a reason: one that names each of 2,000 attributes says no more."""


class BoundXmlCodec(ABC):
    """A library's classes: the bookstore's, and one for each set of a record's fields, ``field_0`` and so on.

    Documents are parsed by the same guarded lxml parser.
    """

    name: str
    format: Literal["xml"] = "xml"
    binding: Binding
    refusals: tuple[type[Exception], ...]
    """What the library raises on a document that does not fit a class, and `ValueError`."""

    def __init__(self) -> None:
        self.form = lru_cache(maxsize=256)(self.made)

    @abstractmethod
    def made(self, names: tuple[str, ...]) -> Callable[..., Bound]:
        """Return a new class for a record of these fields; `form` makes one once, of those that are `bindable`."""

    @abstractmethod
    def bind(self, root: Element, form: Callable[..., Bound]) -> Bound:
        """Return the class's object that a document holds."""

    @abstractmethod
    def encode(self, record: Record) -> bytes:
        """Return a compact document without declaration."""

    @abstractmethod
    def write(self, bound: Bound) -> bytes:
        """Return a bookstore's bound object as a document that is indented, without declaration."""

    def encode_record(self, record: Record) -> bytes:
        """Return a compact document without declaration."""
        try:
            return self.encode(record)
        except (TypeError, ValueError) as error:
            raise refusal(record, self.encode, error) from error

    def decode_record(self, data: bytes) -> dict[str, str]:
        """Return every field's text, bound to a class with the document's own fields."""
        root = root_of(parse, data)
        return self._values(root, tuple(field_name(child.tag) for child in root))

    def decoder(self, schema: Schema) -> Decoder:
        """Return what binds a document to the schema's class and reads the texts by their types."""
        names = tuple(field.name for field in schema.fields)
        return textual(lambda data: self._values(root_of(parse, data), names), schema)

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


def bindable(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a record's fields; raises ValueError when no class should be made of them."""
    if len(names) > FIELDS:
        raise ValueError(f"a record of {len(names):,} fields: at most {FIELDS:,} are bound to a class")
    if len(set(names)) < len(names):
        raise ValueError("a field comes twice")
    return names


def _no_such(error: Exception) -> FormatError:
    return FormatError(f"not such a document: {' '.join(str(error).split())[:_LONGEST]}")
