"""The schema of a person's own records, inferred from all of them, column by column and at any depth.

In come records as a file holds them, out come their fields, the records with values of these types, and what is known
of each field. What is null counts as absent, and is left out: an XML element, a column and a mapper know no difference.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Final, Literal

from benchbook.datasets.record_files import CUT, DECIMALS
from benchbook.schemas import NESTED, Document, Field, FieldType, Record

Readers = Mapping[FieldType, Callable[[Any], object]]
"""By the type, what makes its value of a file's, or raises of another type's."""

_MAP_NAMES: Final = 100
_MAP_SHARE: Final = 0.1
"""More names than so many, of which the average object has less than that share, are keys of a map and no fields."""


@dataclass(frozen=True)
class KnownField:
    """What a file says of one of its fields."""

    path: str  # ``lines[].sku`` for a field of an array's documents
    type: FieldType
    item: FieldType | None  # of an array, what each of its elements is
    of: int  # documents that could have it
    absent: int  # of them, how many do not have it,
    null: int  # and how many have it and say null


@dataclass
class Inference:
    """What is understood of a file's records, filled while `inferred` goes through them."""

    is_text: bool  # numbers are written as texts: those of JSON are not
    decimal: str = "."  # the mark of those
    order: Sequence[str] = ()  # of the fields, where the file states one
    known: list[KnownField] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)  # what is not taken as it stands, each a sentence

    def records(self, records: Sequence[Record]) -> tuple[tuple[Field, ...], list[Document]]:
        """Return the fields of some records, and the records with typed values: without what is null."""
        if self.is_text and not self.decimal:
            self.decimal = _decimal_mark(records)
        return self._documents("", records, top=True)

    def _documents(
        self, path: str, documents: Sequence[Record], *, top: bool = False
    ) -> tuple[tuple[Field, ...], list[Document]]:
        fields, made = [], [Document() for _ in documents]
        names = dict.fromkeys(name for document in documents for name in document)
        stated = [name for name in self.order if name in names] if top else []
        for name in dict.fromkeys([*stated, *names]):
            holders = [number for number, document in enumerate(documents) if document.get(name) is not None]
            at = f"{path}.{name}" if path else name
            lacking = len(documents) - len(holders)
            nulls = sum(name in document for document in documents) - len(holders) if lacking else 0
            place = len(self.known)
            if not holders:
                self.notes[f"{at} is null or empty wherever it is, and left out."] = None
                continue
            inner, values = self._column(at, [documents[number][name] for number in holders], top=top)
            item = inner.fields[0].type if inner.type == "array" else None
            known = KnownField(at, inner.type, item, len(documents), lacking - nulls, nulls)
            self.known.insert(place, known)
            fields.append(replace(inner, name=name, optional=lacking > 0))
            for number, value in zip(holders, values, strict=True):
                made[number][name] = value
        return tuple(fields), made

    def _column(self, path: str, values: Sequence[Any], *, top: bool = False) -> tuple[Field, list[Any]]:
        """Return the field that holds all these values, none of them null, and them as such."""
        kinds = {_kind(value) for value in values}
        if kinds == {"document"} and not self._is_map(path, values):
            fields, documents = self._documents(path, values)
            return Field("", "document", fields=fields), documents
        if kinds == {"array"} and all(item is not None for value in values for item in value):
            return self._arrays(path, values)
        if not kinds & NESTED:
            kind, scalars = self._scalars(path, values, top=top)
            return Field("", kind), scalars
        if kinds != {"document"}:
            self.notes[f"{path} {_MIXED}"] = None
        return Field("", "json"), [self._as_it_is(path, value) for value in values]

    def _arrays(self, path: str, values: Sequence[Sequence[Any]]) -> tuple[Field, list[Any]]:
        items = [item for value in values for item in value]
        element, typed = self._column(f"{path}[]", items) if items else (Field("", "json"), [])
        rest = iter(typed)
        arrays = [[next(rest) for _ in value] for value in values]
        return Field("", "array", fields=(replace(element, name="item"),)), arrays

    def _is_map(self, path: str, values: Sequence[Document]) -> bool:
        names = {name for value in values for name in value}
        if len(names) <= _MAP_NAMES or sum(map(len, values)) >= _MAP_SHARE * len(names) * len(values):
            return False
        self.notes[f"{path} has {len(names):,} names, few of them each time: it is kept as JSON has it."] = None
        return True

    def _scalars(self, path: str, values: Sequence[Any], *, top: bool) -> tuple[FieldType, list[Any]]:
        """Return the narrowest type that holds all the values, and the values as such."""
        if self._are_large(values):
            self.notes[f"{path} holds {_TOO_LARGE}"] = None
            return "string", [*map(str, values)]
        for kind, read in self._readers(values, top=top).items():
            try:
                typed = [read(value) for value in values]
            except (ValueError, TypeError, KeyError, OverflowError):
                continue
            if kind == "datetime" and any(map(_is_cut, values)):
                self.notes[f"{path}: {CUT}"] = None
            return kind, typed
        if self.is_text:
            if all(map(_WRITTEN_DAY.fullmatch, values)):
                self.notes[f"{path} looks like days, and is kept as text: a day is written as 2024-03-18."] = None
            return "string", [*values]
        self.notes[f"{path} {_MIXED}"] = None
        return "json", [self._as_it_is(path, value) for value in values]

    def _are_large(self, values: Sequence[Any]) -> bool:
        """Return whether all values are whole numbers, of which some have more than 64 bits."""
        if self.is_text:
            if not all(map(_INTEGER.fullmatch, values)) or max(map(len, values)) > _DIGITS:
                return False
            values = [*map(int, values)]
        return all(type(value) is int for value in values) and not (min(values) >= -(2**63) and max(values) < 2**63)

    def _readers(self, values: Sequence[Any], *, top: bool) -> Readers:
        """Return what may be made of the values: days and moments of texts that are in no other value."""
        if self.is_text:
            marks = any("," in value for value in values)
            number = _with_comma(marks) if self.decimal == "," else _number
            return {"integer": lambda text: _integer(number(text)), "float": lambda text: _float(number(text)),
                    "boolean": _boolean, "date": _date, "datetime": _datetime}  # fmt: skip
        dates: Readers = {"date": _date, "datetime": _datetime} if top else {}
        return {"integer": _integer, "float": _float, "boolean": _truth, **dates, "string": _text}

    def _as_it_is(self, path: str, value: Any) -> Any:
        """Return a value as JSON has it, a whole number beyond 64 bits as text."""
        if isinstance(value, dict):
            return {name: self._as_it_is(path, part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._as_it_is(path, part) for part in value]
        if type(value) is int and not -(2**63) <= value < 2**63:
            self.notes[f"{path} holds {_TOO_LARGE}"] = None
            return str(value)
        return value.isoformat() if isinstance(value, date) else value


_TOO_LARGE: Final = "integers beyond 2^63, which few stores hold: they are kept as text."
_MIXED: Final = "differs in kind from place to place: it is kept as JSON has it."

Kind = Literal["document", "array", "scalar"]


def _kind(value: object) -> Kind:
    if isinstance(value, dict):
        return "document"
    return "array" if isinstance(value, list) else "scalar"


_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")  # 007 and 1_000 are text
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)")
_DIGITS: Final = 400
"""More are no number to anybody."""
_WRITTEN_DAY: Final = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}( [0-9:]+)?")
_COMMA: Final = re.compile(r"-?(0|[1-9][0-9]*)(,[0-9]+)?([eE][+-]?[0-9]+)?")
_GROUPED: Final = re.compile(r"-?[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?")


def _number(value: str) -> int | float:
    """Return the number that a text states."""
    if not _NUMBER.fullmatch(value):
        raise ValueError(value)
    return float(value) if set(value) & set(".eE") else int(value)


def _with_comma(grouped: bool) -> Callable[[str], int | float]:
    """Return what reads a number with a decimal comma; with points between its thousands where it may be `grouped`."""

    def number(value: str) -> int | float:
        if grouped and _GROUPED.fullmatch(value):
            value = value.replace(".", "")
        elif not _COMMA.fullmatch(value):
            raise ValueError(value)
        return _number(value.replace(",", "."))

    return number


def _decimal_mark(records: Sequence[Record]) -> str:
    """Return the mark with which more columns of texts hold fractions, among the columns that hold numbers alone."""
    columns: dict[str, list[str]] = {}
    for record in records:
        for name, cell in record.items():
            columns.setdefault(name, []).append(cell)
    fractions = dict.fromkeys(DECIMALS.values(), 0)
    for cells in columns.values():
        for mark, number in ((".", _number), (",", _with_comma(any("," in cell for cell in cells)))):
            try:
                numbers = [number(cell) for cell in cells]
            except ValueError:
                continue
            fractions[mark] += any(isinstance(value, float) for value in numbers) and any(
                mark in cell for cell in cells
            )
    return "," if fractions[","] > fractions["."] else "."


def _integer(value: object) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value


def _float(value: object) -> float:
    if type(value) not in (int, float):
        raise ValueError(value)
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number) or number != value:
        raise ValueError(value)
    return number


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _date(value: Any) -> date:
    if type(value) is date:
        return value
    day = date.fromisoformat(value)
    if day.isoformat() != value:
        raise ValueError(value)
    return day


def _is_cut(value: Any) -> bool:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment.microsecond % 1000 > 0


def _datetime(value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(value)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
