"""The claims that the reference run's machine can answer: ``python -m tools.answerable README.md``.

The machine is described here, so that the table is the same wherever it is written.
"""

import sys
from pathlib import Path
from typing import Final

from benchbook.analysis.runs import read_reference_profile
from benchbook.registry import products
from benchbook.report.answerable_claims import (
    ClaimAnswers,
    Machine,
    ServerKey,
    find_answers,
    load_durations,
)
from benchbook.servers import launcher
from benchbook.studies import harness
from tools.pages import render_table

BEGIN: Final = "<!-- answerable: python -m tools.answerable README.md -->"
END: Final = "<!-- /answerable -->"

PROCESSORS: Final = 2
"""Of each machine of the reference run."""


def describe_machine() -> Machine:
    """Return the reference run's machine: root, all languages, and the servers of set-up."""
    servers: set[ServerKey] = set()
    for product in products.PRODUCTS:
        package = products.load_product(product).package
        if package and (package.wheels or package.artefact):
            for topology in launcher.list_topologies(product):
                servers |= {(product, topology, False), (product, topology, True)}
    return Machine(
        frozenset(servers),
        frozenset(harness.PROGRAMMING_LANGUAGES),
        PROCESSORS,
        has_namespaces=True,
        has_delay=False,
        has_containers=False,
    )


def find_reference_answers() -> ClaimAnswers:
    """Return the claims that the reference run's machine can answer with that run's profile."""
    return find_answers(read_reference_profile(), describe_machine(), load_durations())


def render_answers(answers: ClaimAnswers) -> str:
    """Return the answers in Markdown: the number of claims now, with each lever, and without."""
    columns = ["", "claims", "minutes per block"]
    rows = [[row[name] for name in columns] for row in answers.list_rows()]
    lines = render_table(columns, rows, ["---", "--:", "--:"])
    now = f"{len(answers.now.claims)} of the {answers.testable} testable claims"
    return "\n".join([f"It answers {now}. Each line adds to those above it.", "", *lines])


def rewrite_page(text: str) -> str:
    """Return a page with today's table between its two marks; raises `ValueError` without them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs {BEGIN!r} and {END!r}, a line each")
    return f"{before}{begin}\n{render_answers(find_reference_answers())}\n{end}{after}"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or ["README.md"]):
        file.write_text(rewrite_page(file.read_text(encoding="utf-8")), encoding="utf-8")
