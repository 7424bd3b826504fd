"""Files of XML whose root holds alike elements: each is a record, as in a database's export.

Attributes and elements inside become fields. An element that comes several times in some record is
an array in all. A text is a number or a boolean where all texts at its place are. Entities are not
resolved, and a DOCTYPE is refused.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchbook.files.inputs import InputError
from benchbook.own_data.inference import cut_into_chunks, describe_records, load_records
from benchbook.own_data.json_chunks import check_nesting
from benchbook.own_data.opened_file import (
    FileDescription,
    LoadedRecords,
    NumberedRecords,
    OpenedFile,
    RecordReader,
    ReportProgress,
)

if TYPE_CHECKING:
    from lxml import etree

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
_BOOLEANS: Final = {"true": True, "false": False}
_MAX_SOURCE_LINE: Final = 65_535
"""The last line that lxml counts."""

_TESTS: Final[dict[str, Callable[[str], object]]] = {
    "integer": _INTEGER.fullmatch,
    "float": _NUMBER.fullmatch,
    "boolean": _BOOLEANS.__contains__,
}
_CONVERTERS: Final[dict[str, Callable[[str], object]]] = {
    "integer": int,
    "float": float,
    "boolean": _BOOLEANS.__getitem__,
    "string": str,
}


def describe(file: OpenedFile, report: ReportProgress) -> FileDescription:
    """Return the description of a file of XML."""
    # The first pass finds what is a number and what an array, the second reads records with it.
    shape = XmlShape(file.options.get("records", ""))
    for _, element in _iterate_records(file):
        shape.place = shape.place or _cut_namespace(element.tag)
        shape.add(element)
    report(0.5)
    dialect = shape.list_types()
    found = describe_records(file, "XML", cut_into_chunks(_read_records(file, dialect)))
    report(1)
    notes = ["XML: attributes and elements are fields; texts that all are numbers are numbers."]
    if found.records == 1 and shape.repeated:
        places = ", ".join(f"#records={shape.place}.{path}" for path in shape.repeated)
        notes.append(f"If its records are inside, put after the file's name: {places}.")
    return replace(found, notes=(*notes, *found.notes), dialect=dialect)


def load(file: OpenedFile, description: FileDescription, count: int | None) -> LoadedRecords:
    """Return the first records of a file of XML, typed by its description."""
    return load_records(_read_records(file, description.dialect), description, count)


READER: Final = RecordReader(describe, load)


@dataclass
class XmlShape:
    """The types of the texts at each place of records, and which elements are repeated."""

    place: str  # of the records, behind the root
    kinds: dict[str, list[str]] = field(default_factory=dict)  # that all texts have
    repeated: dict[str, None] = field(default_factory=dict)

    def add(self, element: "etree._Element", path: str = "") -> None:
        """Take an element and all inside into account."""
        seen = set()
        for name, part in _list_parts(element):
            at = f"{path}.{name}" if path else name
            if name in seen:
                self.repeated[at] = None
            seen.add(name)
            if isinstance(part, str):
                kinds = self.kinds.get(at, [*_TESTS])
                self.kinds[at] = [kind for kind in kinds if _TESTS[kind](part)]
            else:
                self.add(part, at)

    def list_types(self) -> dict[str, str]:
        """Return the type of the texts at each place, and ``array`` for repeated elements."""
        types = {path: next(iter(kinds), "string") for path, kinds in self.kinds.items()}
        arrays = {f"{path}[]": "array" for path in self.repeated}
        return types | arrays


def _read_records(file: OpenedFile, dialect: Mapping[str, str]) -> NumberedRecords:
    """Yield the records with their lines; numbers and arrays are as the dialect says."""
    for line, element in _iterate_records(file):
        record = _read_element(element, "", dialect)
        check_nesting(file.path, [line], [record])
        yield line, record


def _read_element(element: "etree._Element", path: str, dialect: Mapping[str, str]) -> Any:
    """Return the fields of an element."""
    fields: dict[str, Any] = {}
    for name, part in _list_parts(element):
        at = f"{path}.{name}" if path else name
        if isinstance(part, str):
            value = _CONVERTERS[dialect[at]](part)
        else:
            value = _read_element(part, at, dialect)
        if f"{at}[]" in dialect:
            fields.setdefault(name, []).append(value)
        else:
            fields[name] = value
    return fields


def _list_parts(element: "etree._Element") -> "Iterator[tuple[str, str | etree._Element]]":
    """Yield an element's attributes, text and elements by name; empty ones have no value."""
    for name, text in element.attrib.items():
        yield _cut_namespace(str(name)), str(text)
    own_text = (element.text or "").strip()
    if own_text:
        yield "text", own_text
    for child in element:
        name = _cut_namespace(child.tag)
        if len(child) or child.attrib:
            yield name, child
        elif child.text:
            yield name, child.text


def _iterate_records(file: OpenedFile) -> "Iterator[tuple[int, etree._Element]]":
    """Yield the element of each record with its line; it is cleared afterwards.

    Raises `InputError`, with file and line, when the text is not XML or its records differ.
    """
    place = file.options.get("records", "")
    path: list[str] = []
    tags: dict[str, None] = {}
    for line, event, element in _parse(file):
        if event == "start":
            if not path and element.getroottree().docinfo.doctype:
                raise InputError(str(file.path), "has a DOCTYPE: delete it")
            path.append(_cut_namespace(element.tag))
            continue
        # At an element's end, its path says whether it is a record.
        is_record = path[1:] == place.split(".") if place else len(path) == 2
        path.pop()
        if is_record:
            begun = element.sourceline
            if begun >= _MAX_SOURCE_LINE:
                begun = line
            tags[element.tag] = None
            _check_alike(f"{file.path}:{begun}", element, [*tags])
            yield begun, element
            _free_memory(element)


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
    text = io.BytesIO(file.data)
    line = 1
    try:
        for part in iter(partial(text.readline, 2**16), b""):
            parser.feed(part)
            for event, element in parser.read_events():
                yield line, event, element
            line += part.endswith(b"\n")
        parser.close()
    except etree.XMLSyntaxError as error:
        why = str(error.msg).partition(", line ")[0]
        raise InputError(f"{file.path}:{error.lineno}", f"not XML: {why}") from error


def _check_alike(where: str, element: "etree._Element", tags: list[str]) -> None:
    """Raise `InputError` when elements that are records have different names, or text around."""
    if len(tags) > 1:
        first, second = map(_cut_namespace, tags)
        remedy = "state where the records are, as #records=channel.item"
        raise InputError(where, f"{second} is not a record as {first}: {remedy}")
    for part in element.iterdescendants():
        if (part.tail or "").strip():
            raise InputError(where, "has text between its elements: it is a document, no record")


def _free_memory(element: "etree._Element") -> None:
    """Delete a record that was read, and what is before it: the parser keeps all elements."""
    parent = element.getparent()
    element.clear()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _cut_namespace(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition("}")[2]
