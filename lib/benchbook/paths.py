"""The one place that knows where things lie."""

import os
from functools import cache
from pathlib import Path
from typing import Final

REFERENCE: Final = "reference"
"""The committed run's name, where a profile's could stand."""

_HERE = Path(__file__).resolve()


def root() -> Path:
    """Return the checkout's folder: ``BENCHBOOK_HOME``, else the nearest parent with a ``papermill_params`` folder.

    Raises
    ------
    FileNotFoundError
        When neither the working directory nor the installed package lies in a checkout, or each in another.
    """
    if home := os.environ.get("BENCHBOOK_HOME"):
        return Path(home)
    return _checkout(Path.cwd())


@cache
def _checkout(working: Path) -> Path:
    """Return the nearest checkout at or above the working directory, else above this package."""
    here, own = _above(working), _above(_HERE)
    if here and own and not here.samefile(own):  # grids and notebooks of a copy would run the code of another
        raise FileNotFoundError(
            f"{here} is a checkout, and this benchbook is the code of {own}: run make setup here, then this checkout's"
            " own .venv/bin/benchbook, or set BENCHBOOK_HOME to the folder that is meant"
        )
    if folder := here or own:
        return folder
    raise FileNotFoundError("no benchbook checkout here: run inside one, or set BENCHBOOK_HOME to its folder")


def _above(start: Path) -> Path | None:
    """Return the nearest checkout at or above a path."""
    return next((folder for folder in (start, *start.parents) if (folder / "papermill_params").is_dir()), None)


def notebooks() -> Path:
    """Return the folder of the notebooks."""
    return root() / "notebooks"


def grids() -> Path:
    """Return the folder of the YAML grids."""
    return root() / "papermill_params"


def harness(lane: str) -> Path:
    """Return the folder of what runs on another stack, ``java`` or ``node``: in the checkout of this very code."""
    return _HERE.parents[2] / "harness" / lane


def fonts() -> Path:
    """Return the folder of matplotlib's list of fonts, in the checkout of this very code; not in git."""
    return _HERE.parents[2] / ".cache" / "matplotlib"


def sources() -> Path:
    """Return the file of what was read of this very code's sources, by their contents; not in git."""
    return _HERE.parents[2] / ".cache" / "code" / "sources.kept"


def published() -> Path:
    """Return the folder of the numbers that the papers print."""
    return root() / "data" / "published"


def papers() -> Path:
    """Return the file of who wrote the papers, and where they were published."""
    return root() / "data" / "papers.yaml"


def claims() -> Path:
    """Return the folder of what the papers claim."""
    return root() / "data" / "claims"


def findings() -> Path:
    """Return the folder of what follows from the numbers that the papers print, and what does not."""
    return root() / "data" / "findings"


def compliance() -> Path:
    """Return the record of the servers on which this very code passed the compliance tests."""
    return _HERE.parents[2] / "data" / "compliance.csv"


def results() -> Path:
    """Return the folder of what runs wrote (``BENCHBOOK_RESULTS`` moves it)."""
    return Path(os.environ.get("BENCHBOOK_RESULTS") or root() / "data" / "results")


def artefacts() -> Path:
    """Return the folder of Java artefacts that were fetched and checked; not in git."""
    return root() / ".cache" / "maven"


def servers() -> Path:
    """Return the folder of the servers that were fetched (`make servers`); not in git."""
    return root() / ".cache" / "servers"


def credentials() -> Path:
    """Return the file of the lab's credentials; not in git."""
    return root() / ".cache" / "lab.pem"


def figures(profile: str) -> Path:
    """Return the folder of one profile's figures (``BENCHBOOK_FIGURES`` moves them all).

    Those of the committed run, when they are drawn anew, lie beside those that are in git.
    """
    drawn = "reference_drawn_anew" if profile == REFERENCE else profile
    return Path(os.environ.get("BENCHBOOK_FIGURES") or root() / "figures") / drawn


def reference() -> Path:
    """Return the folder of the reference run, which is in git."""
    return root() / "figures" / REFERENCE
