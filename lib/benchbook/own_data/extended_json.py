"""MongoDB's Extended JSON: the objects by which its exports write values that JSON does not have.

Both forms are read, canonical and relaxed, and the former names of version 1.
See https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/.
"""

import base64
import json
import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from benchbook.schema import Document

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_SHOWN_CHARACTERS: Final = 60
"""Characters of an object that an error shows."""


def read_object(value: Document, notes: dict[str, None]) -> object:
    """Return the value that an object stands for; the object itself, if MongoDB does not know it.

    Raises ValueError when an object does not hold what its name says.

    Parameters
    ----------
    value
        An object; the values inside of it are read before it.
    notes
        A sentence for each kind of value that changes.
    """
    read, note = _READERS.get(" ".join(sorted(value)), (None, ""))
    if read is None:
        return value
    notes[f"MongoDB's Extended JSON: {note}"] = None
    try:
        return read(value)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        shown = json.dumps(value, ensure_ascii=False)[:_SHOWN_CHARACTERS]
        why = "is not a value that MongoDB and JSON have: write null, or leave the field out"
        raise ValueError(f"{shown} {why}") from error


def _read_text(value: Document) -> str:
    """Return the only part, a text."""
    (text,) = value.values()
    if not isinstance(text, str):
        raise TypeError(text)
    return text


def _read_date(value: Document) -> str:
    """Return a date, a text or milliseconds since 1970, as ISO 8601."""
    date = value["$date"]
    if isinstance(date, bool):
        raise TypeError(date)
    return date if isinstance(date, str) else (_EPOCH + timedelta(milliseconds=date)).isoformat()


def _read_integer(value: Document) -> int:
    # The text of a fraction or of a boolean is not that of an integer.
    return int(str(*value.values()))


def _read_number(value: Document) -> float:
    number = float(*value.values())
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _read_binary(value: Document) -> str:
    """Return bytes as base64, and a UUID in its usual form."""
    binary = value["$binary"]
    if isinstance(binary, str):
        binary = {"base64": binary, "subType": value["$type"]}
    content = base64.b64decode(binary["base64"], validate=True)
    # Subtype 4 is a UUID; an older form writes the number as it is.
    if int(str(binary["subType"]), 16) == 4 and len(content) == 16:
        return str(uuid.UUID(bytes=content))
    return base64.b64encode(content).decode()


_Reader = Callable[[Document], object]

_MAIN: Final = "$oid is taken as text, $date as a moment, numbers as numbers."
_BYTES: Final = "bytes are taken as base64 text, UUIDs as text."
_PATTERNS: Final = "regular expressions are taken as text, /pattern/options."
_KEYS: Final = "$minKey and $maxKey are taken as the texts MinKey and MaxKey."
_CODE: Final = "$code and $symbol are taken as text, $code with $scope as a document."

_READERS: Final[dict[str, tuple[_Reader, str]]] = {
    "$oid": (_read_text, _MAIN),
    "$date": (_read_date, _MAIN),
    "$numberInt": (_read_integer, _MAIN),
    "$numberLong": (_read_integer, _MAIN),
    "$numberDouble": (_read_number, _MAIN),
    "$numberDecimal": (_read_number, "decimal numbers are taken as the nearest double."),
    "$binary": (_read_binary, _BYTES),
    "$binary $type": (_read_binary, _BYTES),
    "$uuid": (_read_text, _BYTES),
    "$timestamp": (
        lambda value: (_EPOCH + timedelta(seconds=value["$timestamp"]["t"])).isoformat(),
        "$timestamp is taken as the moment of its second, without its counter.",
    ),
    "$regularExpression": (
        lambda value: "/{pattern}/{options}".format_map(value["$regularExpression"]),
        _PATTERNS,
    ),
    "$regex": (lambda value: f"/{value['$regex']}/", _PATTERNS),
    "$options $regex": (lambda value: f"/{value['$regex']}/{value['$options']}", _PATTERNS),
    "$minKey": (lambda value: "MinKey", _KEYS),
    "$maxKey": (lambda value: "MaxKey", _KEYS),
    "$symbol": (_read_text, _CODE),
    "$code": (_read_text, _CODE),
    "$code $scope": (lambda value: {"code": value["$code"], "scope": value["$scope"]}, _CODE),
    "$dbPointer": (
        lambda value: {"ref": value["$dbPointer"]["$ref"], "id": value["$dbPointer"]["$id"]},
        "$dbPointer is taken as a document.",
    ),
    "$undefined": (lambda value: None, "$undefined is taken as null."),
}
"""By the names that an object has: what returns its value, and the note about it."""
