"""The one place that knows where things lie.

A working folder holds notebooks, grids, the papers' numbers and the reference run: a checkout, or what `benchbook init`
laid out. This code's own files (other stacks) lie beside it: in its checkout, or its wheel.
"""

import os
from functools import cache
from pathlib import Path
from typing import Final

from benchbook import suite

REFERENCE: Final = "reference"
"""The committed run's name, where a profile's could stand."""

LAID_OUT: Final = ".benchbook"
"""The file that says of a working folder which version laid it out; a checkout has none."""

_HERE = Path(__file__).resolve()
_IN_WHEEL = _HERE.with_name("folder")


def own() -> Path:
    """Return the folder of what belongs to this very code: its checkout, or what its wheel holds of one."""
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _HERE.parents[2]


def root() -> Path:
    """Return the working folder: ``BENCHBOOK_HOME``, else the nearest parent with a ``papermill_params`` folder.

    Raises `FileNotFoundError` when neither the working directory nor the installed package lies in one, when each lies
    in another checkout, or when another version laid the folder out.
    """
    if home := os.environ.get("BENCHBOOK_HOME"):
        return Path(home)
    return _checkout(Path.cwd())


@cache
def _checkout(working: Path) -> Path:
    """Return the nearest working folder at or above the working directory, else above this package."""
    here, code = _above(working), _above(_HERE)
    if here and (here / LAID_OUT).is_file():
        if (version := (here / LAID_OUT).read_text().strip()) != suite.version():
            raise FileNotFoundError(
                f"{here} was laid out by benchbook {version}, and this is {suite.version()}: lay another out"
                " with benchbook init, and move data/results there"
            )
        return here
    if here and code and not here.samefile(code):  # grids and notebooks of a copy would run the code of another
        raise FileNotFoundError(
            f"{here} is a checkout, and this benchbook is the code of {code}: run make setup here, then this checkout's"
            " own .venv/bin/benchbook, or set BENCHBOOK_HOME to the folder that is meant"
        )
    if folder := here or code:
        return folder
    raise FileNotFoundError(
        "no benchbook folder here: lay one out with benchbook init FOLDER, and run inside it, or set BENCHBOOK_HOME"
    )


def _above(start: Path) -> Path | None:
    """Return the nearest working folder at or above a path."""
    return next((folder for folder in (start, *start.parents) if (folder / "papermill_params").is_dir()), None)


def remedy() -> str:
    """Return how to get back a file of the working folder that is damaged or missing."""
    if (root() / LAID_OUT).is_file():
        return "lay another folder out with benchbook init, and copy it from there"
    return "restore it from git"


def notebooks() -> Path:
    """Return the folder of the notebooks."""
    return root() / "notebooks"


def grids() -> Path:
    """Return the folder of the YAML grids."""
    return root() / "papermill_params"


def harness(language: str) -> Path:
    """Return the folder of what runs on another stack, ``java`` or ``node``, of this very code; a wheel has none."""
    return own() / "harness" / language


def fonts() -> Path:
    """Return the folder of matplotlib's list of fonts, beside this very code; not in git."""
    return own() / ".cache" / "matplotlib"


def published() -> Path:
    """Return the folder of the numbers that the papers print."""
    return root() / "data" / "published"


def papers() -> Path:
    """Return the file of who wrote the papers, and where they were published."""
    return root() / "data" / "papers.yaml"


def claims() -> Path:
    """Return the folder of what the papers claim."""
    return root() / "data" / "claims"


def results() -> Path:
    """Return the folder of what runs wrote (``BENCHBOOK_RESULTS`` moves it)."""
    return Path(os.environ.get("BENCHBOOK_RESULTS") or root() / "data" / "results")


def artefacts() -> Path:
    """Return the folder of Java artefacts that were fetched and checked; not in git."""
    return root() / ".cache" / "maven"


def servers() -> Path:
    """Return the folder of the servers that were fetched (MySQL 8.0); not in git."""
    return root() / ".cache" / "servers"


def figures(profile: str) -> Path:
    """Return the folder of one profile's figures (``BENCHBOOK_FIGURES`` moves them all).

    Those of the committed run, when they are drawn anew, lie beside those that are in git.
    """
    drawn = "reference_drawn_anew" if profile == REFERENCE else profile
    return Path(os.environ.get("BENCHBOOK_FIGURES") or root() / "figures") / drawn


def reference() -> Path:
    """Return the folder of the reference run, which is in git."""
    return root() / "figures" / REFERENCE
