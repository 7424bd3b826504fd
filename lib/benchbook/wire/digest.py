"""Fingerprints of records that can be added up in any order, so that both ends can compare what they hold."""

import hashlib
from collections.abc import Iterable

import orjson

from benchbook.schemas import Record


def fingerprint(record: Record) -> int:
    """Return 64 bits of a record's fields, values and their types."""
    return int.from_bytes(hashlib.blake2b(orjson.dumps(record), digest_size=8).digest())


def total(records: Iterable[Record]) -> int:
    """Return the sum of the records' fingerprints, modulo 2**64."""
    return sum(map(fingerprint, records)) % 2**64
