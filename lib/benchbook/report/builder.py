"""Build a profile's report, one page that loads nothing, unless nothing it depends on has changed."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import benchbook
from benchbook import atomic, grid, paths, results, studies

NOTEBOOK: Final = "99_merged_metrics.ipynb"
PAGE: Final = "report.html"
STAMP: Final = "report.json"
Say = Callable[[str], object]
"""Is given what is done now, in a few words."""

_DRAWN: Final = 5
"""Figures after which it is said how many are drawn."""

TEMPLATE: Final = Path(__file__).parent / "template"
"""The page's template for nbconvert, its style and its script."""


class ReportError(RuntimeError):
    """The final notebook failed, or ran and the report is not complete."""


class NothingRanError(ReportError):
    """No cell of the profile ran: there is nothing to report."""


def build(profile: str = "quick", say: Say = lambda _: None) -> Path:
    """Run the final notebook for a profile and write its figures and `report.html`.

    Parameters
    ----------
    profile
        The selection whose cells are read: exactly those that `benchbook.grid.plan` lists for it; or the committed
        run's: `benchbook.paths.REFERENCE`.
    say
        Is given each step that begins; nothing of a report that is not built anew. A step may be said again.

    Returns
    -------
    Path
        The page: one file, which needs no network.

    Raises
    ------
    NothingRanError
        When no cell of the profile is done, nor failed, and none of one's own is.
    ReportError
        When a result has a level that its study does not know, the notebook fails, or did not draw everything.
    """
    folder = paths.figures(profile)
    page, stamp = folder / PAGE, folder / STAMP
    inputs = fingerprint(profile)
    with suppress(OSError, ValueError):  # a stamp that says nothing that can be read
        stamped = json.loads(stamp.read_text(encoding="utf-8"))
        if stamped == {"profile": profile, "inputs": inputs, "page": _digest(page)}:
            return page
    if profile != paths.REFERENCE:
        cells, own = grid.plan(studies.SLUGS, profile).cells, grid.own()
        states = {cell.state for cell in cells}
        if not states & {"done", "failed"} and not own:
            raise NothingRanError(f"no cell of the profile {profile} ran")
        say("checking the results")
        _check_results([*grid.keys(cells), *own])
    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    executed = _execute(profile, folder, say)
    say("writing the page")
    atomic.write(page, html(executed, f"benchbook: {profile}"))
    atomic.write(stamp, json.dumps({"profile": profile, "inputs": inputs, "page": _digest(page)}, indent=1) + "\n")
    return page


def _check_results(identities: Iterable[str]) -> None:
    """Raise `ReportError` when a finished cell has a level that its study does not know: before anything is drawn."""
    import pyarrow.parquet as pq

    from benchbook.results.folder import verified
    from benchbook.studies.levels import check_levels

    for result in verified(results.finished(identities)):
        try:
            # Levels are in the cell's columns; the values, which are most of a file, are not read.
            names = [name for name in pq.read_schema(result.path).names if name not in results.VALUES.names]
            check_levels(pq.ParquetFile(result.path).read(columns=names))
        except ValueError as error:
            remedy = "remove the file, and the next run measures its cell again"
            raise ReportError(f"{result.path}: {error}: {remedy}") from error


def fingerprint(profile: str) -> str:
    """Return a hash of all that the report is made of: results, the reference run, grids, papers, notebook and code."""
    digest = hashlib.sha256(profile.encode())
    for result in results.whole():
        path, facts = result.path, result.path.stat()
        digest.update(f"{path.parent.name}/{path.name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    code = Path(benchbook.__file__).parent
    sources = [paths.notebooks() / NOTEBOOK, *paths.grids().glob("*.yaml"), *paths.published().glob("*.csv")]
    sources += [*paths.claims().glob("*.yaml"), *paths.reference().glob("*.parquet")]
    for file in sorted([*sources, *code.rglob("*.py"), *TEMPLATE.iterdir()]):
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _digest(page: Path) -> str | None:
    """Return the page's digest; None when there is none: a page that was cut short is built again."""
    return hashlib.sha256(page.read_bytes()).hexdigest() if page.is_file() else None


def _execute(profile: str, folder: Path, say: Say) -> Path:
    """Run the notebook and return the executed one, once everything it should have drawn is there."""
    from benchbook.papers import exhibits
    from benchbook.runner.fork_server import ForkServer
    from benchbook.runner.kernel import new_folder
    from benchbook.runner.notebook import Kernel, execute

    source, target = paths.notebooks() / NOTEBOOK, folder / NOTEBOOK
    figures = [folder / f"{name}.svg" for name in exhibits.FIGURES]
    for figure in figures:
        figure.unlink(missing_ok=True)
    titles = _titles(source)
    say("merging the results, judging the claims")

    def drawn() -> None:
        count = sum(figure.exists() for figure in figures)
        if 0 < count < len(figures):
            say(f"drawing figures: {count - count % _DRAWN} of {len(figures)}")

    def begun(cell: str) -> None:
        if title := titles.get(cell):
            say(f"notebook: {title}")

    with new_folder() as own, ForkServer() as server:
        server.start()
        kernel = Kernel(server, own, paths.notebooks(), own / "kernel.log")
        # what is asked once a second whether anything has died looks at how far the figures are
        ended = execute(source, {"profile": profile}, kernel, target, broken=drawn, skipped="", begun=begun)
    if ended.why:
        raise ReportError(ended.why)
    if absent := [figure.stem for figure in figures if not figure.exists()]:
        raise ReportError(f"{target} ran but did not draw {', '.join(absent)}")
    return target


def _titles(notebook: Path) -> dict[str, str]:
    """Return the title above each cell of a notebook, by the cell's id; those before the second title have none."""
    titles: dict[str, str] = {}
    title = ""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if heading := re.match(r"##+ (.+)", "".join(cell["source"])):
            title = heading[1]
        if title:
            titles[cell["id"]] = title
    return titles


def html(notebook: Path, title: str) -> str:
    """Return an executed notebook's prose and outputs, code left out, as one file of several pages.

    The first page, the overview, ends at the first heading of the second order. Each of those
    begins a page.
    """
    import nbformat
    from nbconvert import HTMLExporter

    from benchbook.report.long_tables import library_script

    executed = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    _name_pages(executed.cells)
    # The page's policy lets a browser run these two scripts alone, by their digests.
    own = [(TEMPLATE / name).read_text(encoding="utf-8") for name in ("tables.js", "page.js")]
    scripts = [library_script(), "".join(own)]
    resources = {"metadata": {"name": title}, "scripts": scripts, "digests": [_base64_digest(text) for text in scripts]}

    settings = {"template_name": TEMPLATE.name, "extra_template_basedirs": [str(TEMPLATE.parent)]}
    exporter: Any = HTMLExporter(exclude_input=True, **settings)  # type: ignore[no-untyped-call]
    page, _ = exporter.from_notebook_node(executed, resources)
    return str(page)


def _base64_digest(text: str) -> str:
    """Return a script's digest as a page's policy states it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _name_pages(cells: Iterable[Any]) -> None:
    """Write the page's name and its parts, as titles and anchors, into each cell that begins a page.

    A page begins with a heading of the second order, whose first word is its name. It has a part
    for each heading of the third order, in its prose or in an output.
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
