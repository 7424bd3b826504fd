"""A new database takes a folder and a line of the registry, and makes no finished cell new: tried on a copy."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import benchbook
from benchbook import databases, registry
from benchbook.studies import SLUGS

ADAPTER = """
from benchbook.databases.noop import NoOp


class Newcomer(NoOp):
    name = "newcomer"
    product = "newcomer"
"""
PRODUCT = """
from benchbook.registry import Product

PRODUCTS = {
    "newcomer": Product(
        title="Newcomer", schemes=("newcomer",), processes=("newcomerd",)
    )
}
"""
SERVER = """
from benchbook.servers.address import Answer


def ask(url: str) -> Answer:
    return Answer("1.2.3", None, {})
"""
LINE = '    "newcomer": "newcomer.adapter:Newcomer",\n'


@pytest.fixture
def newcomer(library: Path) -> None:
    """Let what is started from here use a copy of the library with one more engine in it."""
    add_newcomer(library)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Return a copy of the library, which what is started from here uses."""
    copy = tmp_path / "lib" / "benchbook"
    shutil.copytree(Path(benchbook.__path__[0]), copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("BENCHBOOK_TEST_LIBRARY", str(copy.parent))
    return copy


def add_newcomer(library: Path) -> None:
    folder = library / "databases" / "newcomer"
    folder.mkdir()
    for name, text in {"__init__": PRODUCT, "adapter": ADAPTER, "server": SERVER}.items():
        (folder / f"{name}.py").write_text(text)
    listed = (library / "registry.py").read_text()
    first = listed.index('    "mongodb": ')
    (library / "registry.py").write_text(listed[:first] + LINE + listed[first:])


def said(*arguments: str) -> Any:
    code = "import os, sys; sys.path.insert(0, os.environ['BENCHBOOK_TEST_LIBRARY'])"
    code += "; from benchbook.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.usefixtures("newcomer")
def test_doctor_finds_it_missing_and_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def row() -> dict[str, Any]:
        (found,) = [row for row in said("doctor") if row["engine"] == "newcomer"]
        return found

    missing = row()
    assert not missing["available"] and "BENCHBOOK_NEWCOMER_URL" in missing["why"]
    monkeypatch.setenv("BENCHBOOK_NEWCOMER_URL", "newcomer://127.0.0.1:1")
    there = row()
    assert (there["available"], there["version"]) == (True, "1.2.3")


@pytest.mark.usefixtures("newcomer")
@pytest.mark.parametrize(("study", "topology"), [("crud", "single"), ("replication", "replicated")])
def test_the_studies_take_it(study: str, topology: str) -> None:
    chosen = ["--set", "engine=newcomer", "--set", "n=50", "--set", f"topology={topology}"]
    cells = said("plan", study, "--profile", "smoke", *chosen)
    assert cells and all("newcomer" in json.dumps(cell) for cell in cells)


def identities() -> dict[str, set[str]]:
    """Return the identities of each study's smoke cells, as the copy plans them."""
    cells = said("plan", "--profile", "smoke")
    return {slug: {cell["identity"] for cell in cells if cell["study"] == slug} for slug in SLUGS}


def append(library: Path, *modules: str) -> None:
    for module in modules:
        with (library / module).open("a") as file:
            file.write("\nCHANGED = True\n")


def test_only_the_cells_that_run_a_code_are_new_when_it_changes(library: Path) -> None:
    """Not when a database, a dataset or a figure is added, or the versions that a product was tested on change.

    Of a database that changes its own cells alone.
    """
    before = identities()
    assert all(before.values())
    add_newcomer(library)
    (library / "datasets" / "newcomers.py").write_text("from benchbook.datasets import Dataset\n")
    (library / "plots" / "newcomer.py").write_text("from benchbook.plots import sheet\n")
    others = ("papers/tcp/figures.py", "cli/plan.py", "databases/mysql/__init__.py")
    append(library, *others, "databases/couchdb/adapter.py")
    assert identities() == before

    append(library, "databases/postgresql/adapter.py", "formats/lxml_codec.py", "wire/receiver.py")
    after = identities()
    kept = {slug: len(before[slug] & after[slug]) for slug in SLUGS}
    assert kept["tcp"] < len(before["tcp"])
    assert kept["drivers"] == len(before["drivers"]), "runs none of it"
    assert 0 < kept["bookstore"] < len(before["bookstore"])
    assert (len(before["crud"]) - kept["crud"], len(before["replication"]) - kept["replication"]) == (4, 4)

    append(library, "databases/engine.py")
    last = identities()
    assert last["bookstore"] == after["bookstore"] and not last["drivers"] & after["drivers"]


@pytest.mark.usefixtures("newcomer")
def test_it_is_compared_with_every_other_store_and_named_in_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(Path(__file__).parents[1]))  # whose data hold the comparisons
    code = """
import json, os, sys
sys.path.insert(0, os.environ["BENCHBOOK_TEST_LIBRARY"])
from benchbook.evidence import claim_files
from benchbook.plots import names
pairs = {a for one in claim_files.comparisons("crud") for a, b in one.every_pair() if b == "newcomer"}
print(json.dumps([sorted(pairs), names.engine("newcomer")]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    today = sorted(registry.STORES)
    assert json.loads(ran.stdout) == [today, "Newcomer"]


def test_stores_are_databases_by_themselves() -> None:
    assert set(databases.NAMES) - set(registry.STORES) == {"mongodb+mongoengine", "noop"}


def test_an_adapter_is_experimental_where_no_version_of_its_product_was_tested() -> None:
    experimental = {name for name in registry.ENGINES if registry.is_experimental(name)}
    assert experimental == {"couchbase", "sqlserver+relational", "arangodb"}
    assert registry.product("couchdb").tested_on == "3.5.0"
    assert not registry.is_experimental("noop") and not registry.is_experimental("unheard of")
