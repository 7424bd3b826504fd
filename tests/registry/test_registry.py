"""A new database takes a folder and a line of the registry: tried on a copy."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import benchbook
from benchbook.databases import catalogue
from benchbook.papers import exhibits
from benchbook.registry import products
from benchbook.registry.papers import PAPERS
from checkout import ROOT

ADAPTER = """
from benchbook.databases.noop import NoOp


class Newcomer(NoOp):
    name = "newcomer"
    product = "newcomer"
"""
PRODUCT = """
from benchbook.registry.products import Product

PRODUCTS = {
    "newcomer": Product(
        title="Newcomer", schemes=("newcomer",), processes=("newcomerd",)
    )
}
"""
SERVER = """
from benchbook.servers.address import ServerInfo


def ask(url: str) -> ServerInfo:
    return ServerInfo("1.2.3", None, {})
"""
LINE = '    "newcomer": "newcomer.adapter:Newcomer",\n'


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let new processes use a copy of the library with one more database in it."""
    library = tmp_path / "lib" / "benchbook"
    shutil.copytree(
        Path(benchbook.__path__[0]), library, ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setenv("BENCHBOOK_TEST_LIBRARY", str(library.parent))
    folder = library / "databases" / "newcomer"
    folder.mkdir()
    for name, text in {"__init__": PRODUCT, "adapter": ADAPTER, "server": SERVER}.items():
        (folder / f"{name}.py").write_text(text)
    listed = (library / "registry/products.py").read_text()
    first = listed.index('    "mongodb": ')
    (library / "registry/products.py").write_text(listed[:first] + LINE + listed[first:])


def run_as_json(*arguments: str) -> Any:
    code = "import os, sys; sys.path.insert(0, os.environ['BENCHBOOK_TEST_LIBRARY'])"
    code += "; from benchbook.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.usefixtures("newcomer")
def test_doctor_finds_a_plug_ins_database_missing_or_at_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def row() -> dict[str, Any]:
        (found,) = [row for row in run_as_json("doctor") if row["database"] == "newcomer"]
        return found

    missing = row()
    assert not missing["available"] and "BENCHBOOK_NEWCOMER_URL" in missing["why"]
    monkeypatch.setenv("BENCHBOOK_NEWCOMER_URL", "newcomer://127.0.0.1:1")
    there = row()
    assert (there["available"], there["version"]) == (True, "1.2.3")


@pytest.mark.usefixtures("newcomer")
@pytest.mark.parametrize(("study", "topology"), [("crud", "single"), ("replication", "replicated")])
def test_the_studies_take_a_plug_ins_database(study: str, topology: str) -> None:
    chosen = ["--set", "database=newcomer", "--set", "n=50", "--set", f"topology={topology}"]
    cells = run_as_json("plan", study, "--profile", "smoke", *chosen)
    assert cells and all("newcomer" in json.dumps(cell) for cell in cells)


@pytest.mark.usefixtures("newcomer")
def test_a_plug_ins_database_is_compared_with_every_store_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whose data hold the comparisons.
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    code = """
import json, os, sys
sys.path.insert(0, os.environ["BENCHBOOK_TEST_LIBRARY"])
from benchbook.analysis import claim_files
from benchbook.registry import products
pairs = []
for comparisons in claim_files.load_paper_comparisons("crud"):
    pairs += comparisons.list_pairs()
compared = {a for a, b in pairs if b == "newcomer"}
print(json.dumps([sorted(compared), products.name_database("newcomer")]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    today = sorted(products.STORES)
    assert json.loads(ran.stdout) == [today, "Newcomer"]


def test_stores_are_all_databases_without_mappers_and_noop() -> None:
    assert set(catalogue.DATABASE_NAMES) - set(products.STORES) == {"mongodb+mongoengine", "noop"}


def test_a_papers_name_is_one_word_because_names_of_figures_begin_with_it() -> None:
    assert all(name.isalnum() and name.islower() for name in PAPERS)
    assert {name.partition("_")[0] for name in exhibits.FIGURES} >= {*PAPERS}


def test_each_product_of_the_librarys_own_was_tested_and_no_plug_ins_was() -> None:
    assert products.PLUGIN_DATABASES == products.MORE_DATABASES
    for product in products.PRODUCTS:
        is_of_plugin = bool(products.find_missing_plugin(product))
        assert bool(products.load_product(product).tested_on) != is_of_plugin
