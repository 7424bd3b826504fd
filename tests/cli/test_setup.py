"""Set-up belongs to the folder that it was made in; a copy runs its own code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT
from tools.path_file import rewrite_path_file

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
BUILDS = (
    "editables",
    "hatchling",
    "packaging",
    "pathspec",
    "pip",
    "pluggy",
    "trove-classifiers",
    "uv",
)
# A package that each lock has, and the smaller one has not.
OF_LOCK = {
    "locks/requirements-lessons.lock": ("six",),
    "locks/requirements.lock": ("six", "pymysql"),
    "locks/requirements-dev.lock": ("six", "pymysql", "sqlglot"),
}
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
    folder = tmp_path / "Dr. Müller's first"
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
    (folder / "locks").mkdir()
    for name, more in OF_LOCK.items():
        lock = re.split(r"\n(?=\S)", (ROOT / name).read_text())
        few = [entry for entry in lock if entry.split("==")[0] in (*BUILDS, *more)]
        assert len(few) == len((*BUILDS, *more))
        (folder / name).write_text("\n".join(few) + "\n")
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


def find_code(folder: Path, working: Path) -> subprocess.CompletedProcess[str]:
    """Ask a folder's environment which checkout it takes for its own."""
    return run(
        working,
        f"{folder}/.venv/bin/python",
        "-c",
        "from benchbook import paths; print(paths.root())",
    )


def test_a_clone_by_git_for_windows_has_the_text_that_was_committed(tmp_path: Path) -> None:
    """Git for Windows writes CRLF by default, which no shell of WSL reads."""
    clone = tmp_path / "clone"
    options = ["--quiet", "--depth", "1", "--config", "core.autocrlf=true"]
    subprocess.run(["git", "clone", *options, ROOT.as_uri(), clone], check=True)
    written = run(clone, "git", "ls-files", "--eol").stdout.splitlines()
    assert written and [line for line in written if "w/crlf" in line or "w/mixed" in line] == []
    assert run(clone, "sh", "-n", "setup.sh").returncode == 0
    run(clone, "git", "add", "--renormalize", ".")
    assert run(clone, "git", "status", "--porcelain").stdout == ""


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

    other = find_code(checkout, copy)
    assert other.returncode == 1
    assert f"{copy} is a checkout, and this benchbook is the code of {checkout}" in other.stderr

    second = run(copy, "make", "setup")
    assert second.returncode == 0, second.stderr
    assert "making .venv again" in second.stderr
    assert find_code(copy, tmp_path).stdout == f"{copy}\n"
    assert f"{copy}/.venv" in (copy / ".venv" / "bin" / "benchbook").read_text()
    assert run(copy, "make", "--question", "setup").returncode == 0
    copy.rename(tmp_path / "moved")
    assert run(tmp_path / "moved", "make", "--question", "setup").returncode == 1


def test_pip_of_the_environment_installs_into_it(checkout: Path) -> None:
    """In a shell in which it is active, and as %pip in a notebook."""
    assert run(checkout, "./setup.sh", ".venv", "lessons").returncode == 0
    active = f"PATH={checkout}/.venv/bin:{os.environ['PATH']}"
    for pip in (["pip"], [".venv/bin/python", "-m", "pip"]):
        asked = run(checkout, "env", active, *pip, "--version")
        assert f"{checkout}/.venv/lib" in asked.stdout


def test_a_checkout_from_a_zip_without_modes_is_set_up(checkout: Path) -> None:
    (checkout / "setup.sh").chmod(0o644)
    ended = run(checkout, "make", "setup")
    assert ended.returncode == 0, ended.stderr


def test_without_a_writable_home_downloads_are_kept_in_the_folder(checkout: Path):
    kept = run(ROOT, "uv", "cache", "dir").stdout.strip()
    (checkout / ".cache" / "uv").symlink_to(kept)  # what it would fetch
    ended = run(checkout, "make", "setup", HOME="/proc/nowhere")
    assert ended.returncode == 0, ended.stderr
    assert "/proc/nowhere cannot be written: downloads are kept in .cache here" in ended.stderr


def test_a_folder_of_wheels_is_all_that_set_up_needs(checkout: Path, tmp_path: Path) -> None:
    """As for a class: the caches are empty, and no registry is asked."""
    caches = {"UV_CACHE_DIR": str(tmp_path / "uv"), "PIP_CACHE_DIR": str(tmp_path / "pip")}
    (checkout / "wheels").mkdir()
    ended = run(checkout, "./setup.sh", ".venv", "lessons", **caches)
    assert ended.returncode == 3
    assert "the folder wheels misses packages of locks/requirements-lessons.lock" in ended.stderr
    fill = ["download", "--quiet", "--require-hashes", "--no-deps", "--dest", "wheels"]
    lock = ["--requirement", "locks/requirements-lessons.lock"]
    filled = run(checkout, "python3", "-m", "pip", *fill, *lock)
    if filled.returncode:
        pytest.skip("no registry of Python packages answers")
    ended = run(checkout, "./setup.sh", ".venv", "lessons", **caches, UV_DEFAULT_INDEX="http://x")
    assert ended.returncode == 0, ended.stderr
    assert list_packages(checkout) == {"six"}


def list_packages(folder: Path) -> set[str]:
    """Return which of the packages that only some locks have are installed."""
    here = {path.name.split("-")[0] for path in folder.glob(".venv/lib/*/site-packages/*-info")}
    return {"six", "pymysql", "sqlglot"} & here


def test_what_a_larger_purpose_installed_stays_for_the_smaller_ones(checkout: Path) -> None:
    """`make run` after `make dev` neither uninstalls nor installs, also when a lock changed."""
    (checkout / "lib/benchbook/cli/__init__.py").write_text("")
    (checkout / "lib/benchbook/cli/lab.py").write_text("print('lab')\n")
    lessons = run(checkout, "make", "lessons")
    assert lessons.stdout == "lab\n", lessons.stderr
    assert list_packages(checkout) == {"six"}
    assert run(checkout, "make", "setup").returncode == 0
    assert list_packages(checkout) == {"six", "pymysql"}
    assert run(checkout, "make", "dev").returncode == 0
    assert list_packages(checkout) == {"six", "pymysql", "sqlglot"}
    for target in ("setup", "lab", "lessons"):
        assert "setup.sh" not in run(checkout, "make", "--dry-run", target).stdout
    os.utime(checkout / "locks/requirements.lock")
    assert run(checkout, "make", "lab").returncode == 0
    assert list_packages(checkout) == {"six", "pymysql", "sqlglot"}


def test_set_up_typed_again_adds_what_was_left_out(checkout: Path) -> None:
    """As its messages say: get a JDK and Maven, then make setup."""
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".benchbook-folder").write_text(f"{checkout}\n")
    (checkout / ".venv" / ".benchbook-installed").write_text("run\n")
    assert run(checkout, "make", "--question", "setup").returncode == 0
    for part in (
        checkout / "harness/java/target/benchbook.jar",
        checkout / "harness/node/node_modules/.installed-lock",
    ):
        part.rename(f"{part}.away")
        assert "setup.sh .venv run" in run(checkout, "make", "--dry-run", "setup").stdout
        assert "setup.sh" not in run(checkout, "make", "--dry-run", "lab").stdout
        Path(f"{part}.away").rename(part)


def test_set_up_of_tests_comes_after_any_other(checkout: Path) -> None:
    """`make test` needs a browser and servers that no other target installs."""
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".benchbook-folder").write_text(f"{checkout}\n")
    stamp = checkout / ".venv" / ".benchbook-installed"
    stamp.write_text("dev\n")
    assert run(checkout, "make", "--question", "setup").returncode == 0
    assert "setup.sh .venv tests" in run(checkout, "make", "--dry-run", "test").stdout
    asked = run(checkout, "make", "--dry-run", "setup", BENCHBOOK_TESTS="1")
    assert "setup.sh .venv tests" in asked.stdout
    stamp.write_text("tests\n")
    assert "setup.sh" not in run(checkout, "make", "--dry-run", "test").stdout


def test_a_checkout_of_the_time_of_one_lock_keeps_its_packages(checkout: Path) -> None:
    """Its stamp is empty, and older than the locks."""
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".benchbook-folder").write_text(f"{checkout}\n")
    (checkout / ".venv" / ".benchbook-installed").touch()
    os.utime(checkout / ".venv" / ".benchbook-installed", (0, 0))
    assert "setup.sh .venv dev" in run(checkout, "make", "--dry-run", "setup").stdout


STRICT = {"PIP_REQUIRE_VIRTUALENV": "1", "PIP_USER": "1", "UV_REQUIRE_HASHES": "1"}
STRICT_FILES = {
    "pip/pip.conf": "[global]\nrequire-virtualenv = true\nuser = true\n",
    "uv/uv.toml": "[pip]\nrequire-hashes = true\n",
}


# Each of these stopped set-up: pip or uv then chose others than the lock, or another folder.
CHOOSING = {
    "PIP_CONSTRAINT": "choosing.txt",
    "PIP_DRY_RUN": "1",
    "PIP_NO_BINARY": ":all:",
    "PIP_PLATFORM": "win_amd64",
    "PIP_PREFIX": "/nowhere",
    "PIP_REQUIREMENT": "choosing.txt",
    "PIP_ROOT": "elsewhere",
    "PIP_UPLOADED_PRIOR_TO": "2020-01-01",
    "UV_CONSTRAINT": "choosing.txt",
    "UV_EXCLUDE": "choosing.txt",
    "UV_EXCLUDE_NEWER": "2020-01-01",
}


@pytest.mark.parametrize(
    "settings", [STRICT, STRICT_FILES, CHOOSING], ids=["variables", "files", "choosing"]
)
def test_a_users_settings_of_pip_and_uv_do_not_stop_set_up(
    settings: dict[str, str], checkout: Path, tmp_path: Path
) -> None:
    # Without uv on PATH, so that pip installs it.
    paths = [str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin"]
    environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    environment["PATH"] = os.pathsep.join(paths)
    if settings is not STRICT_FILES:
        environment |= settings
        (checkout / "choosing.txt").write_text("six<1\nuv<0.1\n")
    else:
        environment["XDG_CONFIG_HOME"] = str(tmp_path)
        for name, text in STRICT_FILES.items():
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(text)
    ended = subprocess.run(
        ["./setup.sh"], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    # The lock has brought uv, so that the one that pip installed is gone.
    assert (checkout / ".venv" / "bin" / "uv").exists()
    assert not (checkout / ".venv" / "uv").exists()
    # The folder's name is not ASCII, which site reads in the locale's encoding.
    for locale in ("C", "xx_XX.UTF-8"):
        python = [".venv/bin/python", "-I", "-c", "import benchbook; print(benchbook.__file__)"]
        ended = run_in(locale, checkout, *python)
        assert ended.stdout.startswith(str(checkout)), ended.stderr


def run_in(locale: str, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={"LC_ALL": locale},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def list_pythons() -> list[str]:
    """Return this Python and the others that run here."""
    found = [shutil.which(f"python3.{minor}") for minor in range(12, 15)]
    others = [
        python
        for python in filter(None, found)
        if not subprocess.run([python, "-V"], capture_output=True, check=False).returncode
    ]
    return [sys.executable, *others]


@pytest.mark.parametrize("python", list_pythons())
def test_a_path_file_of_any_letters_is_read_in_every_locale(python: str, tmp_path: Path) -> None:
    code = tmp_path / "Dr. Müller's λ"
    code.mkdir()
    (code / "letters.py").touch()
    (tmp_path / "letters.pth").write_text(f"{code}\n", encoding="utf-8")
    subprocess.run(
        [python, "-I", "-S", ROOT / "tools" / "path_file.py", tmp_path / "letters.pth"], check=True
    )
    program = f"import site; site.addsitedir({str(tmp_path)!r}); import letters"
    for locale in ("C", "C.UTF-8", "xx_XX.UTF-8"):
        ended = run_in(locale, tmp_path, python, "-I", "-c", program)
        assert ended.returncode == 0, ended.stderr


def test_a_path_file_in_ascii_stays_as_editors_read_it(tmp_path: Path) -> None:
    file = tmp_path / "plain.pth"
    file.write_text("/home/me/benchbook/lib\n")
    rewrite_path_file(file)
    assert file.read_text() == "/home/me/benchbook/lib\n"


def test_set_up_behind_a_proxy_names_what_sets_its_certificates(
    checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "uv").write_text(
        '#!/bin/sh\n[ "$2" != sync ] || { echo "invalid peer certificate" >&2; exit 2; }\n'
    )
    (tmp_path / "uv").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    ended = run(checkout, "env", f"PATH={path}", "./setup.sh")
    assert ended.returncode == 3
    assert "export UV_SYSTEM_CERTS=1" in ended.stderr and "SSL_CERT_FILE=" in ended.stderr


def test_an_old_jdk_is_named_as_a_missing_one(checkout: Path, tmp_path: Path) -> None:
    """The default JDK of Ubuntu 22.04 is 11, which cannot build Java's part."""
    (tmp_path / "bin").mkdir()
    put_program(tmp_path / "bin", "javac", '[ "$1" = -version ] && echo javac 11.0.25')
    before_others = f"PATH={tmp_path / 'bin'}:/usr/bin:{os.environ['PATH']}"
    ended = run(checkout, "env", before_others, "make", "setup")
    assert ended.returncode == 0, ended.stderr
    assert "because a JDK of 17 or newer, or Maven, is missing: " in ended.stderr


TOOLS = ("awk", "cat", "dirname", "id", "mkdir", "mktemp", "rm", "sh")


def put_program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def set_up_elsewhere(
    checkout: Path, programs: Path, system: str, python: str, **others: str
) -> subprocess.CompletedProcess[str]:
    """Run set-up where `uname` prints another system and python3 is an old one."""
    for name in TOOLS:
        (programs / name).symlink_to(shutil.which(name) or "")
    put_program(programs, "uname", f"echo {system}")
    put_program(programs, "python3", f'[ "$1" = --version ] && echo "Python {python}"')
    return subprocess.run(
        ["./setup.sh"],
        cwd=checkout,
        env={"PATH": str(programs), "HOME": str(checkout), **others},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_old_python_on_a_mac_is_answered_with_homebrew(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    ended = set_up_elsewhere(checkout, tmp_path / "bin", "Darwin", "3.9.6")
    assert ended.returncode == 3
    assert "is missing (Python 3.9.6): brew install python@3.12, or let uv" in ended.stderr
    assert "apt-get" not in ended.stderr


def test_ubuntu_2204_is_told_of_a_python_that_uv_fetches(checkout: Path, tmp_path: Path) -> None:
    """Its own newest is 3.10, so that naming apt-get again would not help."""
    (tmp_path / "bin").mkdir()
    put_program(tmp_path / "bin", "apt-get", "exit 1")
    ended = set_up_elsewhere(checkout, tmp_path / "bin", "Linux", "3.10.12")
    assert ended.returncode == 3
    assert "(Python 3.10.12): let uv fetch one into your home folder: " in ended.stderr
    assert "BENCHBOOK_PYTHON_DOWNLOADS=1 make" in ended.stderr
    assert "apt-get" not in ended.stderr


def test_uv_fetches_a_python_where_the_user_lets_it(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    asked = tmp_path / "asked"
    put_program(tmp_path / "bin", "uv", f'echo "$@" >>"{asked}"; [ "$1 $2" != "pip sync" ]')
    let = {"BENCHBOOK_PYTHON_DOWNLOADS": "1"}
    ended = set_up_elsewhere(checkout, tmp_path / "bin", "Linux", "3.10.12", **let)
    assert "fetching Python 3.12" in ended.stderr
    first, *_ = asked.read_text().splitlines()
    assert first.startswith("venv ") and "--managed-python --python 3.12 .venv" in first
    assert "--no-python-downloads" not in first


ONLY_GNU = (
    *(
        r"readlink -f",
        r"sed -i",
        r"stat -c",
        r"find .*-printf",
        r"mktemp --",
        r"date -d",
        r"sort -V",
    ),
    *(r"grep -\w*P", r"xargs -r", r"touch -d", r"cp -t", r"realpath", r"nproc"),
)
"""What macOS has not, or has with other options."""

AFTER_MAKE_3_81 = (
    *(r"\.ONESHELL", r"&:", r"\$\(file ", r"!=(?! )", r"^undefine", r"^private", r"::="),
    *(r"^define .*=", r"\.EXTRA_PREREQS", r"\$\(let ", r"\.RECIPEPREFIX", r"\.SHELLFLAGS"),
)
"""What the make of macOS does not know."""


@pytest.mark.parametrize("name", ["setup.sh", "Makefile"])
def test_set_up_uses_only_what_macos_has(name: str) -> None:
    text = (ROOT / name).read_text()
    unknown = ONLY_GNU if name == "setup.sh" else (*ONLY_GNU, *AFTER_MAKE_3_81)
    assert [each for each in unknown if re.search(each, text, re.MULTILINE)] == []
