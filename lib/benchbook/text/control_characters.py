"""Control characters of names and messages, which a terminal would obey."""

import re
from typing import Final

# All but tabs and line ends; from 128 to 159 some terminals take single characters for sequences.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def escape_controls(text: str) -> str:
    r"""Return a text for a terminal: control characters as ``\x1b``, tabs and line ends as is."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
