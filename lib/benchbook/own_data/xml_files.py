"""Files of XML whose root holds alike elements: each is a record, as in a database's export.

Attributes and elements inside become fields. An element that comes several times in some record is
an array in all. Texts are read as those of a table. Entities are not resolved, and a DOCTYPE is
refused.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final

from lxml import etree

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import (
    CutOffError,
    NumberedRows,
    OpenedFile,
    ReadRecords,
    describe_codec,
)
from benchbook.own_data.text_columns import DECIMALS, TextColumns
from benchbook.schema import Document
from benchbook.text.number_format import format_count

_NIL: Final = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_OWN_TEXT: Final = "#text"
"""The tag of the text of an element that has attributes or elements."""

_FED_BYTES: Final = 2**16
"""Bytes that are parsed before the records in them are taken."""

_NOTE: Final = "XML: attributes and elements are fields; texts that all are numbers are numbers."

_REMEDIES: Final = {
    etree.ErrorTypes.ERR_UNDECLARED_ENTITY: "write the character itself",
    etree.ErrorTypes.ERR_INVALID_ENCODING: "save it as UTF-8, or state its encoding: "
    "FILE#encoding=cp1252",
    etree.ErrorTypes.ERR_RESOURCE_LIMIT: "a text may have 10,000,000 characters, a record 100 "
    "levels",
}
"""What to do about an error of the parser, by its code."""

_SAFE: Final[dict[str, Any]] = {
    "resolve_entities": False,
    "load_dtd": False,
    "no_network": True,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
"""The options of a parser that opens no other file, and takes no more memory than the text."""


@dataclass(frozen=True)
class _Part:
    """An attribute or an element inside of an element."""

    tag: str  # with its namespace
    prefix: str  # where others have its name: ``attribute``, or the namespace's
    value: "str | list[_Part] | None"  # a text or its parts; None without either


@dataclass
class _XmlPlace:
    """An attribute or an element in all records, with the places inside of it."""

    name: str = ""
    prefix: str = ""
    depth: int = 0
    path: str = ""  # the names from the root to it
    count: int = 0  # elements, where it is an array
    texts: list[str] = field(default_factory=list)
    values: Iterator[object] = field(default_factory=lambda: iter(()))
    places: "dict[str, _XmlPlace]" = field(default_factory=dict)  # by their tags

    def add(self, parts: list[_Part]) -> None:
        """Take what is inside of an element into account."""
        counts = Counter(part.tag for part in parts)
        for part in parts:
            name = _cut_namespace(part.tag)
            new = _XmlPlace(name, part.prefix, self.depth + 1, f"{self.path}.{name}")
            place = self.places.setdefault(part.tag, new)
            place.count += counts[part.tag] > 1
            if isinstance(part.value, list):
                place.add(part.value)
            elif part.value is not None:
                place.texts.append(part.value)

    def read_texts(self, columns: TextColumns) -> None:
        """Choose the names of all places inside, and read their texts."""
        names = Counter(place.name for place in self.places.values())
        taken: set[str] = set()
        for place in self.places.values():
            name = place.name
            if names[name] > 1 and place.prefix:
                place.name = f"{place.prefix}_{name}"
            while place.name in taken:
                place.name += "_2"
            taken.add(place.name)
            if place.name != name:
                why = "because other parts have its name"
                columns.notes[f"{name} is the field {place.name} here, {why}."] = None
            if not (place.texts or place.places or place.count):
                columns.notes[f"{place.name} is empty in every record, and left out."] = None
            place.values = iter(columns.read_column(place.name, place.texts))
            place.read_texts(columns)

    def build(self, parts: list[_Part], left_out: Counter[str]) -> Document:
        """Return the fields of an element; elements come in the order of `add`."""
        record: Document = {}
        for part in parts:
            place = self.places[part.tag]
            value: object = None
            if isinstance(part.value, list):
                value = place.build(part.value, left_out)
            elif part.value is not None:
                value = next(place.values)
            if place.count:
                record.setdefault(place.name, [])
                left_out[place.name] += value is None
            if place.count and value is not None:
                record[place.name].append(value)
            elif value is not None:
                record[place.name] = value
        return record

    def iterate_arrays(self) -> "Iterator[_XmlPlace]":
        """Yield the places of arrays inside."""
        for place in self.places.values():
            if place.count:
                yield place
            yield from place.iterate_arrays()


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file of XML; None: all.

    Raises `InputError`, with file and line, when the text is not XML or its records differ.
    """
    iterate = partial(_iterate_records, file)
    marks = ""
    if "encoding" in file.options:
        found = file.take_text_rows(count, iterate)
        marks = describe_codec(file.codec)
    else:
        found = file.take_rows(count, lambda data, _: iterate(data))
    root = _XmlPlace(path=_cut_namespace(found.rows[0].tag) if found.rows else "")
    for element in found.rows:
        root.add(element.value)
    columns = TextColumns(DECIMALS[file.options.get("decimal", "point")])
    root.read_texts(columns)
    left_out: Counter[str] = Counter()
    records = [root.build(element.value, left_out) for element in found.rows]
    # Where are the records of a file of one element? The outermost places first.
    notes = [_NOTE]
    arrays = sorted(root.iterate_arrays(), key=lambda place: (place.depth, -place.count))
    if len(records) == 1 and found.is_whole and arrays:
        options = ", ".join(f"#records={place.path} ({place.count})" for place in arrays)
        notes.append(f"If its records are inside, put after the file's name: {options}.")
    notes += columns.list_notes()
    for name, number in left_out.items():
        if number:
            elements = format_count(number, "empty element")
            notes.append(f"{name}: {elements} left out of arrays.")
    return ReadRecords("XML", records, found.lines, found.is_whole, dict.fromkeys(notes), marks)


def _iterate_records(file: OpenedFile, data: bytes | str) -> NumberedRows[_Part]:
    """Yield each record with its line; a text does not have the encoding that it states."""
    place = file.options.get("records", "")
    path: list[str] = []
    first_tag = ""
    for event, element in _parse(file, data):
        if event == "start":
            if not path and element.getroottree().docinfo.doctype:
                raise InputError(str(file.path), "has a DOCTYPE: delete it")
            path.append(_cut_namespace(element.tag))
            continue
        # At an element's end, its path says whether it is a record.
        is_record = path[1:] == place.split(".") if place else len(path) == 2
        path.pop()
        if not is_record:
            continue
        where = f"{file.path}:{element.sourceline}"
        first_tag = first_tag or element.tag
        if element.tag != first_tag:
            names = f"{_cut_namespace(element.tag)} is not a record as {_cut_namespace(first_tag)}"
            raise InputError(where, f"{names}: state which are the records, as {_list_names(file)}")
        for part in chain(element.itersiblings(preceding=True), element.iterdescendants()):
            text = (part.tail or "").strip()
            if text:
                why = f"the text {text[:40]!r} stands between elements: delete it"
                raise InputError(f"{file.path}:{part.sourceline}", why)
        yield element.sourceline, _Part(element.tag, "", _list_parts(element))
        # The parser keeps all elements: free their memory.
        element.clear(keep_tail=True)
        while element.getprevious() is not None:
            del element.getparent()[0]


def _list_names(file: OpenedFile) -> str:
    """Return the options for the elements inside the root, the most frequent first."""
    # The beginning of a file is a hint, too.
    parser = etree.XMLParser(recover=True, **_SAFE)
    parser.feed(file.decode_head() if "encoding" in file.options else file.head)
    root = parser.close()
    counts = Counter(_cut_namespace(str(element.tag)) for element in root)
    return ", ".join(f"#records={name} ({number:,})" for name, number in counts.most_common(5))


def _list_parts(element: Any) -> list[_Part]:
    """Return an element's attributes, text and elements."""
    parts = []
    for name, text in element.attrib.items():
        if name != _NIL:
            address = name.rpartition("}")[0].removeprefix("{")
            prefixes = [prefix for prefix, other in element.nsmap.items() if other == address]
            parts.append(_Part(f"@{name}", [*filter(None, prefixes), "attribute"][0], str(text)))
    own_text = (element.text or "").strip()
    if own_text:
        parts.append(_Part(_OWN_TEXT, "", own_text))
    for child in element:
        inside = _list_parts(child)
        is_nil = child.attrib.get(_NIL) in ("true", "1")
        value: str | list[_Part] | None = inside
        if not inside or (len(inside) == 1 and inside[0].tag == _OWN_TEXT):
            value = None if is_nil or not inside else str(inside[0].value)
        parts.append(_Part(str(child.tag), child.prefix or "", value))
    return parts


def _parse(file: OpenedFile, data: bytes | str) -> Iterator[tuple[str, Any]]:
    """Yield each element's start and end; `CutOffError` is raised where the data end before it."""
    if not data:
        raise CutOffError(str(file.path), "holds no record")
    parser = etree.XMLPullParser(events=("start", "end"), **_SAFE)
    kind: type[InputError] = InputError
    try:
        for start in range(0, len(data), _FED_BYTES):
            parser.feed(data[start : start + _FED_BYTES])
            yield from parser.read_events()
            # At an unknown entity the parser stops, and raises its error later.
            if parser.feed_error_log.filter_from_errors():
                break
        else:
            kind = CutOffError
        parser.close()
    except etree.XMLSyntaxError as error:
        # The records before the error may be enough.
        yield from parser.read_events()
        first = parser.feed_error_log.filter_from_errors()[0]
        # Behind its reason are the text, or an option of the parser that is not for users.
        reason = re.split(r"\n|, (?:use|try) XML_", first.message)[0]
        why = ": ".join(filter(None, ["not XML", reason, _REMEDIES.get(first.type)]))
        raise kind(f"{file.path}:{first.line}", why) from error


def _cut_namespace(name: str) -> str:
    """Return a name without its namespace, and without the mark of an attribute or of a text."""
    return name.rpartition("}")[2].lstrip("@#")
