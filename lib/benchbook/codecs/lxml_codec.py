"""The codec lxml.

Its parser resolves no entity, loads no DTD, opens no network connection and limits sizes.
"""

from lxml import etree

from benchbook.codecs.tree_codec import NAMESPACE, ROOT, TreeCodec

VERSION = 1


def parse(data: bytes) -> etree._Element:
    """Return the document's root; raises ValueError or SyntaxError."""
    guarded = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    root = etree.fromstring(data, guarded)
    if root.getroottree().docinfo.internalDTD is not None:
        raise ValueError("it has a DOCTYPE")
    return root


def write(element: etree._Element) -> bytes:
    """Return the element as UTF-8, without a declaration.

    The library has already refused what XML cannot hold.
    """
    data: bytes = etree.tostring(element, encoding="UTF-8", xml_declaration=False)
    return data


def make_codec() -> TreeCodec:
    """Return the codec."""
    return TreeCodec(
        "lxml",
        element=etree.Element,
        child=etree.SubElement,
        root=lambda: etree.Element(ROOT, nsmap={"ns2": NAMESPACE}),  # JAXB's prefix
        write=write,
        parse=parse,
    )
