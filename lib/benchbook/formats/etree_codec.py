"""The standard library's ElementTree; a DOCTYPE is refused by the parser's target before anything is declared."""

from typing import Any
from xml.etree import ElementTree

from benchbook.formats.tree import ROOT, TreeCodec, encoded


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse it, so that no entity is ever declared."""
        raise ValueError("it has a DOCTYPE")


def _parse(data: bytes) -> Any:
    return ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder()))


def _write(element: Any) -> bytes:
    return encoded(ElementTree.tostring(element, encoding="unicode"))


def codec() -> TreeCodec:
    """Return the codec."""
    element, child = ElementTree.Element, ElementTree.SubElement
    return TreeCodec("etree", element, child, lambda: element(ROOT), _write, _parse)
