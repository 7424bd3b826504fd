"""xsdata: dataclasses bound to elements and attributes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Final

from typing_extensions import override
from xsdata.exceptions import ConverterError, ParserError, XmlContextError
from xsdata.formats.dataclass.parsers import XmlParser
from xsdata.formats.dataclass.parsers.config import ParserConfig
from xsdata.formats.dataclass.parsers.handlers import LxmlEventHandler
from xsdata.formats.dataclass.serializers import XmlSerializer
from xsdata.formats.dataclass.serializers.config import SerializerConfig

from benchbook.formats import Binding, Bound, to_text
from benchbook.formats.bound_xml import BoundXmlCodec, Member, bindable
from benchbook.formats.tree import NAMESPACE, Element, encoded, read, tag, written
from benchbook.schemas import Record

_ATTRIBUTE: Final = {"type": "Attribute"}
_ELEMENT: Final = {"type": "Element", "namespace": ""}
_BOOKS: Final = {**_ELEMENT, "name": "book"}


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


class XsdataCodec(BoundXmlCodec):
    """XML through xsdata."""

    name = "xsdata"
    binding = Binding((_Store1, _Store2), _Book1, _Book2, _Author, written, read)
    refusals = (ParserError, ConverterError, XmlContextError, TypeError, ValueError)

    def __init__(self) -> None:
        super().__init__()
        self._parser = XmlParser(ParserConfig(fail_on_unknown_attributes=True), handler=LxmlEventHandler)
        self._compact = XmlSerializer(config=SerializerConfig(xml_declaration=False))
        self._formatted = XmlSerializer(config=SerializerConfig(xml_declaration=False, indent="    "))

    @override
    def made(self, names: tuple[str, ...]) -> Callable[..., Bound]:
        elements = [field(metadata={**_ELEMENT, "name": tag(name)}) for name in bindable(names)]
        return make_dataclass("record", [(f"field_{i}", str, element) for i, element in enumerate(elements)])

    @override
    def nested(self, name: str, members: Sequence[Member]) -> Callable[..., Bound]:
        attributes = [
            (member.name, member.annotation, field(metadata={**_ELEMENT, "name": member.tag}, **member.default))
            for member in members
        ]
        meta = type("Meta", (), {"name": tag(name)})
        return make_dataclass("nested", attributes, kw_only=True, namespace={"Meta": meta})

    @override
    def compact(self, bound: Bound) -> bytes:
        return encoded(self._compact.render(bound))

    @override
    def bind(self, root: Element, form: Bound) -> Bound:
        return self._parser.parse(root.getroottree(), form)

    @override
    def encode(self, record: Record) -> bytes:
        return encoded(self._compact.render(self.form(tuple(record))(*map(to_text, record.values()))))

    @override
    def write(self, bound: Bound) -> bytes:
        return encoded(self._formatted.render(bound, ns_map={"ns2": NAMESPACE}))


def codec() -> XsdataCodec:
    """Return the codec."""
    return XsdataCodec()
