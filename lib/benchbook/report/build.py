"""Build a profile's report: one HTML page that loads nothing.

`build_report` runs the final notebook and renders it. It does nothing where the page is newer than
all that it depends on.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from benchbook import grid, paths
from benchbook.analysis.judged_tables import hash_files, hash_results, hash_rules
from benchbook.files import suite_files
from benchbook.grid.cells import list_judged_results
from benchbook.grid.finished_cells import list_user_ids
from benchbook.results.folder import open_results, verify_files
from benchbook.results.schema import VALUES
from benchbook.studies.catalogue import SLUGS
from benchbook.studies.levels import check_levels

NOTEBOOK: Final = "99_merged_metrics.ipynb"
PAGE: Final = "report.html"
STAMP: Final = "report.json"
"""The file beside the page that says from what the page was built."""

TEMPLATE: Final = Path(__file__).parent / "template"
"""The folder of the page's template for nbconvert, its parts, its style and its scripts."""

StepListener = Callable[[str], object]
"""Is called with each step that begins, in a few words."""


class ReportError(RuntimeError):
    """The final notebook failed, or it ran and the report is incomplete."""


class EmptyReportError(ReportError):
    """No cell of the profile ran, so there is nothing to report."""


def build_report(profile: str = "quick", on_step: StepListener = lambda _: None) -> Path:
    """Run the final notebook for a profile and write its figures and `report.html`.

    Parameters
    ----------
    profile
        The profile whose cells are read, those of `benchbook.grid.make_plan`; or
        `benchbook.paths.REFERENCE`.
    on_step
        Is called with each step; with none where the report is up to date. A step may come twice.

    Returns
    -------
    Path
        The page: one file, which needs no network.

    Raises
    ------
    EmptyReportError
        When no cell of the profile is done or failed, and none outside of profiles ran.
    ReportError
        When a result has a level that its study does not know, or the notebook fails or does not
        draw every figure.
    """
    folder = paths.figures(profile)
    page, stamp = folder / PAGE, folder / STAMP
    inputs = hash_inputs(profile)
    if _read_stamp(stamp) == _describe_page(profile, inputs, page):
        return page

    if profile != paths.REFERENCE:
        cells, own = grid.make_plan(SLUGS, profile).cells, list_user_ids()
        states = {cell.state for cell in cells}
        if not states & {"done", "failed"} and not own:
            raise EmptyReportError(f"no cell of the profile {profile} ran")
        on_step("checking the results")
        _check_results([*list_judged_results(cells), *own])

    # Without its stamp a page that is interrupted now is built again.
    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    executed = _run_notebook(profile, folder, on_step)
    on_step("writing the page")
    suite_files.write_file(page, render_page(executed, f"benchbook: {profile}"))
    description = json.dumps(_describe_page(profile, inputs, page), indent=1)
    suite_files.write_file(stamp, f"{description}\n")
    return page


def _read_stamp(stamp: Path) -> object:
    """Read a stamp; None where it is absent or damaged."""
    try:
        return json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _describe_page(profile: str, inputs: str, page: Path) -> dict[str, str | None]:
    """Return the stamp of a page; the digest of the page finds one that was cut short."""
    digest = hashlib.sha256(page.read_bytes()).hexdigest() if page.is_file() else None
    return {"profile": profile, "inputs": inputs, "page": digest}


def _check_results(identities: Iterable[str]) -> None:
    """Raise `ReportError` when a finished cell has a level that its study does not know."""
    for result in verify_files(open_results().list_finished_files(identities)):
        try:
            # Levels are in the cell's columns; the values, which are most of a file, are not read.
            columns = pq.read_schema(result.path).names
            names = [name for name in columns if name not in VALUES.names]
            check_levels(pq.ParquetFile(result.path).read(columns=names))
        except ValueError as error:
            remedy = "remove the file, and the next run measures its cell again"
            raise ReportError(f"{result.path}: {error}: {remedy}") from error


def hash_inputs(profile: str) -> str:
    """Return a hash of the results, the reference run, grids, papers, the notebook and the code."""
    sources = [
        paths.notebooks() / NOTEBOOK,
        *paths.reference().glob("*.parquet"),
        *TEMPLATE.iterdir(),
    ]
    results = hash_results(open_results().list_files())
    return f"{profile} {results} {hash_files(sources)} {hash_rules()}"


def _run_notebook(profile: str, folder: Path, on_step: StepListener) -> Path:
    """Run the final notebook and return the executed one, once it has drawn every figure."""
    # Imported here, because a report that is up to date needs no kernel and no figure.
    from benchbook.papers import exhibits
    from benchbook.runner.kernel import ForkServer, make_folder
    from benchbook.runner.notebook import Kernel, execute_notebook

    source, target = paths.notebooks() / NOTEBOOK, folder / NOTEBOOK
    figures = [folder / f"{name}.svg" for name in exhibits.FIGURES]
    for figure in figures:
        figure.unlink(missing_ok=True)
    titles = _read_titles(source)
    on_step("merging the results, judging the claims")

    def name_cell(cell: str) -> None:
        if cell in titles:
            on_step(f"notebook: {titles[cell]}")

    with make_folder() as own, ForkServer() as server:
        server.start()
        kernel = Kernel(server, own, paths.notebooks(), own / "kernel.log")
        outcome = execute_notebook(
            source,
            {"profile": profile},
            kernel,
            target,
            # papermill's loop asks once a second whether anything failed: the time to count.
            find_failure=lambda: _count_figures(figures, on_step),
            skipped_tag="",
            on_cell_start=name_cell,
        )
    if outcome.failure:
        raise ReportError(outcome.failure)
    missing = [figure.stem for figure in figures if not figure.exists()]
    if missing:
        raise ReportError(f"{target} ran but did not draw {', '.join(missing)}")
    return target


def _count_figures(figures: Sequence[Path], on_step: StepListener) -> None:
    """Tell how many figures are drawn, with a message for every five."""
    count = sum(figure.exists() for figure in figures)
    if 0 < count < len(figures):
        on_step(f"drawing figures: {count - count % 5} of {len(figures)}")


def _read_titles(notebook: Path) -> dict[str, str]:
    """Return the heading above each notebook cell, by the cell's id; cells before one have none."""
    titles: dict[str, str] = {}
    title = ""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        heading = re.match(r"##+ (.+)", "".join(cell["source"]))
        if heading:
            title = heading[1]
        if title:
            titles[cell["id"]] = title
    return titles


def render_page(notebook: Path, title: str) -> str:
    """Render an executed notebook's prose and outputs, without code, as one file of several pages.

    The first page, the overview, ends at the first heading of the second order. Each of those
    headings begins a page.
    """
    # Imported here, because a report that is up to date is not rendered.
    import nbformat
    from nbconvert import HTMLExporter

    from benchbook.report.tables import load_table_script

    executed = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    _name_pages(executed.cells)

    # The page's policy allows only these two scripts, by their digests.
    names = ("tables.js", "page.js", "figures.js")
    own = [(TEMPLATE / name).read_text(encoding="utf-8") for name in names]
    scripts = [load_table_script(), "".join(own)]
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    resources = {
        "metadata": {"name": title},
        "scripts": scripts,
        "digests": [base64.b64encode(digest).decode() for digest in digests],
    }

    exporter: Any = HTMLExporter(  # type: ignore[no-untyped-call]
        exclude_input=True,
        template_name=TEMPLATE.name,
        extra_template_basedirs=[str(TEMPLATE.parent)],
    )
    page, _ = exporter.from_notebook_node(executed, resources)
    return str(page)


def _name_pages(cells: Iterable[Any]) -> None:
    """Write the page's name and parts into each notebook cell that begins a page.

    A page begins with a heading of the second order, whose first word is its name. It has a part,
    a title with its anchor, for each heading of the third order, in its prose or in an output.
    """
    name = "Overview"
    parts: list[tuple[str, str]] = []
    for cell in cells:
        if cell.cell_type == "markdown":
            texts = [cell.source]
            if cell.source.startswith("## "):
                name, parts = cell.source.split()[1].strip(":,"), []
                cell.metadata |= {"page": name, "parts": parts}
        else:
            texts = [output.get("data", {}).get("text/markdown", "") for output in cell.outputs]
        for line in "\n".join(texts).splitlines():
            if line.startswith("### "):
                heading = line.removeprefix("### ")
                title = heading.removesuffix(f": {name}").removesuffix(f" of {name}")
                # nbconvert makes the heading's id in the same way.
                parts.append((title, heading.replace(" ", "-")))
