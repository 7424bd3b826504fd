"""The update of a cell's records: which of their texts or numbers it changes, and to what."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from benchbook.schema import Document, Field, FieldType, Record, Schema, UnfitError

Updated: TypeAlias = str | int | float
"""A value that an update changes, or writes."""

_KINDS: Final[dict[FieldType, type[Updated]]] = {"string": str, "integer": int, "float": float}
"""The types that an update changes, with Python's."""

_NEW_NUMBER: Final = 1_234_567
"""The number that an update of all records writes: few records will have it already."""

_MAX_STEP: Final = 2.0**52
"""A float below it differs from itself plus 1."""


@dataclass(frozen=True)
class UpdateCheck:
    """Checks that a study's records have a text or a number to update; its schema tells.

    In Node.js, whose numbers have one type, it must be a text.
    """

    language: str

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` when there is nothing to change."""
        if find_updated_field(schema).kind is not str and self.language == "node":
            why = "in Node.js an update changes a text, and no field but the keys holds one"
            raise UnfitError(f"{why}: take language: python")


@dataclass(frozen=True)
class UpdatedField:
    """The text or number that an update changes."""

    path: tuple[str, ...]  # the names that lead to it: mostly a single one
    kind: type[Updated]

    def read(self, record: Record) -> Updated:
        """Return a record's value; an empty text or 0 where it does not have it."""
        value: Any = record
        for name in self.path:
            value = value.get(name, {})
        return value or self.kind()

    def write(self, record: Record, value: Updated) -> Document:
        """Return the record's field to set, whole, with another value at the end of the path."""
        name, *inner = self.path
        return {name: _set_value(record.get(name, {}), inner, value)}

    def choose_value(self) -> Updated:
        """Return the value that an update of all records writes."""
        return f"new {self.path[-1]}" if self.kind is str else self.kind(_NEW_NUMBER)


def find_updated_field(schema: Schema) -> UpdatedField:
    """Return the field that an update changes.

    It is the text ``content``, else the first text field that every record has, else the first that
    some have, else the first inside documents. Where there is no text, it is a number, which is
    looked for alike. The key does not count. Raises `UnfitError` when there is neither, or only in
    arrays.
    """
    keys = {schema.key}
    if schema.parent:
        keys.add(schema.parent.field)
    fields = [field for field in schema.fields if field.name not in keys]
    if any(field.name == "content" and field.type == "string" for field in fields):
        return UpdatedField(("content",), str)
    kinds: tuple[tuple[FieldType, ...], ...] = (("string",), ("integer", "float"))
    for types in kinds:
        outer = [field for field in fields if field.type in types]
        outer.sort(key=lambda field: field.optional)
        for path, kind in (*_iterate_paths(outer, types), *_iterate_paths(fields, types)):
            return UpdatedField(path, _KINDS[kind])
    why = "an update changes a text or a number, and no field but the keys holds one"
    inner = [_find_inner_text(field, field.name) for field in schema.fields]
    place = next(filter(None, inner), "")
    raise UnfitError(f"{why}; {place} is inside an array: take it out" if place else why)


def change_value(value: Updated) -> Updated:
    """Return another value of the same type: a text backwards with a mark, or another number."""
    if isinstance(value, str):
        return f"*{value[::-1]}"
    if isinstance(value, int):
        return value ^ 1  # also the largest of 64 bits has another
    return value + 1 if abs(value) < _MAX_STEP else value / 2


def _find_inner_text(field: Field, path: str) -> str:
    """Return the path of the first text inside a field; empty if there is none."""
    for part in field.fields:
        # The elements of an array have no name.
        at = f"{path}[]" if field.type == "array" else f"{path}.{part.name}"
        found = at if part.type == "string" else _find_inner_text(part, at)
        if found:
            return found
    return ""


def _iterate_paths(
    fields: Iterable[Field], types: Collection[FieldType]
) -> Iterator[tuple[tuple[str, ...], FieldType]]:
    """Yield the names that lead to each value of some types, and its type.

    Those that all records have come first.
    """
    # False sorts before True.
    for field in sorted(fields, key=lambda field: field.optional):
        if field.type in types:
            yield (field.name,), field.type
        elif field.type == "document":
            for inner, kind in _iterate_paths(field.fields, types):
                yield (field.name, *inner), kind


def _set_value(value: Record, path: Sequence[str], new: Updated) -> object:
    """Return a document with another value at the end of a path; without a path that value."""
    if not path:
        return new
    name, *inner = path
    return {**value, name: _set_value(value.get(name, {}), inner, new)}


def make_change(schema: Schema, records: Iterable[Record] = ()) -> Record:
    """Return the fields that an update of all records sets, the same new value for each.

    Raises as `find_updated_field`.

    Parameters
    ----------
    records
        Read where the value is inside a document, which an update replaces whole. Its other fields
        are theirs: each field that any of them has, with the first value.
    """
    field = find_updated_field(schema)
    name, *inner = field.path
    example: Any = {}
    if inner:
        for record in records:
            example = _complete_document(example, {name: record.get(name, {})})
    return field.write(example, field.choose_value())


def _complete_document(value: Any, other: Any) -> Any:
    """Return a document with the fields that another one has and it has not, at any depth."""
    if not (isinstance(value, dict) and isinstance(other, dict)):
        return value
    completed = {**other, **value}
    for name in value.keys() & other.keys():
        completed[name] = _complete_document(value[name], other[name])
    return completed
