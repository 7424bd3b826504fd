"""New folders: `benchbook init` makes a working folder, `benchbook new` a package of your own."""

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchbook import codecs, paths, version
from benchbook.cli.command import DONE, UsageError
from benchbook.files.suite_files import FolderError, TemporaryFolder
from benchbook.registry import products
from benchbook.registry.papers import find_language
from benchbook.studies.catalogue import STUDIES

WORKING_FOLDER: Final = {
    "notebooks": "one notebook per paper; begin with 00_start_here.ipynb",
    "papermill_params": "the grids: what is measured",
    "data": "the papers' numbers and claims, and later your results",
    "figures/reference": "the reference run, which benchbook claims --reference reads",
}
"""The folders of a working folder, and what each has."""

NOT_COPIED: Final = ("results", "__pycache__", ".ipynb_checkpoints", ".pytest_cache")
"""What is not copied of a folder: the checkout's own results, and caches."""


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
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.name in NOT_COPIED:
            continue
        if path.is_dir():
            _copy_folder(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)


def add_new_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook new`."""
    parser.add_argument(
        "kind", choices=["codec", "database", "study"], help="what the package adds"
    )
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
        "codec": codecs.NAMES,
        "database": (*products.PRODUCTS, "noop"),
        "study": STUDIES,
    }
    # A codec of the Java programs has its name, too.
    if name in names[kind] or (kind == "codec" and find_language(name) == "java"):
        raise UsageError(f"{name!r} is the name of another {kind}")

    # The package appears when it is complete.
    folder = Path(options.folder or f"benchbook-{name.replace('_', '-')}")
    if folder.exists():
        raise UsageError(f"{folder} exists: name another folder with --folder")
    example = f"codec_{options.format}" if kind == "codec" else kind
    with _make_whole_folder(folder, str(folder)) as scratch:
        _copy_folder(paths.code_folder() / "contrib" / "examples" / example, scratch)
        _rename_package(scratch, name)
    print(f"Made {folder}: begin with {folder / 'README.md'}")
    return DONE


def _rename_package(folder: Path, name: str) -> None:
    """Give a copy of an example package another name, in its texts and in its files' names."""
    # What a folder has comes before the folder.
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            path.write_text(_rename_example(text, name), encoding="utf-8")
        path.rename(path.with_name(_rename_example(path.name, name)))


def _rename_example(text: str, name: str) -> str:
    """Replace the name of the example packages, in each way that it is written, by another."""
    text = text.replace("my_example", name).replace("MY_EXAMPLE", name.upper())
    # Addresses and names of distributions have no underscores.
    text = text.replace("my-example", name.replace("_", "-"))
    return text.replace("My Example", name.replace("_", " ").title())
