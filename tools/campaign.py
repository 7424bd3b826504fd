"""Measure more blocks of the reference run, and keep them in ``figures/campaigns``.

``python -m tools.campaign BUDGET [--again] [OPTION...]`` imports the committed results, then runs
``benchbook run OPTION... --profile decide --until-decided`` for at most that time. However the run
ends, all finished cells that no committed file has are written into one file, named by when the
first of them began. The exit status is that of the run.

A machine-day needs one campaign: on a date and a processor that have one, nothing is measured,
unless ``--again`` says so.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import grid, paths
from benchbook.analysis.runs import REPETITIONS_FILE
from benchbook.grid.cells import list_result_keys
from benchbook.measure.machine import read_processor
from benchbook.report.run_files import write_parquet
from benchbook.results.schema import OBSERVATIONS
from benchbook.results.views import connect
from benchbook.studies.catalogue import SLUGS
from benchbook.text.number_format import format_count

PROFILE: Final = "decide"
_BENCHBOOK: Final = (sys.executable, "-m", "benchbook.cli")


def list_committed_files() -> list[str]:
    """Return the files with committed results: of the reference run, and of all campaigns."""
    files = [paths.reference() / REPETITIONS_FILE, *sorted(_find_folder().glob("*.parquet"))]
    return [str(file) for file in files if file.is_file()]


def find_campaign(day: date, processor: str) -> Path | None:
    """Return the file of a campaign with cells of a date (UTC) and a processor's model."""
    for file in sorted(_find_folder().glob("*.parquet")):
        cells = duckdb.read_parquet(str(file)).project("cell_started_at, environment").distinct()
        rows = cells.to_arrow_table().to_pylist()
        for row in rows:
            is_of_day = row["cell_started_at"].astimezone(UTC).date() == day
            if is_of_day and json.loads(row["environment"])["cpu"] == processor:
                return file
    return None


def measure(budget: str, options: Sequence[str]) -> int:
    """Run the campaign's cells, and return the run's exit status; a signal ends the run only."""
    command = [*_BENCHBOOK, "run", *options, "--profile", PROFILE, "--until-decided"]
    run = subprocess.Popen([*command, "--budget", budget])
    # A terminal sends Ctrl-C to both; other senders know this process only.
    signal.signal(signal.SIGINT, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: run.send_signal(number))
    return run.wait()


def keep_new_cells() -> Path | None:
    """Write the finished cells of the profile that no committed file has; None if all have one.

    Cells with files of a user's own are not in the profile.
    """
    keys = list_result_keys(grid.make_plan(SLUGS, PROFILE).cells)
    with connect(keys) as connection:
        connection.register("known", _list_known_cells())
        # By when they began: an imported cell may have got another block number.
        new = connection.sql(
            "SELECT * FROM observations WHERE (cell_id, cell_started_at) NOT IN "
            "(SELECT (cell_id, cell_started_at) FROM known) "
            "ORDER BY study, cell_id, block, operation, role, metric, repetition"
        ).to_arrow_table()
    if not new.num_rows:
        return None
    began: datetime = min(new["cell_started_at"].unique().to_pylist())
    folder = _find_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{began.astimezone(UTC):%Y-%m-%dT%H%M%SZ}.parquet"
    write_parquet(path, new)
    cells = new.select(["cell_id", "block"]).group_by(["cell_id", "block"]).aggregate([])
    print(f"campaign: {format_count(cells.num_rows, 'cell')} in {path}")
    return path


def _list_known_cells() -> pa.Table:
    """Return the cells of the committed files, each with when it began."""
    columns = ["cell_id", "cell_started_at"]
    parts = [pq.read_table(file, columns=columns) for file in list_committed_files()]
    none = pa.schema([OBSERVATIONS.field(name) for name in columns]).empty_table()
    return pa.concat_tables([none, *parts]).group_by(columns).aggregate([])


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    budget, *options = arguments
    today = datetime.now(UTC).date()
    done = find_campaign(today, read_processor())
    if done is not None and "--again" not in options:
        print(
            f"campaign: {today} has one on this processor, {read_processor()}, in {done}: "
            "make campaign MORE=--again measures more"
        )
        return 0
    committed = list_committed_files()
    if committed:
        status = subprocess.run([*_BENCHBOOK, "results", "import", *committed]).returncode
        if status:
            return status  # the import has said why
    status = measure(budget, [option for option in options if option != "--again"])
    if keep_new_cells() is None:
        print("campaign: no new cell is finished, so no file is written")
    return status


def _find_folder() -> Path:
    return paths.reference().with_name("campaigns")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
