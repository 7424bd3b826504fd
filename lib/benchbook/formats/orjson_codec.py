"""orjson: dataclasses and dates are written by the library itself."""

import orjson

from benchbook.formats.json_codecs import JsonCodec, plain

VERSION = 1


def codec() -> JsonCodec:
    """Return the codec."""
    epoch = orjson.OPT_PASSTHROUGH_DATETIME  # dates go to `plain`
    return JsonCodec("orjson", orjson.dumps, lambda store: orjson.dumps(store, plain, epoch), orjson.loads)
