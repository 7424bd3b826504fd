"""The update of a cell's records: which of their texts it changes, and to what."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.schema import Document, Field, Record, Schema, UnfitError


@dataclass(frozen=True)
class UpdateCheck:
    """Checks that a study's records have a text field to update; its schema tells."""

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` when there is no text field to change."""
        find_text_path(schema)


def find_text_path(schema: Schema) -> tuple[str, ...]:
    """Return the names that lead to the text that an update changes: mostly a single one.

    It is ``content``, else the first text field that every record has, else the first that some
    have, else the first inside documents. The key does not count. Raises `UnfitError` when there is
    no text, or only in arrays.
    """
    keys = {schema.key}
    if schema.parent:
        keys.add(schema.parent.field)
    fields = [field for field in schema.fields if field.name not in keys]
    texts = [field for field in fields if field.type == "string"]
    if any(field.name == "content" for field in texts):
        return ("content",)
    if texts:
        return (min(texts, key=lambda field: field.optional).name,)
    for path in _iterate_text_paths(fields):
        return path
    why = "an update changes a text field, and no field but the keys holds text"
    inner = [_find_inner_text(field, field.name) for field in schema.fields]
    place = next(filter(None, inner), "")
    raise UnfitError(f"{why}; {place} is inside an array: take it out" if place else why)


def _find_inner_text(field: Field, path: str) -> str:
    """Return the path of the first text inside a field; empty if there is none."""
    for part in field.fields:
        # The elements of an array have no name.
        at = f"{path}[]" if field.type == "array" else f"{path}.{part.name}"
        found = at if part.type == "string" else _find_inner_text(part, at)
        if found:
            return found
    return ""


def _iterate_text_paths(fields: Iterable[Field]) -> Iterator[tuple[str, ...]]:
    """Yield the names that lead to each text; those that all records have come first."""
    # False sorts before True.
    for field in sorted(fields, key=lambda field: field.optional):
        if field.type == "string":
            yield (field.name,)
        elif field.type == "document":
            for inner in _iterate_text_paths(field.fields):
                yield (field.name, *inner)


def read_text(record: Record, path: Sequence[str]) -> str:
    """Return the text at the end of a path; empty where the record does not have it."""
    value: Any = record
    for name in path:
        value = value.get(name, {})
    return value or ""


def change_text(record: Record, path: Sequence[str], text: str) -> Document:
    """Return the field of the record to set, whole, with another text at the end of a path."""
    name, *inner = path
    return {name: _set_text(record.get(name, {}), inner, text)}


def _set_text(value: Record, path: Sequence[str], text: str) -> object:
    """Return a document with another text at the end of a path; without a path the text."""
    if not path:
        return text
    name, *inner = path
    return {**value, name: _set_text(value.get(name, {}), inner, text)}


def make_change(schema: Schema, records: Iterable[Record] = ()) -> Record:
    """Return the fields that an update of all records sets, the same new text for each.

    Raises as `find_text_path`.

    Parameters
    ----------
    records
        Read where the text is inside a document, which an update replaces whole. Its other fields
        are theirs: each field that any of them has, with the first value.
    """
    path = find_text_path(schema)
    example: Any = {}
    if len(path) > 1:
        for record in records:
            example = _complete_document(example, {path[0]: record.get(path[0], {})})
    return change_text(example, path, f"new {path[-1]}")


def _complete_document(value: Any, other: Any) -> Any:
    """Return a document with the fields that another one has and it has not, at any depth."""
    if not (isinstance(value, dict) and isinstance(other, dict)):
        return value
    completed = {**other, **value}
    for name in value.keys() & other.keys():
        completed[name] = _complete_document(value[name], other[name])
    return completed
