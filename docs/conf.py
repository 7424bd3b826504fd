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
html_js_files = [("keyboard.js", {"defer": "defer"})]
html_copy_source = False
html_show_copyright = False


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in what a page asks for, and turn what it links to outside this folder into what the site has."""
    folder = (HERE / name).parent
    if name == "index":  # a page that no list names is a how-to
        unlisted = {page.stem for page in HERE.glob("*.md")} - {*source[0].split()} - {"index"}
        source[0] = source[0].replace("\nextending\n", "\n".join(["\nextending", *sorted(unlisted), ""]))

    def linked(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target == HERE.parent / "README.md":
            return f"[{link[1]}]({os.path.relpath(HERE, folder)}/index.md)"
        ours = target.is_relative_to(HERE) or (target.is_file() and target.suffix != ".md")
        return link[0] if ours else link[1]  # a file is a download; of a folder or another page the words are left

    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)#]+)(#[^)]*)?\)", linked, pages.filled(source[0]))


def setup(app: Sphinx) -> None:
    """Have each page go through `_read`."""
    app.connect("source-read", _read)
