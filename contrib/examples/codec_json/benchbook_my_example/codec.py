"""The codec my_example: JSON by the standard library; replace it by your library."""

import json
from datetime import date
from typing import Any

from benchbook.codecs.json_codec import JsonCodec, simplify


def make_codec() -> JsonCodec:
    """Return the codec; each process calls this once, outside the timed section."""
    return JsonCodec("my_example", _write_record, _write_bookstore, json.loads)


def _write_record(record: Any) -> bytes:
    """Return a flat record as compact JSON in UTF-8.

    Raises `ValueError` or `TypeError` when JSON cannot hold a value.
    """
    return _write_compact(record, _write_date)


def _write_bookstore(store: Any) -> bytes:
    """Return a bookstore as compact JSON, its dates as milliseconds since 1970."""
    return _write_compact(store, simplify)


def _write_compact(thing: Any, default: Any) -> bytes:
    text = json.dumps(
        thing, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=default
    )
    return text.encode()


def _write_date(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a type of a record's value")
