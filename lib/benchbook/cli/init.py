"""`benchbook init`: a working folder, where benchbook was installed without a checkout."""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Final

from benchbook import cli, paths, suite

_WHAT: Final = {
    "notebooks": "a notebook per paper, to run and to change: begin with 00_start_here.ipynb",
    "papermill_params": "the grids: what is measured",
    "data": "the papers' numbers and claims; results are added to it",
    "figures/reference": "the reference run, which benchbook claims --reference reads",
}
"""What is laid out, and what it is."""

_NOT_OURS: Final = ("results", "__pycache__", ".ipynb_checkpoints")
"""What a checkout has in those folders that is nobody else's."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder, or an empty one")


def main(asked: argparse.Namespace) -> int:
    """Lay the folder out whole, or leave what is there alone."""
    folder: Path = asked.folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise cli.UsageError(f"{asked.folder} is there and holds something: name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside it, so that it takes its place at once, and only when it is whole.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".benchbook-init-") as scratch:
        whole = Path(scratch) / "folder"
        for name in _WHAT:
            shutil.copytree(paths.own() / name, whole / name, ignore=shutil.ignore_patterns(*_NOT_OURS))
        (whole / paths.LAID_OUT).write_text(f"{suite.version()}\n")
        whole.replace(folder)
    for name, what in _WHAT.items():
        print(f"{asked.folder / name}: {what}")
    print(f"next: cd {asked.folder}, then benchbook doctor, benchbook run, benchbook report")
    return cli.DONE
