"""Each versioned unit is as committed, and has all code that can move a measured value."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from benchbook import codecs, grid
from benchbook.grid import units
from benchbook.grid.cell_id import hash_code
from benchbook.registry import products
from benchbook.studies.catalogue import SLUGS, find_study_module
from checkout import ROOT
from tools import versions

CANNOT_MOVE: Final = {
    "benchbook",
    "benchbook.version",
    "benchbook.text.names",
    "benchbook.paths",
    "benchbook.measure.control_groups",
    "benchbook.measure.load",
    "benchbook.registry",
    "benchbook.registry.papers",
    "benchbook.registry.plugins",
    "benchbook.registry.products",
    "benchbook.studies",
    "benchbook.studies.assigned_names",
    "benchbook.studies.catalogue",
    "benchbook.studies.study",
    "benchbook.databases",
    "benchbook.datasets",
    "benchbook.files",
    "benchbook.files.suite_files",
    "benchbook.files.inputs",
    "benchbook.files.parquet",
    "benchbook.files.yaml_file",
    "benchbook.results",
    "benchbook.results.additions",
    "benchbook.results.files",
    "benchbook.results.schema",
    "benchbook.servers",
    "benchbook.servers.errors",
    "benchbook.servers.own_processors",
    "benchbook.text",
    "benchbook.text.number_format",
    "benchbook.text.suggestions",
}
"""Modules that cells load and that find, name, check or write things, outside what is timed."""

IMPORTED: Final = ("own_records", "networks", "formats", "sockets")
"""Units whose modules more cells import than use; they belong to the cells that use them."""

_RUN: Final = """
import json, sys
from benchbook.studies.catalogue import load_study
study = load_study(sys.argv[1])
for parameters in json.loads(sys.argv[2]):
    study.run(study.Parameters.model_validate(parameters))
print(*(name for name in sys.modules if name.startswith("benchbook")))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a copy of the library, whose units are read."""
    copy = tmp_path / "lib" / "benchbook"
    shutil.copytree(units.LIBRARY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for module in (units, versions):
        monkeypatch.setattr(module, "LIBRARY", copy)
        monkeypatch.setattr(module, "COMMITTED", copy / "grid" / "units.json")
    forget()
    yield copy
    forget()


def forget() -> None:
    reads = (units._find_files, units._digest_files, units.read_committed, units.map_modules)
    for cached in reads:
        cached.cache_clear()


def test_every_unit_is_as_it_is_committed():
    differing = versions.find_differing()
    assert not differing, "\n".join(differing)
    assert units.read_committed().keys() == units.UNITS.keys()


def test_each_pattern_finds_files_and_each_study_adapter_codec_and_data_set_is_of_a_unit():
    for unit in units.UNITS.values():
        for pattern in unit.files:
            assert [*(ROOT if pattern.startswith("harness/") else units.LIBRARY).glob(pattern)], (
                pattern
            )
    modules = {find_study_module(slug) for slug in SLUGS} | {
        codecs.find_module(name) for name in codecs.NAMES
    }
    own = products.ADAPTERS.keys() - {*products.PLUGIN_DATABASES}
    modules |= {products.find_adapter(name)[0] for name in own}
    modules |= {
        f"benchbook.datasets.{file.stem}" for file in (units.LIBRARY / "datasets").glob("[a-z]*.py")
    }
    assert modules <= units.map_modules().keys()


def test_units_name_libraries_that_the_project_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = {re.split(r"[^\w.-]", one)[0] for one in project["dependencies"]}
    for unit in units.UNITS.values():
        assert {*unit.libraries} <= required


@pytest.mark.parametrize("slug", SLUGS)
def test_modules_that_smoke_cells_load_belong_to_their_units_or_change_no_value(slug: str):
    cells = {}
    for cell in grid.make_plan([slug], "smoke").cells:
        cells[cell.product, *sorted(units.find_units(slug, cell.parameters))] = cell
    one = {"repetitions": 1, **({"timeout_s": 60.0} if slug in ("crud", "replication") else {})}
    given = json.dumps([{**cell.parameters.model_dump(), **one} for cell in cells.values()])
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, slug, given], capture_output=True, text=True, check=True
    )
    loaded = {*IMPORTED}
    for cell in cells.values():
        loaded |= {*units.find_units(slug, cell.parameters)}
    known = {module for module, unit in units.map_modules().items() if unit in loaded}
    assert {*ran.stdout.split()} <= known | CANNOT_MOVE


def test_a_change_makes_the_cells_of_its_unit_new_and_no_others(library: Path):
    cells = grid.make_plan((), "smoke").cells

    def codes() -> dict[str, str]:
        forget()
        return {cell.identity: hash_code(cell.study, cell.parameters) for cell in cells}

    before = codes()
    (library / "databases" / "newcomer").mkdir()
    for other in ("databases/newcomer/adapter.py", "datasets/newcomer.py", "plots/newcomer.py"):
        (library / other).write_text("from benchbook.databases.noop import NoOp\n")
    assert codes() == before
    with (library / "databases" / "postgresql" / "adapter.py").open("a") as file:
        file.write("\nCHANGED = True\n")
    after = codes()
    new = [cell for cell in cells if before[cell.identity] != after[cell.identity]]
    assert new and new == [cell for cell in cells if cell.product == "postgresql"]


def test_a_change_counts_by_its_digest_until_it_is_accepted_or_has_a_new_version(
    library: Path, capsys: pytest.CaptureFixture[str]
):
    study = library / "studies" / "crud.py"
    written = study.read_text()

    def change(code: str) -> int | str:
        study.write_text(code)
        forget()
        return units.read_version("crud")

    assert change("# why\n" + written.replace('"""Study `crud`', '"""The study `crud`')) == 1
    assert change(f"{written}\nMORE = 1\n") == units.digest_unit("crud")
    assert versions.main([]) == 1
    printed = capsys.readouterr().out
    assert all(
        word in printed for word in ("unit crud", "studies/crud.py", "tools.versions accept crud")
    )
    assert versions.main(["accept", "crud"]) == 0
    assert change(study.read_text()) == 1 and versions.main([]) == 0
    assert change(study.read_text().replace("VERSION = 1\n", "VERSION = 2\n")) == units.digest_unit(
        "crud"
    )
    assert versions.main(["accept", "all"]) == 0
    assert change(study.read_text()) == 2 and units.read_version("blog") == 1
    with pytest.raises(SystemExit, match="the units: measure, bookstore"):
        versions.main(["accept", "curd"])
    change(study.read_text().replace("VERSION = 2\n", ""))
    with pytest.raises(SystemExit, match="crud: 0 lines `VERSION = n`"):
        versions.main([])
