"""`benchbook init`: a working folder, where benchbook was installed without a checkout."""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Final

from benchbook import cli, paths, suite

_WHAT: Final = {
    "notebooks": "one notebook per paper; begin with 00_start_here.ipynb",
    "papermill_params": "the grids: what is measured",
    "data": "the papers' numbers and claims, and later your results",
    "figures/reference": "the reference run, which benchbook claims --reference reads",
}
"""What is laid out, and what it is."""

_NOT_OURS: Final = ("results", "__pycache__", ".ipynb_checkpoints")
"""What a checkout has in those folders that is nobody else's."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder, or an empty one")


def main(asked: argparse.Namespace) -> int:
    """Lay the folder out whole, or leave what is there alone."""
    folder: Path = asked.folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise cli.UsageError(f"{asked.folder} is not empty: name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside it, so that it takes its place at once, and only when it is whole.
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".benchbook-init-") as scratch:
            whole = Path(scratch) / "folder"
            for name in _WHAT:
                _copy(paths.own() / name, whole / name)
            (whole / paths.LAID_OUT).write_text(f"{suite.version()}\n")
            whole.replace(folder)
    except OSError as error:
        # The file that failed is in the scratch folder, which is gone.
        raise OSError(error.errno, error.strerror, str(asked.folder)) from error
    for name, what in _WHAT.items():
        print(f"{asked.folder / name}: {what}")
    print(f"Next: cd {asked.folder}, then benchbook doctor, benchbook run, benchbook report")
    return cli.DONE


def _copy(source: Path, target: Path) -> None:
    """Copy a folder; the first file that cannot be written ends it with its own error."""
    target.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.name in _NOT_OURS:
            continue
        if path.is_dir():
            _copy(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)
