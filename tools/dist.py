"""Build what is published: ``python -m tools.dist SITE FOLDER``, of a site that is built.

The folder gets the wheel, the source distribution, the copy for classes and the site.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.text.number_format import format_size

CLASSES: Final = "benchbook.zip"
"""The copy that teachers hand out: everything but the lessons' solutions."""


def build_packages(folder: Path) -> None:
    """Build the source distribution, and of it the wheel, without a network."""
    uv = [sys.executable, "-m", "uv", "build", "--quiet", "--offline", "--no-build-isolation"]
    options = ["--python", sys.executable, "--out-dir", str(folder), str(paths.root())]
    subprocess.run([*uv, *options], check=True)


def pack_classes(folder: Path) -> None:
    """Pack what is committed, without the lessons' solutions."""
    archive = ["git", "archive", "--prefix=benchbook/", f"--output={folder / CLASSES}", "HEAD"]
    subprocess.run([*archive, ":!notebooks/lessons/solutions"], cwd=paths.root(), check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.dist")
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir()
    folder = options.folder.resolve()
    build_packages(folder)
    pack_classes(folder)
    shutil.make_archive(str(folder / "benchbook-site"), "zip", options.site)
    for file in sorted(folder.glob("benchbook*")):
        print(f"{options.folder / file.name}  {format_size(file.stat().st_size)}")
