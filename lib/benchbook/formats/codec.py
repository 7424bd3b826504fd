"""What every codec does, how a value is written as text, and what is refused."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, Protocol

from benchbook.schemas import AnyBookstore, FieldType, Record, Schema

LIMIT: Final = 64 * 2**20
"""Bytes of the largest document that is decoded."""

Decoder = Callable[[bytes], dict[str, Any]]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class FormatError(ValueError):
    """An object that the format cannot hold, or bytes that are no such document; the message says where."""


class Codec(Protocol):
    """One library that writes and reads one format.

    All codecs of a format write documents of the same meaning. Dates and datetimes of records are ISO 8601; a
    bookstore's are milliseconds since 1970 in JSON and carry ``+01:00`` in XML, as Jackson and JAXB wrote them.
    """

    name: str
    format: Literal["json", "xml"]

    def encode_record(self, record: Record) -> bytes:
        """Return the flat record as a document; raises `FormatError` with the field's name."""

    def decode_record(self, data: bytes) -> dict[str, Any]:
        """Return the record as the format itself types it (in XML all is text); raises `FormatError`."""

    def decoder(self, schema: Schema) -> Decoder:
        """Return what decodes a record of that schema to an equal one; that raises `FormatError`."""

    def encode_bookstore(self, store: AnyBookstore) -> bytes:
        """Return the bookstore as a document; raises `FormatError`."""

    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        """Return the bookstore of the paper's case 1 or 2; raises `FormatError`."""


def to_text(value: Any) -> str:
    """Return a record's value as text.

    Raises
    ------
    TypeError
        When it is none of string, integer, float, boolean, date, datetime.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no type of a record's value")


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"neither true nor false: {text!r}")
    return text == "true"


READ: Final[dict[FieldType, Callable[[str], Any]]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": _boolean,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""The inverse of `to_text`, by the field's type."""


def milliseconds(moment: datetime) -> int:
    """Return the whole milliseconds since 1970."""
    return (moment - EPOCH) // _MILLISECOND


def moment(count: int) -> datetime:
    """Return the UTC time so many milliseconds after 1970."""
    return EPOCH + count * _MILLISECOND


def bounded(data: bytes) -> bytes:
    """Return the document; raises `FormatError` when it is over the limit."""
    if len(data) > LIMIT:
        raise FormatError(f"a document of {len(data)} bytes is over the limit of {LIMIT}")
    return data


def refusal(record: Record, encode: Callable[[Record], Any], error: Exception) -> FormatError:
    """Return the error that names the first field that cannot be encoded by itself."""
    for name, value in record.items():
        try:
            encode({name: value})
        except (TypeError, ValueError) as reason:
            return FormatError(f"field {name!r}: {reason}")
    return FormatError(str(error))
