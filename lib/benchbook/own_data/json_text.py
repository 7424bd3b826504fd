"""JSON read by Python's own parser: slower than orjson, but exact, and each error has its place.

It finds names that come twice, keeps integers of any size, and can stop at a value inside a text.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchbook.files.inputs import InputError
from benchbook.schema import Document

NumberedDocuments = Iterator[tuple[int, Document]]
"""Documents with their line in the file."""

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
CUT_OFF_REASON: Final = "ends in the middle of a record: the file is cut off"
_SHOWN_NAMES: Final = 8
_REMEDIES: Final = {
    "'": "names and texts are in double quotes in JSON",
    "/": "JSON has no comments: delete it",
    "#": "JSON has no comments: delete it",
    "N": "JSON has null, and neither None nor NaN",
    "T": "JSON has true, in small letters",
    "F": "JSON has false, in small letters",
    "+": "JSON has no plus before a number: delete it",
    ".": "JSON has a digit before the point: write 0.5",
    "<": "this is XML or HTML",
}
"""What to do about a character with which no value of JSON begins."""

_KINDS: Final = {type(None): "null", bool: "true or false", str: "a text"}
"""What a value other than an object or a number is called."""

_BEFORE_VALUES: Final = ("", ":", ",", "[", "{", "}")


@dataclass
class JsonText:
    """A text of JSON, or its end from a place on."""

    path: Path
    decoded: str
    line: int = 1  # of its beginning, in the file
    column: int = 0  # characters before it on that line

    def __post_init__(self) -> None:
        self.end = 0
        self._counted = 0
        self._line = self.line

    def read_objects(self) -> NumberedDocuments:
        """Yield the objects of a text that has one after another."""
        position = self._skip_blanks(0)
        while position < len(self.decoded):
            line = self._find_line(position)
            value, end = self.read_value(position)
            yield line, self._check_object(value, line)
            position = self._skip_blanks(end)
            if self.decoded.startswith(",", position):
                why = "a comma is behind the record: delete it"
                raise InputError(f"{self.path}:{self._find_line(position)}", why)

    def read_array(self, position: int) -> NumberedDocuments:
        """Yield the objects of an array from an element on; then `end` is behind its bracket."""
        return self._read_elements(position, "]", self.read_value)

    def read_map(self, position: int) -> NumberedDocuments:
        """Yield the objects of an object from a name on, the name as ``_id``."""
        return self._read_elements(position, "}", self._read_member)

    def _read_elements(
        self, position: int, closing: str, read: Callable[[int], tuple[Any, int]]
    ) -> NumberedDocuments:
        """Yield objects with commas between them, until the closing bracket."""
        is_first = True
        while True:
            position = self._skip_blanks(position)
            line = self._find_line(position)
            if self.decoded.startswith(closing, position):
                self.end = position + 1
                if is_first:
                    return
                why = f"a comma is before the {closing}: delete it"
                raise InputError(f"{self.path}:{line}", why)
            value, end = read(position)
            yield line, self._check_object(value, line)
            position = self._skip_blanks(end)
            is_first = False
            mark = self.decoded[position : position + 1]
            if mark == closing:
                self.end = position + 1
                return
            if mark != ",":
                why = f"a comma or {closing} is expected, not {mark!r}"
                where = f"{self.path}:{self._find_line(position)}"
                raise InputError(where, why if mark else CUT_OFF_REASON)
            position += 1

    def _read_member(self, position: int) -> tuple[Any, int]:
        """Return an object of a map, with its name as ``_id``, and its end."""
        name, position = self._read_name(position)
        value, end = self.read_value(position)
        if isinstance(value, dict):
            value = {**value, "_id": name}
        return value, end

    def find_value(self, path: str) -> int:
        """Return the place of the value at a path, such as ``answer.items``; ``.`` is the whole.

        Raises `InputError` when there is none.
        """
        position = self._skip_blanks(0)
        rest = "" if path == "." else path
        while rest:
            position, rest = self._enter_object(position, rest, path)
        return position

    def _enter_object(self, position: int, rest: str, path: str) -> tuple[int, str]:
        """Return the place of a member's value, and the rest of the path behind its name."""
        names: list[str] = []
        is_object = self.decoded.startswith("{", position)
        position = self._skip_blanks(position + 1)
        while is_object and not self.decoded.startswith("}", position):
            name, position = self._read_name(position)
            if rest == name or rest.startswith(f"{name}."):
                return position, rest[len(name) + 1 :]
            names.append(name)
            _, end = self.read_value(position, _SKIPPING)
            position = self._skip_blanks(end)
            if not self.decoded.startswith(",", position):
                break
            position = self._skip_blanks(position + 1)
        shown = ", ".join(map(repr, names[:_SHOWN_NAMES])) or "no name"
        more = " and more" if names[_SHOWN_NAMES:] else ""
        why = f"records={path}: there is no {rest!r}, but {shown}{more}"
        raise InputError(str(self.path), why)

    def _read_name(self, position: int) -> tuple[str, int]:
        """Return the name at a place of an object, and the place of its value."""
        name, end = self.read_value(position)
        end = self._skip_blanks(end)
        if not isinstance(name, str) or not self.decoded.startswith(":", end):
            where = f"{self.path}:{self._find_line(position)}"
            raise InputError(where, "a name in double quotes and a colon are expected")
        return name, self._skip_blanks(end + 1)

    def read_value(
        self, position: int = 0, decoder: json.JSONDecoder | None = None
    ) -> tuple[Any, int]:
        """Return the value at a place, and its end; raises `InputError` with file and line."""
        try:
            value, end = (decoder or _EXACT).raw_decode(self.decoded, position)
            if self.decoded.find("\\u", position, end) >= 0:
                # Half of a surrogate pair is not a character.
                json.dumps(value, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            raise self._explain(error, position) from error
        except (ValueError, RecursionError) as error:
            where = f"{self.path}:{self._find_line(position)}"
            raise InputError(where, _explain_value(error)) from error
        return value, end

    def _check_object(self, value: Any, line: int) -> Document:
        if not isinstance(value, dict):
            raise InputError(f"{self.path}:{line}", describe_other(value))
        return value

    def _explain(self, error: json.JSONDecodeError, begin: int) -> InputError:
        """Return the error of a value that begins at a place."""
        first_line = self._find_line(begin)
        if error.pos >= len(self.decoded.rstrip()):
            return InputError(f"{self.path}:{first_line}", CUT_OFF_REASON)
        line = self._find_line(error.pos)
        column = error.colno + (self.column if error.lineno == 1 else 0)
        mark = self.decoded[error.pos]
        if line > first_line and column == 1 and mark == "{":
            why = f"the record is cut off before line {line}, where another begins"
            return InputError(f"{self.path}:{first_line}", f"{why}: complete or delete it")
        began = f" (the record begins on line {first_line})" if line != first_line else ""
        before = self.decoded[: error.pos].rstrip()[-1:]
        remedy = _REMEDIES.get(mark, "") if before in _BEFORE_VALUES else ""
        if before == "," and mark in "]}":
            remedy = f"a comma is before the {mark}: delete it"
        elif not remedy and error.msg.startswith("Expecting property name"):
            remedy = _REMEDIES["'"]
        why = f"not JSON: {error.msg}, at column {column}{began}"
        return InputError(f"{self.path}:{line}", f"{why}: {remedy}" if remedy else why)

    def _skip_blanks(self, position: int) -> int:
        blanks = _BLANKS.match(self.decoded, position)
        return blanks.end() if blanks else position

    def _find_line(self, position: int) -> int:
        """Return the line of a place; places are asked for in their order, mostly."""
        if position < self._counted:
            return self.line + self.decoded.count("\n", 0, position)
        self._line += self.decoded.count("\n", self._counted, position)
        self._counted = position
        return self._line


def describe_other(value: object) -> str:
    """Return why a value cannot be a record, in words."""
    if isinstance(value, list):
        return "a JSON object is expected, not an array: give its values names"
    kind = _KINDS.get(type(value), "a number")
    return f"a JSON object is expected, not {kind}"


def _explain_value(error: Exception) -> str:
    """Return why a value is refused that is JSON, in one line."""
    if isinstance(error, RecursionError):
        return "is nested too deep: leave the inner values out"
    if "integer string conversion" in str(error):
        return "a number has thousands of digits: write it as text"
    if isinstance(error, UnicodeEncodeError):
        half = f"\\u{ord(error.object[error.start]):04x}"
        return f"a text holds {half}, half of a surrogate pair, which is no character: delete it"
    return str(error)


def _read_pairs(pairs: list[tuple[str, Any]]) -> Document:
    """Return an object; raises ValueError when it has a name twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the name {twice!r} comes twice")
    return record


def _parse_finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"the number {number} is beyond what a double holds")
    return value


def _refuse_number(name: str) -> float:
    raise ValueError(f"JSON does not have the number {name}: write null")


_EXACT: Final = json.JSONDecoder(
    object_pairs_hook=_read_pairs, parse_float=_parse_finite, parse_constant=_refuse_number
)
# Where only a value's end is needed, nothing is called for its objects and numbers.
_SKIPPING: Final = json.JSONDecoder()
