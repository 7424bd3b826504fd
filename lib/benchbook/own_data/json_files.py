"""Files of JSON: an array of objects, one object after another, or records inside an object.

Where the records are can follow the file's name: ``FILE#records=answer.items``. It names a list of
objects, or an object whose values are objects, which get their names as ``_id``; ``.`` is the whole
file. A FeatureCollection of GeoJSON is read as its features.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from benchbook.files.inputs import InputError
from benchbook.own_data.extended_json import ExtendedJson, ExtendedJsonError
from benchbook.own_data.json_text import CUT_OFF_REASON, JsonText
from benchbook.own_data.opened_file import (
    NumberedRecords,
    OpenedFile,
    ReadRecords,
    take_records,
)
from benchbook.schema import Record
from benchbook.text.number_format import format_count

_FEATURES: Final = re.compile(r'\s*\{.*"features"\s*:\s*\[\s*\{', re.DOTALL)
_FEATURE_TYPE: Final = re.compile(r'"type"\s*:\s*"Feature(Collection)?"')
_ARRAY_LINES: Final = re.compile(r"\s*(\[.*\])[ \t\r]*\n\s*\[")
_OBJECT_LINES: Final = re.compile(r"\s*(\{.*\})[ \t\r]*\n\s*\{")
_MAX_HINT_DEPTH: Final = 6


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file of JSON; None: all.

    Raises `InputError`, with file and line, at the first error.
    """
    encoding = file.encoding
    notes: dict[str, None] = {}
    with file.open_text(encoding) as stream:
        text = JsonText(file.path, stream)
        format_name, rows = _open_records(file, text, notes)
        records, lines, is_whole = take_records(_convert_all(file, rows, notes), count)
    if len(records) == 1 and is_whole and not format_name.startswith("JSON ("):
        notes = {**dict.fromkeys(_hint_at_records(records[0])), **notes}
    words = file.describe_encoding(encoding)
    return ReadRecords(format_name, records, lines, is_whole, notes, encoding=words)


def _open_records(
    file: OpenedFile, text: JsonText, notes: dict[str, None]
) -> tuple[str, NumberedRecords]:
    """Return the format's name, and the records that are still to be read."""
    head = file.decode_head(file.encoding)
    lines = _ARRAY_LINES.match(head)
    if lines:
        why = "each line is an array, not an object: give its values names, or save it as CSV"
        if re.match(r"\[\s*\{", lines[1]):
            why = "each line is an array of its own: join them with jq -c '.[]' FILE > FILE.jsonl"
        raise InputError(f"{file.path}:1", why)
    # Records inside an object, as stated or as GeoJSON has them.
    place = file.options.get("records", "")
    if place:
        text.find_value(place)
        if text.peek() not in ("[", "{"):
            why = f"records={place}: neither a list of objects nor an object of objects"
            raise InputError(str(file.path), why)
        if text.peek() == "{":
            names = "the whole file" if place == "." else place
            notes[f"The names in {names} are the records' _id."] = None
        return f"JSON (records={place})", _read_inside(text, is_inner=place != ".")
    if _is_feature_collection(file, head):
        text.find_value("features")
        notes["It is GeoJSON's FeatureCollection, whose features are the records."] = None
        return "GeoJSON", _read_inside(text, is_inner=True)
    if text.peek() == "[":
        return "JSON array", _read_inside(text, is_inner=False)
    return "JSON Lines", text.read_objects()


def _is_feature_collection(file: OpenedFile, head: str) -> bool:
    """Return whether a text is one object of GeoJSON that has features."""
    if not (_FEATURES.match(head) and _FEATURE_TYPE.search(head)) or _OBJECT_LINES.match(head):
        return False
    with file.open_text(file.encoding) as stream:
        text = JsonText(file.path, stream)
        try:
            text.find_value("features")
        except InputError:
            # They are deeper inside.
            return False
        return text.peek() == "["


def _read_inside(text: JsonText, *, is_inner: bool) -> NumberedRecords:
    """Yield the objects of the array or of the map that begins here, and check what is behind."""
    is_array = text.peek() == "["
    yield from text.read_elements()
    rest = text.read_rest()
    if is_inner and not rest:
        raise InputError(str(text.path), CUT_OFF_REASON)
    if rest and not is_inner:
        behind = "the array's end" if is_array else "the records"
        raise InputError(str(text.path), f"after {behind} is {rest!r}")


def _convert_all(
    file: OpenedFile, rows: NumberedRecords, notes: dict[str, None]
) -> NumberedRecords:
    """Yield records with the meaning of MongoDB's Extended JSON."""
    extended = ExtendedJson(notes)
    for line, record in rows:
        try:
            converted = extended.convert(record)
        except ExtendedJsonError as error:
            raise InputError(f"{file.path}:{line}", str(error)) from error
        if type(converted) is not dict:
            why = f"a JSON object is expected, not only {next(iter(record))}"
            raise InputError(f"{file.path}:{line}", why)
        yield line, converted


def _hint_at_records(record: Record) -> list[str]:
    """Return where the records of a file of one object may be, as notes."""
    if _is_pandas_frame(record):
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


def _is_pandas_frame(record: Record) -> bool:
    """Return whether an object is a data frame of pandas, by columns or with ``orient="split"``."""
    if all(isinstance(record.get(name), list) for name in ("columns", "index", "data")):
        return True
    columns = [*record.values()]
    if not columns or set(map(type, columns)) != {dict}:
        return False
    rows = [str(number) for number in range(len(columns[0]))]
    return bool(rows) and all([*column] == rows for column in columns)
