"""The codec my_example: XML by the standard library; replace it by your library."""

from typing import Any
from xml.etree import ElementTree

from benchbook.codecs.tree_codec import ROOT, TreeCodec, encode_text


def make_codec() -> TreeCodec:
    """Return the codec; each process calls this once, outside the timed section."""
    element, child = ElementTree.Element, ElementTree.SubElement
    return TreeCodec("my_example", element, child, lambda: element(ROOT), _write, _parse)


def _write(element: Any) -> bytes:
    """Return a tree as a document in UTF-8, its text checked and escaped."""
    return encode_text(ElementTree.tostring(element, encoding="unicode"))


def _parse(data: bytes) -> Any:
    """Return a document's root; raise `ValueError` or `SyntaxError` for one that is refused."""
    if b"<!DOCTYPE" in data:
        raise ValueError("it has a DOCTYPE")
    return ElementTree.fromstring(data)
