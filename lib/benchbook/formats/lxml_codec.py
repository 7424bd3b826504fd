"""lxml, with a parser that resolves no entity, loads no DTD, reaches no network and is bounded in size."""

from typing import Any

from lxml import etree

from benchbook.formats.tree import NAMESPACE, ROOT, TreeCodec

_OPTIONS: dict[str, Any] = {"resolve_entities": False, "load_dtd": False, "no_network": True, "huge_tree": False}


def parse(data: bytes) -> Any:
    """Return the document's root; raises ValueError or SyntaxError."""
    root = etree.fromstring(data, etree.XMLParser(remove_comments=True, remove_pis=True, **_OPTIONS))
    if root.getroottree().docinfo.internalDTD is not None:
        raise ValueError("it has a DOCTYPE")
    return root


def write(element: Any) -> bytes:
    """Return the element as UTF-8 without declaration; the library has refused what XML cannot hold."""
    data: bytes = etree.tostring(element, encoding="UTF-8", xml_declaration=False)
    return data


def _root() -> Any:
    return etree.Element(ROOT, nsmap={"ns2": NAMESPACE})  # JAXB's prefix


def codec() -> TreeCodec:
    """Return the codec."""
    return TreeCodec("lxml", etree.Element, etree.SubElement, _root, write, parse)
