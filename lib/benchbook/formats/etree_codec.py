"""The standard library's ElementTree; a DOCTYPE is refused by the parser's target before anything is declared."""

from typing import Any
from xml.etree import ElementTree

from typing_extensions import override

from benchbook.formats.tree import ROOT, TreeCodec, encoded


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse it, so that no entity is ever declared."""
        raise ValueError("it has a DOCTYPE")


class EtreeCodec(TreeCodec):
    """XML through expat."""

    name = "etree"
    element = staticmethod(ElementTree.Element)
    child = staticmethod(ElementTree.SubElement)

    @override
    def root(self) -> Any:
        return ElementTree.Element(ROOT)

    @override
    def write(self, element: Any) -> bytes:
        return encoded(ElementTree.tostring(element, encoding="unicode"))

    @override
    def parse(self, data: bytes) -> Any:
        return ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder()))


def codec() -> TreeCodec:
    """Return the codec."""
    return EtreeCodec()
