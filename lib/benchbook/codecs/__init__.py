"""Codecs: libraries that turn records and bookstores into JSON or XML, and back.

Begin with the protocol `Codec` in `codec`, then read `orjson_codec` and `lxml_codec`: a few lines
each on top of `json_codec` and `tree_codec`.
"""

from benchbook.codecs.codec import (
    NAMES,
    Codec,
    FormatError,
    choose_encoder,
    find_module,
    load_codec,
)

__all__ = ["NAMES", "Codec", "FormatError", "choose_encoder", "find_module", "load_codec"]
