"""New folders: `benchbook init` makes a working folder, `benchbook new` a package of your own."""

import argparse
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template
from typing import Final

from benchbook import codecs, paths, version
from benchbook.cli.command import DONE, UsageError
from benchbook.files.suite_files import FolderError, TemporaryFolder
from benchbook.registry import products
from benchbook.studies.catalogue import STUDIES

WORKING_FOLDER: Final = {
    "notebooks": "one notebook per paper; begin with 00_start_here.ipynb",
    "papermill_params": "the grids: what is measured",
    "data": "the papers' numbers and claims, and later your results",
    "figures/reference": "the reference run, which benchbook claims --reference reads",
}
"""The folders of a working folder, and what each has."""

NOT_COPIED: Final = ("results", "__pycache__", ".ipynb_checkpoints")
"""What is not copied of these folders: the checkout's own results, and caches."""

SKELETONS: Final = Path(__file__).parent / "skeletons"
KINDS: Final = ("codec", "database", "study")
"""The kinds of packages."""

KIND_FILES: Final = {
    "codec": {"codec.py.txt": "{package}/codec.py"},
    "database": {
        "init.py.txt": "{package}/__init__.py",
        "adapter.py.txt": "{package}/adapter.py",
        "server.py.txt": "{package}/server.py",
        "client.py.txt": "{package}/client.py",
        "example_server.py.txt": "{package}/example_server.py",
    },
    "study": {
        "study.py.txt": "{package}/study.py",
        "grid.yaml": "{package}/{name}.yaml",
        "notebook.json": "{package}/{name}.ipynb",
    },
}
"""The files of each kind's skeleton, and where they go; all kinds have a test and two more."""

ENTRY_POINTS: Final = {
    "codec": "codec:make_codec",
    "database": "adapter:Adapter",
    "study": "study:STUDY",
}
"""What a package of each kind announces, in its own modules."""

FIRST_COMMANDS: Final = {
    "codec": (
        "benchbook run bookstore --set keys=paper --set case=1 --set n=1000 "
        "--set {format}_codec={main},{name}\n"
        "benchbook results"
    ),
    "database": (
        "python -m {package}.example_server 4040 &   # or a server of yours\n"
        "export BENCHBOOK_{NAME}_URL={dashed}://127.0.0.1:4040\n"
        "benchbook doctor\n"
        "benchbook run crud --set database={name} --set topology=single --set constraints=on"
    ),
    "study": "benchbook plan {name}\nbenchbook run {name}\nbenchbook results",
}
"""The commands that a package's README says to try first."""

JAVA_CODECS: Final = ("jackson", "moxy", "jaxb", "xmldecoder", "dom", "jaxb_context")
"""Codecs that only the Java programs have."""


def add_init_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook init`."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder, or an empty one")


def make_working_folder(options: argparse.Namespace) -> int:
    """Make a complete working folder, or change nothing."""
    # Resolved, because to make the parents of a/../b would make a.
    folder = options.folder.resolve()
    shown = folder if ".." in options.folder.parts else options.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{shown} is not empty: name a new folder")
    with _make_whole_folder(folder, str(shown)) as scratch:
        for name in WORKING_FOLDER:
            _copy_folder(paths.code_folder() / name, scratch / name)
        (scratch / paths.LAYOUT_FILE).write_text(f"{version.read_version()}\n")
    for name, text in WORKING_FOLDER.items():
        print(f"{shown / name}: {text}")
    target = str(shown)
    target = shlex.quote(f"./{target}" if target.startswith("-") else target)
    print(f"Next: cd {target}, then benchbook doctor, benchbook run, benchbook report")
    return DONE


@contextmanager
def _make_whole_folder(folder: Path, shown: str) -> Iterator[Path]:
    """Yield an empty folder, and rename it to `folder` only if the block succeeds.

    Parameters
    ----------
    shown
        The folder's name in errors.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFolder("cell", folder.parent) as scratch:
            complete = scratch / "folder"
            complete.mkdir()
            yield complete
            complete.replace(folder)
    except FolderError as error:
        raise UsageError(f"{shown} cannot be made: {error}") from error
    except OSError as error:
        # The file of the error is in the scratch folder, which has been removed.
        raise OSError(error.errno, error.strerror, shown) from error


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a folder; stop at the first file that fails."""
    target.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.name in NOT_COPIED:
            continue
        if path.is_dir():
            _copy_folder(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)


def add_new_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook new`."""
    parser.add_argument("kind", choices=KINDS, help="what the package adds")
    text = "its name in grids and commands: small letters, digits and _"
    parser.add_argument("name", metavar="NAME", help=text)
    text = "the format of a codec (default: json)"
    parser.add_argument("--format", choices=["json", "xml"], default="json", help=text)
    text = "the folder of the package (default: benchbook-NAME)"
    parser.add_argument("--folder", metavar="DIR", help=text)


def make_package(options: argparse.Namespace) -> int:
    """Write a package into a new folder."""
    name, kind = options.name, options.kind

    # The name can be a Python package, and is not taken.
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        rule = "a name has small letters, digits and _, and begins with a letter"
        raise UsageError(f"{rule}: it cannot be {name!r}")
    names = {
        "codec": (*codecs.NAMES, *JAVA_CODECS),
        "database": (*products.PRODUCTS, "noop"),
        "study": STUDIES,
    }
    if name in names[kind]:
        raise UsageError(f"{name!r} is the name of another {kind}")

    # The package appears when it is complete.
    folder = Path(options.folder or f"benchbook-{name.replace('_', '-')}")
    if folder.exists():
        raise UsageError(f"{folder} exists: name another folder with --folder")
    with _make_whole_folder(folder, str(folder)) as scratch:
        for path, text in _fill_skeletons(kind, name, options.format).items():
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / path).write_text(text, encoding="utf-8")
    print(f"Made {folder}: begin with {folder / 'README.md'}")
    return DONE


def _fill_skeletons(kind: str, name: str, form: str = "json") -> dict[str, str]:
    """Return the texts of a new package's files, by their paths in its folder.

    Parameters
    ----------
    kind
        One of `KINDS`.
    form
        The format of a codec, ``json`` or ``xml``.
    """
    # The files, by their source.
    words = _list_words(kind, name, form)
    package = words["package"]
    skeleton = SKELETONS / (f"codec_{form}" if kind == "codec" else kind)
    targets = {skeleton / "test.py.txt": f"tests/test_{name}.py"}
    for source, target in KIND_FILES[kind].items():
        targets[skeleton / source] = target.format(**words)
    for file in ("pyproject.toml", "README.md"):
        targets[SKELETONS / "all" / f"{file}.txt"] = file

    # An empty package, unless its kind has more to say there.
    texts = {f"{package}/__init__.py": f'"""benchbook\'s {kind} {name}."""\n'}
    for path, target in targets.items():
        texts[target] = Template(path.read_text(encoding="utf-8")).substitute(words)
    return texts


def _list_words(kind: str, name: str, form: str) -> dict[str, str]:
    """Return the words that a skeleton's files fill in."""
    package = f"benchbook_{name}"
    environment = Path(sys.executable).parent
    uv = environment / "uv"
    group = {"codec": f"codecs.{form}", "database": "databases", "study": "studies"}[kind]
    words = {
        "name": name,
        "NAME": name.upper(),
        "Title": name.replace("_", " ").title(),
        "dashed": name.replace("_", "-"),  # the scheme of an address has no underscore
        "package": package,
        "kind": kind,
        "format": form,
        "main": "orjson" if form == "json" else "lxml",
        "group": group,
        "target": f"{package}.{ENTRY_POINTS[kind]}",
        "python": str(environment / "python"),
        "uv": str(uv) if uv.exists() else "uv",
    }
    words["try"] = FIRST_COMMANDS[kind].format(**words)
    return words
