"""`benchbook compare`: which verdicts and ratios changed between two runs."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchbook import cli, paths, studies
from benchbook.cli import output, selection
from benchbook.digits import number, plural, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from benchbook.analysis import Analysis
    from benchbook.analysis.comparisons import Comparison
    from benchbook.analysis.verdicts import ClaimVerdict

SHOWN: Final = 6
"""How many changes of a kind are listed, unless all are asked for."""

_TIMES: Final = frozenset({"wall_time", "elapsed_time", "cpu_time", "catch_up_time", "time_per_item"})


@dataclass(frozen=True)
class VerdictChanges:
    """How the verdicts of two runs differ."""

    changed: "Sequence[tuple[ClaimVerdict, ClaimVerdict]]"  # of claims that ran in both
    judged: int  # how many claims ran in both
    in_one: int  # how many ran in one alone


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    what = f"a folder of results, or the word {paths.REFERENCE}"
    parser.add_argument("before", metavar="A", nargs="?", default=paths.REFERENCE, help=f"{what} (the default)")
    parser.add_argument("after", metavar="B", nargs="?", help=f"{what} (default: this machine's results)")
    text = "list the times and sizes that changed, too; they depend on the machine"
    parser.add_argument("--times", action="store_true", help=text)
    parser.add_argument("--all", action="store_true", help=f"list everything, and not only the {SHOWN} largest changes")
    parser.add_argument("--json", action="store_true", help="print all rows as one array of objects, and nothing else")
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help="write all rows to a file, too")


def main(asked: argparse.Namespace) -> int:
    """Compare what both have, and print it: verdicts first."""
    import pandas as pd  # here, for they are slow to import

    from benchbook.analysis import run_diff
    from benchbook.results.spreadsheet import to_csv

    # What both have.
    output.report_damage(values=True)
    names = (asked.before, asked.after or str(paths.results()))
    before, after = (_run(name) for name in names)
    ratios, values = run_diff.ratios(before, after), run_diff.values(before, after)
    rows = pd.concat([ratios.assign(compared="ratio"), values.assign(compared="value")], ignore_index=True)
    apart = [_apart(study, differ, names) for study, differ in run_diff.apart(before, after).items()]
    if rows.empty:
        raise cli.UsageError(": ".join([f"{names[0]} and {names[1]} have no cell in common", *apart]))
    for line in apart:
        print(f"benchbook: {line}", file=sys.stderr)
    if asked.output:
        asked.output.write_text(to_csv(rows), encoding="utf-8")
    if asked.json:
        print(output.as_json(json.loads(rows.to_json(orient="records"))))
        return cli.DONE

    # Verdicts, then ratios, then times and sizes.
    most = len(rows) if asked.all else SHOWN
    _print_verdicts(_changed_verdicts(before, after), most)
    print()
    _print_changes("ratios", ratios, most)
    print()
    if asked.times:
        _print_changes("times and sizes", values, most)
    else:
        changed = len(run_diff.changed(values))
        print(f"Times and sizes: {changed} of {len(values)} changed; --times lists them. They depend on the machine.")
    print()
    print(f"Before: {names[0]}: {_about(before.means)}")
    print(f"After: {names[1]}: {_about(after.means)}")
    return cli.DONE


def _run(name: str) -> "Analysis":
    """Return what a run measured."""
    from benchbook.analysis import Analysis
    from benchbook.analysis.runs import Run

    if name == paths.REFERENCE:
        return selection.committed().analysis
    own = Path(name) == paths.results()  # which the first run makes
    if not Path(name).is_dir() and not own:
        raise cli.UsageError(
            f"{name}: there is no such folder: name a folder of results, or the word {paths.REFERENCE}"
        )
    means = Run.of_folder(Path(name)).means
    if means.empty or (means := _comparable(name, means)).empty:
        advice = ": benchbook run, or name two folders of results" if own else ""
        raise cli.NothingRanError(f"{name}: has no finished cell that can be compared{advice}")
    return Analysis(means)


def _apart(study: str, differ: "Mapping[str, tuple[str, str]]", names: tuple[str, str]) -> str:
    """Return that no cell of a study is in both runs, and why."""
    why = "; ".join(
        f"{name} {first or 'not stated'} in {names[0]}, {second or 'not stated'} in {names[1]}"
        for name, (first, second) in differ.items()
    )
    return f"{study}: the runs have no cell in common: {why}"


def _comparable(name: str, means: "pd.DataFrame") -> "pd.DataFrame":
    """Return the means whose study is installed here; name the others on stderr."""
    missing = sorted({*means["study"].unique()} - {*studies.NAMES})
    for study in missing:
        print(f"benchbook: {name}: the study {study} is not installed here: left out", file=sys.stderr)
    return means[~means["study"].isin(missing)]


def _about(means: "pd.DataFrame") -> str:
    """Return a run's machine, days and code in a line."""
    from benchbook.plots import provenance

    cells = provenance.environments(means)
    days = [f"{day:%Y-%m-%d}" for day in provenance.span(means)]
    known = provenance.software(means)
    parts = [provenance.distinct(cells, "cpu"), " to ".join(dict.fromkeys(days)), known.get("Python", ""),
             provenance.measured_by(known.get("suite", "").partition(";")[0])]  # fmt: skip
    return ", ".join(filter(None, [*parts, f"{means['cell_id'].nunique()} cells"]))


def _changed_verdicts(before: "Analysis", after: "Analysis") -> VerdictChanges:
    """Return how the verdicts on the papers' claims differ."""
    from benchbook.analysis.verdicts import ClaimVerdict  # here, for it is slow to import

    changed = []
    judged = in_one = 0
    for first, second in zip(*(ClaimVerdict.of(run.verdicts) for run in (before, after)), strict=True):
        ran = [not isnan(verdict.estimate) for verdict in (first, second)]
        if all(ran):
            judged += 1
            changed += [(first, second)] if first.verdict != second.verdict else []
        elif any(ran):
            in_one += 1
    return VerdictChanges(changed, judged, in_one)


def _print_verdicts(changes: VerdictChanges, most: int) -> None:
    """Print which verdicts changed, from what to what."""
    found = changes.changed
    others = f"; {plural(changes.in_one, 'claim')} ran in one run alone" if changes.in_one else ""
    print(f"Verdicts: {len(found)} of {plural(changes.judged, 'claim')} changed{others}.")
    for first, second in found[:most]:
        print(f"  {first.verdict} -> {second.verdict}: {second.says.rstrip('.')}")
        numbers = f"{number(first.estimate)} -> {number(second.estimate)}" if first.kind == "ratio" else ""
        counts = f"{first.words} -> {second.words}"
        print(f"    {' | '.join(filter(None, [numbers, counts, second.id]))}")
    _print_rest(len(found), most)


def _print_changes(what: str, table: "pd.DataFrame", most: int) -> None:
    """Print which ratios or values changed beyond noise, the largest changes first."""
    from benchbook.analysis import run_diff  # here, for they are slow to import
    from benchbook.analysis.comparisons import Comparison

    changed = list(Comparison.of(run_diff.changed(table)))
    listed = [row for row in changed if _times(row) != number(1.0)]
    counts = [f"{len(changed)} of {len(table)} changed beyond noise"]
    if len(listed) < len(changed):
        counts.append(f"{len(changed) - len(listed)} of them by less than 1 %")
    untested = int(table["p"].isna().sum())
    if untested:
        counts.append(f"{untested} have too few blocks to tell")
    print(f"{what.capitalize()}: {', '.join(counts)}.")
    rows = [_change(row) for row in listed[:most]]
    if rows:
        width = max(len(words) for words, _ in rows)
        print("\n".join(f"  {words.ljust(width)}  {about}" for words, about in rows))
    _print_rest(len(listed), most)


def _print_rest(count: int, most: int) -> None:
    if count > most:
        print(f"  ... and {count - most} more: --all lists them")


def _times(row: "Comparison") -> str:
    """Return how many times as much, or as little, there is now."""
    return number(max(row.estimate, 1 / row.estimate)) if row.estimate > 0 else "–"


def _change(row: "Comparison") -> tuple[str, str]:
    """Return a change in words, and what changed from how much to how much."""
    less, more = ("faster", "slower") if row.metric in _TIMES else ("less", "more")
    what = f"{row.study} {row.operation} {row.metric} of the {row.role}".replace("_", " ")
    amounts = " -> ".join(quantity(value, row.unit) for value in (row.mean_b, row.mean_a))
    return f"{_times(row)} times {less if row.estimate < 1 else more}", f"{what}: {amounts} | {row.label}"
