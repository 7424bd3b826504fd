"""The description of a user's file, which a plan shows before anything is measured."""

from dataclasses import dataclass
from typing import Final

from benchbook.schema import Field, FieldType
from benchbook.text.number_format import format_count

_TYPE_LABELS: Final = {
    "json": "differs in kind",
    "datetime": "moment",
    "date": "day",
    "string": "text",
}


@dataclass(frozen=True)
class KnownField:
    """The description of one field of the records that were read."""

    path: str  # ``lines[].sku`` for a field of an array's documents
    type: FieldType
    item: FieldType | None  # an array's type of elements
    of: int  # documents that could have the field
    absent: int  # documents without it
    null: int  # documents in which it is null


@dataclass(frozen=True, kw_only=True)
class FileDescription:
    """The description of a file by its first records."""

    format: str  # ``JSON Lines``, ``JSON array``, ``delimited text``, ``XML`` or ``Parquet``
    marks: str  # the encoding, the delimiter and the decimal mark, in words; may be empty
    size: int  # bytes of the file
    records: int  # that were read
    is_whole: bool  # whether the file has no more records
    has_keys: bool  # whether the records have an ``_id``
    schema: tuple[Field, ...]  # without ``_id``
    fields: tuple[KnownField, ...]  # at any depth
    notes: tuple[str, ...]  # a sentence for each change of values

    @property
    def words(self) -> str:
        """The description in one line."""
        form = f"{self.format}, {self.marks}" if self.marks else self.format
        records = format_count(self.records, "record")
        if not self.is_whole:
            records = f"the first {records}"
        fields = format_count(len(self.schema), "field")
        return f"{form}: {records} of {fields}, {self.size:,} bytes"

    def list_fields(self, most: int) -> list[dict[str, str]]:
        """Return the fields as rows of texts: the type, and how many documents do not have it."""
        rows = []
        for known in self.fields[:most]:
            kind = _TYPE_LABELS.get(known.type, known.type)
            if known.item not in (None, "json"):
                kind += f" of {_TYPE_LABELS.get(known.item, known.item)}s"
            absent, null = _write_share(known.absent, known.of), _write_share(known.null, known.of)
            rows.append({"field": known.path, "type": kind, "absent": absent, "null": null})
        if len(self.fields) > most:
            others = f"and {len(self.fields) - most} more"
            rows.append({"field": others, "type": "", "absent": "", "null": ""})
        return rows


def _write_share(count: int, of: int) -> str:
    """Return a share in percent; a small one is not 0 %, and a large one is not 100 %."""
    if not count:
        return "–"
    percent = 100 * count / of
    if percent < 1:
        return "< 1 %"
    if 99 < percent < 100:
        return "> 99 %"
    return f"{percent:.0f} %"
