"""Write which versions the code of older results has, into ``results/former_code.json``.

``python -m tools.former_code COMMIT...`` checks each commit out. Until 0.3.0 a row of results names
its code by a digest of the notebook's code and of the versions of its units. The file has both for
all cells of that version's grids, in each network and with a user's own records. Later results
have the versions themselves, so that the file does not grow.
"""

import json
import subprocess
import sys
from typing import Final

from benchbook import paths
from benchbook.files import suite_files
from benchbook.results.additions import FORMER_CODE

_LIST_CODE: Final = """
import json
from benchbook.grid.cell_id import hash_code
from benchbook.grid.expansion import choose_cells
from benchbook.grid.grid_file import load_grid
from benchbook.grid.units import find_units, read_version
from benchbook.studies.catalogue import SLUGS

versions_of = {}
for slug in SLUGS:
    for profile in load_grid(slug).profiles:
        for cell in choose_cells([slug], profile, [], []):
            levels = [{}, {"dataset_file": "records.json"}]
            if "network" in type(cell.parameters).model_fields:
                levels += [{**each, "network": "lan-100m"} for each in levels]
            for changed in levels:
                parameters = cell.parameters.model_copy(update=changed)
                versions = {unit: read_version(unit) for unit in find_units(slug, parameters)}
                versions[f"{slug} notebook"] = 1
                versions_of[hash_code(slug, parameters)] = versions
print(json.dumps(versions_of))
"""
"""Run by the code of an older commit."""


def list_code(commit: str) -> dict[str, dict[str, int]]:
    """Return the versions of all cells of a commit by the digest of their code."""
    with suite_files.TemporaryFolder("cell") as folder:
        archive = ["git", "archive", commit, "lib", "notebooks", "papermill_params", "harness"]
        packed = subprocess.run(archive, cwd=paths.root(), check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
        script = ["-c", _LIST_CODE]
        variables = {"PYTHONPATH": str(folder / "lib"), "PATH": "/usr/bin:/bin"}
        listed = subprocess.run(
            [sys.executable, *script], cwd=folder, env=variables, check=True, capture_output=True
        )
    versions_of: dict[str, dict[str, int]] = json.loads(listed.stdout)
    return versions_of


def write_table(commits: list[str]) -> None:
    """Write the table of all codes of some commits."""
    versions_of: dict[str, dict[str, int]] = {}
    for commit in commits:
        versions_of |= list_code(commit)
    lines = [
        f'  "{code}": {json.dumps(versions, sort_keys=True)}'
        for code, versions in sorted(versions_of.items())
    ]
    FORMER_CODE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_table(sys.argv[1:])
