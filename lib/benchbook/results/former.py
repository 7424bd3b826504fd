"""Results of earlier versions, read under today's names.

Begin with `convert_columns`. Until 0.2 a cell's parameters were one column, in JSON, and some
columns had other names.
"""

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from benchbook.results.schema import build_schema, merge_schemas, name_parameter_column
from benchbook.text.suggestions import FORMER_NAMES

CURRENT_NAMES: Final[dict[str, str]] = {
    **FORMER_NAMES,
    "engine_version": "database_version",
    "censored": "timed_out",
    "disturbed": "noisy",
    "foreign_load": "background_load",
}
"""Today's name of each column and parameter that had another one."""

_GONE: Final = ("campaign", "link", "parameters", "stand_in")
_GONE_PARAMETERS: Final = {"fault": "none", "probe_rate": 0}
"""Removed parameters, each with the level at which a cell is the same as without it."""


def is_former(schema: pa.Schema) -> bool:
    """Return whether a table has the columns of an earlier version's observations."""
    return {"parameters", "lane", "repetition"} <= {*schema.names}


def convert_columns(table: pa.Table) -> pa.Table:
    """Return observations of an earlier version with today's columns; others as they are.

    Rows of stand-ins, programs that played a product, are left out.

    Raises
    ------
    ValueError
        When a cell's parameters are not a JSON object.
    """
    if not is_former(table.schema):
        return table
    if "stand_in" in table.column_names:
        table = table.filter(pc.invert(pc.fill_null(table["stand_in"], False)))
    texts = table["parameters"].combine_chunks().dictionary_encode()
    cells: list[dict[str, object]] = [_read_columns(text) for text in texts.dictionary.to_pylist()]

    # One column per parameter: each row takes the levels of its text.
    schema = merge_schemas(build_schema(cell) for cell in cells)
    table = table.rename_columns([CURRENT_NAMES.get(name, name) for name in table.column_names])
    columns = {name: table[name] for name in table.column_names if name not in _GONE}
    for field in schema:
        levels = pa.array(
            [_as_type(cell.get(field.name), field.type) for cell in cells], field.type
        )
        stated = levels.take(texts.indices)
        own = columns.get(field.name)
        columns[field.name] = stated if own is None else pc.coalesce(own.cast(field.type), stated)
    for name, (level, studies) in _ADDED.items():
        if name in columns:
            ran_without = pc.and_(
                pc.is_null(columns[name]), pc.is_in(table["study"], pa.array(studies))
            )
            columns[name] = pc.if_else(ran_without, level, columns[name])
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def read_former_levels(text: str | None) -> dict[str, object]:
    """Return a cell's parameters by today's names, from JSON of an earlier version."""
    given = json.loads(text or "{}")
    if not isinstance(given, dict):
        raise ValueError(f"parameters is not a JSON object: {str(text)[:40]!r}")
    levels: dict[str, object] = {}
    for former, level in given.items():
        if level is not None and _GONE_PARAMETERS.get(former) != level:
            levels[CURRENT_NAMES.get(former, str(former))] = level
    return levels


def _read_columns(text: str | None) -> dict[str, object]:
    """Return the levels of a cell's parameters by today's columns."""
    columns = {}
    for name, level in read_former_levels(text).items():
        columns[name_parameter_column(name)] = str(level) if name in _MIXED else level
    return columns


_ADDED: Final = {
    "arrays": ("json", ("crud",)),
    "network": ("none", ("bookstore", "tcp", "crud", "replication")),
}
"""Parameters that came later, each with the level of earlier cells and their studies."""

_MIXED: Final = ("batch", "comments_per_article")
"""Parameters whose levels are numbers as well as texts: results have them as texts."""


def _as_type(level: object, kind: pa.DataType) -> object:
    if level is None or kind not in (pa.string(), pa.float64(), pa.int64(), pa.int32()):
        return level
    return str(level) if kind == pa.string() else level
