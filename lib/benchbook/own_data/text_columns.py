"""The types of columns of texts, as delimited text and XML have them."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from benchbook.own_data.inference import are_days, read_datetime
from benchbook.text.number_format import format_count

DecimalMark = Literal[".", ","]

ABSENT_MARKS: Final = frozenset(
    {
        *("NA", "N/A", "n/a", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT"),
        *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
        *("#NA", "#N/A", "#N/A N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
    }
)
"""Texts that are no value in a column of numbers, booleans, days or moments.

R, Python, SQL and spreadsheets write them. In a column of texts they may be a text: NA is a
country, None a name.
"""

MYSQL_NULL: Final = r"\N"
"""The absent value of MySQL's and PostgreSQL's exports, in every column."""

_ABSENT_TEXTS: Final = ABSENT_MARKS | {"", MYSQL_NULL}

_BOOLEANS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

# 007 and 1_000 are text.
_INTEGER: Final = re.compile("[+-]?(0|[1-9][0-9]*)")
_NUMBERS: Final = {
    mark: re.compile(rf"[+-]?((0|[1-9][0-9]*)([{mark}][0-9]*)?|[{mark}][0-9]+)([eE][+-]?[0-9]+)?")
    for mark in (".", ",")
}
_THOUSANDS: Final = ". '\u2019\u00a0\u202f"
"""Marks between the thousands of numbers with a decimal comma."""
_GROUPED: Final = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}([{_THOUSANDS}][0-9]{{3}})+(,[0-9]*)?")
_WITHOUT_THOUSANDS: Final = str.maketrans(",", ".", _THOUSANDS)
_PLAIN_INTEGER: Final = re.compile("[0-9]+")

_SIMILAR_TEXTS: Final = {
    "days": (
        "("
        + "|".join(rf"[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{2,4}}" for mark in "./-")
        + "|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})( [0-9:]+)?( ?[AaPp][Mm])?",
        "a day is written as 2024-03-18",
    ),
    "times": ("[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?", "there is no type for times of a day"),
    "true or false": ("[tfTFyYnN]|([yY]es|YES|[nN]o|NO)", "write true and false"),
    "numbers": (
        r"[-+(]?\s?[$€£¥]?\s?[0-9]{1,3}([,.' \u2019\u00a0\u202f]?[0-9]{2,3})*([.,][0-9]+)?"
        r"\s?[%$€£¥)]?|[+-]?[iI]nf(inity)?",
        "write 1234.5, without unit and marks of thousands, or state #decimal=comma",
    ),
}
"""Texts that look like another type: their pattern, and how that type is written."""

Kind = Literal["absent", "integer", "large", "float", "boolean", "date", "datetime", "text"]

_NUMERIC: Final[frozenset[Kind]] = frozenset({"integer", "large", "float"})
_GROUPS: Final[dict[str, frozenset[Kind]]] = {
    "numbers": _NUMERIC,
    "true or false": frozenset({"boolean"}),
    "days": frozenset({"date"}),
    "moments": frozenset({"datetime"}),
}
_MIN_SHARE: Final = 0.5
"""The share of a column's values from which one that is kept as text is worth a note."""

_EXACT: Final = 2**53
"""Up to this number every integer is a double."""


@dataclass(frozen=True)
class ColumnType:
    """How the texts of a column are read."""

    convert: Callable[[str], object]  # of a present text
    has_marks: bool = False  # whether the texts of `ABSENT_MARKS` are absent
    reason: str = ""  # why it is text, where that is worth a note

    def read(self, texts: Iterable[str | None]) -> list[object]:
        """Return the values of texts, None where one is absent."""
        values: list[object] = []
        for text in texts:
            is_absent = text in (None, "", MYSQL_NULL)
            if text and self.has_marks:
                is_absent = text.strip() in _ABSENT_TEXTS
            values.append(None if is_absent else self.convert(str(text)))
        return values


@dataclass
class TextColumns:
    """The types of columns of texts, with a sentence for each change of values."""

    decimal: DecimalMark = "."
    notes: dict[str, None] = field(default_factory=dict)
    # How often each text is taken as absent, and in which columns.
    absent_marks: Counter[str] = field(default_factory=Counter)
    mark_columns: list[str] = field(default_factory=list)

    def read_column(self, name: str, texts: Sequence[str | None]) -> list[object]:
        """Return the values of a column's texts, None where one is absent.

        They are integers, floats and booleans; days and moments stay text, which
        `benchbook.own_data.inference` finds.
        """
        counts = Counter(text for text in texts if text not in (None, "", MYSQL_NULL))
        found = find_type({str(text): count for text, count in counts.items()}, self.decimal)
        if found.reason:
            self.notes[f"{name} {found.reason}."] = None
        if found.has_marks:
            stripped = Counter(text.strip() for text in texts if text)
            marks = [mark for mark in stripped if mark and mark in _ABSENT_TEXTS]
            for mark in marks:
                self.absent_marks[mark] += stripped[mark]
            self.mark_columns += [name] if marks else []
        return found.read(texts)

    def list_notes(self) -> list[str]:
        """Return the sentences, with one for all texts that are taken as absent."""
        if not self.mark_columns:
            return [*self.notes]
        counted = []
        for mark, count in self.absent_marks.items():
            counted.append(f"{mark!r} {format_count(count, 'time')}")
        names = ", ".join(self.mark_columns[:3])
        others = self.mark_columns[3:]
        more = f" and {format_count(len(others), 'other column')}" if others else ""
        return [*self.notes, f"Taken as absent: {', '.join(counted)}, in {names}{more}."]


def find_type(counts: dict[str, int], decimal: DecimalMark) -> ColumnType:
    """Return the narrowest type for all texts of a column.

    Parameters
    ----------
    counts
        How often each text comes that is not absent in every column.
    decimal
        The mark before the fractions of numbers.
    """
    # How many values are of each kind, and the first of each?
    is_grouped = decimal == "," and any("," in text for text in counts)
    kinds: Counter[Kind] = Counter()
    examples: dict[Kind, str] = {}
    for text, count in counts.items():
        value = text.strip()
        kind = _classify(value, decimal, is_grouped=is_grouped)
        kinds[kind] += count
        examples.setdefault(kind, value)
    kinds.pop("absent", None)
    present = sum(kinds.values())
    # All must be of one type; integers and fractions are one, where doubles hold them.
    if kinds.keys() <= {"integer"}:
        return ColumnType(lambda text: int(_write_number(text.strip(), decimal)), has_marks=True)
    if kinds.keys() <= {"boolean"}:
        return ColumnType(lambda text: _BOOLEANS[text.strip()], has_marks=True)
    if kinds.keys() <= {"date"} or kinds.keys() <= {"datetime"}:
        return ColumnType(str.strip, has_marks=True)
    if kinds.keys() <= {"integer", "large"}:
        return ColumnType(
            str, reason="holds integers beyond 2^63, which few stores hold: they are kept as text"
        )
    if kinds.keys() <= _NUMERIC:
        numbers = [_write_number(text.strip(), decimal) for text in counts]
        if all(map(_is_double, numbers)):
            return ColumnType(
                lambda text: float(_write_number(text.strip(), decimal)), has_marks=True
            )
        why = "holds fractions, and integers that a double does not hold: it is kept as text"
        return ColumnType(str, reason=why)
    # It is text: is that worth a note?
    for name, group in _GROUPS.items():
        alike = sum(kinds[kind] for kind in group)
        others = [kind for kind in kinds if kind not in group]
        if alike >= _MIN_SHARE * present:
            rows = format_count(present - alike, "row")
            kept = f"holds {name}, except in {rows} ({examples[others[0]]!r}), and is kept as text"
            return ColumnType(str, reason=f"{kept}: empty or correct those cells")
    return ColumnType(str, reason=_find_similar([text.strip() for text in counts]))


def _find_similar(values: Sequence[str]) -> str:
    """Return why values that look like another type are kept as text; empty if they do not."""
    present = [value for value in values if value not in ABSENT_MARKS and value]
    example = present[0]
    for name, (pattern, remedy) in _SIMILAR_TEXTS.items():
        similar = re.compile(pattern)
        # A single letter may be a code.
        if name == "true or false" and len(present) != 2:
            continue
        if all(_is_similar(value, similar) for value in present):
            return f"looks like {name} ({example!r}), and is kept as text: {remedy}"
    if all(value.isdecimal() and not value.isascii() for value in present):
        why = f"looks like numbers ({example!r}), and is kept as text"
        return f"{why}: write them with the digits 0 to 9"
    return ""


def _is_similar(value: str, similar: re.Pattern[str]) -> bool:
    """Return whether a value looks like another type, and not like a code as 007."""
    return bool(similar.fullmatch(value)) and not _PLAIN_INTEGER.fullmatch(value)


def guess_decimal_mark(columns: Iterable[Sequence[str]]) -> DecimalMark:
    """Return the decimal mark with which more columns are numbers with fractions."""
    marked: Counter[str] = Counter()
    for texts in columns:
        counts = Counter(texts)
        for mark in (".", ","):
            values = {_classify(text.strip(), mark, is_grouped=mark == ",") for text in counts}
            has_mark = any(mark in text for text in counts)
            marked[mark] += has_mark and "float" in values and values <= {*_NUMERIC, "absent"}
    return "," if marked[","] > marked["."] else "."


def _classify(value: str, decimal: str, *, is_grouped: bool) -> Kind:
    """Return the kind of a text without blanks around it.

    Points separate thousands only in a column that also has decimal commas: then it `is_grouped`.
    """
    if value in _ABSENT_TEXTS:
        return "absent"
    if value in _BOOLEANS:
        return "boolean"
    if not re.match("[-+]?[.,]?[0-9]", value) or (not value.isascii() and not is_grouped):
        return "text"
    if _INTEGER.fullmatch(value):
        return "integer" if _is_64_bit(value) else "large"
    if _NUMBERS[decimal].fullmatch(value) or (is_grouped and _GROUPED.fullmatch(value)):
        number = _write_number(value, decimal)
        if not math.isfinite(float(number)):
            return "text"
        if not _INTEGER.fullmatch(number):
            return "float"
        return "integer" if _is_64_bit(number) else "large"
    if not value[0].isdigit():
        return "text"
    if are_days([value]):
        return "date"
    try:
        read_datetime(value)
    except (ValueError, OverflowError):
        return "text"
    return "datetime"


def _write_number(value: str, decimal: str) -> str:
    """Return a number's text with a decimal point and without marks of thousands."""
    return value if decimal == "." else value.translate(_WITHOUT_THOUSANDS)


def _is_64_bit(number: str) -> bool:
    """Return whether an integer has at most 64 bits; Python does not read thousands of digits."""
    return len(number) < 22 and -(2**63) <= int(number) < 2**63


def _is_double(number: str) -> bool:
    """Return whether a number is not an integer that a double changes."""
    is_integer = _INTEGER.fullmatch(number) is not None
    return not is_integer or int(float(number)) == int(number)
