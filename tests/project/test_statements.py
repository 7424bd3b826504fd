"""The library stays small: a package that grows says who would miss what it grows by, and when."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "lib" / "benchbook"

MOST_STATEMENTS = {
    "analysis": 2829,
    "cli": 2769,
    "cluster": 483,
    "codecs": 806,
    "databases": 3738,
    "datasets": 339,
    "explorer": 1126,
    "files": 388,
    "grid": 1155,
    "measure": 457,
    "own_data": 2541,
    "papers": 1877,
    "plots": 1759,
    "registry": 240,
    "report": 1610,
    "results": 978,
    "runner": 1345,
    "servers": 1970,
    "sockets": 458,
    "studies": 2432,
    "text": 161,
    "top": 210,
}
"""The most statements (`ast.stmt`) of each package, ``top`` for the modules beside them.

A change that takes some away lowers its number. One that raises a number writes above it, in one
sentence, who would miss the new statements, and when.
"""


@cache
def count_statements() -> Counter[str]:
    """Return the number of statements of each package."""
    counts: Counter[str] = Counter()
    for module in LIBRARY.rglob("*.py"):
        package, *rest = module.relative_to(LIBRARY).parts
        tree = ast.parse(module.read_text(encoding="utf-8"))
        counts[package if rest else "top"] += sum(
            isinstance(node, ast.stmt) for node in ast.walk(tree)
        )
    return counts


@pytest.mark.parametrize("package", sorted({*MOST_STATEMENTS, *count_statements()}))
def test_a_package_has_no_more_statements_than_its_number(package: str) -> None:
    most, count = MOST_STATEMENTS.get(package, 0), count_statements()[package]
    assert count <= most, (
        f"{package} has {count - most} statements more: take some away, or raise its number with"
        " one sentence on who would miss them, and when"
    )
    assert count > most - 40, f"{package} has fewer now: lower its number to {count}"
