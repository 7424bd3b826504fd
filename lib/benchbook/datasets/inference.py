"""The schema of a user's records, inferred from all of them, field by field and at any depth.

A null counts as absent and is left out, because XML elements, columns and mappers do not
distinguish them.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, Final, Literal

from benchbook.datasets.record_files import CUT_NOTE, DECIMALS
from benchbook.schema import NESTED_TYPES, Document, Field, FieldType, Record

Readers = Mapping[FieldType, Callable[[Any], object]]
"""By type, a function that reads a file's value, or raises when it is of another type."""

_MAP_NAMES: Final = 100
_MAP_SHARE: Final = 0.1
"""Objects are maps, without fields, if they have more names, and each has less than this share."""


@dataclass(frozen=True)
class KnownField:
    """The description of one field of a file."""

    path: str  # ``lines[].sku`` for a field of an array's documents
    type: FieldType
    item: FieldType | None  # an array's type of elements
    of: int  # documents that could have the field
    absent: int  # documents without it
    null: int  # documents in which it is null


@dataclass
class Inference:
    """The inference of a file's fields, filled while `infer` reads them."""

    is_text: bool  # numbers are texts, as in CSV
    decimal: str = "."  # their decimal mark; empty: to be guessed
    order: Sequence[str] = ()  # of the fields, if the file has one
    known: list[KnownField] = field(default_factory=list)
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def infer(self, records: Sequence[Record]) -> tuple[tuple[Field, ...], list[Document]]:
        """Return the fields of records, and the records with typed values, without nulls."""
        if self.is_text and not self.decimal:
            self.decimal = _guess_decimal_mark(records)
        return self._infer_documents("", records, top=True)

    def _infer_documents(
        self, path: str, documents: Sequence[Record], *, top: bool = False
    ) -> tuple[tuple[Field, ...], list[Document]]:
        """Return the fields of documents at a path, and the documents with typed values."""
        fields, typed = [], [Document() for _ in documents]
        names = dict.fromkeys(chain.from_iterable(documents))
        ordered = [name for name in self.order if name in names] if top else []
        for name in dict.fromkeys([*ordered, *names]):
            values_at = enumerate(document.get(name) for document in documents)
            numbers = [number for number, value in values_at if value is not None]
            at = f"{path}.{name}" if path else name
            missing = len(documents) - len(numbers)
            nulls = sum(name in document for document in documents) - len(numbers) if missing else 0
            place = len(self.known)
            if not numbers:
                self.notes[f"{at} is null or empty wherever it is, and left out."] = None
                continue
            inner, values = self._infer_field(
                at, [documents[number][name] for number in numbers], top=top
            )
            item = inner.fields[0].type if inner.type == "array" else None
            known = KnownField(at, inner.type, item, len(documents), missing - nulls, nulls)
            # A field comes before the fields inside of it.
            self.known.insert(place, known)
            fields.append(replace(inner, name=name, optional=missing > 0))
            for number, value in zip(numbers, values, strict=True):
                typed[number][name] = value
        return tuple(fields), typed

    def _infer_field(
        self, path: str, values: Sequence[Any], *, top: bool = False
    ) -> tuple[Field, list[Any]]:
        """Return a field for all these values, which are not null, and the typed values."""
        kinds = {_classify_value(value) for value in values}
        if kinds == {"document"} and not self._is_map(path, values):
            fields, documents = self._infer_documents(path, values)
            return Field("", "document", fields=fields), documents
        if kinds == {"array"} and None not in chain.from_iterable(values):
            return self._infer_arrays(path, values)
        if not kinds & NESTED_TYPES:
            kind, scalars = self._infer_scalars(path, values, top=top)
            return Field("", kind), scalars
        if kinds != {"document"}:
            self.notes[f"{path} {_MIXED_NOTE}"] = None
        return Field("", "json"), [self._keep_as_json(path, value) for value in values]

    def _infer_arrays(self, path: str, values: Sequence[Sequence[Any]]) -> tuple[Field, list[Any]]:
        items = list(chain.from_iterable(values))
        element, typed = self._infer_field(f"{path}[]", items) if items else (Field("", "json"), [])
        rest = iter(typed)
        arrays = [[next(rest) for _ in value] for value in values]
        return Field("", "array", fields=(replace(element, name="item"),)), arrays

    def _is_map(self, path: str, values: Sequence[Document]) -> bool:
        names = set(chain.from_iterable(values))
        share = sum(map(len, values)) / (len(values) * max(len(names), 1))
        if len(names) <= _MAP_NAMES or share >= _MAP_SHARE:
            return False
        counted = f"{path} has {len(names):,} names, few of them each time"
        self.notes[f"{counted}: it is kept as JSON has it."] = None
        return True

    def _infer_scalars(
        self, path: str, values: Sequence[Any], *, top: bool
    ) -> tuple[FieldType, list[Any]]:
        """Return the narrowest type for all the values, and the typed values."""
        if self._are_large(values):
            self.notes[f"{path} holds {_TOO_LARGE_NOTE}"] = None
            return "string", [*map(str, values)]
        for kind, read in self._list_readers(values, top=top).items():
            try:
                typed = [read(value) for value in values]
            except (ValueError, TypeError, KeyError, OverflowError):
                continue
            if kind == "datetime" and any(map(_has_microseconds, values)):
                self.notes[f"{path}: {CUT_NOTE}"] = None
            return kind, typed
        if self.is_text:
            if all(map(_WRITTEN_DAY.fullmatch, values)):
                kept = f"{path} looks like days, and is kept as text"
                self.notes[f"{kept}: a day is written as 2024-03-18."] = None
            return "string", [*values]
        self.notes[f"{path} {_MIXED_NOTE}"] = None
        return "json", [self._keep_as_json(path, value) for value in values]

    def _are_large(self, values: Sequence[Any]) -> bool:
        """Return whether all values are whole numbers and some have more than 64 bits."""
        if self.is_text:
            if not all(map(_INTEGER.fullmatch, values)) or max(map(len, values)) > _MAX_DIGITS:
                return False
            values = [*map(int, values)]
        if not all(type(value) is int for value in values):
            return False
        return bool(min(values) < -(2**63) or max(values) >= 2**63)

    def _list_readers(self, values: Sequence[Any], *, top: bool) -> Readers:
        """Return the readers to try, in their order; inside of other values dates stay text."""
        if self.is_text:
            marks = any("," in value for value in values)
            number = _make_comma_parser(marks) if self.decimal == "," else _parse_number
            return {
                "integer": lambda text: _check_integer(number(text)),
                "float": lambda text: _check_float(number(text)),
                "boolean": _parse_boolean,
                "date": _read_date,
                "datetime": _read_datetime,
            }
        dates: Readers = {"date": _read_date, "datetime": _read_datetime} if top else {}
        return {
            "integer": _check_integer,
            "float": _check_float,
            "boolean": _check_boolean,
            **dates,
            "string": _check_text,
        }

    def _keep_as_json(self, path: str, value: Any) -> Any:
        """Return a value as JSON; a whole number beyond 64 bits becomes text."""
        if isinstance(value, dict):
            return {name: self._keep_as_json(path, part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._keep_as_json(path, part) for part in value]
        if type(value) is int and not -(2**63) <= value < 2**63:
            self.notes[f"{path} holds {_TOO_LARGE_NOTE}"] = None
            return str(value)
        return value.isoformat() if isinstance(value, date) else value


_TOO_LARGE_NOTE: Final = "integers beyond 2^63, which few stores hold: they are kept as text."
_MIXED_NOTE: Final = "differs in kind from place to place: it is kept as JSON has it."

_Nesting = Literal["document", "array", "scalar"]


def _classify_value(value: object) -> _Nesting:
    if isinstance(value, dict):
        return "document"
    return "array" if isinstance(value, list) else "scalar"


# 007 and 1_000 are text.
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)")
_MAX_DIGITS: Final = 400
"""Digits of a text beyond which it is not read as a number."""
_WRITTEN_DAY: Final = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}( [0-9:]+)?")
_COMMA: Final = re.compile(r"-?(0|[1-9][0-9]*)(,[0-9]+)?([eE][+-]?[0-9]+)?")
_GROUPED: Final = re.compile(r"-?[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?")


def _parse_number(value: str) -> int | float:
    """Return the number in a text; raises ValueError when it is not one."""
    if not _NUMBER.fullmatch(value):
        raise ValueError(value)
    return float(value) if set(value) & set(".eE") else int(value)


def _make_comma_parser(grouped: bool) -> Callable[[str], int | float]:
    """Return a function that reads numbers with a decimal comma.

    Points can separate thousands if numbers are `grouped`.
    """

    def number(value: str) -> int | float:
        if grouped and _GROUPED.fullmatch(value):
            value = value.replace(".", "")
        elif not _COMMA.fullmatch(value):
            raise ValueError(value)
        return _parse_number(value.replace(",", "."))

    return number


def _guess_decimal_mark(records: Sequence[Record]) -> str:
    """Return the decimal mark with which more columns are numbers with fractions."""
    columns: dict[str, list[str]] = {}
    for record in records:
        for name, cell in record.items():
            columns.setdefault(name, []).append(cell)
    fractions = dict.fromkeys(DECIMALS.values(), 0)
    for cells in columns.values():
        for mark, number in (
            (".", _parse_number),
            (",", _make_comma_parser(any("," in cell for cell in cells))),
        ):
            try:
                numbers = [number(cell) for cell in cells]
            except ValueError:
                continue
            fractions[mark] += any(isinstance(value, float) for value in numbers) and any(
                mark in cell for cell in cells
            )
    return "," if fractions[","] > fractions["."] else "."


def _check_integer(value: object) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value


def _check_float(value: object) -> float:
    if type(value) not in (int, float):
        raise ValueError(value)
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number) or number != value:
        raise ValueError(value)
    return number


def _parse_boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _check_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _read_date(value: Any) -> date:
    if type(value) is date:
        return value
    day = date.fromisoformat(value)
    if day.isoformat() != value:
        raise ValueError(value)
    return day


def _has_microseconds(value: Any) -> bool:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment.microsecond % 1000 > 0


def _read_datetime(value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(value)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
