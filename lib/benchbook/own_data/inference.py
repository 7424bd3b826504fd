"""The schema of a user's records, inferred field by field and at any depth.

A null counts as absent and is left out, because XML elements, columns and mappers do not
distinguish them. `convert_record` gives values their types.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, Final

from benchbook.files.inputs import InputError
from benchbook.own_data.file_description import KnownField
from benchbook.schema import Document, Field, FieldType, Record

_MAP_NAMES: Final = 100
_MAP_SHARE: Final = 0.1
"""Objects are maps, without fields, if they have more names, and each has less than this share."""

_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1

MAX_DEPTH: Final = 100
"""Levels of the deepest nesting of a record: MongoDB's limit."""

CUT_NOTE: Final = "moments are kept in milliseconds; what is finer is cut off."
_TOO_LARGE_NOTE: Final = "integers beyond 2^63, which few stores hold: they are kept as text."
_LOCAL_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+")


@dataclass
class Inference:
    """The inference of fields; `known` and `notes` are filled meanwhile."""

    known: list[KnownField] = field(default_factory=list)
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def infer_fields(
        self, documents: Sequence[Record], path: str = "", names: Sequence[str] = ()
    ) -> tuple[Field, ...]:
        """Return the fields of the documents at a path: of records, or inside of them.

        Parameters
        ----------
        documents
            All documents there.
        path
            The place of the documents in records; empty for the records.
        names
            The names that come first, in their order.
        """
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for document in documents:
            for name, value in document.items():
                columns.setdefault(name, []).append(value)
        fields = []
        for name, values in columns.items():
            at = f"{path}.{name}" if path else name
            present = [value for value in values if value is not None]
            if not present:
                self.notes[f"{at} is null or empty wherever it is, and left out."] = None
                continue
            # A field comes before the fields inside of it.
            place = len(self.known)
            found = self._infer_field(at, present, is_top=not path)
            item = found.fields[0].type if found.type == "array" else None
            absent, null = len(documents) - len(values), len(values) - len(present)
            known = KnownField(at, found.type, item, len(documents), absent, null)
            self.known.insert(place, known)
            fields.append(replace(found, name=name, optional=absent + null > 0))
        return tuple(fields)

    def _infer_field(self, path: str, values: Sequence[Any], *, is_top: bool) -> Field:
        """Return a field for all values at a path, none of which is null."""
        why = "differs in kind from place to place"
        types = set(map(type, values))
        if types == {dict}:
            names = set(chain.from_iterable(values))
            is_rare = sum(map(len, values)) < _MAP_SHARE * len(values) * len(names)
            if len(names) <= _MAP_NAMES or not is_rare:
                return Field("", "document", fields=self.infer_fields(values, path))
            why = f"has {len(names):,} names, few of them each time"
        elif types == {list}:
            items = [*chain.from_iterable(values)]
            if None not in items:
                item = Field("", "json")
                if items:
                    item = self._infer_field(f"{path}[]", items, is_top=False)
                return Field("", "array", fields=(replace(item, name="item"),))
        else:
            kind = self._find_scalar_type(path, types, values, is_top=is_top)
            if kind != "json":
                return Field("", kind)
        self.notes[f"{path} {why}: it is kept as JSON has it."] = None
        if any(map(_has_large, values)):
            self.notes[f"{path} holds {_TOO_LARGE_NOTE}"] = None
        return Field("", "json")

    def _find_scalar_type(
        self, path: str, types: set[type], values: Sequence[Any], *, is_top: bool
    ) -> FieldType:
        """Return the narrowest type for all values, ``json`` if none fits.

        Inside of other values, days and moments stay texts.
        """
        if types == {bool}:
            return "boolean"
        if types == {int}:
            if not any(map(_has_large, values)):
                return "integer"
            self.notes[f"{path} holds {_TOO_LARGE_NOTE}"] = None
            return "string"
        if types <= {int, float} and all(map(is_double, values)):
            return "float"
        if types != {str}:
            return "json"
        if is_top and all(map(is_day, values)):
            return "date"
        if is_top:
            moments = [*map(parse_moment, values)]
            if None not in moments:
                if any(moment and moment.microsecond % 1000 for moment in moments):
                    self.notes[f"{path}: {CUT_NOTE}"] = None
                return "datetime"
        if all(map(_LOCAL_MOMENT.fullmatch, values)):
            why = f"looks like moments without a zone ({values[0]!r}), and is kept as text"
            remedy = "a moment is written with its zone, as 2024-03-18T09:30:00Z"
            self.notes[f"{path} {why}: {remedy}."] = None
        return "string"


def check_nesting(value: object, where: str, path: str = "", depth: int = 0) -> None:
    """Raise `InputError` when documents and arrays are too deep, or a field has no name.

    Parameters
    ----------
    value
        A record, or a value inside of it.
    where
        The record's file and line.
    path
        The value's path in the record.
    depth
        How many documents and arrays are around it.
    """
    if not isinstance(value, dict | list):
        return
    if depth >= MAX_DEPTH:
        raise InputError(where, f"is nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        for part in value:
            check_nesting(part, where, f"{path}[]", depth + 1)
        return
    for name, part in value.items():
        if not name:
            place = f"in {path}" if path else "at the top of the record"
            raise InputError(where, f"a field has no name, {place}")
        check_nesting(part, where, f"{path}.{name}" if path else name, depth + 1)


def is_day(text: str) -> bool:
    """Return whether a text is a day, as 2024-03-18."""
    try:
        # Python also reads 20240318 and weeks.
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def parse_moment(text: str) -> datetime | None:
    """Return the moment of an ISO 8601 text with a zone; None for another text."""
    try:
        moment = datetime.fromisoformat(text)
        # In another zone it may be beyond the years 1 to 9999.
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else None


def is_double(value: float) -> bool:
    """Return whether a number is a double without rounding."""
    try:
        return float(value) == value
    except OverflowError:
        return False


def _has_large(value: Any) -> bool:
    """Return whether an integer at any depth of a value has more than 64 bits."""
    if isinstance(value, dict):
        return any(map(_has_large, value.values()))
    if isinstance(value, list):
        return any(map(_has_large, value))
    return type(value) is int and not _LOWEST <= value <= _HIGHEST


def convert_record(record: Record, fields: Sequence[Field]) -> Document:
    """Return a record whose values have the types of their fields, without nulls.

    It may be one that was converted and stored, whose days and moments are text again.

    Parameters
    ----------
    record
        A file's record, or a document inside of it.
    fields
        The fields that `Inference.infer_fields` returned.
    """
    typed = {}
    for known in fields:
        value = record.get(known.name)
        if value is not None:
            typed[known.name] = _convert(value, known)
    return typed


def _convert(value: Any, found: Field) -> Any:
    """Return a value, which is not null, with the type of its field."""
    if found.type == "document":
        return convert_record(value, found.fields)
    if found.type == "array":
        return [_convert(item, found.fields[0]) for item in value]
    convert = _CONVERTERS.get(found.type)
    return convert(value) if convert else value


def _read_datetime(text: str) -> datetime:
    """Return a moment in UTC, cut to milliseconds."""
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _keep_as_json(value: Any) -> Any:
    """Return a value as JSON; a whole number beyond 64 bits becomes text."""
    if isinstance(value, dict):
        return {name: _keep_as_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_keep_as_json(part) for part in value]
    return str(value) if _has_large(value) else value


_CONVERTERS: Final[dict[FieldType, Callable[[Any], Any]]] = {
    "float": float,
    "string": str,
    "date": date.fromisoformat,
    "datetime": _read_datetime,
    "json": _keep_as_json,
}
