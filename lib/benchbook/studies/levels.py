"""Whether results that were measured elsewhere hold only levels that their studies know, and which cell they are of."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin

import pyarrow as pa
from pydantic import ValidationError

from benchbook import studies
from benchbook.results.schema import OBSERVATIONS, OF_AN_ARM, parameter_column
from benchbook.studies.cell import write_levels

_LONGEST: Final = 40
"""Characters of a wrong text that its refusal shows."""


def check_levels(table: pa.Table) -> None:
    """Raise `ValueError` at the first row with a level that its study's `Parameters` do not know.

    The column ``environment`` must have objects of JSON. A study that is not installed here has no known levels.
    """
    if "study" not in table.column_names:
        return
    of_studies = [_levels(study) for study in table["study"].unique().to_pylist()]
    checked = {"study", "environment"}.union(*of_studies)
    names = [name for name in table.column_names if name in checked]
    # Rows that are alike are checked once: at the first of them.
    numbers = pa.array(range(len(table)), pa.int64())
    rows = table.select(names).append_column("row", numbers).group_by(names).aggregate([("row", "min")])
    for row in sorted(rows.to_pylist(), key=lambda row: row["row_min"]):
        why = _find_odd_level(row)
        if why:
            raise ValueError(f"row {row['row_min']}: {why}")


def state_parameters(row: Mapping[str, Any]) -> str:
    """Return the parameters of a row's cell as JSON, as `benchbook.studies.cell.CellParameters.as_json` writes them."""
    if row["study"] not in studies.NAMES:
        return write_levels({name: level for name, level in row.items() if name not in OBSERVATIONS.names})
    model = studies.load(row["study"]).Parameters
    levels = model.read_levels(row)
    try:
        return str(model.model_validate(levels).as_json())
    except ValidationError:  # the study has other parameters by now
        return write_levels(levels)


def _find_odd_level(row: Mapping[str, Any]) -> str:
    """Return which of a row's levels its study does not know; empty when it knows all."""
    environment = row.get("environment")
    if environment is not None and not _is_object(environment):
        return f"environment is not a JSON object: {_shorten(environment)}"
    for column, levels in _levels(row["study"]).items():
        level = row.get(column)
        if level is not None and level not in levels:
            listed = ", ".join(map(str, levels))
            return f"{column} is {_shorten(level)}: the study {row['study']} knows {listed}"
    return ""


@cache
def _levels(study: str | None) -> dict[str, tuple[Any, ...]]:
    """Return the levels of each of a study's parameters that has a fixed set of them, by their columns.

    Where a cell may take several in turn, a row's own level is one of them, too.
    """
    if study not in studies.NAMES:
        return {}
    levels = {}
    for name, field in studies.load(study).Parameters.model_fields.items():
        if get_origin(field.annotation) is Literal:
            known = get_args(field.annotation)
            if len({type(level) for level in known}) > 1:
                known = tuple(map(str, known))
            levels[parameter_column(name)] = known
            if name in OF_AN_ARM:
                levels[name] = known
    return levels


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _shorten(value: object) -> str:
    """Return a value on one line, cut where it is long."""
    words = ascii(value)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
