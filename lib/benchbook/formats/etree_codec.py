"""The standard library's ElementTree; a DOCTYPE is refused by the parser's target before anything is declared."""

from xml.etree import ElementTree

from benchbook.formats.tree import ROOT, TreeCodec, encoded


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse it, so that no entity is ever declared."""
        raise ValueError("it has a DOCTYPE")


def codec() -> TreeCodec:
    """Return the codec."""
    return TreeCodec(
        "etree",
        element=ElementTree.Element,
        child=ElementTree.SubElement,
        root=lambda: ElementTree.Element(ROOT),
        write=lambda element: encoded(ElementTree.tostring(element, encoding="unicode")),
        parse=lambda data: ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder())),
    )
