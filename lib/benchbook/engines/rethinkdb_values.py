"""Records as RethinkDB holds them: its numbers are doubles, and of dates it knows moments only."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from benchbook.engines.base import Record
from benchbook.engines.restorer import JSON, Restore

_EXACT: Final = 2**53


def encoded(record: Record) -> Record:
    """Return a record with its dates as text: itself, when it has none.

    Raises
    ------
    OverflowError
        When a double cannot hold a whole number exactly: RethinkDB would round it.
    """
    dates = {}
    for name, value in record.items():
        if type(value) is date:
            dates[name] = value.isoformat()
        elif type(value) is int and not -_EXACT <= value <= _EXACT:
            raise OverflowError(f"{name}: {value} has more digits than a double holds")
    return {**record, **dates} if dates else record


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(raw: Mapping[str, Any]) -> datetime:
    """Return a moment in UTC, in whole milliseconds: RethinkDB keeps seconds in a double."""
    return _EPOCH + timedelta(milliseconds=round(raw["epoch_time"] * 1000))


RESTORE: Final[Restore] = {**JSON, "datetime": _moment}
