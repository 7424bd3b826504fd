"""Every path that the suite uses, in one place.

A working folder has notebooks, grids, the papers' numbers and the reference run. It is a checkout,
or was laid out by `benchbook init`. The code's own files, such as the Java and Node.js harness, are
in the code's checkout or in its wheel.
"""

import os
from functools import cache
from pathlib import Path
from typing import Final

from benchbook import version

REFERENCE: Final = "reference"
"""The name of the committed run, used in place of a profile's."""

LAYOUT_FILE: Final = ".benchbook"
"""The file with the version that laid out a working folder; a checkout does not have it."""

_HERE = Path(__file__).resolve()
_IN_WHEEL = _HERE.with_name("folder")


def code_folder() -> Path:
    """Return the folder of the code's own files: its checkout, or their copy in its wheel."""
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _HERE.parents[2]


def root() -> Path:
    """Return the working folder.

    It is the folder in ``BENCHBOOK_HOME``, else the nearest parent of the current folder with a
    ``papermill_params`` folder, else the code's checkout.

    Raises `FileNotFoundError` when there is none, when the current folder was removed or is in
    another checkout than the code, or when another version laid the folder out.
    """
    home = os.environ.get("BENCHBOOK_HOME")
    if home:
        if not Path(home).is_dir():
            raise FileNotFoundError(f"BENCHBOOK_HOME={home} does not exist: correct or unset it")
        return Path(home)
    try:
        return _find_working_folder(Path.cwd())
    except FileNotFoundError as error:
        if error.errno is None:
            raise
        raise FileNotFoundError("the current folder was removed: cd to another") from error


@cache
def _find_working_folder(current: Path) -> Path:
    here, code = _find_above(current), _find_above(_HERE)
    # A folder that benchbook init laid out belongs to one version.
    if here and (here / LAYOUT_FILE).is_file():
        laid_out = (here / LAYOUT_FILE).read_text().strip()
        own = version.read_version()
        if laid_out != own:
            raise FileNotFoundError(
                f"{here} was laid out by benchbook {laid_out}, and this is {own}: lay another out"
                " with benchbook init, and move data/results there"
            )
        return here
    # The grids and notebooks of one checkout must not run the code of another.
    if here and code and not here.samefile(code):
        raise FileNotFoundError(
            f"{here} is a checkout, and this benchbook is the code of {code}: run make setup here,"
            " then this checkout's own .venv/bin/benchbook,"
            " or set BENCHBOOK_HOME to the folder that is meant"
        )
    folder = here or code
    if folder:
        return folder
    raise FileNotFoundError(
        "no benchbook folder here: lay one out with benchbook init FOLDER, and run inside it,"
        " or set BENCHBOOK_HOME"
    )


def _find_above(start: Path) -> Path | None:
    """Return the nearest working folder at or above a path."""
    for folder in (start, *start.parents):
        if (folder / "papermill_params").is_dir():
            return folder
    return None


def suggest_restore() -> str:
    """Return the advice to a user whose working folder has a damaged or missing file."""
    if (root() / LAYOUT_FILE).is_file():
        return "lay another folder out with benchbook init, and copy it from there"
    return "restore it from git"


def notebooks() -> Path:
    """Return the folder of the notebooks."""
    return root() / "notebooks"


def grids() -> Path:
    """Return the folder of the YAML grids."""
    return root() / "papermill_params"


def harness(language: str) -> Path:
    """Return the folder of the harness in another language, ``java`` or ``node``.

    It belongs to this code; a wheel does not have it.
    """
    return code_folder() / "harness" / language


def fonts() -> Path:
    """Return the folder of matplotlib's list of fonts, which is not in git."""
    return code_folder() / ".cache" / "matplotlib"


def published_numbers() -> Path:
    """Return the folder of the numbers that the papers print."""
    return root() / "data" / "published"


def papers() -> Path:
    """Return the file with the papers' authors and publications."""
    return root() / "data" / "papers.yaml"


def claims() -> Path:
    """Return the folder of the papers' claims."""
    return root() / "data" / "claims"


def released_verdicts() -> Path:
    """Return the folder of the verdicts of released versions, a CSV file each."""
    return root() / "data" / "verdicts"


def findings() -> Path:
    """Return the folder of the checks of the papers' numbers, and of what does not follow."""
    return root() / "data" / "findings"


def results() -> Path:
    """Return the folder of the results of runs, which ``BENCHBOOK_RESULTS`` can move."""
    return Path(os.environ.get("BENCHBOOK_RESULTS") or root() / "data" / "results")


def artefacts() -> Path:
    """Return the folder of fetched and checked Java artefacts, which is not in git."""
    return root() / ".cache" / "maven"


def judged_tables() -> Path:
    """Return the folder of the verdicts of runs, a cache that is not in git."""
    return root() / ".cache" / "judged"


def kept_answers() -> Path:
    """Return the folder of the answers of commands, a cache that is not in git."""
    return root() / ".cache" / "answers"


def servers() -> Path:
    """Return the folder of fetched servers (MySQL 8.0), which is not in git."""
    return root() / ".cache" / "servers"


def figures(profile: str) -> Path:
    """Return the folder of one profile's figures; ``BENCHBOOK_FIGURES`` can move them all.

    The reference run's own figures are in git; new drawings of them go to a folder next to it.
    """
    drawn = "reference_drawn_anew" if profile == REFERENCE else profile
    return Path(os.environ.get("BENCHBOOK_FIGURES") or root() / "figures") / drawn


def reference() -> Path:
    """Return the folder of the reference run, which is in git."""
    return root() / "figures" / REFERENCE
