"""Files of JSON: an array of objects, one object after another, or records inside an object.

Where the records are can follow the file's name: ``FILE#records=answer.items``. It names a list of
objects, or an object whose values are objects, which get their names as ``_id``; ``.`` is the whole
file. A FeatureCollection of GeoJSON is read as its features.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import orjson

from benchbook.files.inputs import InputError
from benchbook.own_data.inference import describe_records, load_records
from benchbook.own_data.json_chunks import JsonChunks, skip_blanks
from benchbook.own_data.json_text import JsonText
from benchbook.own_data.opened_file import (
    FileDescription,
    LoadedRecords,
    OpenedFile,
    RecordReader,
    ReportProgress,
    ignore_progress,
)
from benchbook.own_data.text_encoding import describe_line_ends, read_text
from benchbook.schema import Record
from benchbook.text.number_format import format_count

_FEATURE_COLLECTION: Final = re.compile(rb'"type"\s*:\s*"FeatureCollection"')
_RECORD_MARK: Final = b"\x1e"
"""What is before each record of a JSON text sequence, RFC 7464."""
_OBJECTS: Final = re.compile(r"\[\s*\{")
_PEEKED_BYTES: Final = 2**16


def describe(file: OpenedFile, report: ReportProgress) -> FileDescription:
    """Return the description of a file of JSON."""
    rows = JsonRows(file, report)
    with _pause_garbage_collection():
        # Only an opened file's format is known.
        chunks = rows.open().read_chunks()
        found = describe_records(file, rows.format, chunks)
    report(1)
    hints = rows.hint_at_records() if found.records == 1 and not rows.place else []
    notes = (*hints, *rows.notes, *found.notes)
    return replace(found, encoding=rows.encoding, notes=notes)


def load(file: OpenedFile, description: FileDescription, count: int | None) -> LoadedRecords:
    """Return the first records of a file of JSON, typed by its description."""
    return load_records(JsonRows(file).open().read(), description, count)


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Do not look for cycles, of which parsed JSON has none: that takes 40 % of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


READER: Final = RecordReader(describe, load)


@dataclass
class JsonRows:
    """The records of a file of JSON; what is known of it is complete when all have been read."""

    file: OpenedFile
    report: ReportProgress = ignore_progress
    format: str = ""  # ``JSON Lines``, ``JSON array``, ``GeoJSON`` or ``JSON`` with a place
    encoding: str = ""
    place: str = ""  # of the records inside an object
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def open(self) -> JsonChunks:
        """Return the records, still to be read; raises `InputError` when there is no such place."""
        text = read_text(self.file)
        data = text.data
        if data[:_PEEKED_BYTES].lstrip().startswith(_RECORD_MARK):
            # A text of JSON cannot hold the mark as it is.
            data = data.replace(_RECORD_MARK, b" ")
        line_ends = describe_line_ends(data[:_PEEKED_BYTES].decode(errors="replace"))
        self.encoding = f"{text.encoding}, {line_ends}"
        # An array per line has no names.
        start = skip_blanks(data, 0)
        if data.startswith(b"[", start) and _has_whole_line(data, start, b"["):
            why = "each line is an array, not an object: give its values names, or save it as CSV"
            raise InputError(f"{self.file.path}:1", why)
        # Records inside an object, as stated or as GeoJSON has them.
        self.place = self.file.options.get("records", "")
        if self.place:
            self.format = f"JSON (records={self.place})"
        elif _is_feature_collection(self.file.path, data):
            self.place = "features"
            self.format = "GeoJSON"
            self.notes["It is GeoJSON's FeatureCollection, whose features are the records."] = None
        if self.place:
            return self._open_place(data)
        # Else the whole text is an array, or one object after another.
        is_array = data.startswith(b"[", start)
        self.format = "JSON array" if is_array else "JSON Lines"
        closing = "]" if is_array else ""
        return self._open_chunks(data, start + is_array, closing)

    def _open_place(self, data: bytes) -> JsonChunks:
        """Return the objects in a list, or in an object, at a place inside the file."""
        decoded = data.decode()
        text = JsonText(self.file.path, decoded)
        position = text.find_value(self.place)
        mark = decoded[position : position + 1]
        if mark not in ("[", "{"):
            why = f"records={self.place}: neither a list of objects nor an object of objects"
            raise InputError(str(self.file.path), why)
        start = len(decoded[: position + 1].encode())
        chunks = self._open_chunks(data, start, "]" if mark == "[" else "}")
        if mark == "{":
            names = "the whole file" if self.place == "." else self.place
            self.notes[f"The names in {names} are the records' _id."] = None
        return chunks

    def _open_chunks(self, data: bytes, start: int, closing: str) -> JsonChunks:
        return JsonChunks(self.file.path, data, start, closing, self.report, self.notes)

    def hint_at_records(self) -> list[str]:
        """Return where the records of a file of one object may be, as notes."""
        ((_, record),) = JsonRows(self.file).open().read()
        if _is_pandas_frame(record):
            return ["It looks like pandas' JSON: write it with orient='records'."]
        places = sorted(_find_places(record).items(), key=lambda place: -place[1])
        hints = [
            f"{name} holds arrays, whose values have no names: save it as CSV."
            for name, part in record.items()
            if isinstance(part, list) and part[1:] and all(type(row) is list for row in part)
        ]
        options = [
            f"#records={name} ({format_count(count, 'object')})" for name, count in places[:5]
        ]
        if options:
            inside = "If its records are inside, put after the file's name"
            hints.append(f"{inside}: {', '.join(options)}.")
        return hints


def _is_feature_collection(path: Path, data: bytes) -> bool:
    """Return whether a text is one object of GeoJSON with features.

    The object is not read whole: that could take ten times the file's memory.
    """
    ends = data[:_PEEKED_BYTES], data[-_PEEKED_BYTES:]
    if not any(map(_FEATURE_COLLECTION.search, ends)) or _has_whole_line(data, 0, b"{"):
        return False
    text = JsonText(path, data.decode())
    try:
        features = text.find_value("features")
        kind, _ = text.read_value(text.find_value("type"))
    except InputError:
        return False
    return kind == "FeatureCollection" and bool(_OBJECTS.match(text.decoded, features))


def _has_whole_line(data: bytes, start: int, opening: bytes) -> bool:
    """Return whether the first line is a whole value, and the next begins with a bracket."""
    end = data.find(b"\n", start)
    if end < 0 or not data.startswith(opening, skip_blanks(data, end)):
        return False
    try:
        orjson.loads(data[start:end])
    except orjson.JSONDecodeError:
        return False
    return True


def _find_places(value: Any, path: str = "", depth: int = 1) -> dict[str, int]:
    """Return the places of lists of objects and of maps of objects, with the objects' numbers."""
    if depth > 3 or not isinstance(value, dict):
        return {}
    places = {}
    if _is_map_of_objects(value):
        return {path or ".": len(value)}
    for name, part in value.items():
        at = f"{path}.{name}" if path else name
        if isinstance(part, list) and part and all(isinstance(item, dict) for item in part):
            places[at] = len(part)
        places |= _find_places(part, at, depth + 1)
    return places


def _is_map_of_objects(value: Record) -> bool:
    """Return whether an object's values are objects that have a name in common."""
    parts = [*value.values()]
    if len(parts) < 2 or not all(isinstance(part, dict) for part in parts):
        return False
    return bool(set.intersection(*(set(part) for part in parts)))


def _is_pandas_frame(record: Record) -> bool:
    """Return whether an object is a data frame of pandas, by columns or with ``orient="split"``."""
    if all(isinstance(record.get(name), list) for name in ("columns", "index", "data")):
        return True
    columns = [*record.values()]
    if not columns or not all(isinstance(column, dict) for column in columns):
        return False
    rows = [str(number) for number in range(len(columns[0]))]
    return bool(rows) and all([*column] == rows for column in columns)
