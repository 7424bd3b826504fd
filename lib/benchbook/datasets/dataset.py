"""A data set: records of one schema, with the digest of their content."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from benchbook.schema import Record, Schema

VERSION = 1

_CHUNK_RECORDS = 1000


@dataclass(frozen=True)
class Dataset:
    """Records of one schema."""

    name: str  # of the set and its variant, such as ``wide-89``
    schema: Schema
    records: Sequence[Record]  # with every field of the schema, in its order
    sha256: str  # of the records' content and the parents': equal for equal sets
    parents: "tuple[Dataset, ...]" = ()  # the sets that the records refer to

    def index_by_key(self) -> dict[str, Record]:
        """Return the records by their key."""
        return {record[self.schema.key]: record for record in self.records}


def hash_records(records: Sequence[Record], parents: Sequence[Dataset] = ()) -> str:
    """Return the SHA-256, in hexadecimal, of the parents' digests and the records as JSON."""
    digest = hashlib.sha256("".join(parent.sha256 for parent in parents).encode())
    for start in range(0, len(records), _CHUNK_RECORDS):
        digest.update(orjson.dumps(records[start : start + _CHUNK_RECORDS]))
    return digest.hexdigest()


def build_dataset(
    name: str,
    schema: Schema,
    columns: Sequence[Sequence[object]],
    parents: tuple[Dataset, ...] = (),
) -> Dataset:
    """Return the set whose i-th column has the values of the schema's i-th field.

    Parameters
    ----------
    name
        The set's name, with its variant.
    schema
        The records' fields, as many as there are columns.
    columns
        A sequence of n values per field.
    parents
        The sets that the records refer to.
    """
    names = [field.name for field in schema.fields]
    records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return Dataset(name, schema, records, hash_records(records, parents), parents)
