"""From an executed notebook to one HTML file that refers to nothing outside itself."""

from pathlib import Path
from typing import Any, Final

import lxml.html
import nbformat
from lxml.html import HtmlElement, builder
from nbconvert import HTMLExporter

TEMPLATES: Final = Path(__file__).parent
LINKS_THAT_LOAD: Final = {"src", "srcset", "poster", "data"}


def html(notebook: Path, title: str) -> str:
    """Return the notebook's prose and outputs, code left out, as a page with a table of contents.

    Parameters
    ----------
    notebook
        An executed notebook.
    title
        Of the page.

    Raises
    ------
    ValueError
        When the page would load something from elsewhere.
    """
    settings = {"template_name": "template", "extra_template_basedirs": [str(TEMPLATES)], "exclude_input": True}
    exporter: Any = HTMLExporter(**settings)  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(nbformat.read(notebook, as_version=4))  # type: ignore[no-untyped-call]
    document = lxml.html.document_fromstring(body)
    for heading in document.iter("title"):
        heading.text = title
    _contents(document)
    if loaded := references(document):
        raise ValueError(f"the report would load {', '.join(loaded)}")
    return "<!DOCTYPE html>\n" + str(lxml.html.tostring(document, encoding="unicode"))


def references(document: HtmlElement) -> list[str]:
    """Return every address that a browser would fetch when it opens the page."""
    found = []
    for element in document.xpath("//*"):
        wanted = LINKS_THAT_LOAD | ({"href"} if element.tag in ("link", "image", "use") else set())
        found += [
            value for name, value in element.attrib.items() if name in wanted and not value.startswith(("data:", "#"))
        ]
        if element.tag == "style" and element.text and ("url(" in element.text or "@import" in element.text):
            found.append(element.text)
    return found


def _contents(document: HtmlElement) -> None:
    """Fill the table of contents from the headings, and take the headings' own anchors away."""
    for anchor in document.xpath("//a[@class='anchor-link']"):
        anchor.drop_tree()
    target = document.get_element_by_id("contents")
    for heading in document.xpath("//main//h2 | //main//h3"):
        entry = builder.A(heading.text_content(), href=f"#{heading.get('id')}")
        target.append(builder.LI(entry, {"class": heading.tag}))
