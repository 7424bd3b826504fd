"""The answers about one of your files as a page: one HTML file that loads nothing and stays after a reload.

`benchbook ask` and `benchbook explore FILE` write it before, while and after they measure; it reloads itself meanwhile.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchbook import atomic, paths
from benchbook.datasets import own_records
from benchbook.explorer.asked import Asked
from benchbook.explorer.documents import QUESTIONS, describe_scope, field_rows
from benchbook.explorer.page import ASSETS
from benchbook.explorer.replies import Reply, write_csv

PAGES: Final = "documents"
"""The folder of these pages, beside that of the explorer."""

STYLE: Final = (ASSETS / "explorer.css").read_text(encoding="utf-8")

_TEMPLATES: Final = Environment(loader=FileSystemLoader(ASSETS), autoescape=True, undefined=StrictUndefined)

CARDS: Final[Any] = _TEMPLATES.get_template("cards.html.j2").module
"""The parts of what is shown: each escapes what it is given."""


@dataclass(frozen=True)
class Link:
    """A page of answers, as the explorer links to it."""

    name: str  # of the file
    href: str


def place(asked: Asked) -> Path:
    """Return the path of a file's page."""
    return paths.figures(PAGES) / f"{asked.name}.html"


def list_pages() -> list[Link]:
    """Return the pages there are, the newest first, with their addresses from the explorer's page."""
    pages = sorted(paths.figures(PAGES).glob("*.html"), key=lambda page: page.stat().st_mtime, reverse=True)
    return [Link(page.stem, f"../{PAGES}/{page.name}") for page in pages]


def write(asked: Asked, replies: Sequence[Reply], status: str, *, measuring: bool) -> Path:
    """Write a file's page and return its path.

    Parameters
    ----------
    asked
        What was asked of the file.
    replies
        The answers so far, in the order of the questions; those of which nothing ran are left out while it measures.
    status
        What the page says first, in a sentence.
    measuring
        Whether answers are still to come: the page then reloads itself.
    """
    known = own_records.understood(asked.file)
    shown = [reply for reply in replies if reply.findings or not measuring]
    page = _TEMPLATES.get_template("documents.html.j2").render(
        name=asked.name,
        style=STYLE,
        status=status,
        known=known,
        fields=field_rows(known),
        replies=shown,
        scope=describe_scope(asked.records, known.records, asked.blocks),
        text=write_text(shown),
        csv=write_csv(shown),
        next=[] if measuring else list_next(asked, shown),
        explorer=(paths.figures("explorer") / "index.html").is_file(),
        measuring=measuring,
    )
    path = place(asked)
    atomic.write(path, page)
    return path


def write_text(replies: Sequence[Reply]) -> str:
    """Return answers as text."""
    return "\n\n".join(reply.text for reply in replies)


def list_next(asked: Asked, replies: Sequence[Reply]) -> list[tuple[str, str]]:
    """Return the commands that would tell more, each with what it would tell."""
    file = shlex.quote(asked.file)
    commands = []
    for name in asked.questions:
        reply = next((reply for reply in replies if reply.question is QUESTIONS[name]), None)
        needed = {finding.operation: finding.blocks for finding in reply.findings if finding.blocks} if reply else {}
        if needed:
            blocks = max(needed.values())
            sizes = f"--records {asked.records} --blocks {blocks}"
            commands.append((f"benchbook ask {file} {name} {sizes}", f"would settle {', '.join(needed)}"))
    others = [name for name in QUESTIONS if name not in asked.questions]
    if others:
        commands.append((f"benchbook ask {file} {others[0]}", f"also answers: {QUESTIONS[others[0]].text}"))
    return commands
