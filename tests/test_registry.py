"""A new engine takes an adapter, a server file and a line of the registry: tried on a copy of the library."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import benchbook
from benchbook import engines, registry

ADAPTER = """
from benchbook.engines.noop import NoOp


class Newcomer(NoOp):
    name = "newcomer"
    product = "newcomer"
"""
SERVER = """
from benchbook.servers.address import Answer

SCHEMES = ("newcomer",)
PROGRAMS = ("newcomerd",)


def ask(url: str) -> Answer:
    return Answer("1.2.3", None, {})
"""
LINE = '    "newcomer": ("newcomer", "Newcomer"),\n'


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let what is started from here use a copy of the library with one more engine in it."""
    copy = tmp_path / "lib" / "benchbook"
    shutil.copytree(Path(benchbook.__path__[0]), copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "engines" / "newcomer.py").write_text(ADAPTER)
    (copy / "servers" / "newcomer.py").write_text(SERVER)
    text = (copy / "registry.py").read_text()
    first = text.index('    "mongodb": ')
    (copy / "registry.py").write_text(text[:first] + LINE + text[first:])
    monkeypatch.setenv("BENCHBOOK_TEST_LIBRARY", str(copy.parent))


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


def test_stores_are_databases_by_themselves() -> None:
    assert set(engines.NAMES) - set(registry.STORES) == {
        "mongodb+mongoengine",
        "mongodb+async",
        "mongodb+beanie",
        "noop",
    }
