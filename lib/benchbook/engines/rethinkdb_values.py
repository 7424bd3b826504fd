"""Records as RethinkDB holds them: its numbers are doubles, and of dates it knows moments only."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from benchbook.datasets import Schema
from benchbook.engines.base import Record

_EXACT: Final = 2**53


def encoded(record: Record) -> dict[str, Any]:
    """Return a record with its dates as text.

    Raises
    ------
    OverflowError
        When a double cannot hold a whole number exactly: RethinkDB would round it.
    """
    for name, value in record.items():
        if type(value) is int and not -_EXACT <= value <= _EXACT:
            raise OverflowError(f"{name}: {value} has more digits than a double holds")
    return {name: value.isoformat() if type(value) is date else value for name, value in record.items()}


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(raw: Mapping[str, Any]) -> datetime:
    """Return a moment in UTC, in whole milliseconds: RethinkDB keeps seconds in a double."""
    return _EPOCH + timedelta(milliseconds=round(raw["epoch_time"] * 1000))


_RESTORE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "float": float,
    "date": date.fromisoformat,
    "datetime": _moment,
}


def restorer(schema: Schema) -> Callable[[Iterable[dict[str, Any]]], list[dict[str, Any]]]:
    """Return what turns documents back into a schema's records."""
    fields = [(field.name, _RESTORE[field.type]) for field in schema.fields if field.type in _RESTORE]

    def restored(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        records = list(documents)
        for record in records if fields else ():
            record.update({name: restore(record[name]) for name, restore in fields})
        return records

    return restored
