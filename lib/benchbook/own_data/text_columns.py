"""The types of columns of texts, as delimited text and XML have them."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from benchbook.own_data.inference import is_day, is_double, parse_moment
from benchbook.text.number_format import format_count

DecimalMark = Literal[".", ","]

DECIMALS: Final[Mapping[str, DecimalMark]] = {"point": ".", "comma": ","}
"""The words of the option ``decimal``, each with its mark."""

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
    "numbers in other digits": (r"[^\x00-\x7f\D]+", "write them with the digits 0 to 9"),
}
"""Texts that look like another type: their pattern, and how that type is written."""

Kind = Literal["absent", "integer", "float", "boolean", "date", "datetime", "text"]

_NUMERIC: Final[frozenset[Kind]] = frozenset({"integer", "float"})
_GROUPS: Final[dict[str, frozenset[Kind]]] = {
    "numbers": _NUMERIC,
    "true or false": frozenset({"boolean"}),
    "days": frozenset({"date"}),
    "moments": frozenset({"datetime"}),
}
_MIN_SHARE: Final = 0.5
"""The share of a column's values from which one that is kept as text is worth a note."""

_MOST_DIGITS: Final = 300
"""Characters of the longest integer: a longer one is a text."""


@dataclass
class TextColumns:
    """The types of columns of texts, with a sentence for each change of values."""

    decimal: DecimalMark = "."
    notes: dict[str, None] = field(default_factory=dict)
    # How often each text is taken as absent, and in which columns.
    absent_marks: Counter[str] = field(default_factory=Counter)
    mark_columns: dict[str, None] = field(default_factory=dict)

    def read_column(self, name: str, texts: Sequence[str | None]) -> list[object]:
        """Return the values of a column's texts, None where one is absent.

        They are integers, floats or booleans; days and moments stay text, which
        `benchbook.own_data.inference` finds.
        """
        read = _read_values(texts, self.decimal)
        kinds = {kind for kind, _ in read if kind != "absent"}
        values = [value for _, value in read]
        is_typed = len(kinds) < 2 and "text" not in kinds
        if kinds <= _NUMERIC and "float" in kinds:
            is_typed = all(value is None or is_double(value) for value in values)
            values = [value if value is None else float(value) for value in values]
        if not is_typed:
            reason = _explain_text(read)
            if reason:
                self.notes[f"{name} {reason}."] = None
            return [None if text in ("", MYSQL_NULL) else text for text in texts]
        for text in texts:
            mark = (text or "").strip()
            if mark and mark in _ABSENT_TEXTS:
                self.absent_marks[mark] += 1
                self.mark_columns[name] = None
        return values

    def list_notes(self) -> list[str]:
        """Return the sentences, with one for all texts that are taken as absent."""
        if not self.mark_columns:
            return [*self.notes]
        counted = []
        for mark, count in self.absent_marks.items():
            counted.append(f"{mark!r} {format_count(count, 'time')}")
        columns = [*self.mark_columns]
        names = ", ".join(columns[:3])
        others = columns[3:]
        more = f" and {format_count(len(others), 'other column')}" if others else ""
        return [*self.notes, f"Taken as absent: {', '.join(counted)}, in {names}{more}."]


def guess_decimal_mark(columns: Iterable[Sequence[str | None]]) -> DecimalMark:
    """Return the decimal mark with which more columns are numbers with fractions."""
    marked: Counter[str] = Counter()
    for texts in columns:
        for mark in (".", ","):
            kinds = {kind for kind, _ in _read_values(texts, mark)}
            marked[mark] += "float" in kinds and kinds <= {*_NUMERIC, "absent"}
    return "," if marked[","] > marked["."] else "."


def _read_values(texts: Iterable[str | None], decimal: str) -> list[tuple[Kind, Any]]:
    """Return the kind and the value of each text."""
    # Points separate thousands only in a column that also has decimal commas.
    is_grouped = decimal == "," and any("," in text for text in texts if text)
    return [_read_value((text or "").strip(), decimal, is_grouped=is_grouped) for text in texts]


def _read_value(text: str, decimal: str, *, is_grouped: bool) -> tuple[Kind, Any]:
    """Return the kind and the value of a text without blanks around it."""
    if text in _ABSENT_TEXTS:
        return "absent", None
    if text in _BOOLEANS:
        return "boolean", _BOOLEANS[text]
    if _NUMBERS[decimal].fullmatch(text) or (is_grouped and _GROUPED.fullmatch(text)):
        number = text if decimal == "." else text.translate(_WITHOUT_THOUSANDS)
        if _INTEGER.fullmatch(number) and len(number) <= _MOST_DIGITS:
            return "integer", int(number)
        value = float(number)
        if math.isfinite(value):
            return "float", value
    if text[0].isdecimal() and is_day(text):
        return "date", text
    if text[0].isdecimal() and parse_moment(text):
        return "datetime", text
    return "text", text


def _explain_text(read: Sequence[tuple[Kind, Any]]) -> str:
    """Return why values are kept as text, where that is worth a note; empty if it is not."""
    present = [(kind, value) for kind, value in read if kind != "absent"]
    kinds = Counter(kind for kind, _ in present)
    if kinds.keys() <= _NUMERIC:
        return "holds fractions, and integers that a double does not hold: it is kept as text"
    for name, group in _GROUPS.items():
        others = [value for kind, value in present if kind not in group]
        if len(present) - len(others) >= _MIN_SHARE * len(present):
            rows = format_count(len(others), "row")
            kept = f"holds {name}, except in {rows} ({str(others[0])!r}), and is kept as text"
            return f"{kept}: empty or correct those cells"
    return _find_similar([str(value) for _, value in present])


def _find_similar(values: Sequence[str]) -> str:
    """Return why values that look like another type are kept as text; empty if they do not."""
    for name, (pattern, remedy) in _SIMILAR_TEXTS.items():
        # A single letter may be a code, and so may digits.
        is_code = name == "true or false" and len({*values}) != 2
        similar = re.compile(rf"(?![0-9]+\Z)({pattern})")
        if not is_code and all(map(similar.fullmatch, values)):
            return f"looks like {name} ({values[0]!r}), and is kept as text: {remedy}"
    return ""
