"""`benchbook compare`: what changed between two runs, ratios first."""

import argparse
import json
import sys
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook import cli, paths, studies
from benchbook.cli import output, selection
from benchbook.digits import estimate, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from benchbook.analysis import Analysis
    from benchbook.analysis.comparisons import Comparison


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    what = f"a folder of results, or the word {paths.REFERENCE}"
    parser.add_argument("before", metavar="A", nargs="?", default=paths.REFERENCE, help=f"{what} (the default)")
    parser.add_argument("after", metavar="B", nargs="?", help=f"{what}; this machine's results when it is not given")
    parser.add_argument("--all", action="store_true", help="what did not change, too")
    parser.add_argument("--json", action="store_true", help="an array of objects, all rows, and nothing else")
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help="write all rows to a file, too")


def main(asked: argparse.Namespace) -> int:
    """Compare what both have, and print it."""
    import pandas as pd  # here, for they are slow to import

    from benchbook.analysis import run_diff
    from benchbook.analysis.comparisons import Comparison
    from benchbook.results.spreadsheet import to_csv

    output.report_damage(values=True)
    names = (asked.before, asked.after or str(paths.results()))
    before, after = (_run(name) for name in names)
    tables = {"ratio": run_diff.ratios(before, after), "value": run_diff.values(before, after)}
    rows = pd.concat([table.assign(compared=kind) for kind, table in tables.items()], ignore_index=True)
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

    for name, run in zip(names, (before, after), strict=True):
        print(f"{name}: {_about(run.means)}")
    for kind, table in tables.items():
        changed, untested = run_diff.changed(table), int(table["p"].isna().sum())
        counts = f"{len(table)} {kind}s that both have, {len(changed)} changed (Holm's p below .01, in each study)"
        why = f"; {untested} could not be tested: too few blocks, or no spread" if untested else ""
        print(f"\n{counts}{why}")
        for row in Comparison.of(table if asked.all else changed):
            print(_line(row))
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
            f"{name}: there is no such folder; a run is a folder of results, or the word {paths.REFERENCE}"
        )
    means = Run.of_folder(Path(name)).means
    if means.empty or (means := _comparable(name, means)).empty:
        advice = ": benchbook run, or name two folders of results" if own else ""
        raise cli.NothingRanError(f"{name}: holds no finished cell that can be compared{advice}")
    return Analysis(means)


def _apart(study: str, differ: "Mapping[str, tuple[str, str]]", names: tuple[str, str]) -> str:
    """Return that no cell of a study is in both runs, and why."""
    why = "; ".join(
        f"{name} {first or 'not told'} in {names[0]}, {second or 'not told'} in {names[1]}"
        for name, (first, second) in differ.items()
    )
    return f"{study}: both ran it, and no cell is in both: {why}"


def _comparable(name: str, means: "pd.DataFrame") -> "pd.DataFrame":
    """Return the means whose study is installed here and whose parameters can be read; name the others on stderr."""
    kinds = means[["study", "parameters"]].drop_duplicates()
    reasons = [_unreadable(study, str(parameters)) for study, parameters in kinds.itertuples(index=False)]
    for reason in sorted({*reasons} - {""}):
        print(f"benchbook: {name}: {reason}: left out", file=sys.stderr)
    return means.merge(kinds[[not reason for reason in reasons]], on=["study", "parameters"])


def _unreadable(study: str, parameters: str) -> str:
    """Return why cells cannot be compared; empty when they can."""
    if study not in studies.NAMES:
        return f"the study {study} is not installed here"
    try:
        is_object = isinstance(json.loads(parameters), dict)
    except ValueError:
        is_object = False
    return "" if is_object else f"a cell of {study} has parameters that are no JSON object ({parameters[:40]})"


def _about(means: "pd.DataFrame") -> str:
    """Return a run's machine, days and code in a line."""
    from benchbook.plots import provenance

    cells = provenance.environments(means)
    days = [f"{day:%Y-%m-%d}" for day in provenance.span(means)]
    known = provenance.software(means)
    parts = [provenance.distinct(cells, "cpu"), " to ".join(dict.fromkeys(days)), known.get("Python", ""),
             provenance.measured_by(known.get("suite", "").partition(";")[0])]  # fmt: skip
    return ", ".join(filter(None, [*parts, f"{means['cell_id'].nunique()} cells"]))


def _line(row: "Comparison") -> str:
    """Return a change in a line: how many times as much, of what, from how much to how much."""
    ratio = "no ratio" if isnan(row.estimate) else f"{estimate(row.estimate, row.low, row.high)} times"
    amounts = " → ".join(quantity(value, row.unit) for value in (row.mean_b, row.mean_a))
    return f"  {ratio:26} {row.study}: {row.operation}, {row.metric} of the {row.role}; {amounts}; {row.label}"
