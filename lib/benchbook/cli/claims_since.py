"""`benchbook claims --since VERSION`: which verdicts of the reference run changed, and why."""

import argparse
import csv
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from benchbook import paths
from benchbook.cli import output, selection
from benchbook.cli.command import DONE, UsageError
from benchbook.text.number_format import format_count, format_number
from benchbook.text.sentences import count_blocks
from benchbook.text.suggestions import suggest_name

COLUMNS: Final = (
    "id", "study", "verdict", "words", "kind", "estimate", "blocks", "machine_days", "says",
)  # fmt: skip
"""The fields of a verdict that the file of a released version has."""

NO_CLAIM: Final = {**dict.fromkeys(COLUMNS, ""), "verdict": "no claim"}
"""The row of a claim that a version does not have."""

ALL_CLAIMS: Final = "*"
"""The pattern of a change that covers every claim."""


def print_changes_since(options: argparse.Namespace) -> int:
    """Print the verdicts of the reference run that differ from those of a released version.

    Raises `benchbook.cli.command.UsageError` when no verdicts of that version are kept, or a
    selected study or claim does not exist.
    """
    # The verdicts then and now.
    before = _read_released_verdicts(options.since)
    verdicts = selection.load_reference().analysis.verdicts
    after = {one.id: {name: str(getattr(one, name)) for name in COLUMNS} for one in verdicts}
    rows = {**before, **after}

    # Those of the selected claims that differ.
    known = dict.fromkeys([*(row["study"] for row in rows.values()), *rows])
    output.check_names(options.claim, known, "no study and no claim", "benchbook claims lists them")
    names = {*options.claim} or {*known}
    changed = []
    for claim, row in rows.items():
        old, new = before.get(claim, NO_CLAIM), after.get(claim, NO_CLAIM)
        if {claim, row["study"]} & names and old["verdict"] != new["verdict"]:
            changed.append((row, old, new))

    # What was changed in the rule and in the claims meanwhile.
    with (paths.claims() / "changes.csv").open(encoding="utf-8", newline="") as file:
        changes = [*csv.DictReader(file)]
    released = next(iter(before.values()))["released"]
    changes = [change for change in changes if change["date"] > released]
    if options.json:
        listed = []
        for row, old, new in changed:
            reasons = _select_changes(changes, row["id"])
            listed.append({"id": row["id"], "before": old, "after": new, "changes": reasons})
        print(output.format_json(listed))
        return DONE
    count = format_count(len(changed), "verdict")
    print(f"{count} of the reference run changed since {options.since}.")
    for row, old, new in changed:
        print(f"\n{old['verdict']} -> {new['verdict']}: {row['says']}")
        about = [_write_change(change) for change in _select_changes(changes, row["id"])]
        lines = [*_describe_change(old, new), *about, row["id"]]
        print("\n".join(f"  {line}" for line in lines))
    of_all = [change for change in changes if change["claims"] == ALL_CLAIMS]
    if changed and of_all:
        print("\nChanged for all claims:")
        print("\n".join(f"  {_write_change(change)}" for change in of_all))
    return DONE


def _read_released_verdicts(version: str) -> dict[str, dict[str, str]]:
    """Return the rows of a version's verdicts, by the claim's id."""
    kept = {file.stem: file for file in sorted(paths.released_verdicts().glob("*.csv"))}
    if version not in kept:
        advice = suggest_name(version, kept)
        raise UsageError(f"--since {version}: no verdicts of it are kept: {advice}")
    with kept[version].open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def _describe_change(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the comparisons, ratio and blocks of a verdict that differ, one line each."""
    counts, blocks, ratios = [], [], []
    for row in (old, new):
        # A claim that was added or removed has nothing to compare.
        if not row["id"]:
            return []
        counts.append(row["words"])
        blocks.append(count_blocks(int(row["blocks"]), int(row["machine_days"])))
        if row["kind"] == "ratio":
            ratios.append(format_number(float(row["estimate"] or "nan")))
    described = {"comparisons": counts, "ratio": ratios, "measured": blocks}
    changes = []
    for name, texts in described.items():
        if len({*texts}) == 2:
            changes.append(f"{name}: {' -> '.join(texts)}")
    return changes


def _select_changes(changes: Iterable[dict[str, str]], claim: str) -> list[dict[str, str]]:
    """Return the changes that name a claim; one of all claims says nothing of a single one."""
    selected = []
    for change in changes:
        patterns = {*change["claims"].split()} - {ALL_CLAIMS}
        if any(fnmatchcase(claim, pattern) for pattern in patterns):
            selected += [change]
    return selected


def _write_change(change: Mapping[str, str]) -> str:
    return f"changed on {change['date']}: {change['change']} Why: {change['reason']}."
