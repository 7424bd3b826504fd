"""`benchbook compare`: which verdicts and ratios changed between two runs."""

import argparse
import json
import sys
from collections.abc import Sequence
from math import inf, isnan
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import paths
from benchbook.analysis import run_diff
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import Analysis, load_folder_means
from benchbook.cli import output, selection
from benchbook.cli.command import DONE, FAILED, NoResultsError, UsageError
from benchbook.plots import provenance
from benchbook.results.views import format_csv
from benchbook.studies.catalogue import STUDIES
from benchbook.text.names import name_metric, write_settings
from benchbook.text.number_format import format_count, format_number, format_quantity

MAX_LISTED: Final = 6
"""How many changes of a kind are listed without ``--all``."""

DURATION_METRICS: Final = frozenset(
    {"wall_time", "elapsed_time", "cpu_time", "catch_up_time", "time_per_item"}
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = f"a folder of results, or the word {paths.REFERENCE}"
    parser.add_argument(
        "before", metavar="A", nargs="?", default=paths.REFERENCE, help=f"{text} (the default)"
    )
    parser.add_argument(
        "after", metavar="B", nargs="?", help=f"{text} (default: this machine's results)"
    )
    text = "list the times and sizes that changed, too; they depend on the machine"
    parser.add_argument("--times", action="store_true", help=text)
    text = f"list everything, and not only the {MAX_LISTED} largest changes"
    parser.add_argument("--all", action="store_true", help=text)
    text = "print all rows as one array of objects, and nothing else"
    parser.add_argument("--json", action="store_true", help=text)
    text = "end with status 1 when a time grew by more than this factor, such as 1.10"
    parser.add_argument("--fail-above", type=parse_factor, metavar="F", help=text)
    text = "write all rows to a file, too"
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help=text)


def parse_factor(text: str) -> float:
    """Return a factor by which a time may grow, of a number from 1 on."""
    factor = float(text)
    if not 1 <= factor < inf:
        raise argparse.ArgumentTypeError(f"must be at least 1, such as 1.10 (got {text})")
    return factor


def main(options: argparse.Namespace) -> int:
    """Compare what both runs have, and print the changes, verdicts first.

    Raises `benchbook.cli.command.NoResultsError` when ``--fail-above`` can test no time.
    """
    # What both have.
    output.report_damage(values=True)
    names = (options.before, options.after or str(paths.results()))
    before, after = (_load_analysis(name) for name in names)
    ratios, values = run_diff.compare_ratios(before, after), run_diff.compare_values(before, after)
    rows = Comparison.to_frame([*ratios, *values])
    rows["compared"] = ["ratio"] * len(ratios) + ["value"] * len(values)
    different_studies = []
    for study, levels in run_diff.find_disjoint_studies(before, after).items():
        reasons = []
        for name, (first, second) in levels.items():
            here, there = first or "not stated", second or "not stated"
            reasons.append(f"{name} {here} in {names[0]}, {there} in {names[1]}")
        different_studies.append(f"{study}: the runs have no cell in common: {'; '.join(reasons)}")
    if rows.empty:
        reason = f"{names[0]} and {names[1]} have no cell in common"
        raise UsageError(": ".join([reason, *different_studies]))
    for line in different_studies:
        print(f"benchbook: {line}", file=sys.stderr)
    if options.output:
        options.output.write_text(format_csv(rows), encoding="utf-8")
        options.written.append(options.output)
    if options.json:
        print(output.format_json(json.loads(rows.to_json(orient="records"))))
        return _check_times(values, options.fail_above) if options.fail_above else DONE

    # Verdicts, then ratios, then times and sizes.
    most = len(rows) if options.all else MAX_LISTED
    print_verdicts(before, after, most)
    print()
    _print_changes("ratios", ratios, most)
    print()
    if options.times:
        _print_changes("times and sizes", values, most)
    else:
        counts = f"{len(run_diff.select_changes(values))} of {len(values)} changed"
        print(f"Times and sizes: {counts}; --times lists them. They depend on the machine.")
    print()
    print(f"Before: {names[0]}: {_describe_run(before.means)}")
    print(f"After: {names[1]}: {_describe_run(after.means)}")
    return _check_times(values, options.fail_above) if options.fail_above else DONE


def _check_times(values: Sequence[Comparison], factor: float) -> int:
    """Print on stderr which times grew by more than a factor, and return the exit status.

    Such a time has its whole interval above the factor.
    """
    times = [row for row in values if row.metric in DURATION_METRICS]
    # The end of an interval that does not exist is NaN, which is not above 0.
    tested = [row for row in times if row.low > 0]
    if not tested:
        reason = "no time has an interval, which needs five blocks in both runs"
        raise NoResultsError(f"--fail-above {factor:g}: {reason}")
    slower = [row for row in tested if row.low > factor]
    count = format_count(len(tested), "time")
    print(f"Above {factor:g}: {len(slower)} of {count} with an interval.", file=sys.stderr)
    for row in slower:
        estimate, about = _describe_change(row)
        interval = f"99 % interval {format_number(row.low)} to {format_number(row.high)}"
        print(f"  {estimate} ({interval})  {about}", file=sys.stderr)
    return FAILED if slower else DONE


def _load_analysis(name: str) -> Analysis:
    """Return the analysis of a run that can be compared: a folder's or the reference run."""
    if name == paths.REFERENCE:
        return selection.load_reference().analysis
    is_own = Path(name) == paths.results()  # which the first run makes
    if not Path(name).is_dir() and not is_own:
        advice = f"name a folder of results, or the word {paths.REFERENCE}"
        raise UsageError(f"{name}: there is no such folder: {advice}")
    means = load_folder_means(Path(name))
    unknown = sorted({*means["study"].unique()} - {*STUDIES})
    for study in unknown:
        reason = f"the study {study} is not installed here"
        print(f"benchbook: {name}: {reason}: left out", file=sys.stderr)
    means = means[~means["study"].isin(unknown)]
    if means.empty:
        advice = ": benchbook run, or name two folders of results" if is_own else ""
        raise NoResultsError(f"{name}: has no finished cell that can be compared{advice}")
    return Analysis(means)


def _describe_run(means: pd.DataFrame) -> str:
    """Return a run's machine, days, code and number of cells on one line."""
    cells = provenance.list_environments(means)
    days = [f"{day:%Y-%m-%d}" for day in provenance.find_time_span(means)]
    software = provenance.list_software(means)
    suite = software.get("suite", "").partition(";")[0]
    parts = [
        provenance.join_distinct(cells, "cpu"),
        " to ".join(dict.fromkeys(days)),
        software.get("Python", ""),
        provenance.describe_suites(suite),
        f"{means['cell_id'].nunique()} cells",
    ]
    return ", ".join(filter(None, parts))


def print_verdicts(before: Analysis, after: Analysis, most: int) -> None:
    """Print which verdicts on claims that ran in both runs changed, and from what to what.

    Parameters
    ----------
    before, after
        The runs, judged by the same claims.
    most
        The number of changes that are listed.
    """
    # Only claims that ran in both runs can have changed.
    changed = []
    in_both = in_one = 0
    for first, second in zip(before.verdicts, after.verdicts, strict=True):
        ran = [not isnan(verdict.estimate) for verdict in (first, second)]
        if all(ran):
            in_both += 1
            if first.verdict != second.verdict:
                changed.append((first, second))
        elif any(ran):
            in_one += 1

    only_one = f"; {format_count(in_one, 'claim')} ran in only one run" if in_one else ""
    print(f"Verdicts: {len(changed)} of {format_count(in_both, 'claim')} changed{only_one}.")
    for first, second in changed[:most]:
        print(f"  {first.verdict} -> {second.verdict}: {second.says.rstrip('.')}")
        numbers = ""
        if first.kind == "ratio":
            numbers = f"{format_number(first.estimate)} -> {format_number(second.estimate)}"
        counts = f"{first.words} -> {second.words}"
        print(f"    {' | '.join(filter(None, [numbers, counts, second.id]))}")
    _print_rest(len(changed), most)


def _print_changes(name: str, rows: Sequence[Comparison], most: int) -> None:
    """Print which ratios or values changed beyond noise, the largest changes first."""
    changed = run_diff.select_changes(rows)
    listed = [row for row in changed if _format_factor(row) != format_number(1.0)]
    counts = [f"{len(changed)} of {len(rows)} changed beyond noise"]
    if len(listed) < len(changed):
        counts.append(f"{len(changed) - len(listed)} of them by less than 1 %")
    untested = sum(isnan(row.p) for row in rows)
    if untested:
        counts.append(f"{untested} have too few blocks to tell")
    print(f"{name.capitalize()}: {', '.join(counts)}.")
    lines = [_describe_change(row) for row in listed[:most]]
    if lines:
        width = max(len(factor) for factor, _ in lines)
        print("\n".join(f"  {factor.ljust(width)}  {about}" for factor, about in lines))
    _print_rest(len(listed), most)


def _print_rest(count: int, most: int) -> None:
    if count > most:
        print(f"  ... and {count - most} more: --all lists them")


def _format_factor(row: Comparison) -> str:
    """Return by which factor, above 1, a value changed."""
    return format_number(max(row.estimate, 1 / row.estimate)) if row.estimate > 0 else "–"


def _describe_change(row: Comparison) -> tuple[str, str]:
    """Return the factor of a change, and what changed from how much to how much."""
    less, more = ("faster", "slower") if row.metric in DURATION_METRICS else ("less", "more")
    factor = f"{_format_factor(row)} times {less if row.estimate < 1 else more}"
    name = (
        f"{row.study} {row.operation.replace('_', ' ')} {name_metric(row.metric)} of the {row.role}"
    )
    amounts = " -> ".join(format_quantity(value, row.unit) for value in (row.mean_b, row.mean_a))
    return (
        factor,
        f"{name}: {amounts} | {write_settings(row.label)}",
    )
