"""Give committed cells today's columns, and the identities that today's code gives them; to be run once.

``python -m tools.convert_identities FILE...`` reads observations in Parquet files under their former names
(`benchbook.results.former`) and rewrites them with a column for each parameter, and with ``cell_id`` and ``code_hash``
as a plan computes them from what each row states: parameters, host, versions. Where ``block_means.parquet`` lies beside
a file, it is made anew from the file. A cell that no study has any more keeps its identity.

``--first-block N`` adds N to the blocks of a pass that began at block 0 again, because its code was another's then.
"""

import argparse
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as compute
from pydantic import ValidationError

from benchbook import grid, processes, studies
from benchbook.analysis.block_means import block_means
from benchbook.analysis.reference import MEANS
from benchbook.grid import identities, units
from benchbook.results import files
from tools.reference import _type_like, _write

LANGUAGES = {"java": r"\b(\d+\.\d+\.\d+)", "node": r"Node\.js (\S+)"}


def convert(facts: dict[str, Any]) -> tuple[str, str] | None:
    """Return a cell's identity and the digest of its code; None when no study has such a cell any more."""
    model = studies.load(facts["study"]).Parameters
    try:
        parameters = model.model_validate(model.read_levels(facts))
    except ValidationError:
        return None
    environment = json.loads(facts["environment"])
    libraries = environment["libraries"] | dict(re.findall(r"(\S+) (\d\S*?)(?:,|$)", facts["driver_version"] or ""))

    # The server, as a plan names it.
    server = facts["database_version"] or "none"
    if facts["image_digest"]:
        server = f"{server} in {facts['image_digest']}"
    if facts["language"] != "python":
        (version,) = re.findall(LANGUAGES[facts["language"]], facts["runtime"])[:1]
        server = f"{server}, {facts['language']} {version}"

    with (
        patch.object(identities, "host", lambda: facts["host"]),
        patch.object(platform, "python_version", lambda: environment["python"].removeprefix("CPython ")),
        patch.object(identities, "_library_version", lambda name: libraries[name]),
        patch.object(processes, "inherited", lambda: environment["inherited"]),
        patch.object(identities, "version", version_then),
    ):
        identity = grid.identity(facts["study"], parameters, server)
        return identity, grid.code_hash(facts["study"], parameters)


def version_then(unit: str) -> int | str:
    """Return the version of a unit with which the committed cells were measured: tcp's has been raised since."""
    return 1 if unit == "tcp" else units.version(unit)


def find_identities(table: pa.Table) -> dict[str, tuple[str, str]]:
    """Return what each cell becomes, by its former identity."""
    frame = table.drop_columns([name for name in ("value", "resolution") if name in table.column_names])
    cells: dict[str, tuple[str, str]] = {}
    rows = frame.to_pandas().drop_duplicates("cell_id").to_dict("records")
    for row in rows:
        facts = {str(name): None if value != value else value for name, value in row.items()}
        new = convert(facts)
        if new:
            cells[str(facts["cell_id"])] = new
    if len({new[0] for new in cells.values()}) != len(cells):
        raise ValueError("two cells would be one")
    print(f"{len(cells)} of {len(rows)} cells converted")
    return cells


def rewrite(table: pa.Table, cells: dict[str, tuple[str, str]]) -> pa.Table:
    """Return a table with the cells' new identities."""
    former = table["cell_id"].to_pylist()
    for place, name in enumerate(("cell_id", "code_hash")):
        old = table[name].to_pylist()
        values = [cells[cell][place] if cell in cells else value for cell, value in zip(former, old, strict=True)]
        table = table.set_column(table.column_names.index(name), name, pa.array(values, pa.string()))
    return table


def main(arguments: list[str]) -> None:
    """Convert each file in its place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first-block", type=int, default=0, metavar="N")
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args(arguments)
    for path in given.files:
        table = files.read(path)
        if given.first_block:
            blocks = compute.add(table["block"], pa.scalar(given.first_block, pa.int32()))
            table = table.set_column(table.column_names.index("block"), "block", blocks)
        table = rewrite(table, find_identities(table))
        _write(path, table)
        if path.with_name(MEANS).exists():
            _write(path.with_name(MEANS), _type_like(block_means(table.to_pandas()), table.schema))


if __name__ == "__main__":
    main(sys.argv[1:])
