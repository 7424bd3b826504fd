"""Write in ``docs/verdicts.md`` what was changed after the data, and which verdicts it moved.

``python -m tools.verdict_changes OLD JUDGED`` compares the reference run's verdicts of two commits
with the same data: each claim whose verdict differs must be named in ``data/claims/changes.csv``.
Then it lists the verdicts that moved since, with the blocks on which they rest, and those that
each machine-day moved.
"""

import argparse
import csv
import io
import subprocess
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeAlias

from benchbook import paths
from tools import verdict_days

PAGE: Final = Path("docs/verdicts.md")
CHANGES: Final = Path("data/claims/changes.csv")
VERDICT_FILE: Final = "figures/reference/claims.csv"
MARK: Final = "<!-- changes -->"

SCORES: Final = {"holds": 2, "mostly holds": 1, "does not hold": -2}
"""How much each verdict is for the paper; 0 for all others."""


Verdicts: TypeAlias = dict[str, dict[str, str]]
"""The rows of a file of claims, by the claim's id."""

NO_CLAIM: Final = {"verdict": "no claim", "blocks": "", "machine_days": ""}


def read_verdicts(text: str) -> Verdicts:
    """Return the claims of a file of claims."""
    return {row["id"]: row for row in csv.DictReader(io.StringIO(text))}


def find_moves(
    before: Verdicts, after: Verdicts
) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """Return each claim whose verdict differs, with its old and its new row."""
    moves = []
    for claim in dict.fromkeys([*before, *after]):
        old, new = before.get(claim, NO_CLAIM), after.get(claim, NO_CLAIM)
        if old["verdict"] != new["verdict"]:
            moves.append((claim, old, new))
    return moves


def name_direction(old: dict[str, str], new: dict[str, str]) -> str:
    """Return whether a move is for the paper or against it."""
    gain = SCORES.get(new["verdict"], 0) - SCORES.get(old["verdict"], 0)
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


def count_directions(moves: list[tuple[str, dict[str, str], dict[str, str]]]) -> str:
    """Return how many moves are for the papers, against them, and neither."""
    names = [name_direction(old, new) for _, old, new in moves]
    return (
        f"{names.count('for')} for the papers, {names.count('against')} against them, "
        f"{names.count('neither')} neither way"
    )


def render(before: Verdicts, judged: Verdicts, after: Verdicts, commits: Sequence[str]) -> str:
    """Return the list of changes and of moved verdicts, in Markdown."""
    with (paths.root() / CHANGES).open(encoding="utf-8", newline="") as file:
        changes = [*csv.DictReader(file)]
    by_rule, by_data = find_moves(before, judged), find_moves(judged, after)
    old_commit, judged_commit = commits
    lines = [
        "## What was changed after the data",
        "",
        "The verdicts were known when these changes were made. So each has its reason in the paper "
        "or in the rule. It holds for all claims that the reason covers, for the paper and against "
        "it.",
        "",
        f"<details><summary>{len(changes)} changes, each with its reason</summary>",
        "",
        "| no. | date | change | reason |",
        "|--:|---|---|---|",
    ]
    for number, change in enumerate(changes, 1):
        lines.append(f"| {number} | {change['date']} | {change['change']} | {change['reason']} |")
    lines += [
        "",
        "</details>",
        "",
        f"On the same data, from `{old_commit}` to `{judged_commit}`, they moved "
        f"{len(by_rule)} verdicts: {count_directions(by_rule)} (such as out of the count).",
        "",
        "<details><summary>the verdicts that they moved</summary>",
        "",
        "| claim | before | after | the paper | change |",
        "|---|---|---|---|--:|",
    ]
    for claim, old, new in by_rule:
        numbers = ", ".join(map(str, name_changes(claim, changes)))
        direction = name_direction(old, new)
        lines.append(f"| {claim} | {old['verdict']} | {new['verdict']} | {direction} | {numbers} |")
    lines += [
        "",
        "</details>",
        "",
        "### What was measured since",
        "",
        "`bookstore` and parts of `drivers` have a new design since 29 November: each side begins "
        "a process once. Blocks of before do not count for what this changes. `tcp` also runs "
        "with a processor each for client and server, and CouchDB with the paper's commit. So many "
        "comparisons have fewer blocks than before, and their claims are undecided until there "
        "are more. "
        f"Since `{judged_commit}` {len(by_data)} verdicts moved: {count_directions(by_data)}.",
        "",
        "<details><summary>the verdicts that moved since</summary>",
        "",
        "| claim | before | after | the paper | blocks / machine-days before | after |",
        "|---|---|---|---|--:|--:|",
    ]
    for claim, old, new in by_data:
        direction = name_direction(old, new)
        blocks = " | ".join(f"{row['blocks']} / {row['machine_days']}" for row in (old, new))
        lines.append(f"| {claim} | {old['verdict']} | {new['verdict']} | {direction} | {blocks} |")
    command = f"python -m tools.verdict_changes {old_commit} {judged_commit}"
    source = f"`{command}` writes these lists from the files of verdicts and of block means."
    return "\n".join([*lines, "", "</details>", "", *verdict_days.render(), source])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="the commit of the older verdicts")
    parser.add_argument("judged", help="the commit of the changed verdicts on the same data")
    options = parser.parse_args()
    commits = options.old, options.judged
    root = paths.root()
    files = []
    for commit in commits:
        shown = ["git", "show", f"{commit}:{VERDICT_FILE}"]
        files.append(subprocess.run(shown, cwd=root, check=True, capture_output=True, text=True))
    before, judged = (read_verdicts(file.stdout) for file in files)
    after = read_verdicts((root / VERDICT_FILE).read_text(encoding="utf-8"))
    page = root / PAGE
    head = page.read_text(encoding="utf-8").partition(MARK)[0]
    text = render(before, judged, after, commits)
    page.write_text(f"{head}{MARK}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
