"""The schema of a user's records, inferred from all of them, field by field and at any depth.

Records come in chunks and are not kept: per field `Inference` keeps the types, the smallest and the
largest number, and whether all texts are days or moments so far. `make_converter` then gives values
their types.

A null counts as absent and is left out, because XML elements, columns and mappers do not
distinguish them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import chain, islice
from types import NoneType
from typing import Any, Final, TypeVar

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import (
    FileDescription,
    KeyCheck,
    KnownField,
    LoadedRecords,
    NumberedRecords,
    OpenedFile,
    write_key,
)
from benchbook.schema import Document, Field, FieldType, Record

_CHUNK_RECORDS: Final = 1_000
"""Records that are in memory at a time."""

_MAP_NAMES: Final = 100
_MAP_SHARE: Final = 0.1
"""Objects are maps, without fields, if they have more names, and each has less than this share."""

_MAX_MAP_NAMES: Final = 10_000
"""Names of a map beyond which it is not watched whether it becomes a document after all."""

_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1
_EXACT: Final = 2**53
"""Up to this number every integer is a double."""

CUT_NOTE: Final = "moments are kept in milliseconds; what is finer is cut off."
_TOO_LARGE_NOTE: Final = "integers beyond 2^63, which few stores hold: they are kept as text."

Row = TypeVar("Row")

Converter = Callable[[Any], Any]
"""A function that gives a file's value, which is not null, its field's type."""


@dataclass
class Inference:
    """The inference of a file's fields: `survey` all records in chunks, then `conclude` once."""

    known: list[KnownField] = field(default_factory=list)
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._records = _Documents(is_top=True)

    def survey(self, records: Sequence[Record]) -> None:
        """Take the next records into account."""
        self._records.add(records)

    def survey_columns(self, count: int, columns: "Mapping[str, SampledColumn]") -> None:
        """Take the next `count` records into account by columns, each by some of its values."""
        self._records.count += count
        for name, sampled in columns.items():
            self._records.add_sampled(name, sampled)

    def describe(self, file: OpenedFile, format_name: str, check: KeyCheck) -> FileDescription:
        """Return the description of a file, all of whose records were surveyed and checked.

        Raises `InputError` when there is no record.
        """
        if not check.count:
            raise InputError(str(file.path), "holds no record")
        return FileDescription(
            format=format_name,
            size=len(file.data),
            records=check.count,
            has_keys=bool(check.seen),
            schema=self.conclude(),
            fields=tuple(self.known),
            notes=tuple(self.notes),
        )

    def conclude(self) -> tuple[Field, ...]:
        """Return the fields of all records, and fill `known` and `notes`."""
        return self._list_fields("", self._records)

    def _list_fields(self, path: str, documents: "_Documents") -> tuple[Field, ...]:
        """Return the fields of the documents at a path."""
        fields = []
        for name, column in documents.columns.items():
            at = f"{path}.{name}" if path else name
            if not column.count:
                self.notes[f"{at} is null or empty wherever it is, and left out."] = None
                continue
            # A field comes before the fields inside of it.
            place = len(self.known)
            found = self._find_field(at, column)
            item = found.fields[0].type if found.type == "array" else None
            missing = documents.count - column.count
            absent = missing - column.nulls
            self.known.insert(
                place, KnownField(at, found.type, item, documents.count, absent, column.nulls)
            )
            fields.append(replace(found, name=name, optional=missing > 0))
        return tuple(fields)

    def _find_field(self, path: str, column: "_Column") -> Field:
        """Return a field for all of a column's values."""
        if column.types == {dict}:
            documents = column.documents
            if not documents.is_map():
                return Field("", "document", fields=self._list_fields(path, documents))
            counted = f"{path} has {documents.describe_names()}, few of them each time"
            self.notes[f"{counted}: it is kept as JSON has it."] = None
        elif column.types == {list} and not column.items.nulls:
            item = Field("", "json")
            if column.items.count:
                item = self._find_field(f"{path}[]", column.items)
            return Field("", "array", fields=(replace(item, name="item"),))
        else:
            kind = self._find_scalar_type(path, column)
            if kind != "json":
                return Field("", kind)
            why = "differs in kind from place to place: it is kept as JSON has it."
            self.notes[f"{path} {why}"] = None
        if column.has_large():
            self.notes[f"{path} holds {_TOO_LARGE_NOTE}"] = None
        return Field("", "json")

    def _find_scalar_type(self, path: str, column: "_Column") -> FieldType:
        """Return the narrowest type for all of a column's values, ``json`` if none fits."""
        types = column.types
        if types == {str}:
            kind = column.texts.find_type()
            if kind == "datetime" and column.texts.is_cut:
                self.notes[f"{path}: {CUT_NOTE}"] = None
            return kind
        if types == {int}:
            if not column.has_large():
                return "integer"
            self.notes[f"{path} holds {_TOO_LARGE_NOTE}"] = None
            return "string"
        if types <= {int, float} and column.is_exact:
            return "float"
        if types == {bool}:
            return "boolean"
        if types <= {date, str} and column.texts.may_be_days and column.is_top:
            return "date"
        if types <= {datetime, str} and column.texts.may_be_moments and column.is_top:
            if column.is_cut or column.texts.is_cut:
                self.notes[f"{path}: {CUT_NOTE}"] = None
            return "datetime"
        return "json"


@dataclass(frozen=True)
class SampledColumn:
    """Values of a column that stand for all: the smallest and the largest number, all days."""

    values: Sequence[object]  # without nulls
    count: int  # of all values that are not null
    nulls: int


class _Documents:
    """What is known of the documents at one place: a column per name."""

    def __init__(self, *, is_top: bool = False) -> None:
        self.is_top = is_top
        self.count = 0
        self.columns: dict[str, _Column] = {}
        self._values = 0  # all documents' values, for the share of a map's names
        self._rest: _Column | None = None  # the values of a map with too many names

    def add(self, documents: Sequence[Record]) -> None:
        """Take documents into account."""
        self.count += len(documents)
        shapes = set(map(tuple, documents))
        if self._rest is not None:
            self._rest.add([*chain.from_iterable(document.values() for document in documents)])
        elif len(shapes) == 1:
            # Documents of one shape become columns without a loop over their values.
            rows = (document.values() for document in documents)
            for name, values in zip(shapes.pop(), zip(*rows, strict=True), strict=True):
                self._add_column(name, values)
        else:
            columns: dict[str, list[Any]] = {}
            for document in documents:
                for name, value in document.items():
                    columns.setdefault(name, []).append(value)
            for name, column in columns.items():
                self._add_column(name, column)
        has_many = len(self.columns) > _MAX_MAP_NAMES and not self.is_top
        if has_many and self._rest is None and self.is_map():
            self._rest = _Column()

    def _add_column(self, name: str, values: Sequence[object]) -> None:
        column = self.columns.get(name)
        if column is None:
            column = self.columns[name] = _Column(is_top=self.is_top)
        self._values += len(values)
        column.add(values)

    def add_sampled(self, name: str, sampled: SampledColumn) -> None:
        """Take a column into account."""
        self._add_column(name, sampled.values)
        column = self.columns[name]
        column.count += sampled.count - len(sampled.values)
        column.nulls += sampled.nulls

    def describe_names(self) -> str:
        """Return the number of different names, in words."""
        names = f"{len(self.columns):,} names"
        return names if self._rest is None else f"more than {_MAX_MAP_NAMES:,} names"

    def is_map(self) -> bool:
        """Return whether the documents are maps, which have no fields."""
        if self._rest is not None:
            return True
        names = len(self.columns)
        return names > _MAP_NAMES and self._values / (self.count * names) < _MAP_SHARE

    def has_large(self) -> bool:
        """Return whether an integer at any depth has more than 64 bits."""
        columns = [*self.columns.values(), *([self._rest] if self._rest else [])]
        return any(column.has_large() for column in columns)


class _Column:
    """What is known of the values at one place of a file."""

    def __init__(self, *, is_top: bool = False) -> None:
        self.is_top = is_top  # of a record: inside of other values, days and moments stay texts
        self.count = 0  # values that are not null
        self.nulls = 0
        self.types: set[type] = set()
        self.texts = _TextColumn(has_dates=is_top)
        self.is_exact = True  # all integers are doubles
        self.is_cut = False  # a moment has microseconds
        self._low = self._high = 0
        self._documents: _Documents | None = None
        self._items: _Column | None = None

    @property
    def documents(self) -> _Documents:
        """What is known of the values that are documents."""
        if self._documents is None:
            self._documents = _Documents()
        return self._documents

    @property
    def items(self) -> "_Column":
        """What is known of all elements of the values that are arrays."""
        if self._items is None:
            self._items = _Column()
        return self._items

    def add(self, values: Sequence[Any]) -> None:
        """Take values into account."""
        types = set(map(type, values))
        if NoneType in types:
            types.discard(NoneType)
            present = [value for value in values if value is not None]
            self.nulls += len(values) - len(present)
            values = present
        self.count += len(values)
        self.types |= types
        for kind in types:
            alike = values
            if len(types) > 1:
                alike = [value for value in values if type(value) is kind]
            self._add_alike(kind, alike)

    def _add_alike(self, kind: type, values: Sequence[Any]) -> None:
        """Take values of one type into account."""
        if kind is str:
            self.texts.add(values)
        elif kind is int:
            self._add_integers(values)
        elif kind is dict:
            self.documents.add(values)
        elif kind is list:
            self.items.add([*chain.from_iterable(values)])
        elif kind is datetime:
            self.is_cut = self.is_cut or any(map(has_microseconds, values))

    def _add_integers(self, values: Sequence[int]) -> None:
        low, high = min(values), max(values)
        self._low, self._high = min(self._low, low), max(self._high, high)
        if self.is_exact and (high > _EXACT or low < -_EXACT):
            self.is_exact = all(map(_is_double, values))

    def has_large(self) -> bool:
        """Return whether an integer at any depth has more than 64 bits."""
        if self._low < _LOWEST or self._high > _HIGHEST:
            return True
        inner = [part for part in (self._documents, self._items) if part is not None]
        return any(part.has_large() for part in inner)


class _TextColumn:
    """What is known of the texts at one place of a file."""

    def __init__(self, *, has_dates: bool) -> None:
        self.may_be_days = self.may_be_moments = has_dates
        self.is_cut = False  # a moment has microseconds

    def add(self, texts: Sequence[str]) -> None:
        """Take texts into account."""
        if self.may_be_days:
            self.may_be_days = _are_days(texts)
        if self.may_be_moments:
            moments = _read_moments(texts)
            self.may_be_moments = bool(moments)
            self.is_cut = self.is_cut or any(map(has_microseconds, moments))

    def find_type(self) -> FieldType:
        """Return the narrowest type for all texts."""
        if self.may_be_days:
            return "date"
        return "datetime" if self.may_be_moments else "string"


def read_datetime(value: Any) -> datetime:
    """Return a moment, or its ISO 8601 text, in UTC and cut to milliseconds."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(value)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def has_microseconds(moment: datetime) -> bool:
    """Return whether a moment is finer than milliseconds."""
    return moment.microsecond % 1000 > 0


def _are_days(texts: Sequence[str]) -> bool:
    """Return whether all texts are days as 2024-03-18."""
    try:
        days = [*map(date.fromisoformat, texts)]
    except ValueError:
        return False
    return [*map(date.isoformat, days)] == [*texts]


def _read_moments(texts: Sequence[str]) -> list[datetime]:
    """Return the moments that texts are; none if one is not, or has no zone."""
    try:
        moments = [*map(datetime.fromisoformat, texts)]
        if not all(moment.tzinfo for moment in moments):
            return []
        # In UTC the first or the last may be beyond the years 1 to 9999.
        for moment in (min(moments), max(moments)):
            moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return []
    return moments


def _is_double(value: int) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def make_converter(fields: Sequence[Field]) -> Callable[[Record], Document]:
    """Return a function that gives a record's values the types of their fields, without nulls.

    Parameters
    ----------
    fields
        The fields that `Inference.conclude` returned.
    """
    converters = [(field.name, _make_value_converter(field)) for field in fields]

    def convert(record: Record) -> Document:
        typed = {}
        for name, convert_value in converters:
            value = record.get(name)
            if value is not None:
                typed[name] = convert_value(value)
        return typed

    return convert


def _make_value_converter(found: Field) -> Converter:
    """Return the function that converts the values of a field."""
    if found.type == "document":
        return make_converter(found.fields)
    if found.type == "array":
        convert_item = _make_value_converter(found.fields[0])
        return lambda items: [convert_item(item) for item in items]
    if found.type == "json":
        return _keep_as_json
    return _CONVERTERS.get(found.type, _keep)


def _keep(value: Any) -> Any:
    return value


def _read_date(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


_CONVERTERS: Final[dict[FieldType, Converter]] = {
    "float": float,
    "string": str,
    "date": _read_date,
    "datetime": read_datetime,
}


def _keep_as_json(value: Any) -> Any:
    """Return a value as JSON; a whole number beyond 64 bits becomes text."""
    if isinstance(value, dict):
        return {name: _keep_as_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_keep_as_json(part) for part in value]
    if type(value) is int and not _LOWEST <= value <= _HIGHEST:
        return str(value)
    return value.isoformat() if isinstance(value, date) else value


def describe_records(
    file: OpenedFile, format_name: str, chunks: Iterable[Sequence[tuple[int, Record]]]
) -> FileDescription:
    """Return the description of a file by its records, of which few chunks are in memory.

    Raises `InputError` when there is no record, or an ``_id`` is missing or comes twice.

    Parameters
    ----------
    file, format_name
        The file, and the name of its format in the description.
    chunks
        All its records with their lines, some in each chunk.
    """
    inference, check = Inference(), KeyCheck(file.path)
    for chunk in filter(None, chunks):
        lines, records = zip(*chunk, strict=True)
        check.check_keys(lines, [record.get("_id") for record in records])
        if check.seen:
            records = tuple(_drop_key(record) for record in records)
        inference.survey(records)
    return inference.describe(file, format_name, check)


def cut_into_chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield records in chunks for `describe_records`."""
    return iter(lambda: list(islice(rows, _CHUNK_RECORDS)), [])


def load_records(
    rows: NumberedRecords, description: FileDescription, count: int | None
) -> LoadedRecords:
    """Return the first records with the values that the types of their fields have.

    Parameters
    ----------
    rows
        The file's records; no more than needed are read.
    description
        The file's, with the types.
    count
        How many records are returned, if the file has as many; None: all.
    """
    convert = make_converter(description.schema)
    lines, records = [], []
    for line, record in islice(rows, count):
        key = {"_id": write_key(record["_id"])} if description.has_keys else {}
        records.append({**key, **convert(record)})
        lines.append(line)
    return LoadedRecords(records, lines)


def _drop_key(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "_id"}
