"""Sphinx's configuration for `make site`: pages of this folder, lessons, and references."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import select_figure_formats
from IPython.display import display
from IPython.utils.capture import capture_output
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from traitlets.config import Config

HERE = Path(__file__).resolve().parent
LESSONS = HERE.parent / "notebooks" / "lessons"
REFERENCE = HERE.parent / "figures" / "reference"
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent), str(LESSONS)]
os.environ.setdefault("BENCHBOOK_HOME", str(HERE.parent))

from benchbook import version  # noqa: E402
from tools import pages  # noqa: E402

project = "benchbook"
version = release = version.read_version()
extensions = ["myst_parser", "sphinx.ext.githubpages"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
exclude_patterns = ["_build", "lessons/solutions"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "dollarmath"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"benchbook {release}"
html_static_path = [
    "_static",
    "../lib/benchbook/explorer/assets/explorer.css",
    "../lib/benchbook/explorer/assets/explorer.js",
]
html_favicon = "_static/favicon.svg"
html_css_files = ["wide-tables.css"]
html_js_files = [("keyboard.js", {"defer": "defer"})]
html_copy_source = False
# A publisher states the repository's address in CITATION.cff. Then each page links to its source.
_CITATION = yaml.safe_load((HERE.parent / "CITATION.cff").read_text(encoding="utf-8"))
if "repository-code" in _CITATION:
    html_theme_options = {
        "source_repository": _CITATION["repository-code"],
        "source_branch": "main",
        "source_directory": "docs/",
    }
html_show_copyright = False


class _Displayed(DisplayHook):
    """Displays a cell's value like its other outputs, so that both are captured in order."""

    def __call__(self, result: Any = None) -> None:
        if result is not None:
            display(result)


SHELL = InteractiveShell.instance(
    displayhook_class=_Displayed,
    ipython_dir=str(HERE.parent / ".cache" / "ipython"),
    config=Config({"HistoryManager": {"enabled": False}}),
)
select_figure_formats(SHELL, {"png"}, dpi=144)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in a page's references, and change its links to other folders into the site's."""
    folder = (HERE / name).parent
    if Path(app.env.doc2path(name)).suffix == ".ipynb":
        source[0] = _lesson(json.loads(source[0]), name)
    if name == "index":  # a page that no list names is a how-to
        unlisted = {page.stem for page in HERE.glob("*.md")} - {*source[0].split()} - {"index"}
        source[0] = source[0].replace(
            "\nextending\n", "\n".join(["\nextending", *sorted(unlisted), ""])
        )

    def linked(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target == HERE.parent / "README.md":
            return f"[{link[1]}]({os.path.relpath(HERE, folder)}/index.md)"
        if target == REFERENCE / "verdicts.md":
            return f"[{link[1]}](/verdicts)"
        if target == REFERENCE / "report.html":
            return f'<a href="{os.path.relpath(HERE, folder)}/report/index.html">{link[1]}</a>'
        if target.parent == LESSONS:
            return f"[{link[1]}](/lessons/{target.stem})"
        ours = target.is_relative_to(HERE) or (
            target.is_file() and target.suffix not in source_suffix
        )
        # A file is a download; of a folder or another page the words are left.
        return link[0] if ours else link[1]

    source[0] = re.sub(
        r"\[([^\]]*)\]\(((?!\w+:)[^)#]+)(#[^)]*)?\)", linked, pages.fill_page(source[0])
    )


def _lesson(notebook: dict[str, Any], name: str) -> str:
    """Return a student's lesson with the outputs of its cells tagged `shown`."""
    SHELL.reset()
    where = f"`make lessons` opens a copy of this lesson, `my_lessons/{Path(name).name}.ipynb`."
    note = (
        f"{where} What you measure and answer comes out there."
        " Write your prediction down before you read on."
    )
    title, *cells = notebook["cells"]
    parts = ["".join(title["source"]), f"```{{note}}\n{note}\n```"]
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        if "shown" in cell["metadata"].get("tags", ()):
            with capture_output() as shown:
                SHELL.run_cell(text).raise_error()
            parts += [f"```text\n{shown.stdout}```"] if shown.stdout else []
            parts += [_output(one.data) for one in shown.outputs]
    return "\n\n".join(parts)


def _output(forms: dict[str, Any]) -> str:
    """Render a cell's output: a figure, a table, or its text."""
    if "image/png" in forms:
        image = f"data:image/png;base64,{forms['image/png']}"
        return f'<img alt="What the code above draws" src="{image}">'
    if "text/html" in forms:
        table = re.sub(
            r'<table(?: border="1" class="dataframe")?',
            '<table class="docutils"',
            forms["text/html"],
        ).replace("<th></th>", "<td></td>")  # a heading without a word is read aloud as one
        return f"```{{raw}} html\n{table}\n```"
    return f"```text\n{forms['text/plain']}\n```"


def _as_mathml(translator: HTML5Translator, formula: nodes.math | nodes.math_block) -> None:
    """Write a formula as browsers read it by themselves: MathJax would be loaded from elsewhere."""
    translator.body.append(
        tex2mathml(formula.astext(), as_block=isinstance(formula, nodes.math_block))
    )
    raise nodes.SkipNode


def _to_report(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Link the sidebar's `report://` to the report, which tools/site.py writes."""
    here = os.path.relpath("report", Path(name).parent)
    context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
        "report://", f"{here}/"
    )


def setup(app: Sphinx) -> None:
    """Read pages by `_read`, write formulas by `_as_mathml`, and link sidebars to the report."""
    app.connect("source-read", _read)
    # After the theme has made the sidebar.
    app.connect("html-page-context", _to_report, priority=900)
    app.add_html_math_renderer("mathml", (_as_mathml, None), (_as_mathml, None))
