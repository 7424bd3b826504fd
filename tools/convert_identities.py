"""Give committed cells the identities that version 1 of their code gives them; to be run once.

``python -m tools.convert_identities FILE...`` rewrites ``cell_id``, ``code_hash`` and ``parameters`` of observations in
Parquet files. An identity is computed as for a plan, from what each row states: parameters, host, versions.
A ``block_means.parquet`` beside a file follows, and the crate that describes both. A cell that no study has any more
keeps what it has. Rows, their order and all other columns stay as they are.

``--first-block N`` adds N to the blocks of a campaign that began at block 0 again, because its code was another's then.
"""

import argparse
import hashlib
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet
from pydantic import ValidationError

from benchbook import grid, processes, studies
from benchbook.evidence.means import _FORMER
from benchbook.evidence.reference import MEANS
from benchbook.grid import identities
from benchbook.schemas import Document
from tools.crate import METADATA
from tools.reference import _write

FACTS = (
    *("cell_id", "study", "parameters", "host", "lane", "engine_version", "image_digest"),
    *("driver_version", "runtime", "environment"),
)
LANES = {"java": r"\b(\d+\.\d+\.\d+)", "node": r"Node\.js (\S+)"}


def converted(facts: Document) -> tuple[str, str, str] | None:
    """Return a cell's identity, code and parameters as of version 1; None when no study has such a cell any more."""
    stated = json.loads(facts["parameters"])
    kept = {name: level for name, level in stated.items() if (name, level) not in _FORMER.items()}
    try:
        parameters = studies.load(facts["study"]).Parameters.model_validate(kept)
    except ValidationError:
        return None
    environment = json.loads(facts["environment"])
    libraries = environment["libraries"] | dict(re.findall(r"(\S+) (\d\S*?)(?:,|$)", facts["driver_version"] or ""))

    # The server, as a plan names it.
    server = facts["engine_version"] or "none"
    if facts["image_digest"]:
        server = f"{server} in {facts['image_digest']}"
    if facts["lane"] != "python":
        (version,) = re.findall(LANES[facts["lane"]], facts["runtime"])[:1]
        server = f"{server}, {facts['lane']} {version}"

    with (
        patch.object(identities, "host", lambda: facts["host"]),
        patch.object(platform, "python_version", lambda: environment["python"].removeprefix("CPython ")),
        patch.object(identities, "_library_version", lambda name: libraries[name]),
        patch.object(processes, "inherited", lambda: environment["inherited"]),
    ):
        identity = grid.identity(facts["study"], parameters, server)
    return identity, grid.code_hash(facts["study"], parameters), parameters.as_json()


def new_cells(table: pa.Table) -> dict[str, tuple[str, str, str]]:
    """Return what each cell becomes, by its former identity."""
    cells: dict[str, tuple[str, str, str]] = {}
    states: dict[str, Any] = {}
    for facts in table.select(FACTS).group_by([*FACTS]).aggregate([]).to_pylist():
        new = converted(facts)
        former = facts["cell_id"]
        if states.setdefault(former, new) != new:
            raise ValueError(f"{former} would be two cells: {states[former]} and {new}")
        if new:
            cells[former] = new
    if len({new[0] for new in cells.values()}) != len(cells):
        raise ValueError("two cells would be one")
    print(f"{len(cells)} of {len(states)} cells converted")
    return cells


def rewritten(table: pa.Table, cells: dict[str, tuple[str, str, str]]) -> pa.Table:
    """Return a table with the cells' new columns."""
    former = table["cell_id"].to_pylist()
    for place, name in enumerate(("cell_id", "code_hash", "parameters")):
        if name in table.column_names:
            old = table[name].to_pylist()
            values = [cells[cell][place] if cell in cells else value for cell, value in zip(former, old, strict=True)]
            column = table.column_names.index(name)
            table = table.set_column(column, table.schema.field(name), pa.array(values, table.schema.field(name).type))
    return table


def main(arguments: list[str]) -> None:
    """Convert each file in its place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first-block", type=int, default=0, metavar="N")
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args(arguments)
    for path in given.files:
        table = parquet.read_table(path)
        if given.first_block:
            blocks = compute.add(table["block"], pa.scalar(given.first_block, pa.int32()))
            table = table.set_column(table.column_names.index("block"), table.schema.field("block"), blocks)
        cells = new_cells(table)
        _write(path, rewritten(table, cells))
        if not (means := path.with_name(MEANS)).exists():
            continue
        _write(means, rewritten(parquet.read_table(means), cells))
        described = path.with_name(METADATA)
        crate = json.loads(described.read_text(encoding="utf-8"))
        for entity in crate["@graph"]:
            if entity["@id"] in (path.name, means.name):
                content = path.with_name(entity["@id"]).read_bytes()
                entity |= {"contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        described.write_text(json.dumps(crate, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
