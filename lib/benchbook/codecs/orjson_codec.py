"""The codec orjson: the library writes dataclasses and dates itself."""

import orjson

from benchbook.codecs.json_codec import JsonCodec, simplify

VERSION = 1


def make_codec() -> JsonCodec:
    """Return the codec."""
    # A bookstore's dates go to `simplify`, which makes milliseconds of them.
    epoch = orjson.OPT_PASSTHROUGH_DATETIME
    return JsonCodec(
        "orjson",
        dumps=orjson.dumps,
        dumps_books=lambda store: orjson.dumps(store, simplify, epoch),
        loads=orjson.loads,
    )
