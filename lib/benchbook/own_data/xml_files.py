"""Files of XML whose root holds alike elements: each is a record, as in a database's export.

Attributes and elements inside become fields. An element that comes several times in some record is
an array in all. Texts are read as those of a table. Entities are not resolved, and a DOCTYPE is
refused.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count as count_up
from typing import TYPE_CHECKING, Any, Final

from benchbook.files.inputs import InputError
from benchbook.own_data.json_text import explain_nesting
from benchbook.own_data.opened_file import (
    OpenedFile,
    ReadRecords,
    take_records,
)
from benchbook.own_data.text_columns import TextColumns
from benchbook.schema import Document
from benchbook.text.number_format import format_count

if TYPE_CHECKING:
    from lxml import etree

_NIL: Final = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_OWN_TEXT: Final = "#text"
"""The tag of the text of an element that has attributes or elements."""

_MAX_SOURCE_LINE: Final = 65_535
"""The last line that lxml counts."""


@dataclass(frozen=True)
class _Part:
    """An attribute or an element inside of an element."""

    tag: str  # with its namespace
    prefix: str  # where others have its name: ``attribute``, or the namespace's
    value: "str | list[_Part] | None"  # a text or its parts; None without either


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file of XML; None: all.

    Raises `InputError`, with file and line, when the text is not XML or its records differ.
    """
    elements, lines, is_whole = take_records(_iterate_records(file), count)
    shape = _XmlShape()
    for element in elements:
        shape.add(element.value, ())
    shape.read_texts()
    records = [shape.build_record(element.value, ()) for element in elements]
    for line, record in zip(lines, records, strict=True):
        why = explain_nesting(record)
        if why:
            raise InputError(f"{file.path}:{line}", why)
    notes = ["XML: attributes and elements are fields; texts that all are numbers are numbers."]
    if len(records) == 1 and is_whole and shape.repeated:
        # The outermost places first, of those the most frequent.
        places = sorted(shape.repeated, key=lambda path: (len(path), -shape.repeated[path]))
        options = []
        for path in places:
            inside = ".".join(_cut_namespace(tag) for tag in (elements[0].tag, *path))
            options.append(f"#records={inside} ({shape.repeated[path]})")
        hint = ", ".join(dict.fromkeys(options))
        notes.append(f"If its records are inside, put after the file's name: {hint}.")
    return ReadRecords(
        "XML", [*records], lines, is_whole, dict.fromkeys([*notes, *shape.list_notes()])
    )


Path = tuple[str, ...]
"""The tags from a record to a part of it."""


@dataclass
class _XmlShape:
    """The names, the arrays and the texts at each place of some records."""

    repeated: Counter[Path] = field(default_factory=Counter)  # places of arrays
    _parts: dict[Path, dict[str, str]] = field(default_factory=dict)  # tags with their prefixes
    _texts: dict[Path, list[str]] = field(default_factory=dict)
    _values: dict[Path, Iterator[object]] = field(default_factory=dict)
    _names: dict[Path, str] = field(default_factory=dict)
    _columns: TextColumns = field(default_factory=TextColumns)
    _left_out: Counter[Path] = field(default_factory=Counter)

    def add(self, parts: Any, path: Path) -> None:
        """Take what is inside of an element into account."""
        counts = Counter(part.tag for part in parts)
        for tag, number in counts.items():
            if number > 1:
                self.repeated[(*path, tag)] += number
        for part in parts:
            at = (*path, part.tag)
            self._parts.setdefault(path, {}).setdefault(part.tag, part.prefix)
            if isinstance(part.value, list):
                self.add(part.value, at)
            elif part.value is not None:
                self._texts.setdefault(at, []).append(part.value)

    def read_texts(self) -> None:
        """Choose the names of all places, and read their texts."""
        for path, prefixes in self._parts.items():
            self._names |= _choose_names(path, prefixes)
        for path, texts in self._texts.items():
            name = ".".join(self._names[path[:end]] for end in range(1, len(path) + 1))
            self._values[path] = iter(self._columns.read_column(name, texts))

    def build_record(self, parts: Any, path: Path) -> Document:
        """Return the fields of an element; they are asked for in the order of `add`."""
        record: Document = {}
        for part in parts:
            at = (*path, part.tag)
            value: object = None
            if isinstance(part.value, list):
                value = self.build_record(part.value, at)
            elif part.value is not None:
                value = next(self._values[at])
            if at in self.repeated:
                items = record.setdefault(self._names[at], [])
                if value is None:
                    self._left_out[at] += 1
                else:
                    items.append(value)
            elif value is not None:
                record[self._names[at]] = value
        return record

    def list_notes(self) -> list[str]:
        """Return a sentence for each change of values."""
        notes = self._columns.list_notes()
        for path, number in self._left_out.items():
            elements = format_count(number, "empty element")
            notes.append(f"{self._names[path]}: {elements} left out of arrays.")
        for path, prefixes in self._parts.items():
            for tag in prefixes:
                name = self._names[(*path, tag)]
                if name != _cut_namespace(tag):
                    why = "because other parts have its name"
                    notes.append(f"{_cut_namespace(tag)} is the field {name} here, {why}.")
        return notes


def _choose_names(path: Path, prefixes: dict[str, str]) -> dict[Path, str]:
    """Return the name of each part of an element: with a prefix where others have its name."""
    counts = Counter(map(_cut_namespace, prefixes))
    names: dict[Path, str] = {}
    for tag, prefix in prefixes.items():
        name = _cut_namespace(tag)
        if counts[name] > 1 and prefix:
            name = f"{prefix}_{name}"
        taken = {*names.values()}
        numbered = (name if turn == 1 else f"{name}_{turn}" for turn in count_up(1))
        names[(*path, tag)] = next(one for one in numbered if one not in taken)
    return names


def _iterate_records(file: OpenedFile) -> Iterator[tuple[int, _Part]]:
    """Yield each record with its line."""
    place = file.options.get("records", "")
    path: list[str] = []
    first_tag = ""
    for line, event, element in _parse(file):
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
        begun = element.sourceline if element.sourceline < _MAX_SOURCE_LINE else line
        first_tag = first_tag or element.tag
        if element.tag != first_tag:
            names = f"{_cut_namespace(element.tag)} is not a record as {_cut_namespace(first_tag)}"
            remedy = f"state which are the records, as {_list_names(file)}"
            raise InputError(f"{file.path}:{begun}", f"{names}: {remedy}")
        _refuse_text_between(file, element, begun)
        yield begun, _Part(element.tag, "", _list_parts(element))
        _free_memory(element)


def _list_names(file: OpenedFile) -> str:
    """Return the options for the elements inside the root, the most frequent first."""
    counts: Counter[str] = Counter()
    depth = 0
    try:
        for _, event, element in _parse(file):
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 1:
                counts[_cut_namespace(element.tag)] += 1
                _free_memory(element)
    except InputError:
        # What is read so far is a hint, too.
        pass
    named = [f"#records={name} ({number:,})" for name, number in counts.most_common(5)]
    return ", ".join(named)


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


def _parse(file: OpenedFile) -> Iterator[tuple[int, str, Any]]:
    """Yield each element's start and end, with the line of the text that was read."""
    # Its import takes as long as a small plan.
    from lxml import etree

    parser = etree.XMLPullParser(
        events=("start", "end"),
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    line = 1
    with file.open() as stream:
        try:
            for part in iter(partial(stream.readline, 2**16), b""):
                parser.feed(part)
                for event, element in parser.read_events():
                    yield line, event, element
                line += part.endswith(b"\n")
            parser.close()
        except etree.XMLSyntaxError as error:
            why = str(error.msg).partition(", line ")[0]
            raise InputError(f"{file.path}:{error.lineno}", f"not XML: {why}") from error


def _refuse_text_between(file: OpenedFile, element: Any, line: int) -> None:
    """Raise `InputError` when a text is between the elements of a record."""
    for part in element.iterdescendants():
        text = (part.tail or "").strip()
        if text:
            where = part.sourceline if part.sourceline < _MAX_SOURCE_LINE else line
            why = f"the text {text[:40]!r} stands between elements: delete it"
            raise InputError(f"{file.path}:{where}", why)


def _free_memory(element: "etree._Element") -> None:
    """Delete a record that was read, and what is before it: the parser keeps all elements."""
    parent = element.getparent()
    element.clear()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _cut_namespace(name: str) -> str:
    """Return a name without its namespace, and without the mark of an attribute or of a text."""
    return name.rpartition("}")[2].lstrip("@#")
