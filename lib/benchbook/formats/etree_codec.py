"""The standard library's ElementTree; a DOCTYPE is refused by the parser's target before anything is declared."""

from typing import Any
from xml.etree import ElementTree

from benchbook.formats.tree import ILLEGAL, ROOT, TreeCodec


class _Builder(ElementTree.TreeBuilder):
    """A tree builder that stops at a DOCTYPE, so that no entity is ever declared."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse it."""
        raise ValueError("it has a DOCTYPE")


class EtreeCodec(TreeCodec):
    """XML through expat."""

    name = "etree"
    element = staticmethod(ElementTree.Element)
    child = staticmethod(ElementTree.SubElement)

    def root(self) -> Any:
        """Return an empty bookstore's element; the library chooses the prefix ``ns0``."""
        return ElementTree.Element(ROOT)

    def write(self, element: Any) -> bytes:
        """Return the element as UTF-8, after the checks and the escape (of CR) that this library leaves to its user."""
        text = ElementTree.tostring(element, encoding="unicode")
        if found := ILLEGAL.search(text):
            raise ValueError(f"XML cannot hold the character U+{ord(found[0]):04X}")
        return text.replace("\r", "&#13;").encode()

    def parse(self, data: bytes) -> Any:
        """Return the document's root."""
        return ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder()))


def codec() -> TreeCodec:
    """Return the codec."""
    return EtreeCodec()
