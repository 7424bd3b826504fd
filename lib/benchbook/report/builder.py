"""Build a profile's report, one page that loads nothing from elsewhere, unless nothing it depends on has changed.

Its drawings are pictures in the notebook, which may be opened anywhere, and SVG in the page's own colours in the page.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import benchbook
from benchbook import atomic, grid, paths, results, studies

if TYPE_CHECKING:  # an unchanged report is not to wait for imports
    from lxml.html import HtmlElement

NOTEBOOK: Final = "99_merged_metrics.ipynb"
PAGE: Final = "report.html"
STAMP: Final = "report.json"
Say = Callable[[str], object]
"""Is given what is done now, in a few words."""

_DRAWN: Final = 5
"""Figures after which it is said how many are drawn."""

LINKS_THAT_LOAD: Final = {"src", "srcset", "poster", "data"}

LETTER: Final = "DejaVuSans"
"""What the ids of letters' outlines begin with."""

_THEME: Final = {
    "#ffffff": "var(--paper)",
    "#1a1a1a": "var(--ink)",
    "#000000": "var(--ink)",
    "#6b6b6b": "var(--faint)",
    "#e4e4e4": "var(--grid)",
    "#e9eef3": "var(--tint)",
    "#e6e6e6": "var(--tint)",
    "#f1f1f1": "var(--tint)",
    "#0173b2": "var(--drawn-blue)",
    "#d55e00": "var(--drawn-vermilion)",
    "#029e73": "var(--drawn-green)",
}
"""Colours of `benchbook.plots.style` that a dark page has others for."""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What the page may do beside running its own script: have styles of its own, and pictures that are in it."""

_PICTURE: Final = "data:image/svg+xml;base64,"
"""How pictures begin that hold a drawing: where a notebook's outputs are not trusted, SVG is left out."""


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
        cells, own = grid.plan(studies.SLUGS, profile), grid.own()
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

    from benchbook.studies.levels import check_levels

    for result in results.finished(identities):
        try:
            # Levels are in the cell's columns; the values, which are most of a file, are not read.
            check_levels(pq.ParquetFile(result.path).read(columns=results.CELLS.names))
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
    for file in sorted([*sources, *code.rglob("*.py"), *code.rglob("*.j2")]):
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

    What stands before the first heading of the second order is the overview; each of those headings begins a page.

    Raises
    ------
    ReportError
        When the page would load something from elsewhere.
    """
    import lxml.html
    import nbformat
    from nbconvert import HTMLExporter

    settings = {"template_name": "template", "extra_template_basedirs": [str(Path(__file__).parent)]}
    exporter: Any = HTMLExporter(exclude_input=True, **settings)  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(nbformat.read(notebook, as_version=4))  # type: ignore[no-untyped-call]
    document = lxml.html.document_fromstring(body, parser=lxml.html.HTMLParser(huge_tree=True))
    for heading in document.iter("title"):
        heading.text = title
    _inline(document)
    _letters_once(document)
    _paginate(document)
    _allow_own_script_only(document)
    if loaded := references(document):
        raise ReportError(f"{notebook}: the page would load {', '.join(loaded)}")
    return "<!DOCTYPE html>\n" + str(lxml.html.tostring(document, encoding="unicode"))


def _inline(document: "HtmlElement") -> None:
    """Put drawings that take the page's colours in place of the pictures that the notebook shows."""
    import lxml.html

    for figure in document.find_class("drawn"):
        for picture in figure.iter("img"):
            svg = base64.b64decode(picture.get("src").removeprefix(_PICTURE)).decode()
            drawing = lxml.html.fragment_fromstring(inline(svg, figure.get("id")))
            picture.getparent().replace(picture, drawing)


def _letters_once(document: "HtmlElement") -> None:
    """Keep the outline of each letter, which every figure brings, once before all figures."""
    from lxml.html import builder

    shared: dict[str, HtmlElement] = {}
    for letter in document.xpath(f"//*[starts-with(@id, '{LETTER}')]"):
        letter.drop_tree()
        shared.setdefault(letter.get("id"), letter)
    hidden = {"width": "0", "height": "0", "style": "position:absolute", "aria-hidden": "true"}
    (main,) = document.iter("main")
    main.insert(0, builder.E.svg(builder.E.defs(*shared.values()), hidden))


def _allow_own_script_only(document: "HtmlElement") -> None:
    """Have browsers run the template's script, which is the page's last, and load and run nothing else."""
    from lxml.html import builder

    *_, script = document.iter("script")
    digest = base64.b64encode(hashlib.sha256(str(script.text).encode()).digest()).decode()
    policy = f"script-src 'sha256-{digest}'; {_POLICY}"
    (head,) = document.iter("head")
    head.insert(1, builder.META({"http-equiv": "Content-Security-Policy", "content": policy}))


def references(document: "HtmlElement") -> list[str]:
    """Return every address that a browser would fetch when it opens the page."""
    addresses = []
    for element in document.xpath("//*"):
        loading = LINKS_THAT_LOAD | {"href"} if element.tag in ("link", "image", "use") else LINKS_THAT_LOAD
        values = [value for name, value in element.attrib.items() if name in loading]
        addresses += [value for value in values if not value.startswith(("data:", "#"))]
        if element.tag == "style" and element.text and ("url(" in element.text or "@import" in element.text):
            addresses.append(element.text)
    return addresses


def _paginate(document: "HtmlElement") -> None:
    """Divide the page at its headings of the second order, and link each part and what it has."""
    from lxml.html import builder

    for anchor in document.xpath("//a[@class='anchor-link']"):
        anchor.drop_tree()
    (main,) = document.iter("main")
    view = builder.SECTION({"class": "view", "id": "overview"})
    views = [("Overview", view)]
    for element in main.xpath("*[not(self::svg)]"):
        if element.tag == "h2":
            name = re.split(r"\W", element.text_content())[0]
            view = builder.SECTION({"class": "view", "id": name.lower()})
            views.append((name, view))
        view.append(element)
    main.extend(view for _, view in views)
    pages = document.get_element_by_id("pages")
    pages.extend(builder.LI(builder.A(name, href=f"#{view.get('id')}")) for name, view in views)
    for name, view in views[1:]:
        titles = {part.get("id"): re.sub(rf"(: | of ){name}$", "", part.text_content()) for part in view.iter("h3")}
        parts = [builder.A(title, href=f"#{anchor}") for anchor, title in titles.items()]
        view.insert(1, builder.NAV({"class": "local", "aria-label": "On this page"}, *parts))
    for heading in main.xpath(".//h2 | .//h3 | .//h4"):
        heading.tag = f"h{int(heading.tag[1]) - 1}"  # each part is a page of its own


def picture(svg: str) -> str:
    """Return the address of a picture that holds a drawing."""
    return _PICTURE + base64.b64encode(svg.encode()).decode()


def inline(svg: str, name: str) -> str:
    """Return a drawing's SVG for a page: without what files need, with the page's colours, ids of its own.

    Parameters
    ----------
    svg
        As `benchbook.plots.exhibit.save` writes it.
    name
        The figure's, which its ids begin with; those of letters stay, for all figures share them.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<(metadata|title)>.*?</\1>|<!--.*?-->", "", body, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", body)
    body = re.sub(rf'(\bid="|url\(#|href="#)(?!{LETTER})', rf"\g<1>{name}-", body)
    for colour, variable in _THEME.items():
        body = body.replace(colour, variable)
    body = body.replace("xlink:href", "href").replace('xmlns:xlink="http://www.w3.org/1999/xlink" ', "")
    body = re.sub(
        r'<svg [^>]*?(viewBox="[^"]+")[^>]*>', r'<svg aria-hidden="true" focusable="false" \1>', body, count=1
    )
    return re.sub(r">\s+<", "><", body)
