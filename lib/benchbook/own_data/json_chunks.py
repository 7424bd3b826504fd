"""Records of JSON read by orjson, in chunks of about a megabyte, each record with its line.

A raw line break is never inside a text of JSON. So a file is cut where a line begins a record, and
each piece must be a whole value. Where that fails, or orjson would change a value (it takes the
last of two equal names, and a double for an integer beyond 64 bits), `JsonText` reads instead.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from benchbook.files.inputs import InputError
from benchbook.own_data.extended_json import ExtendedJson, ExtendedJsonError
from benchbook.own_data.inference import cut_into_chunks
from benchbook.own_data.json_text import CUT_OFF_REASON, JsonText, NumberedDocuments, describe_other
from benchbook.own_data.opened_file import ReportProgress, ignore_progress
from benchbook.schema import Document

MAX_DEPTH: Final = 100
"""Levels of the deepest nesting of a record: MongoDB's limit."""

_CHUNK_BYTES: Final = 2**20
_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_FIRST: Final = re.compile(rb"(?:\s*(\n))?([ \t]*)\{")
_NEXT_ON_LINE: Final = re.compile(rb"\},[ \t\r]*(\n[ \t]*)\{")
_BETWEEN: Final = re.compile(rb"\}[ ]*,[ ]*\{")
_MANY_DIGITS: Final = b"0" * 19
_DIGITS_AS_0: Final = bytes.maketrans(b"123456789", b"0" * 9)
_LARGE: Final = re.compile(rb"[:,\[\s](-[0-9]{19,}|[0-9]{20,})\s*[,\]}]")
_BRACKETS: Final = bytes.maketrans(b"[]", b"{}")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_SHALLOW: Final = 50
"""Levels up to which brackets inside of texts do not matter for `MAX_DEPTH`."""
_ESCAPED_MARKS: Final = re.compile(rb"\\u00(22|3[aA])")


@dataclass
class JsonChunks:
    """A file's records of JSON; `notes` is complete when all have been read."""

    path: Path
    data: bytes  # UTF-8
    start: int = 0  # where the records begin; in brackets, behind the first
    closing: str = ""  # bracket: of an array, or of an object whose values are the records
    report: ReportProgress = ignore_progress
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._extended = ExtendedJson(self.notes)

    def read(self) -> NumberedDocuments:
        """Yield the records; raises as `read_chunks`."""
        for chunk in self.read_chunks():
            yield from chunk

    def read_chunks(self) -> Iterator[list[tuple[int, Document]]]:
        """Yield the records in chunks, each with its line in the file.

        Raises `InputError`, with file and line, at the first error.
        """
        position = skip_blanks(self.data, self.start)
        line = 1 + self.data.count(b"\n", 0, position)
        if self.closing == "}":
            yield from cut_into_chunks(self._read_exactly(position, line))
            return
        # Each chunk ends where a record does; orjson reads it, or Python's parser from there on.
        separator = self._find_separator()
        is_last = not self.closing and position == len(self.data)
        while not is_last:
            end = self._find_end(position, separator)
            is_last = end == len(self.data)
            text = self.data[position:end]
            rows = self._parse(text, separator, line, is_last=is_last)
            if rows is None:
                yield from cut_into_chunks(self._read_exactly(position, line))
                return
            yield [*self._complete(rows)]
            line += text.count(b"\n") + (separator != b"")
            # Behind the line break or the comma that is between two records.
            position = end + 1
            self.report(end / len(self.data))
        if self.closing:
            self._check_rest(len(self.data))

    def _find_separator(self) -> bytes:
        """Return the line break and the blanks before each record but the first.

        It is empty for an array without line breaks between its elements.
        """
        if not self.closing:
            return b"\n"
        window = self.data[self.start : self.start + _CHUNK_BYTES]
        first = _FIRST.match(window)
        if first and first[1]:
            return b"\n" + first[2]
        found = _NEXT_ON_LINE.search(window)
        return found[1] if found else b""

    def _find_end(self, position: int, separator: bytes) -> int:
        """Return the end of the chunk that begins at a place."""
        if separator:
            end = self.data.find(separator + b"{", position + _CHUNK_BYTES)
            return end if end >= 0 else len(self.data)
        # The brackets of whole records are balanced, mostly also those in texts.
        checked, depth = position, 0
        places = _BETWEEN.finditer(self.data, position + _CHUNK_BYTES)
        for _, place in zip(range(64), places, strict=False):
            end = place.start() + 1
            piece = self.data[checked:end]
            depth += piece.count(b"{") + piece.count(b"[") - piece.count(b"}") - piece.count(b"]")
            checked = end
            if not depth:
                return self.data.index(b",", end)
        return len(self.data)

    def _parse(
        self, text: bytes, separator: bytes, line: int, *, is_last: bool
    ) -> "_ChunkRecords | None":
        """Return a chunk's records with their lines; None if it cannot be cut into records."""
        text = self._extended.rewrite(text)
        if not separator:
            return self._parse_one_line(text, line, is_last=is_last)
        # One piece per record, cut at the line breaks before them.
        first, *rest = text.split(separator + b"{")
        pieces = [first, *(b"{" + piece for piece in rest)]
        lines = _number_lines(pieces, line)
        # In an array, what is behind each record must be a comma.
        if self.closing:
            closings = [b","] * len(pieces)
            if is_last:
                closings[-1] = b"]"
            pieces = [piece.rstrip() for piece in pieces]
            if not all(map(bytes.endswith, pieces, closings)):
                return None
            pieces = [piece[:-1] for piece in pieces]
        try:
            values = [*map(orjson.loads, pieces)]
        except orjson.JSONDecodeError:
            return None
        return _ChunkRecords(self.path, text, pieces, values, lines)

    def _parse_one_line(self, text: bytes, line: int, *, is_last: bool) -> "_ChunkRecords | None":
        """Return the records of a chunk of an array without line breaks, or None."""
        # The last chunk ends with the array's bracket.
        whole = b"[" + text + (b"" if is_last else b"]")
        if b"\n" in text.rstrip():
            # The records would have different lines.
            return None
        try:
            values = orjson.loads(whole)
        except orjson.JSONDecodeError:
            return None
        return _ChunkRecords(self.path, text, [whole], values, [line] * len(values))

    def _complete(self, rows: "_ChunkRecords") -> NumberedDocuments:
        """Yield a chunk's records with the values that they stand for, after all checks."""
        has_extended = rows.check_values()
        for line, record in zip(rows.lines, rows.values, strict=True):
            yield line, self._convert(line, record) if has_extended else record

    def _convert(self, line: int, record: Document) -> Document:
        """Return a record with the meaning of MongoDB's Extended JSON."""
        try:
            converted = self._extended.convert(record)
        except ExtendedJsonError as error:
            raise InputError(f"{self.path}:{line}", str(error)) from error
        if type(converted) is not dict:
            why = f"a JSON object is expected, not only {next(iter(record))}"
            raise InputError(f"{self.path}:{line}", why)
        return converted

    def _read_exactly(self, position: int, line: int) -> NumberedDocuments:
        """Yield the records from a place on, read by Python's parser."""
        before = self.data[self.data.rfind(b"\n", 0, position) + 1 : position].decode()
        text = JsonText(self.path, self.data[position:].decode(), line, len(before))
        rows = text.read_objects()
        if self.closing:
            rows = text.read_array(0) if self.closing == "]" else text.read_map(0)
        for number, record in rows:
            check_nesting(self.path, [number], [record])
            yield number, self._convert(number, record)
        if self.closing:
            self._check_rest(position + len(text.decoded[: text.end].encode()))

    def _check_rest(self, end: int) -> None:
        """Raise `InputError` unless the text is JSON without the records."""
        rest = self.data[: self.start] + self.closing.encode() + self.data[end:]
        try:
            orjson.loads(rest)
        except orjson.JSONDecodeError as error:
            found = self.data[end:].lstrip()[:20].decode(errors="replace")
            behind = "the array's end" if self.closing == "]" else "the records"
            why = f"after {behind} is {found!r}" if found else CUT_OFF_REASON
            raise InputError(str(self.path), why) from error


@dataclass
class _ChunkRecords:
    """A chunk's records as orjson read them."""

    path: Path
    text: bytes
    pieces: Sequence[bytes]  # one for each record, or one for all
    values: list[Any]
    lines: list[int]

    def check_values(self) -> bool:
        """Read values again that orjson may have changed; raise `InputError` at a wrong record.

        Return whether the text may have Extended JSON.
        """
        for line, value in zip(self.lines, self.values, strict=True):
            if type(value) is not dict:
                raise InputError(f"{self.path}:{line}", describe_other(value))
        try:
            dumped = orjson.dumps(self.values)
        except orjson.JSONEncodeError:
            # They are nested too deep. As a field without a name, it makes the nesting be checked.
            dumped = b'"":'
        # orjson drops the first of two equal names: then fewer are written than were read.
        if _count_names(self.text) != _count_names(dumped) or _has_oddities(self.text):
            self._read_again()
        # Of most chunks the written text tells, without a loop over all values, that all is well.
        if not _is_shallow(dumped) or b'"":' in dumped:
            check_nesting(self.path, self.lines, self.values)
        return b'"$' in dumped

    def _read_again(self) -> None:
        # A piece that is an array has all records, which are on one line.
        numbered = zip(self.pieces, self.lines, strict=False)
        exact = [
            JsonText(self.path, piece.strip().decode(), line).read_value()[0]
            for piece, line in numbered
        ]
        self.values = exact[0] if isinstance(exact[0], list) else exact


def skip_blanks(data: bytes, position: int) -> int:
    """Return the place of the first character from a place on that is not a blank."""
    blanks = _BLANKS.match(data, position)
    return blanks.end() if blanks else position


def check_nesting(path: Path, lines: Sequence[int], records: Sequence[Document]) -> None:
    """Raise `InputError` when a record is nested too deep, or a field has no name."""
    for line, record in zip(lines, records, strict=True):
        why = _explain_nesting(record)
        if why:
            raise InputError(f"{path}:{line}", why)


def _is_shallow(dumped: bytes) -> bool:
    """Return whether no value is nested deep; False is possible because of brackets in texts."""
    brackets = dumped.translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(_SHALLOW):
        # Each pass takes away the innermost level.
        brackets = brackets.replace(b"{}", b"")
    return not brackets


def _explain_nesting(record: Document) -> str:
    """Return why a record's nesting is refused; empty if it is not."""
    level: list[tuple[str, Any]] = [("", record)]
    for _ in range(MAX_DEPTH):
        inner: list[tuple[str, Any]] = []
        for path, part in level:
            if isinstance(part, dict):
                if "" in part:
                    return f"a field has no name{f', in {path}' if path else ''}"
                before = f"{path}." if path else ""
                inner += [(f"{before}{name}", value) for name, value in part.items()]
            else:
                inner += [(f"{path}[]", value) for value in part]
        level = [(path, part) for path, part in inner if isinstance(part, dict | list)]
        if not level:
            return ""
    return f"is nested more than {MAX_DEPTH} deep"


def _number_lines(pieces: Sequence[bytes], line: int) -> list[int]:
    """Return the line of each piece's first character behind blanks."""
    lines = []
    for piece in pieces:
        lines.append(line + piece[: len(piece) - len(piece.lstrip())].count(b"\n"))
        line += piece.count(b"\n") + 1
    return lines


def _count_names(text: bytes) -> int:
    """Return how often a text is followed by a colon: the names, and equal parts of texts."""
    return text.count(b'":') + text.count(b'" :')


def _has_oddities(text: bytes) -> bool:
    """Return whether a text may have an integer that orjson changes, or hide a name.

    An escaped quotation mark or colon would make the count of names wrong.
    """
    # The pattern tries each place of a text, so it is used only where many digits are.
    has_digits = _MANY_DIGITS in text.translate(_DIGITS_AS_0)
    if has_digits and _LARGE.search(text):
        return True
    return b"\\u00" in text and bool(_ESCAPED_MARKS.search(text))
