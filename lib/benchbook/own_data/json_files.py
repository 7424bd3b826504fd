"""Files of JSON: an array of objects, one object after another, or records inside an object.

Where the records are can follow the file's name: ``FILE#records=answer.items``. It names a list of
objects, or an object whose values are objects, which get their names as ``_id``; ``.`` is the whole
file. A FeatureCollection of GeoJSON is read as its features. Python's own parser reads each value.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchbook.files.inputs import InputError
from benchbook.own_data import extended_json
from benchbook.own_data.opened_file import (
    CutOffError,
    NumberedRows,
    OpenedFile,
    ReadRecords,
    describe_codec,
)
from benchbook.schema import Document, Record
from benchbook.text.number_format import format_count

_GEOJSON: Final = re.compile(
    r'\s*\{([^{}\[\]]*"type"\s*:\s*"FeatureCollection"|\s*"features"\s*:\s*\[\s*\{\s*"type"\s*:)'
)
_ARRAY_LINES: Final = re.compile(r"\s*(\[.*\])[ \t\r]*\n\s*\[")
_OBJECT_LINES: Final = re.compile(r"\s*(\{.*\})[ \t\r]*\n\s*\{")
_MAX_HINT_DEPTH: Final = 6

_LONGEST_TOKEN: Final = 16
"""Characters before the end in which an error can be that a token is not whole."""

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_SHOWN_NAMES: Final = 8
_CUT_OFF_REASON: Final = "ends in the middle of a record: the file is cut off"
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
    ",]": "a comma is before the ]: delete it",
    ",}": "a comma is before the }: delete it",
}
"""What to do about a character with which no value of JSON begins, or with one before it."""

_KINDS: Final = {
    type(None): "null",
    bool: "true or false",
    str: "a text",
    list: "an array: give its values names",
}
"""What a value other than an object or a number is called."""


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file of JSON; None: all.

    Raises `InputError`, with file and line, at the first error.
    """
    head = file.decode_head()
    lines = _ARRAY_LINES.match(head)
    if lines:
        why = "each line is an array, not an object: give its values names, or save it as CSV"
        if re.match(r"\[\s*\{", lines[1]):
            why = "each line is an array of its own: join them with jq -c '.[]' FILE > FILE.jsonl"
        raise InputError(f"{file.path}:1", why)
    # Where are the records?
    place = file.options.get("records", "")
    name = "JSON array" if head.lstrip().startswith("[") else "JSON Lines"
    notes: dict[str, None] = {}
    if place:
        name = f"JSON (records={place})"
    elif _GEOJSON.match(head) and not _OBJECT_LINES.match(head):
        name, place = "GeoJSON", "features"
        notes["It is GeoJSON's FeatureCollection, whose features are the records."] = None
    found = file.take_text_rows(count, partial(_iterate_records, file.path, place, notes))
    if len(found.rows) == 1 and found.is_whole and not place:
        notes = {**dict.fromkeys(_hint_at_records(found.rows[0])), **notes}
    marks = describe_codec(file.codec)
    return ReadRecords(name, found.rows, found.lines, found.is_whole, notes, marks)


def _iterate_records(
    path: Path, place: str, notes: dict[str, None], content: str
) -> NumberedRows[Document]:
    """Yield the records of a text, and check what is behind them."""
    # RFC 7464 has a mark before each record; a text of JSON cannot hold it as it is.
    text = _JsonText(path, content.replace("\x1e", " "), notes)
    text.find_value(place)
    mark = text.peek()
    if place and mark not in ("[", "{"):
        why = f"records={place}: neither a list of objects nor an object of objects"
        raise (InputError if mark else CutOffError)(str(path), why)
    if place and mark == "{":
        names = "the whole file" if place == "." else place
        notes[f"The names in {names} are the records' _id."] = None
    if not place and mark != "[":
        yield from text.iterate_objects()
        return
    yield from text.iterate_elements()
    if text.peek() and place in ("", "."):
        rest = text.text[text.position : text.position + 20]
        raise InputError(str(path), f"after the records is {rest!r}: delete it")


@dataclass
class _JsonText:
    """A text of JSON; `position` is where reading goes on."""

    path: Path
    text: str
    notes: dict[str, None]  # a sentence for each change of values

    def __post_init__(self) -> None:
        self.position = 0
        # How far lines are counted.
        self._counted, self._line = 0, 1
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._read_pairs,
            parse_float=_parse_finite,
            parse_constant=_refuse_number,
        )

    def peek(self) -> str:
        """Return the next character that is not a blank; empty at the end."""
        blanks = _BLANKS.match(self.text, self.position)
        self.position = blanks.end() if blanks else self.position
        return self.text[self.position : self.position + 1]

    def iterate_objects(self) -> NumberedRows[Document]:
        """Yield the objects of a text that has one after another."""
        while self.peek():
            yield self._read_record()
            if self.peek() == ",":
                raise self._build_error("a comma is behind the record: delete it")

    def iterate_elements(self) -> NumberedRows[Document]:
        """Yield the objects in the brackets that begin here, and go behind the closing one.

        Those of an object get their names as ``_id``.
        """
        closing = "]" if self.peek() == "[" else "}"
        self.position += 1
        mark = ","
        if self.peek() == closing:
            self.position += 1
            return
        while mark == ",":
            if self.peek() == closing:
                raise self._build_error(_REMEDIES[f",{closing}"])
            key = {"_id": self._read_name()} if closing == "}" else {}
            line, record = self._read_record()
            yield line, {**record, **key}
            mark = self.peek()
            if mark not in (",", closing):
                why = f"a comma or {closing} is expected, not {mark!r}"
                raise self._build_error(why if mark else _CUT_OFF_REASON, is_cut=not mark)
            self.position += 1

    def find_value(self, path: str) -> None:
        """Go to the value at a path, such as ``answer.items``; empty or ``.`` is the whole.

        Raises `InputError` when the text has no such path.
        """
        rest = path.removeprefix(".")
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
            self._read_value(_SKIPPING)
        shown = ", ".join(map(repr, names[:_SHOWN_NAMES])) or "no name"
        more = " and more" if names[_SHOWN_NAMES:] else ""
        why = f"records={path}: there is no {rest!r}, but {shown}{more}"
        raise (InputError if self.peek() else CutOffError)(str(self.path), why)

    def _read_name(self) -> str:
        """Return the name here of an object's member, and go to its value."""
        name = self._read_value(_SKIPPING)
        if not isinstance(name, str) or self.peek() != ":":
            raise self._build_error("a name in double quotes and a colon are expected")
        self.position += 1
        return name

    def _read_record(self) -> tuple[int, Document]:
        """Return the object here with its line; raises `InputError` when it is another value."""
        self.peek()
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        value = self._read_value(self._decoder)
        if not isinstance(value, dict):
            kind = _KINDS.get(type(value), "a number")
            why = f"a JSON object is expected, not {kind}"
            raise InputError(f"{self.path}:{self._line}", why)
        return self._line, value

    def _read_value(self, decoder: json.JSONDecoder) -> Any:
        """Return the value here, and go behind it; raises `InputError` with file and line."""
        self.peek()
        begin = self.position
        try:
            value, self.position = decoder.raw_decode(self.text, begin)
            if self.text.find("\\u", begin, self.position) >= 0:
                # Half of a surrogate pair is not a character.
                json.dumps(value, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            raise self._explain(error) from error
        except (ValueError, RecursionError) as error:
            raise self._build_error(_explain_value(error)) from error
        return value

    def _explain(self, error: json.JSONDecodeError) -> InputError:
        """Return the error of the value that begins at the position."""
        begun, line = self._find_line(self.position), self._find_line(error.pos)
        rest = self.text[error.pos :].lstrip()
        if error.msg.startswith("Unterminated string") or not rest:
            return self._build_error(_CUT_OFF_REASON, is_cut=True)
        if line > begun and error.colno == 1 and rest[0] == "{":
            why = f"the record is cut off before line {line}, where another begins"
            return self._build_error(f"{why}: complete or delete it")
        before = self.text[: error.pos].rstrip()[-1:]
        remedy = _REMEDIES.get(f"{before}{rest[0]}", "")
        # A character within a value has no remedy.
        if before in ("", *":,[{}"):
            remedy = remedy or _REMEDIES.get(rest[0], "")
        if not remedy and error.msg.startswith("Expecting property name"):
            remedy = _REMEDIES["'"]
        why = f"not JSON: {error.msg.removesuffix(' at')}, at column {error.colno}"
        if line != begun:
            why += f" (the record begins on line {begun})"
        # A token may not be whole.
        kind = CutOffError if len(rest) <= _LONGEST_TOKEN else InputError
        return kind(f"{self.path}:{line}", f"{why}: {remedy}" if remedy else why)

    def _build_error(self, why: str, *, is_cut: bool = False) -> InputError:
        """Return an error with the line that is read."""
        where = f"{self.path}:{self._find_line(self.position)}"
        return (CutOffError if is_cut else InputError)(where, why)

    def _find_line(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def _read_pairs(self, pairs: list[tuple[str, Any]]) -> object:
        """Return an object, or what MongoDB means by it; raises ValueError at a name twice."""
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise ValueError(f"the name {twice!r} comes twice")
        if pairs and pairs[0][0].startswith("$"):
            return extended_json.read_object(record, self.notes)
        return record


def _explain_value(error: Exception) -> str:
    """Return why a value is refused that is JSON, in one line."""
    if isinstance(error, RecursionError):
        return "is nested too deep: leave the inner values out"
    if isinstance(error, UnicodeEncodeError):
        half = f"\\u{ord(error.object[error.start]):04x}"
        return f"a text holds {half}, half of a surrogate pair, which is no character: delete it"
    return str(error)


def _parse_finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"the number {number} is beyond what a double holds")
    return value


def _refuse_number(name: str) -> float:
    raise ValueError(f"JSON does not have the number {name}: write null")


# Where only a value's end is needed, nothing is called for its objects and numbers.
_SKIPPING: Final = json.JSONDecoder()


def _hint_at_records(record: Record) -> list[str]:
    """Return where the records of a file of one object may be, as notes."""
    is_split = all(isinstance(record.get(name), list) for name in ("columns", "index", "data"))
    column = next(iter(record.values()), None)
    rows = [*column] if isinstance(column, dict) else []
    if is_split or (rows and rows == [*map(str, range(len(rows)))]):
        return ["It looks like pandas' JSON: write it with orient='records'."]
    hints = []
    for name, part in record.items():
        if isinstance(part, list) and part[1:] and set(map(type, part)) == {list}:
            hints.append(f"{name} holds arrays, whose values have no names: save it as CSV.")
    # The outermost places first, of those the largest.
    places = sorted(_find_places(record, [], 1), key=lambda place: (len(place[0]), -place[1]))
    options = []
    for names, count in places[:5]:
        options.append(f"#records={'.'.join(names) or '.'} ({format_count(count, 'object')})")
    if options:
        inside = "If its records are inside, put after the file's name"
        hints.append(f"{inside}: {', '.join(options)}.")
    return hints


def _find_places(value: Any, path: list[str], depth: int) -> Iterator[tuple[list[str], int]]:
    """Yield the paths of lists of objects and of maps of objects, with the objects' numbers."""
    if depth > _MAX_HINT_DEPTH or not isinstance(value, dict):
        return
    parts = [*value.values()]
    are_objects = bool(parts) and set(map(type, parts)) == {dict}
    if are_objects and parts[1:] and set.intersection(*map(set, parts)):
        # A map: its objects have a name in common.
        yield path, len(parts)
        return
    for name, part in value.items():
        if isinstance(part, list) and part and set(map(type, part)) == {dict}:
            yield [*path, name], len(part)
        yield from _find_places(part, [*path, name], depth + 1)
