"""Whether results that were measured elsewhere hold only levels that their studies know."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin

import pyarrow as pa

from benchbook import studies
from benchbook.results import CELLS

_OBJECTS: Final = ("parameters", "environment")
"""Columns that hold an object of JSON."""

_LONGEST: Final = 40
"""Characters of a wrong text that its refusal shows."""


def check_levels(table: pa.Table) -> None:
    """Raise `ValueError` at the first row with a level that its study's `Parameters` do not know.

    Levels are in columns of `CELLS` and, as JSON, in the column ``parameters``; that and ``environment`` must be
    objects of JSON. A study that is not installed here has no known levels.
    """
    if "study" not in table.column_names:
        return
    of_studies = [_levels(study) for study in table["study"].unique().to_pylist()]
    checked = {"study", *_OBJECTS}.union(*of_studies)
    names = [name for name in CELLS.names if name in checked and name in table.column_names]
    # Rows that are alike are checked once: at the first of them.
    numbers = pa.array(range(len(table)), pa.int64())
    rows = table.select(names).append_column("row", numbers).group_by(names).aggregate([("row", "min")])
    for row in sorted(rows.to_pylist(), key=lambda row: row["row_min"]):
        if why := _find_odd_text(row):
            raise ValueError(f"row {row['row_min']}: {why}")


def _find_odd_text(row: Mapping[str, Any]) -> str:
    """Return which of a row's texts is not what its study writes there, and why; empty when there is none."""
    for name in _OBJECTS:
        text = row.get(name)
        if text is not None and _object(text) is None:
            return f"{name} is not a JSON object: {_short(text)}"
    known = _levels(row["study"])
    given = _object(row.get("parameters")) or {}
    for place, levels_of in (("", row), (" in parameters", given)):
        for name, levels in known.items():
            level = levels_of.get(name)
            if level is not None and level not in levels:
                listed = ", ".join(map(str, levels))
                return f"{name}{place} is {_short(level)}: the study {row['study']} knows {listed}"
    return ""


@cache
def _levels(study: str | None) -> dict[str, tuple[Any, ...]]:
    """Return the levels of each of a study's parameters that has a fixed set of them."""
    if study not in studies.NAMES:
        return {}
    fields = studies.load(study).Parameters.model_fields
    return {
        name: get_args(field.annotation) for name, field in fields.items() if get_origin(field.annotation) is Literal
    }


def _object(text: str | None) -> dict[str, Any] | None:
    """Return a text's JSON object; None when it holds none."""
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _short(value: object) -> str:
    """Return a value on one line, cut where it is long."""
    words = ascii(value)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
