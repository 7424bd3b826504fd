"""What later versions of benchbook added to results, and what rows of earlier ones have there.

Results outlive additions. Every reader fills older rows here: tables by `complete_columns`, SQL by
`write_complete_columns`. To add

- a column: name it in the last group of `LATER_COLUMNS`, or in a new group after a release;
- a parameter: name it in `LATER_LEVELS` and in the ``added`` of its study's parameters.

`convert_columns` reads rows of the first versions: until 0.2 a cell's parameters were one column,
in JSON, and some columns had other names.
"""

import itertools
import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from benchbook.results.schema import (
    CURRENT_NAMES,
    OBSERVATIONS,
    build_schema,
    merge_schemas,
    name_parameter_column,
)

LATER_COLUMNS: Final = (
    ("versions", "machine", "boot"),
    ("own_processors", "checked"),
    ("turn",),
    ("own_level",),
)
"""Columns that results did not always have; those of one tuple came together, the oldest first."""

LATER_MEAN_COLUMNS: Final = ("own_processors", "checked", "own_level")
"""The later columns that block means have, too; the others are of a run."""

LATER_LEVELS: Final[Mapping[str, Mapping[str, str | int | bool]]] = {
    "bookstore": {"network": "none"},
    "tcp": {"network": "none"},
    "drivers": {"heap": "default"},
    "crud": {"network": "none", "arrays": "json", "commit": "each", "load": "each"},
    "replication": {"network": "none"},
}
"""Parameters that a study did not always have, each with the level of its older rows."""

FORMER_CODE: Final = Path(__file__).with_name("former_code.json")
"""The versions of code before 0.3.0 by its digest; no later release adds to the file."""

STORED_TABLE: Final = "_stored"
FORMER_CODE_TABLE: Final = "_former_code"
"""The tables that the SQL of `write_complete_columns` reads."""

_GONE_PARAMETERS: Final = {"fault": "none", "probe_rate": 0}
"""Removed parameters, each with the level at which a cell is the same as without it."""


def match_columns(schema: pa.Schema, today: pa.Schema) -> bool:
    """Return whether a file has the columns of today, or those of an earlier version.

    Parameters
    ----------
    schema
        The columns of the file.
    today
        The columns that today's version writes for the same parameters.
    """
    later = set[str]()
    # The columns of today's version, then of the one before, and so on.
    for group in ((), *reversed(LATER_COLUMNS)):
        later.update(group)
        if schema.equals(pa.schema([field for field in today if field.name not in later])):
            return True
    return False


def add_later_levels(schema: pa.Schema, studies: Collection[str]) -> pa.Schema:
    """Return the columns of some studies' rows together with those of their later parameters."""
    later = [build_schema(LATER_LEVELS.get(study, {})) for study in studies]
    return merge_schemas([schema, *later])


def complete_columns(table: pa.Table) -> pa.Table:
    """Return observations or block means with the columns that came later.

    Rows of earlier versions have the level at which a later parameter was not there, and the
    versions that the digest of their code stands for. Other later columns are empty there.
    """
    columns = {name: table[name] for name in table.column_names}
    if "study" not in columns:
        return table
    for study in table["study"].unique().to_pylist():
        is_of_study = pc.fill_null(pc.equal(table["study"], study), False)
        for name, level in LATER_LEVELS.get(study, {}).items():
            if name not in columns:
                columns[name] = pa.nulls(len(table), pa.scalar(level).type)
            is_older = pc.and_(is_of_study, pc.is_null(columns[name]))
            columns[name] = pc.if_else(is_older, level, columns[name])

    is_means = "code_hash" not in columns
    for name in LATER_MEAN_COLUMNS if is_means else itertools.chain(*LATER_COLUMNS):
        if name not in columns:
            columns[name] = pa.nulls(len(table), OBSERVATIONS.field(name).type)
    if not is_means:
        # Digests of other code have none.
        former = change_texts(table["code_hash"], read_former_code().get)
        columns["versions"] = pc.coalesce(columns["versions"], former)
    whole = merge_schemas([pa.schema([(name, column.type) for name, column in columns.items()])])
    return pa.table({name: columns[name] for name in whole.names if name in columns})


def change_texts(column: pa.ChunkedArray, change: Callable[[str], str | None]) -> pa.Array:
    """Return a column of texts, each changed; each distinct text is changed once."""
    coded = column.combine_chunks().dictionary_encode()
    texts = [change(text) for text in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


@cache
def read_former_code() -> dict[str, str]:
    """Return the versions of older code as JSON, by its digest in ``code_hash``."""
    listed = json.loads(FORMER_CODE.read_text(encoding="utf-8"))
    return {code: json.dumps(versions, sort_keys=True) for code, versions in listed.items()}


@cache
def _map_former_code() -> dict[str, str]:
    return {versions: code for code, versions in read_former_code().items()}


def find_former_code(versions: Mapping[str, int | str]) -> str | None:
    """Return the digest by which rows without versions name code; None: they have no such code."""
    return _map_former_code().get(json.dumps(dict(versions), sort_keys=True))


def write_complete_columns(stored: Collection[str]) -> dict[str, str]:
    """Return the SQL of the columns that came later, filled as by `complete_columns`.

    Parameters
    ----------
    stored
        The columns that the rows have.
    """
    # A parameter has the same level in the older rows of all studies that have it.
    studies_of: dict[str, list[str]] = {}
    level_of: dict[str, str] = {}
    for study, levels in LATER_LEVELS.items():
        for name, level in levels.items():
            studies_of.setdefault(name, []).append(f"'{study}'")
            level_of[name] = f"'{level}'" if isinstance(level, str) else str(level)
    columns = {}
    for name, studies in studies_of.items():
        is_older = f"study IN ({', '.join(studies)})"
        otherwise = ""
        if name in stored:
            is_older += f' AND "{name}" IS NULL'
            otherwise = f' ELSE "{name}"'
        columns[name] = f"CASE WHEN {is_older} THEN {level_of[name]}{otherwise} END"
    if {"code_hash", "versions"} <= {*stored}:
        of_code = f"SELECT versions FROM {FORMER_CODE_TABLE} former"
        chosen = f"{of_code} WHERE former.code_hash = {STORED_TABLE}.code_hash"
        columns["versions"] = f"coalesce(versions, ({chosen}))"
    return columns


def build_former_code_table() -> pa.Table:
    """Return the digests of older code with their versions, for `FORMER_CODE_TABLE`."""
    versions_of = read_former_code()
    return pa.table({"code_hash": [*versions_of], "versions": [*versions_of.values()]})


def is_former(schema: pa.Schema) -> bool:
    """Return whether a table has the columns of an earlier version's observations."""
    return {"parameters", "lane", "repetition"} <= {*schema.names}


def convert_columns(table: pa.Table) -> pa.Table:
    """Return observations of an earlier version with today's columns; others unchanged.

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
    removed = ("campaign", "link", "parameters", "stand_in")
    columns = {name: table[name] for name in table.column_names if name not in removed}
    for field in schema:
        levels = [cell.get(field.name) for cell in cells]
        if field.type == pa.string():
            levels = [None if level is None else str(level) for level in levels]
        stated = pa.array(levels, field.type).take(texts.indices)
        own = columns.get(field.name)
        columns[field.name] = stated if own is None else pc.coalesce(own.cast(field.type), stated)
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
        # Levels of these are numbers as well as texts: results have them as texts.
        is_mixed = name in ("batch", "comments_per_article")
        columns[name_parameter_column(name)] = str(level) if is_mixed else level
    return columns
