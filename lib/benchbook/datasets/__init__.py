"""Seeded data for every study: the same records on every machine and with every library version.

In come a number of records and a seed; out goes a `Dataset`. Begin with a study's set, such as `blog`: its numbers and
texts are drawn from `streams` (raw words of `numpy.random.PCG64` alone). A person's own records take its place by
`own_records`. Each set has a module of its own, so that another one changes no study's code but its own.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from benchbook.schemas import Record, Schema

VERSION = 1

_CHUNK = 1000


@dataclass(frozen=True)
class Dataset:
    """Records of one schema."""

    name: str  # of the set and its variant, such as ``wide-89``
    schema: Schema
    records: Sequence[Record]  # with every field of the schema in its order
    sha256: str  # of the records' content and of the parents': equal for equal sets
    parents: "tuple[Dataset, ...]" = ()  # the sets that the records refer to

    def by_key(self) -> dict[str, Record]:
        """Return the records by their key."""
        return {record[self.schema.key]: record for record in self.records}


def fingerprint(records: Sequence[Record], parents: Sequence[Dataset] = ()) -> str:
    """Return the SHA-256, in hexadecimal, of the records as JSON and of the parents' own fingerprints."""
    digest = hashlib.sha256("".join(parent.sha256 for parent in parents).encode())
    for start in range(0, len(records), _CHUNK):
        digest.update(orjson.dumps(records[start : start + _CHUNK]))
    return digest.hexdigest()


def assemble(
    name: str, schema: Schema, columns: Sequence[Sequence[object]], parents: tuple[Dataset, ...] = ()
) -> Dataset:
    """Return the set whose i-th column holds the values of the schema's i-th field."""
    names = [field.name for field in schema.fields]
    records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return Dataset(name, schema, records, fingerprint(records, parents), parents)
