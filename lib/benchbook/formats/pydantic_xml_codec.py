"""pydantic-xml: models bound to elements and attributes, written and read through lxml's trees."""

from collections.abc import Callable, Sequence
from typing import Any

from lxml import etree
from pydantic import ConfigDict
from pydantic_xml import BaseXmlModel, attr, create_model, element
from pydantic_xml.element.element import SearchMode
from pydantic_xml.errors import BaseError
from typing_extensions import override

from benchbook.formats import Binding, Bound, to_text
from benchbook.formats.bound_xml import BoundXmlCodec, Member, bindable
from benchbook.formats.lxml_codec import write
from benchbook.formats.tree import NAMESPACE, ROOT, Element, read, tag, texts, written
from benchbook.schemas import Record


class _Strict(BaseXmlModel):
    model_config = ConfigDict(extra="forbid")


class _Record(_Strict, search_mode=SearchMode.UNORDERED):
    """What records are bound to: their fields may come in any order, as those of JSON may."""


class _Nested(_Strict, search_mode=SearchMode.UNORDERED):
    """What a record is bound to of which a field may be absent, or hold a document or an array; and what those are."""


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


class PydanticXmlCodec(BoundXmlCodec):
    """XML through pydantic-xml."""

    name = "pydantic_xml"
    binding = Binding((_Store1, _Store2), _Book1, _Book2, _Author, written, read)
    refusals = (BaseError, ValueError)

    @override
    def made(self, names: tuple[str, ...]) -> Callable[..., Bound]:
        fields: dict[str, Any] = {f"field_{i}": (str, element(tag=tag(name))) for i, name in enumerate(bindable(names))}
        return create_model("record", __tag__="record", __base__=_Record, **fields)

    @override
    def nested(self, name: str, members: Sequence[Member]) -> Callable[..., Bound]:
        fields: dict[str, Any] = {
            member.name: (member.annotation, element(tag=member.tag, **member.default)) for member in members
        }
        return create_model("nested", __tag__=tag(name), __base__=_Nested, **fields)

    @override
    def compact(self, bound: Bound) -> bytes:
        return write(bound.to_xml_tree(exclude_none=True))

    @override
    def bind(self, root: Element, form: Bound) -> Bound:
        if issubclass(form, _Record):
            # This refuses a field that holds more than text.
            texts(root)
        return form.from_xml_tree(root, empty_as_string=True)

    @override
    def encode(self, record: Record) -> bytes:
        values = {f"field_{i}": to_text(value) for i, value in enumerate(record.values())}
        return write(self.form(tuple(record))(**values).to_xml_tree())

    @override
    def write(self, bound: Bound) -> bytes:
        tree = bound.to_xml_tree()
        etree.indent(tree, space="    ")
        return write(tree) + b"\n"


def codec() -> PydanticXmlCodec:
    """Return the codec."""
    return PydanticXmlCodec()
