"""`benchbook compare`: what changed between two runs beyond noise, ratios first."""

import argparse
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchbook import cli, paths
from benchbook.cli import output, sources

if TYPE_CHECKING:
    import pandas as pd

    from benchbook.evidence import Evidence


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

    from benchbook.evidence import changes

    output.report_damage()
    names = (asked.before, asked.after or str(paths.results()))
    before, after = (_run(name) for name in names)
    tables = {"ratio": changes.ratios(before, after), "value": changes.values(before, after)}
    rows = pd.concat([table.assign(kind=kind) for kind, table in tables.items()], ignore_index=True)
    if rows.empty:
        raise cli.UsageError(f"{names[0]} and {names[1]} have no cell in common")
    if asked.output:
        rows.to_csv(asked.output, index=False)
    if asked.json:
        print(output.as_json(json.loads(rows.to_json(orient="records"))))
        return cli.DONE
    for name, run in zip(names, (before, after), strict=True):
        print(f"{name}: {_about(run.means)}")
    for kind, table in tables.items():
        print(f"\n{_counted(kind, table)}")
        for row in (table if asked.all else changes.changed(table)).to_dict("records"):
            print(_line(row))
    return cli.DONE


def _run(name: str) -> "Evidence":
    """Return what a run measured."""
    from benchbook.evidence import Evidence
    from benchbook.evidence.runs import Run

    if name == paths.REFERENCE:
        return sources.committed().evidence
    if not Path(name).is_dir():
        raise cli.UsageError(
            f"{name}: there is no such folder; a run is a folder of results, or the word {paths.REFERENCE}"
        )
    means = Run.of_folder(Path(name)).means
    if means.empty or (means := _comparable(name, means)).empty:
        raise cli.NothingRanError(f"{name}: holds no finished cell that can be compared")
    return Evidence.of(means)


def _comparable(name: str, means: "pd.DataFrame") -> "pd.DataFrame":
    """Return the means whose study is installed here and whose parameters can be read; name the others on stderr."""
    from benchbook import studies

    kinds = means[["study", "parameters"]].drop_duplicates()
    unreadable = []
    for study, parameters in kinds.itertuples(index=False):
        if study not in studies.NAMES:
            unreadable.append(f"the study {study} is not installed here")
        elif not _is_object(parameters):
            unreadable.append(f"a cell of {study} has parameters that are no JSON object ({str(parameters)[:40]})")
        else:
            unreadable.append("")
    for reason in sorted({*unreadable} - {""}):
        print(f"benchbook: {name}: {reason}: left out", file=sys.stderr)
    return means.merge(kinds[[not reason for reason in unreadable]], on=["study", "parameters"])


def _is_object(parameters: object) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(json.loads(str(parameters)), dict)
    except ValueError:
        return False


def _about(means: "pd.DataFrame") -> str:
    """Return a run's machine, days and code in a line."""
    from benchbook.plots import provenance

    cells = provenance.environments(means)
    days = [f"{day:%Y-%m-%d}" for day in provenance.span(means)]
    known = provenance.software(means)
    parts = [provenance.distinct(cells, "cpu"), " to ".join(dict.fromkeys(days)), known.get("Python", ""),
             f"suite {known['suite'].partition(';')[0]}" if "suite" in known else ""]  # fmt: skip
    return ", ".join(filter(None, [*parts, f"{means['cell_id'].nunique()} cells"]))


def _counted(kind: str, table: "pd.DataFrame") -> str:
    from benchbook.evidence import changes

    unknown = int(table["p"].isna().sum())
    counts = (
        f"{len(table)} {kind}s that both have, {len(changes.changed(table))} changed beyond noise (Holm, 5 %, a study)"
    )
    return counts + (f"; of {unknown} nothing can be said: too few blocks, or no spread" if unknown else "")


def _line(row: Mapping[Any, Any]) -> str:
    from benchbook.digits import estimate, quantity

    unknown = row["change"] is None or math.isnan(row["change"])
    change = "no ratio" if unknown else f"{estimate(row['change'], row['low'], row['high'])} times"
    moved = " → ".join(quantity(row[name], row["unit"]) for name in ("before", "after"))
    return f"  {change:26} {row['study']}: {row['what']}; {moved}; {row['settings']}"
