"""Does a store hold exactly what it should? Read and compared outside every timed section."""

from collections.abc import Iterable, Mapping
from typing import Final

from benchbook.schemas import Record, Schema

UNCHANGED: Final[Record] = {}


class WrongContentsError(RuntimeError):
    """A store does not hold what was written to it: its times mean nothing."""


def keyed(records: Iterable[Record], key: str = "_id") -> dict[str, Record]:
    """Return the records by their key."""
    return {record[key]: record for record in records}


def check(
    found: Iterable[Record], wanted: Mapping[str, Record], where: str, *, change: Record = UNCHANGED, key: str = "_id"
) -> None:
    """Compare records with what they should be: count, keys and every value; their order is free.

    Parameters
    ----------
    found
        As read back.
    wanted
        The records that should be there, by key.
    where
        What was done and which node was read, for the error.
    change
        Fields that every wanted record has with these values instead.
    key
        Name of the key field.

    Raises
    ------
    WrongContentsError
        Names the first record that differs, is missing, or is there too often.
    """
    missing = dict(wanted)
    for record in found:
        due = missing.pop(record[key], None)
        if due is None:
            raise WrongContentsError(f"{where}: record {record[key]!r} is there, and should not be (or not twice)")
        if change:
            due = {**due, **change}
        if record != due:
            raise WrongContentsError(f"{where}: record {record[key]!r} differs: {_difference(record, due)}")
    if missing:
        raise WrongContentsError(
            f"{where}: {len(missing)} of {len(wanted)} records are missing, the first is {next(iter(missing))!r}"
        )


def text_field(schema: Schema) -> str:
    """Return the field that an update changes: ``content`` when there is one, else the first text that is no key.

    Raises
    ------
    ValueError
        When the records hold no text but their keys.
    """
    keys = {schema.key, schema.parent.field if schema.parent else schema.key}
    texts = [field.name for field in schema.fields if field.type == "string" and field.name not in keys]
    if not texts:
        raise ValueError(f"{schema.name}: an update changes a text field, and no field but the keys holds text")
    return "content" if "content" in texts else texts[0]


def _difference(record: Record, due: Record) -> str:
    name = next(name for name in {**due, **record} if record.get(name, ...) != due.get(name, ...))
    return f"{name} is {_short(record, name)}, should be {_short(due, name)}"


def _short(record: Record, name: str) -> str:
    text = repr(record[name]) if name in record else "absent"
    return text if len(text) <= 60 else f"{text[:57]}..."
