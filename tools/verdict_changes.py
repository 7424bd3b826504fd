"""Write in ``docs/verdicts.md`` what was changed after the data, and which verdicts it moved.

``python -m tools.verdict_changes COMMIT`` compares the reference run's verdicts with those of an
older commit. Each claim whose verdict differs must be named in ``data/claims/changes.csv``.
"""

import argparse
import csv
import io
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from benchbook import paths

PAGE: Final = Path("docs/verdicts.md")
CHANGES: Final = Path("data/claims/changes.csv")
VERDICT_FILE: Final = "figures/reference/claims.csv"
MARK: Final = "<!-- changes -->"

SCORES: Final = {"holds": 2, "mostly holds": 1, "does not hold": -2}
"""How much each verdict is for the paper; 0 for all others."""


def read_verdicts(text: str) -> dict[str, str]:
    """Return the verdict of each claim of a file of claims."""
    return {row["id"]: row["verdict"] for row in csv.DictReader(io.StringIO(text))}


def find_moves(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return each claim whose verdict differs, with the old and the new verdict."""
    moves = []
    for claim in dict.fromkeys([*before, *after]):
        old = before.get(claim, "no claim")
        new = after.get(claim, "no claim")
        if old != new:
            moves.append((claim, old, new))
    return moves


def name_direction(old: str, new: str) -> str:
    """Return whether a move is for the paper or against it."""
    gain = SCORES.get(new, 0) - SCORES.get(old, 0)
    if gain > 0:
        return "for"
    return "against" if gain < 0 else "neither"


def name_changes(claim: str, changes: list[dict[str, str]]) -> list[int]:
    """Return the numbers, from 1, of the changes that name a claim.

    Raises
    ------
    ValueError
        When none names it.
    """
    numbers = [
        number
        for number, change in enumerate(changes, 1)
        if any(fnmatchcase(claim, pattern) for pattern in change["claims"].split())
    ]
    # The first change names all claims: it is the reason only where no other is.
    specific = [number for number in numbers if changes[number - 1]["claims"] != "*"]
    if not numbers:
        raise ValueError(f"{CHANGES} does not name {claim}")
    return specific or numbers


def render(commit: str, before: dict[str, str], after: dict[str, str]) -> str:
    """Return the list of changes and of moved verdicts, in Markdown."""
    with (paths.root() / CHANGES).open(encoding="utf-8", newline="") as file:
        changes = [*csv.DictReader(file)]
    moves = find_moves(before, after)
    directions = [name_direction(old, new) for _, old, new in moves]
    counts = ", ".join(
        f"{directions.count(name)} {words}"
        for name, words in (
            ("for", "for the papers"),
            ("against", "against them"),
            ("neither", "neither way (such as out of the count)"),
        )
    )
    lines = [
        "## What was changed after the data",
        "",
        "Each change has its reason in the paper or in the rule, never in its outcome. It holds in "
        f"both directions. Verdicts that moved since `{commit}`: {counts}.",
        "",
        "| | date | change | reason |",
        "|--:|---|---|---|",
    ]
    for number, change in enumerate(changes, 1):
        lines.append(f"| {number} | {change['date']} | {change['change']} | {change['reason']} |")
    lines += ["", "| claim | before | after | the paper | change |", "|---|---|---|---|--:|"]
    for (claim, old, new), direction in zip(moves, directions, strict=True):
        numbers = ", ".join(map(str, name_changes(claim, changes)))
        lines.append(f"| {claim} | {old} | {new} | {direction} | {numbers} |")
    command = f"python -m tools.verdict_changes {commit}"
    return "\n".join([*lines, "", f"`{command}` writes this list from both files of verdicts."])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the commit of the older verdicts")
    commit = parser.parse_args().commit
    root = paths.root()
    shown = ["git", "show", f"{commit}:{VERDICT_FILE}"]
    older = subprocess.run(shown, cwd=root, check=True, capture_output=True, text=True).stdout
    newer = (root / VERDICT_FILE).read_text(encoding="utf-8")
    text = render(commit, read_verdicts(older), read_verdicts(newer))
    page = root / PAGE
    head = page.read_text(encoding="utf-8").partition(MARK)[0]
    page.write_text(f"{head}{MARK}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
