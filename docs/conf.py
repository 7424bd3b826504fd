"""How `make docs` builds the site: Sphinx with MyST and furo, of these pages and of what the code says of itself."""

import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "lib"))
os.environ.setdefault("BENCHBOOK_HOME", str(HERE.parent))

import benchbook  # noqa: E402
from benchbook.cli import pages  # noqa: E402

project = "benchbook"
version = release = benchbook.__version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
html_theme = "furo"
html_title = f"benchbook {release}"
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
html_copy_source = False
html_show_copyright = False


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in what a page asks for, and turn what it links to outside this folder into what the site has."""
    text = pages.filled(source[0])
    text = re.sub(r"\]\(\.\./README\.md(#[\w-]*)?\)", "](index.md)", text)
    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)#]+)(#[^)]*)?\)", _outside, text)


def _outside(link: re.Match[str]) -> str:
    """Return a link to a file of the repository as it is, a download; one to a folder or another page as its words."""
    here = link[2].endswith(".md") or not (HERE / link[2]).is_file()
    return link[1] if here else link[0]


def setup(app: Sphinx) -> None:
    """Have each page go through `_read`."""
    app.connect("source-read", _read)
