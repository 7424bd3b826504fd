"""Fingerprints of records that can be added up in any order, so that both ends can compare what they hold."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson


def fingerprint(record: Mapping[str, Any]) -> int:
    """Return 64 bits of a record's fields, values and their types."""
    return int.from_bytes(hashlib.blake2b(orjson.dumps(record), digest_size=8).digest())


def total(records: Iterable[Mapping[str, Any]]) -> int:
    """Return the sum of the records' fingerprints, modulo 2**64."""
    return sum(map(fingerprint, records)) % 2**64
