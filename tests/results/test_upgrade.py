"""Results of earlier versions count as before, also after something was added to the suite.

``tests/kept`` has results as a version wrote them: of 0.3.0 its profile smoke, and a few cells of
quick.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from benchbook import cli, grid
from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.runs import REPETITIONS_FILE
from benchbook.cli.command import DONE
from benchbook.grid import pooling, units
from benchbook.grid.cell_id import digest_versions, identify_cell
from benchbook.grid.cells import find_counted_results, find_platform, list_result_keys
from benchbook.grid.pooling import PooledVersion
from benchbook.grid.units import read_versions
from benchbook.results import files
from benchbook.results.additions import LATER_LEVELS, find_former_code
from benchbook.results.folder import ResultsFolder, open_results
from benchbook.results.imports import import_cells
from benchbook.results.views import connect, load_observations
from benchbook.studies import cell as study_cell
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.studies.levels import read_parameters
from checkout import ROOT

KEPT: Final = Path(__file__).parents[1] / "kept"

JUDGE: Final = """
import json
import sys
import pyarrow.parquet as pq
from benchbook import grid, paths
from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.runs import REPETITIONS_FILE, Analysis
from benchbook.grid.cells import list_judged_results
from benchbook.results.folder import open_results
from benchbook.results.views import connect
from benchbook.studies.catalogue import SLUGS

keys = list_judged_results(grid.make_plan(SLUGS, "decide", everywhere=True).cells, own="")
means = load_block_means(open_results(), keys)
reference = pq.read_table(paths.reference() / REPETITIONS_FILE, columns=["cell_id", "block"])
drawn = {f"{cell}.{block}" for cell, block in reference.to_pandas().drop_duplicates().to_numpy()}
of_cell = means["cell_id"] + "." + means["block"].astype(str)
verdicts = Analysis(means[of_cell.isin(drawn)].reset_index(drop=True)).verdicts
levels = []
if sys.argv[1:]:
    columns = ", ".join(["study", *sys.argv[1:]])
    with connect(keys) as connection:
        rows = connection.sql(f"SELECT DISTINCT {columns} FROM observations ORDER BY study")
        levels = rows.fetchall()
print(json.dumps({
    "cells": sorted(file.key for file in open_results().list_finished_files(keys)),
    "means": len(means),
    "drawn": sorted(drawn),
    "verdicts": [{"id": one.id, "verdict": one.verdict, "words": one.words} for one in verdicts],
    "levels": levels,
}))
"""
"""Prints what counts of the committed results, and the verdicts on those of the reference run.

Its arguments are columns: it prints the levels that each study has of them.
"""


@pytest.fixture
def kept(results_folder: Path) -> Path:
    """Return a results' folder as 0.3.0 left it."""
    return shutil.copytree(KEPT / "0.3.0", results_folder, dirs_exist_ok=True)


def test_the_results_folder_of_0_3_0_counts_as_pooled_versions_say(
    kept: Path, monkeypatch: pytest.MonkeyPatch
):
    for module in ("benchbook.grid.cell_id", "benchbook.grid.cells"):
        monkeypatch.setattr(f"{module}.name_host", lambda: "another host")
    results = ResultsFolder(kept)
    assert len(results.list_files()) == 35 and results.find_damaged_files() == {}
    counted = set()
    earlier = set()
    means = 0
    for profile in ("smoke", "quick"):
        cells = grid.make_plan(SLUGS, profile, everywhere=True).cells
        found = find_counted_results(cells)
        counted |= {result.key for result in found}
        operations_of = {result.key: result.operations for result in found}
        means += len(load_block_means(results, operations_of))
        assert {result.host for result in found} == {"vm (AMD EPYC)"}
        for result in found:
            parameters = result.cell.parameters
            assert result.is_earlier == (
                result.cell.study == "drivers" or parameters.language != "python"
            )
            calls = getattr(parameters, "calls", ""), getattr(parameters, "process", "")
            earlier.add((result.cell.study, *calls, result.operations))
    # Version 2 of `bookstore` measures all anew, that of `drivers` updates and deletes in bulk.
    assert counted == {file.key for file in results.list_files() if file.facts.study != "bookstore"}
    assert {one for one in earlier if one[-1]} == {
        ("drivers", "bulk", "together", frozenset({"insert", "find"}))
    }
    assert means == 359
    frame = load_observations()
    assert frame["versions"].map(json.loads).map(lambda versions: versions["measure"]).eq(1).all()
    assert frame["machine"].isna().all() and frame["boot"].isna().all()


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results' folder with the reference run and the newest campaign.

    The reference run has the cells that count of all campaigns before it.
    """
    folder = tmp_path_factory.mktemp("committed")
    newest = max((ROOT / "figures" / "campaigns").glob("*.parquet"))
    for file in (ROOT / "figures" / "reference" / REPETITIONS_FILE, newest):
        import_cells(ResultsFolder(folder), files.read_table(file), read_parameters)
    return folder


@pytest.fixture(scope="module")
def judge(committed: Path) -> Callable[..., Any]:
    """Return the function by which a checkout's code counts and judges the committed results."""

    def run(checkout: Path, *columns: str) -> Any:
        variables = {
            "PYTHONPATH": str(checkout / "lib"),
            "BENCHBOOK_HOME": str(checkout),
            "BENCHBOOK_RESULTS": str(committed),
        }
        judged = subprocess.run(
            [sys.executable, "-c", JUDGE, *columns],
            cwd=checkout,
            env=os.environ | variables,
            capture_output=True,
            text=True,
        )
        assert judged.returncode == 0, judged.stderr
        return json.loads(judged.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def today(judge: Callable[..., Any]) -> Any:
    return judge(ROOT)


def test_every_cell_of_the_reference_run_counts_whatever_this_machine_is(today: Any):
    # The 2,199 of before, without 406 of version 1 of `bookstore`, and 160 of the new design.
    assert len(today["drawn"]) >= 1953
    assert {*today["drawn"]} <= {*today["cells"]}


def test_the_verdicts_are_those_that_are_committed(today: Any):
    drawn = pd.read_csv(ROOT / "figures" / "reference" / "claims.csv")
    assert len(drawn) == 116
    assert today["verdicts"] == drawn[["id", "verdict", "words"]].to_dict("records")


def test_a_new_parameter_column_and_default_change_nothing(
    tmp_path: Path, judge: Callable[..., Any], today: Any
):
    folders = ["lib", "notebooks", "papermill_params", "harness", "tools", "figures/reference"]
    folders += [f"data/{name}" for name in ("claims", "published", "findings")]
    made = shutil.ignore_patterns("__pycache__", "node_modules", "target")
    for name in folders:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=made)
    library = tmp_path / "lib" / "benchbook"

    def change(path: Path, before: str, after: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after, 1), encoding="utf-8")

    # A parameter, with the level at which it was not there.
    parameter = '    dummy: Literal["no", "yes"] = "yes"\n'
    study = library / "studies" / "crud.py"
    first = re.search(r"^    database: .*\n", study.read_text(), re.MULTILINE)
    assert first
    change(study, first[0], first[0] + parameter)
    change(study, "added: ClassVar = {", 'added: ClassVar = {"dummy": "no", ')
    additions = library / "results" / "additions.py"
    change(additions, '"arrays": "json"', '"arrays": "json", "dummy": "no"')
    grid_file = tmp_path / "papermill_params" / "crud.yaml"
    change(grid_file, "parameters: {seed: 20150501", 'parameters: {dummy: "no", seed: 20150501')
    # A column.
    change(
        library / "results" / "schema.py",
        '        ("boot", pa.string()),\n',
        '        ("boot", pa.string()),\n        ("dummy_column", pa.string()),\n',
    )
    groups = re.search(r"(?ms)^LATER_COLUMNS: .*?^\)$", additions.read_text())
    assert groups
    change(additions, groups[0], f'{groups[0][:-1]}    ("dummy_column",),\n)')
    # A default.
    change(tmp_path / "notebooks" / "04_crud.ipynb", '"n: int = 1000', '"n: int = 500')
    accept = [sys.executable, "-m", "tools.versions", "accept", "crud"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "lib")}
    subprocess.run(accept, cwd=tmp_path, env=environment, check=True, capture_output=True)

    changed = judge(tmp_path, "dummy", "dummy_column")
    for name in ("cells", "means", "verdicts"):
        assert changed[name] == today[name], name
    levels = dict.fromkeys(SLUGS) | {"crud": "no"}
    assert changed["levels"] == [[study, levels[study], None] for study in sorted(SLUGS)]


def _make_cell() -> grid.Cell:
    cells = grid.make_plan(["crud"], "smoke", ["database=noop"]).cells
    return cells[0]


def _write_result(cell: grid.Cell, identity: str, code: str, **columns: object) -> str:
    """Write a finished cell under another identity, and return its key."""
    rows = study_cell.Rows()
    for operation in ("insert", "delete"):
        rows.add_value(
            0, operation, "client", "size", 1.0, "test", 1.0, 1, started_at=datetime.now(UTC)
        )
    known = {"study": cell.study, "cell_id": identity, "block": 0, "state": "done"}
    described = known | cell.parameters.as_columns() | {"code_hash": code, **columns}
    open_results().write_cell(described, rows.frame(), cell.parameters.as_json())
    return f"{identity}.0"


@pytest.mark.usefixtures("results_folder")
def test_a_cell_that_0_3_0_measured_here_is_done_and_plan_says_so(
    capsys: pytest.CaptureFixture[str],
):
    cell = _make_cell()
    versions = read_versions(cell.study, cell.parameters)
    code = find_former_code(versions)
    assert cell.state == "todo" and code
    server = find_platform(cell.study, cell.parameters).version
    key = _write_result(cell, identify_cell(cell.study, cell.parameters, server, code), code)
    planned = _make_cell()
    assert planned.state == "done" and planned.key != key
    assert list_result_keys([planned]) == {planned.key: None, key: None}
    assert cli.main(["plan", "crud", "--profile", "smoke", "--where", "database=noop"]) == DONE
    assert "1 block of an earlier version counts\n" in capsys.readouterr().out


@pytest.mark.usefixtures("results_folder")
def test_an_older_version_counts_for_the_operations_that_the_file_names(
    monkeypatch: pytest.MonkeyPatch,
):
    cell = _make_cell()
    versions = read_versions(cell.study, cell.parameters) | {"crud": 7}
    code = digest_versions(versions)
    server = find_platform(cell.study, cell.parameters).version
    identity = identify_cell(cell.study, cell.parameters, server, code)
    own = _write_result(cell, identity, code, versions=json.dumps(versions))
    other = _write_result(cell, "0" * 20, code, versions=json.dumps(versions), host="elsewhere")
    assert list_result_keys([_make_cell()]) == {cell.key: None}, "version 7 is not named"

    pooled = PooledVersion(unit="crud", version=7, why="for the test", operations=("insert",))
    monkeypatch.setattr(pooling, "load_pooled_versions", lambda: (pooled,))
    planned = _make_cell()
    assert planned.state == "todo", "its deletions are to be measured"
    keys = list_result_keys([planned])
    only = frozenset({"insert"})
    assert keys == {cell.key: None, own: only, other: only}
    assert {result.is_earlier for result in find_counted_results([planned])} == {True}
    assert {*load_block_means(open_results(), keys)["operation"]} == {"insert"}
    with connect(keys) as connection:
        rows = connection.sql("SELECT operation, count(*) FROM observations GROUP BY ALL")
        assert rows.fetchall() == [("insert", 2)]

    levels = {"database": ("mongodb",)}
    elsewhere = PooledVersion(unit="crud", version=7, why="for the test", levels=levels)
    monkeypatch.setattr(pooling, "load_pooled_versions", lambda: (elsewhere,))
    assert list_result_keys([_make_cell()]) == {cell.key: None}, "not of these levels"
    whole = PooledVersion(unit="crud", version=7, why="for the test")
    monkeypatch.setattr(pooling, "load_pooled_versions", lambda: (whole,))
    assert _make_cell().state == "done"


def test_pooled_versions_are_older_than_todays_and_of_known_units():
    for pooled in pooling.load_pooled_versions():
        version, _ = units.read_committed()[pooled.unit]
        assert pooled.version < version


@pytest.mark.parametrize("study", SLUGS)
def test_later_levels_of_a_study_are_among_its_parameters(study: str):
    parameters = load_study(study).Parameters
    later = LATER_LEVELS.get(study, {})
    assert {*later} <= {*parameters.model_fields}
    assert parameters.added.items() <= later.items()
