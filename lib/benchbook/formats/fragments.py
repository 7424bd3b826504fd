"""One field as an XML element: what the replication study stores where every value is XML."""

from typing import Any
from xml.sax.saxutils import escape

from benchbook.formats.codec import FormatError, to_text
from benchbook.formats.tree import ILLEGAL, tag


def fragment(name: str, value: Any) -> str:
    """Return ``<name>value</name>``.

    Raises
    ------
    FormatError
        When XML cannot hold the name or the value.
    """
    try:
        text, element = to_text(value), tag(name)
    except (TypeError, ValueError) as error:
        raise FormatError(f"field {name!r}: {error}") from error
    if found := ILLEGAL.search(text):
        raise FormatError(f"field {name!r}: XML cannot hold the character U+{ord(found[0]):04X}")
    return f"<{element}>{escape(text, {chr(13): '&#13;'})}</{element}>"
