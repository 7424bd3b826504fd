"""A stream of JSON, read value by value by Python's own parser: exact, and each error has its line.

Only as much is read as the next value needs.
"""

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import NumberedRecords
from benchbook.schema import Document

MAX_DEPTH: Final = 100
"""Levels of the deepest nesting of a record: MongoDB's limit."""

RECORD_MARK: Final = "\x1e"
"""What is before each record of a JSON text sequence, RFC 7464."""

CUT_OFF_REASON: Final = "ends in the middle of a record: the file is cut off"

_CHUNK: Final = 2**16
"""Characters that are read at once; more for a larger value."""
_LONGEST_TOKEN: Final = 16
"""Characters before the end in which an error can be that a token is not whole."""
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
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
    "O": "the shell of MongoDB wrote it: export the collection with mongoexport",
    "I": "the shell of MongoDB wrote it: export the collection with mongoexport",
}
"""What to do about a character with which no value of JSON begins."""

_KINDS: Final = {
    type(None): "null",
    bool: "true or false",
    str: "a text",
    list: "an array: give its values names",
}
"""What a value other than an object or a number is called."""

_BEFORE_VALUES: Final = ("", ":", ",", "[", "{", "}")


@dataclass
class JsonText:
    """A stream of JSON; `position` is where reading goes on."""

    path: Path
    stream: TextIO

    def __post_init__(self) -> None:
        self.position = 0
        self._text = ""
        # The line and the column of the text's beginning, and how far lines are counted.
        self._line, self._column = 1, 0
        self._counted, self._counted_line = 0, 1
        self._is_sequence = False
        self._fill()

    def peek(self) -> str:
        """Return the next character that is not a blank; empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self.position)
            self.position = blanks.end() if blanks else self.position
            if self.position < len(self._text) or not self._fill():
                return self._text[self.position : self.position + 1]

    def read_objects(self) -> NumberedRecords:
        """Yield the objects of a text that has one after another."""
        while self.peek():
            line = self._find_line(self.position)
            yield line, self._check_object(self.read_value(), line)
            if self.peek() == ",":
                raise self.build_error("a comma is behind the record: delete it")

    def read_elements(self) -> NumberedRecords:
        """Yield the objects in the brackets that begin here, and go behind the closing one.

        Those of an object get their names as ``_id``.
        """
        is_array = self.peek() == "["
        closing = "]" if is_array else "}"
        self.position += 1
        is_first = True
        while self.peek() != closing or not is_first:
            line = self._find_line(self.position)
            if self.peek() == closing:
                raise self.build_error(f"a comma is before the {closing}: delete it")
            value = self.read_value() if is_array else self._read_member()
            yield line, self._check_object(value, line)
            is_first = False
            mark = self.peek()
            if mark == closing:
                break
            if mark != ",":
                why = f"a comma or {closing} is expected, not {mark!r}"
                raise self.build_error(why if mark else CUT_OFF_REASON)
            self.position += 1
        self.position += 1

    def _read_member(self) -> Any:
        """Return an object of a map, with its name as ``_id``."""
        name = self._read_name()
        value = self.read_value()
        return {**value, "_id": name} if isinstance(value, dict) else value

    def find_value(self, path: str) -> None:
        """Go to the value at a path, such as ``answer.items``; ``.`` is the whole.

        Raises `InputError` when there is none.
        """
        self.peek()
        rest = "" if path == "." else path
        while rest:
            rest = self._enter_object(rest, path)

    def _enter_object(self, rest: str, path: str) -> str:
        """Go to the value of a member, and return the rest of the path behind its name."""
        names: list[str] = []
        while self.peek() == ("," if names else "{"):
            self.position += 1
            if self.peek() == "}":
                break
            name = self._read_name()
            if rest == name or rest.startswith(f"{name}."):
                return rest[len(name) + 1 :]
            names.append(name)
            self.read_value(_SKIPPING)
        shown = ", ".join(map(repr, names[:_SHOWN_NAMES])) or "no name"
        more = " and more" if names[_SHOWN_NAMES:] else ""
        why = f"records={path}: there is no {rest!r}, but {shown}{more}"
        raise InputError(str(self.path), why)

    def _read_name(self) -> str:
        """Return the name here of an object's member, and go to its value."""
        line = self._find_line(self.position)
        name = self.read_value() if self.peek() else None
        if not isinstance(name, str) or self.peek() != ":":
            where = f"{self.path}:{line}"
            raise InputError(where, "a name in double quotes and a colon are expected")
        self.position += 1
        self.peek()
        return name

    def read_value(self, decoder: json.JSONDecoder | None = None) -> Any:
        """Return the value here, and go behind it; raises `InputError` with file and line."""
        self._forget_read_text()
        self.peek()
        begin = self.position
        while True:
            try:
                value, self.position = (decoder or _EXACT).raw_decode(self._text, begin)
                if self._text.find("\\u", begin, self.position) >= 0:
                    # Half of a surrogate pair is not a character.
                    json.dumps(value, ensure_ascii=False).encode()
            except json.JSONDecodeError as error:
                is_at_end = error.pos >= len(self._text) - _LONGEST_TOKEN
                # A text that stays open ends beyond what was read.
                may_be_cut = is_at_end or error.msg.startswith("Unterminated string")
                if not may_be_cut or not self._fill():
                    raise self._explain(error, begin) from error
            except (ValueError, RecursionError) as error:
                where = f"{self.path}:{self._find_line(begin)}"
                raise InputError(where, _explain_value(error)) from error
            else:
                return value

    def build_error(self, why: str) -> InputError:
        """Return an error with the line that is read."""
        return InputError(f"{self.path}:{self._find_line(self.position)}", why)

    def read_rest(self) -> str:
        """Return the next characters, to be shown."""
        self.peek()
        return self._text[self.position : self.position + 20]

    def _check_object(self, value: Any, line: int) -> Document:
        """Return a record; raises `InputError` when it is not an object, or nested too deep."""
        why = ""
        if not isinstance(value, dict):
            why = f"a JSON object is expected, not {_KINDS.get(type(value), 'a number')}"
        why = why or explain_nesting(value)
        if why:
            raise InputError(f"{self.path}:{line}", why)
        return value  # type: ignore[no-any-return]

    def _explain(self, error: json.JSONDecodeError, begin: int) -> InputError:
        """Return the error of a value that begins at a place."""
        first_line = self._find_line(begin)
        if error.pos >= len(self._text.rstrip()):
            return InputError(f"{self.path}:{first_line}", CUT_OFF_REASON)
        line = self._find_line(error.pos)
        column = error.colno + (self._column if error.lineno == 1 else 0)
        mark = self._text[error.pos]
        if line > first_line and column == 1 and mark == "{":
            why = f"the record is cut off before line {line}, where another begins"
            return InputError(f"{self.path}:{first_line}", f"{why}: complete or delete it")
        began = f" (the record begins on line {first_line})" if line != first_line else ""
        before = self._text[: error.pos].rstrip()[-1:]
        remedy = _REMEDIES.get(mark, "") if before in _BEFORE_VALUES else ""
        if before == "," and mark in "]}":
            remedy = f"a comma is before the {mark}: delete it"
        elif not remedy and error.msg.startswith("Expecting property name"):
            remedy = _REMEDIES["'"]
        why = f"not JSON: {error.msg}, at column {column}{began}"
        return InputError(f"{self.path}:{line}", f"{why}: {remedy}" if remedy else why)

    def _fill(self) -> bool:
        """Read on, at least as much as is not used yet; return whether there was more."""
        part = self.stream.read(max(_CHUNK, len(self._text) - self.position))
        if not self._text and part.lstrip(" \t\r\n").startswith(RECORD_MARK):
            self._is_sequence = True
        if self._is_sequence:
            # A text of JSON cannot hold the mark as it is.
            part = part.replace(RECORD_MARK, " ")
        self._text += part
        return bool(part)

    def _forget_read_text(self) -> None:
        """Forget the text before the position, when it is long."""
        if self.position < _CHUNK:
            return
        self._line = self._counted_line = self._find_line(self.position)
        line_start = self._text.rfind("\n", 0, self.position) + 1
        self._column = self.position - line_start + (0 if line_start else self._column)
        self._text = self._text[self.position :]
        self.position = self._counted = 0

    def _find_line(self, position: int) -> int:
        """Return the line of a place; places are asked for in their order, mostly."""
        if position < self._counted:
            return self._line + self._text.count("\n", 0, position)
        self._counted_line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._counted_line


def explain_nesting(record: Document) -> str:
    """Return why a record's nesting is refused; empty if it is not."""
    level: list[tuple[str, Any]] = [("", record)]
    for _ in range(MAX_DEPTH):
        inner: list[tuple[str, Any]] = []
        for path, part in level:
            if isinstance(part, dict):
                if "" in part:
                    place = f"in {path}" if path else "at the top of the record"
                    return f"a field has no name, {place}"
                before = f"{path}." if path else ""
                inner += [(f"{before}{name}", value) for name, value in part.items()]
            else:
                inner += [(f"{path}[]", value) for value in part]
        level = [(path, part) for path, part in inner if isinstance(part, dict | list)]
        if not level:
            return ""
    return f"is nested more than {MAX_DEPTH} deep"


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
