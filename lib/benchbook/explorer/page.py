"""The explorer's page without its answers: written first, before anything slow is imported or read."""

import shutil
from pathlib import Path
from typing import Final

ASSETS: Final = Path(__file__).parent / "assets"
"""The folder of the page, its script and its styles."""

ANSWERS: Final = "answers"
"""The folder of the answers, beside the page that shows them."""


def write(folder: Path) -> Path:
    """Write the page into a folder, empty but for it, and return its path.

    The page can be opened at once: it waits for the answers that `benchbook.explorer.site.write_answers` writes.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("index.html", "explorer.js", "explorer.css"):
        shutil.copyfile(ASSETS / name, folder / name)
    return folder / "index.html"
