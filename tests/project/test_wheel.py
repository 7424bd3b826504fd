"""The wheel, built from the sdist without a network, has all files of a working folder."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchbook import paths, version
from benchbook.studies.catalogue import SLUGS
from checkout import ROOT
from tools import dist

UV = next(
    path
    for path in (Path(sys.prefix) / "bin" / "uv", Path(sys.prefix) / "uv" / "bin" / "uv")
    if path.exists()
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both, the wheel from the sdist, and return the wheel."""
    into = tmp_path_factory.mktemp("built")
    dist.build_packages(into)
    assert len([*into.glob("benchbook-*.tar.gz")]) == 1
    (wheel,) = into.glob("benchbook-*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Install the wheel into a new environment with this one's libraries; return its command."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, place / "env"], check=True)
    python = place / "env" / "bin" / "python"
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel],
        check=True,
    )
    libraries = sysconfig.get_path("purelib")
    own = sysconfig.get_path(
        "purelib", vars={"base": str(place / "env"), "platbase": str(place / "env")}
    )
    # A path alone: the editable checkout's own link is not followed.
    (Path(own) / "zz_libraries.pth").write_text(libraries)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("BENCHBOOK_")
    }

    def run(*arguments: str, folder: Path = place) -> "subprocess.CompletedProcess[str]":
        command = [place / "env" / "bin" / "benchbook", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


def test_a_wheel_holds_what_is_in_git_and_no_result(wheel: Path) -> None:
    laid_out = [
        "lib/benchbook",
        "contrib/examples",
        "notebooks",
        "papermill_params",
        "data",
        "figures/reference",
    ]
    listed = subprocess.run(
        ["git", "ls-files", *laid_out], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    wanted = {
        name.removeprefix("lib/") if name.startswith("lib/") else f"benchbook/folder/{name}"
        for name in listed.split()
    }
    course = "benchbook/folder/notebooks/lessons/benchbook_lessons/"
    wanted |= {
        name.replace(course, "benchbook_lessons/") for name in wanted if name.startswith(course)
    }
    assert {
        name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name
    } == wanted


def test_an_installed_wheel_lays_a_folder_out_and_runs_there(
    installed: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> None:
    nowhere = installed("plan")
    assert nowhere.returncode == 2 and "benchbook init FOLDER" in nowhere.stderr
    folder = tmp_path / "study"
    laid_out = installed("init", str(folder))
    assert laid_out.returncode == 0 and (folder / "notebooks" / "00_start_here.ipynb").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["study"]
    assert installed("init", str(folder)).returncode == 2
    package = tmp_path / "package"
    assert installed("new", "database", "mine", "--folder", str(package)).returncode == 0
    assert (package / "benchbook_mine" / "adapter.py").is_file()
    judged = installed("claims", "--reference", "--json", folder=folder)
    here = subprocess.run(
        [sys.executable, "-m", "benchbook.cli", "claims", "--reference", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert judged.stdout == here.stdout and len(json.loads(judged.stdout)) > 100
    missing = installed("doctor", "--missing", folder=folder).stdout
    assert missing and "make setup" not in missing and "tools." not in missing
    ran = installed("run", "--profile", "smoke", "--noisy", folder=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for study in SLUGS:
        assert [*(folder / "data" / "results" / study).glob("*.parquet")], study
    (folder / paths.LAYOUT_FILE).write_text("0.0.9\n")
    of_another = installed("plan", folder=folder)
    assert of_another.returncode == 2
    assert f"laid out by benchbook 0.0.9, and this is {version.read_version()}" in of_another.stderr


def test_the_copy_for_classes_has_the_lessons_without_their_solutions(tmp_path: Path) -> None:
    dist.pack_classes(tmp_path)
    names = zipfile.ZipFile(tmp_path / dist.CLASSES).namelist()
    lessons = "benchbook/notebooks/lessons/"
    assert {f"{lessons}1_units_and_clocks.ipynb", "benchbook/Makefile"} <= {*names}
    assert not [name for name in names if name.startswith(f"{lessons}solutions")]
