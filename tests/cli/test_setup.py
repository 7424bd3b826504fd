"""Set-up belongs to the folder that it was made in; a copy runs its own code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT

FILES = (
    "Makefile",
    "setup.sh",
    "pyproject.toml",
    "README.md",
    "lib",
    "papermill_params",
    "harness",
    "tools",
)
BUILDS = ("editables", "hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers", "uv")
OF_MAKE = (
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "BENCHBOOK_TESTS",
    "CONDA_DEFAULT_ENV",
    "BENCHBOOK_HOME",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return one that is not set up: few packages, languages and MySQL as if they were there."""
    folder = tmp_path / "first"
    folder.mkdir()
    for name in FILES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                folder / name,
                ignore=shutil.ignore_patterns("node_modules", "target", "*.pyc"),
            )
        else:
            shutil.copy2(ROOT / name, folder / name)
    lock = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())
    few = [entry for entry in lock if entry.split("==")[0] in BUILDS]
    assert len(few) == len(BUILDS)
    (folder / "requirements.lock").write_text("\n".join(few) + "\n")
    (folder / "harness" / "node" / "node_modules").mkdir()
    shutil.copy(
        ROOT / "harness/node/package-lock.json",
        folder / "harness/node/node_modules/.installed-lock",
    )
    (folder / "harness" / "java" / "target").mkdir()
    (folder / "harness" / "java" / "target" / "benchbook.jar").touch()
    (folder / ".cache" / "servers" / "mysql").mkdir(parents=True)
    return folder


def run(folder: Path, *command: str, **others: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in OF_MAKE
    } | others
    # The system's Python comes first, as on a new machine: Debian 12 has 3.11.2, which misses
    # parts of later releases.
    environment["PATH"] = os.pathsep.join(
        ["/usr/bin", str(Path(sys.executable).parent), environment["PATH"]]
    )
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def code_of(folder: Path, working: Path) -> subprocess.CompletedProcess[str]:
    """Ask a folder's environment which checkout it takes for its own."""
    return run(
        working,
        f"{folder}/.venv/bin/python",
        "-c",
        "from benchbook import paths; print(paths.root())",
    )


def test_a_copied_or_moved_folder_sets_up_its_own_environment(
    checkout: Path, tmp_path: Path
) -> None:
    first = run(checkout, "make", "setup")
    assert first.returncode == 0, first.stderr
    says, *commands = first.stdout.splitlines()
    assert says == "setup: done. Next, one of:" and commands[0].startswith("  make run ")
    link = tmp_path / "link"
    link.symlink_to(checkout)
    assert run(link, "make", "--question", "setup").returncode == 0, (
        "the same folder by another name"
    )
    assert run(tmp_path, "make", "--question", "-C", "link", "setup").returncode == 0
    copy = tmp_path / "Kopie von é"
    shutil.copytree(checkout, copy, symlinks=True)

    other = code_of(checkout, copy)
    assert other.returncode == 1
    assert f"{copy} is a checkout, and this benchbook is the code of {checkout}" in other.stderr

    second = run(copy, "make", "setup")
    assert second.returncode == 0, second.stderr
    assert "making .venv again" in second.stderr
    assert code_of(copy, tmp_path).stdout == f"{copy}\n"
    assert f"{copy}/.venv" in (copy / ".venv" / "bin" / "benchbook").read_text()
    assert run(copy, "make", "--question", "setup").returncode == 0
    copy.rename(tmp_path / "moved")
    assert run(tmp_path / "moved", "make", "--question", "setup").returncode == 1


def test_without_a_writable_home_downloads_are_kept_in_the_folder(checkout: Path):
    kept = run(ROOT, "uv", "cache", "dir").stdout.strip()
    (checkout / ".cache" / "uv").symlink_to(kept)  # what it would fetch
    ended = run(checkout, "make", "setup", HOME="/proc/nowhere")
    assert ended.returncode == 0, ended.stderr
    assert "/proc/nowhere cannot be written: downloads are kept in .cache here" in ended.stderr


def test_requirements_of_tests_are_installed_after_a_run_too(checkout: Path) -> None:
    """`make test` needs a browser and servers that `make run` does not install."""
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".benchbook-folder").write_text(f"{checkout}\n")
    (checkout / ".venv" / ".benchbook-installed").touch()
    assert run(checkout, "make", "--question", "setup").returncode == 0
    assert "setup.sh" in run(checkout, "make", "--dry-run", "test").stdout
    (checkout / ".venv" / ".benchbook-installed-tests").touch()
    assert "setup.sh" not in run(checkout, "make", "--dry-run", "test").stdout


PLATFORMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)


@pytest.mark.parametrize("lock", ["requirements.lock", "grading.lock"])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_package_of_a_lock_has_a_wheel_for_each_platform(
    platform: str, lock: str, tmp_path: Path
) -> None:
    """`make setup` builds nothing, so that one package without a wheel stops it."""
    options = ("--dry-run", "--require-hashes", "--no-build", "--python-version", "3.11")
    place = ("--python-platform", platform, "--target", str(tmp_path))
    resolved = run(ROOT, "uv", "pip", "install", *options, *place, "--requirement", lock)
    assert resolved.returncode == 0, resolved.stderr


STRICT = {"PIP_REQUIRE_VIRTUALENV": "1", "PIP_USER": "1", "UV_REQUIRE_HASHES": "1"}
STRICT_FILES = {
    "pip/pip.conf": "[global]\nrequire-virtualenv = true\nuser = true\n",
    "uv/uv.toml": "[pip]\nrequire-hashes = true\n",
}


@pytest.mark.parametrize("settings", [STRICT, STRICT_FILES], ids=["variables", "files"])
def test_a_users_settings_of_pip_and_uv_do_not_stop_set_up(
    settings: dict[str, str], checkout: Path, tmp_path: Path
) -> None:
    # Without uv on PATH, so that pip installs it.
    paths = [str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin"]
    environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    environment["PATH"] = os.pathsep.join(paths)
    if settings is STRICT:
        environment |= STRICT
    else:
        environment["XDG_CONFIG_HOME"] = str(tmp_path)
        for name, text in STRICT_FILES.items():
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(text)
    ended = subprocess.run(
        ["./setup.sh"], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert (checkout / ".venv" / "uv" / "bin" / "uv").exists()
