"""The levels in imported results: whether their studies know them, and their cells' parameters."""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin

import pyarrow as pa
from pydantic import ValidationError

from benchbook.results.schema import ALTERNATING_COLUMNS, OBSERVATIONS, name_parameter_column
from benchbook.studies.catalogue import STUDIES, load_study
from benchbook.studies.cell import write_levels

_MAX_SHOWN: Final = 40
"""Characters of a wrong text in an error."""


def check_levels(table: pa.Table) -> None:
    """Raise `ValueError` at the first row with a level that its study's `Parameters` do not know.

    The column ``environment`` must have JSON objects, and each parameter's column some study that
    has it. Levels of a study that is not installed are not checked.
    """
    if "study" not in table.column_names:
        return
    studies = table["study"].unique().to_pylist()
    _check_columns(table.column_names, studies)
    of_studies = [_list_known_levels(study) for study in studies]
    checked = {"study", "environment"}.union(*of_studies)
    names = [name for name in table.column_names if name in checked]
    # Equal rows are checked once, at the first of them.
    numbers = pa.array(range(len(table)), pa.int64())
    rows = (
        table.select(names)
        .append_column("row", numbers)
        .group_by(names)
        .aggregate([("row", "min")])
    )
    for row in sorted(rows.to_pylist(), key=lambda row: row["row_min"]):
        reason = _find_unknown_level(row)
        if reason:
            raise ValueError(f"row {row['row_min']}: {reason}")


def _check_columns(names: Iterable[str], studies: Collection[str | None]) -> None:
    """Raise `ValueError` at a column that no study has, unless one is not installed here."""
    if not set(STUDIES).issuperset(studies):
        return
    known = {*OBSERVATIONS.names}
    # Files may have the empty columns of studies that they have no rows of.
    for study in STUDIES:
        known.update(map(name_parameter_column, load_study(study).Parameters.model_fields))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown column {_shorten(unknown[0])}")


def read_parameters(row: Mapping[str, Any]) -> str:
    """Return the parameters of a row's cell as JSON, as `CellParameters.as_json` writes them."""
    if row["study"] not in STUDIES:
        added = {name: level for name, level in row.items() if name not in OBSERVATIONS.names}
        return write_levels(added)
    model = load_study(row["study"]).Parameters
    levels = model.read_levels(row)
    try:
        return str(model.model_validate(levels).as_json())
    except ValidationError:
        # The study has other parameters by now.
        return write_levels(levels)


def _find_unknown_level(row: Mapping[str, Any]) -> str:
    """Return why a level of a row is refused; empty when the study knows all levels."""
    environment = row.get("environment")
    if environment is not None and not _is_object(environment):
        return f"environment is not a JSON object: {_shorten(environment)}"
    for column, levels in _list_known_levels(row["study"]).items():
        level = row.get(column)
        if level is not None and level not in levels:
            listed = ", ".join(map(str, levels))
            return f"{column} is {_shorten(level)}: the study {row['study']} knows {listed}"
    return ""


@cache
def _list_known_levels(study: str | None) -> dict[str, tuple[Any, ...]]:
    """Return the levels of each of a study's parameters with a fixed set, by their columns.

    For a parameter of alternating levels, the column of a row's own level is one of them.
    """
    if study not in STUDIES:
        return {}
    levels = {}
    for name, field in load_study(study).Parameters.model_fields.items():
        if get_origin(field.annotation) is Literal:
            known = get_args(field.annotation)
            if len({type(level) for level in known}) > 1:
                known = tuple(map(str, known))
            levels[name_parameter_column(name)] = known
            if name in ALTERNATING_COLUMNS:
                levels[name] = known
    return levels


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _shorten(value: object) -> str:
    """Return a value on one line, cut if it is long."""
    words = ascii(value)
    return words if len(words) <= _MAX_SHOWN else f"{words[:_MAX_SHOWN]}..."
