"""MongoDB's Extended JSON: the objects by which its exports write values that JSON does not have.

Both forms are read, canonical and relaxed, and the former names of version 1.
See https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/.
"""

import base64
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from benchbook.schema import Document

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_NESTED: Final = (dict, list)
"""The types of values that may hold others: the rest needs no call."""


class ExtendedJsonError(ValueError):
    """An object of Extended JSON has no value that can be taken; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.names: list[str] = []  # of the fields around it, the outermost first

    def __str__(self) -> str:
        path = ".".join(name for name in self.names if not name.startswith("$"))
        return f"{path}: {self.reason}" if path else self.reason


@dataclass
class ExtendedJson:
    """The conversion of Extended JSON, with a sentence for each kind of value that changes."""

    notes: dict[str, None] = field(default_factory=dict)

    def convert(self, value: Any) -> Any:
        """Return a JSON value with the meaning of the objects inside; documents are changed.

        Raises `ExtendedJsonError` when an object does not hold what its name says.
        """
        if type(value) is list:
            return [self.convert(item) if type(item) in _NESTED else item for item in value]
        if type(value) is not dict:
            return value
        for name, part in value.items():
            if type(part) in _NESTED:
                try:
                    value[name] = self.convert(part)
                except ExtendedJsonError as error:
                    error.names.insert(0, name)
                    raise
        is_special = next(iter(value), "").startswith("$")
        return self._read(value) if is_special else value

    def _read(self, value: Document) -> object:
        """Return the value that an object stands for; the object, if MongoDB gives it no sense."""
        read, note = _READERS.get(frozenset(value), (None, ""))
        if read is None:
            return value
        self.notes[note] = None
        try:
            return read(value)
        except ExtendedJsonError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            why = "does not hold what MongoDB writes: leave the field out"
            raise ExtendedJsonError(f"{next(iter(value))} {why}") from error


def _read_text(value: Document) -> str:
    """Return the only part, a text."""
    (text,) = value.values()
    if not isinstance(text, str):
        raise TypeError(text)
    return text


def _read_date(value: Document) -> str:
    """Return a date, a text or milliseconds since 1970, as ISO 8601."""
    date = value["$date"]
    if isinstance(date, str):
        return date
    if isinstance(date, bool) or not isinstance(date, int | float):
        raise ExtendedJsonError("a $date is neither text nor milliseconds: leave the field out")
    try:
        return (_EPOCH + timedelta(milliseconds=date)).isoformat()
    except OverflowError as error:
        why = f"the $date {date} is not in the years 1 to 9999: write null"
        raise ExtendedJsonError(why) from error


def _read_integer(value: Document) -> int:
    (number,) = value.values()
    if isinstance(number, bool) or not isinstance(number, str | int):
        raise TypeError(number)
    return int(number)


def _read_number(value: Document) -> float:
    (text,) = value.values()
    number = float(text)
    if not math.isfinite(number):
        raise ExtendedJsonError(f"{number} is no finite double: write null")
    return number


def _read_binary(value: Document) -> str:
    """Return bytes as base64, and a UUID in its usual form."""
    binary = value["$binary"]
    if isinstance(binary, str):
        encoded, subtype = binary, value["$type"]
    else:
        encoded, subtype = binary["base64"], binary["subType"]
    content = base64.b64decode(encoded, validate=True)
    number = subtype if isinstance(subtype, int) else int(subtype, 16)
    # Subtype 4 is a UUID.
    if number == 4 and len(content) == 16:
        return str(uuid.UUID(bytes=content))
    return str(encoded)


_Reader = Callable[[Document], object]

_PREFIX: Final = "MongoDB's Extended JSON: "
_MAIN: Final = "$oid is taken as text, $date as a moment, numbers as numbers."
_MEANINGS: Final[dict[str, dict[str, _Reader]]] = {
    _MAIN: {
        "$oid": _read_text,
        "$date": _read_date,
        "$numberInt": _read_integer,
        "$numberLong": _read_integer,
        "$numberDouble": _read_number,
    },
    "decimal numbers are taken as the nearest double.": {"$numberDecimal": _read_number},
    "bytes are taken as base64 text, UUIDs as text.": {
        "$binary": _read_binary,
        "$binary $type": _read_binary,
        "$uuid": _read_text,
    },
    "$timestamp is taken as the moment of its second, without its counter.": {
        "$timestamp": lambda value: (
            _EPOCH + timedelta(seconds=value["$timestamp"]["t"])
        ).isoformat()
    },
    "regular expressions are taken as text, /pattern/options.": {
        "$regularExpression": lambda value: "/{pattern}/{options}".format_map(
            value["$regularExpression"]
        ),
        "$regex": lambda value: f"/{value['$regex']}/",
        "$regex $options": lambda value: f"/{value['$regex']}/{value['$options']}",
    },
    "$minKey and $maxKey are taken as the texts MinKey and MaxKey.": {
        "$minKey": lambda value: "MinKey",
        "$maxKey": lambda value: "MaxKey",
    },
    "$code and $symbol are taken as text, $code with $scope as a document.": {
        "$symbol": _read_text,
        "$code": _read_text,
        "$code $scope": lambda value: {"code": value["$code"], "scope": value["$scope"]},
    },
    "$dbPointer is taken as a document.": {
        "$dbPointer": lambda value: {
            "ref": value["$dbPointer"]["$ref"],
            "id": value["$dbPointer"]["$id"],
        }
    },
    "$undefined is taken as null.": {"$undefined": lambda value: None},
}
"""For each note, the names that an object has, and what returns its value."""

_READERS: Final[dict[frozenset[str], tuple[_Reader, str]]] = {}
for _note, _meanings in _MEANINGS.items():
    for _names, _read in _meanings.items():
        _READERS[frozenset(_names.split())] = _read, f"{_PREFIX}{_note}"
