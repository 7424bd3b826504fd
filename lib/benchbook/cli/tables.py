"""Rows as aligned columns, or as one JSON array."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a JSON array of objects, one a line."""
    lines = ",\n ".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    return f"[{lines}]"


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as columns under their names; a column without a value is left out."""
    names = [name for name in (rows[0] if rows else {}) if any(row[name] not in (None, "") for row in rows)]
    table = [names, *(["" if row[name] is None else str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(names))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in table
    )
