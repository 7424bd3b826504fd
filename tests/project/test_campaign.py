"""`make campaign` keeps what it measured, however it ends, and measures once a day."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from benchbook import grid, paths
from benchbook.cli.command import USAGE
from benchbook.measure.machine import read_processor
from benchbook.results.files import build_table
from benchbook.results.folder import open_results
from benchbook.results.schema import OBSERVATIONS
from checkout import ROOT
from constructed import MACHINE
from tools import campaign
from waiting import comes_true

BEGAN = datetime(2026, 11, 28, 10, 30, tzinfo=UTC)


@pytest.fixture
def campaigns(home: Path, results_folder: Path) -> Path:
    """Return the folder of campaigns of a working folder without any results."""
    folder = paths.reference().with_name("campaigns")
    folder.mkdir(parents=True)
    return folder


def write_result(cell: grid.Cell, minutes: int) -> str:
    """Write a finished cell that began some minutes after `BEGAN`; return its identity."""
    known = {"study": cell.study, "cell_id": cell.identity, "block": cell.block, "state": "done"}
    began = BEGAN + timedelta(minutes=minutes)
    times = {"cell_started_at": began, "cell_ended_at": began + timedelta(seconds=9)}
    value = pd.DataFrame([{"operation": "insert", "metric": "size", "value": 1.0, "unit": "B"}])
    columns = {**known, **times, **cell.parameters.as_columns()}
    open_results().write_cell(columns, build_table(value, OBSERVATIONS), cell.parameters.as_json())
    return cell.identity


def read_identities(path: Path | None) -> list[str]:
    assert path is not None
    return sorted(set(pq.read_table(path)["cell_id"].to_pylist()))


def test_new_cells_of_the_profile_are_kept_once_and_no_others(campaigns: Path):
    first, second, third, *_ = grid.make_plan(["bookstore"], campaign.PROFILE, ["n=1"]).cells
    of_smoke = grid.make_plan(["bookstore"], "smoke").cells[0]
    early = [write_result(first, 1), write_result(second, 0)]
    write_result(of_smoke, 2)
    path = campaign.keep_new_cells()
    assert path == campaigns / "2026-11-28T103000Z.parquet"
    assert read_identities(path) == sorted(early)

    assert campaign.keep_new_cells() is None, "all are in the file"
    assert [*campaigns.iterdir()] == [path]
    # A further machine's cell, or an interrupted campaign's.
    late = write_result(third, 60)
    assert read_identities(campaign.keep_new_cells()) == [late]


def test_a_campaign_that_is_stopped_keeps_its_cells_and_the_day_has_one(
    campaigns: Path, results_folder: Path
):
    command = [sys.executable, "-m", "tools.campaign", "5m"]
    options = ["bookstore", "--where", "n=1,10", "--where", "language=python", "--noisy"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(
        [*command, *options], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert comes_true(
        lambda: any(results_folder.glob("bookstore/*.parquet")) or running.poll() is not None
    )
    running.send_signal(signal.SIGTERM)
    printed, _ = running.communicate()
    assert running.returncode == 128 + signal.SIGTERM
    (path,) = campaigns.iterdir()
    kept = read_identities(path)
    assert kept == sorted(file.name.split(".")[0] for file in results_folder.glob("*/*.parquet"))
    assert f"in {path}" in printed

    again = subprocess.run([*command, *options], env=environment, capture_output=True, text=True)
    assert again.returncode == 0
    assert f"has one on this processor, {read_processor()}, in {path}" in again.stdout
    assert [*campaigns.iterdir()] == [path]


def test_another_date_or_processor_has_no_campaign(campaigns: Path):
    cell = grid.make_plan(["bookstore"], campaign.PROFILE, ["n=1"]).cells[0]
    write_result(cell, 0)
    path = campaign.keep_new_cells()
    assert path is not None
    table = pq.read_table(path)
    described = [f'{{"cpu": "{MACHINE["cpu"]}"}}'] * len(table)
    place = table.column_names.index("environment")
    pq.write_table(table.set_column(place, "environment", [described]), path)
    today = BEGAN.date()
    assert campaign.find_campaign(today, MACHINE["cpu"]) == path
    assert campaign.find_campaign(today, "another processor") is None
    assert campaign.find_campaign(today + timedelta(days=1), MACHINE["cpu"]) is None


def test_beside_another_run_a_campaign_ends_with_one_line(
    campaigns: Path, capfd: pytest.CaptureFixture[str]
):
    cell = grid.make_plan(["bookstore"], campaign.PROFILE, ["n=1"]).cells[0]
    write_result(cell, 0)
    assert campaign.keep_new_cells()
    with open_results().lock():
        status = campaign.main(["1m", "--again", "bookstore"])
    _, errors = capfd.readouterr()
    assert status == USAGE
    assert errors.startswith("benchbook: another run writes to ")
    assert errors.count("\n") == 1
