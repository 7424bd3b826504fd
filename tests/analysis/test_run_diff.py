"""Two runs compared: what did not change is not named, and what did is."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from benchbook import cli
from benchbook.analysis import run_diff
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import MEANS_FILE, Analysis
from benchbook.cli import compare
from benchbook.cli.command import DONE, FAILED, NOTHING_RUNS, USAGE
from benchbook.results import files


@pytest.fixture(scope="module")
def means(committed: Analysis) -> pd.DataFrame:
    """The block means of two studies of the reference run."""
    means = committed.means
    return means[means["study"].isin(["bookstore", "tcp"])]


@pytest.fixture(scope="module")
def run(means: pd.DataFrame) -> Analysis:
    return Analysis(means)


def slower(means: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Return the run with XML's round trip slower in one cell."""
    wanted = {
        "case": 2,
        "n": 1000,
        "language": "python",
        "cell_arm": "a",
        "process": "together",
        "keys": "paper",
    }
    cell = (means[[*wanted]] == pd.Series(wanted)).all(axis=1) & (means["format"] == "xml")
    of_it = cell & (means["study"] == "bookstore") & (means["operation"] == "round_trip")
    of_it &= means["metric"] == "wall_time"
    assert of_it.any()
    return means.assign(
        **{name: means[name].where(~of_it, means[name] * factor) for name in ("value", "at_least")}
    )


def test_the_same_run_has_not_changed(run: Analysis) -> None:
    for rows in (run_diff.compare_ratios(run, run), run_diff.compare_values(run, run)):
        assert len(rows) > 100 and run_diff.select_changes(rows) == []
        assert [row.estimate for row in rows] == pytest.approx([1] * len(rows))
        assert sum(not isnan(row.p) for row in rows) > 100


@pytest.mark.parametrize(
    ("compared", "factor"), [(run_diff.compare_ratios, 2), (run_diff.compare_values, 5)]
)
def test_what_got_slower_is_named_and_nothing_else(
    run: Analysis, means: pd.DataFrame, compared: Any, factor: float
) -> None:
    rows = compared(run, Analysis(slower(means, factor)))
    (row,) = run_diff.select_changes(rows)
    about = [row.study, row.operation, row.role, row.metric]
    assert about == ["bookstore", "round_trip", "client", "wall_time"]
    assert "case 2" in row.label and "n 1000" in row.label
    assert row.estimate == pytest.approx(factor, rel=1e-3) and row.low < factor < row.high
    assert row.mean_a / row.mean_b == pytest.approx(factor, rel=1e-3)
    assert rows[0].label == row.label, "the largest change comes first"


def write_run(folder: Path, means: pd.DataFrame) -> str:
    """Write block means into a new folder, and return its name."""
    folder.mkdir()
    table = pa.Table.from_pandas(means.drop(columns=["begun", "machine_day"]))
    files.write_table(folder / MEANS_FILE, table)
    return str(folder)


@pytest.fixture(scope="module")
def folders(means: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Yield two runs: in the second, XML's round trip takes five times as long in one cell.

    Many commands compare them: each run is read and judged once, and each two are compared once.
    """
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "_load_analysis", cache(compare._load_analysis))
        for name in ("compare_ratios", "compare_values"):
            patch.setattr(run_diff, name, cache(getattr(run_diff, name)))
        runs = {"before": means, "after": slower(means, 5.0)}
        yield [write_run(folder / name, run) for name, run in runs.items()]


def test_the_command_says_in_words_what_changed_and_writes_every_row(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *folders, "--output", str(tmp_path / "rows.csv")]) == DONE
    verdicts, ratios, times, runs = capsys.readouterr().out.split("\n\n")
    assert verdicts.startswith("Verdicts: ") and re.match(
        r"Ratios: 1 of \d+ changed beyond noise, ", ratios
    )
    assert re.search(
        r"^  5\.00 times slower  bookstore round trip time of the client: ",
        ratios,
        re.MULTILINE,
    )
    assert "case 2" in ratios and "n 1000" in ratios
    assert re.fullmatch(r"Times and sizes: 1 of \d+ changed; --times lists them\. .*", times)
    assert runs.startswith("Before: ") and "\nAfter: " in runs
    assert cli.main(["compare", *folders, "--times"]) == DONE
    assert capsys.readouterr().out.count(" times slower  ") == 2, "the ratio and the time"
    assert cli.main(["compare", *folders, "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)
    assert {row["compared"] for row in rows} == {"ratio", "value"}
    assert len(rows) == len(pd.read_csv(tmp_path / "rows.csv"))


def test_a_time_that_grew_by_more_than_a_factor_fails_the_command(
    folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *folders, "--fail-above", "1.1"]) == FAILED
    first, *times = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"Above 1\.1: 1 of \d+ times with an interval\.", first)
    (grown,) = times
    assert grown.startswith("  5.00 times slower (99 % interval ")
    assert "bookstore round trip time of the client" in grown and "case 2" in grown
    # Above the factor that it grew by, in the other order, and as JSON.
    assert cli.main(["compare", *folders, "--fail-above", "50"]) == DONE
    assert cli.main(["compare", *reversed(folders), "--fail-above", "1.1"]) == DONE
    assert cli.main(["compare", *folders, "--json", "--fail-above", "1.1"]) == FAILED
    assert cli.main(["compare", *folders, "--fail-above", "0.9"]) == USAGE
    assert "must be at least 1" in capsys.readouterr().err


def test_a_check_of_times_that_could_test_none_is_not_passed(
    folders: list[str],
    means: pd.DataFrame,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = write_run(tmp_path / "few", means[means["block"] < 2])
    assert cli.main(["compare", folders[0], few, "--fail-above", "1.1"]) == NOTHING_RUNS
    assert "needs five blocks" in capsys.readouterr().err


def test_verdicts_that_changed_come_first_with_what_they_were(
    folders: list[str],
    means: pd.DataFrame,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    faster = (
        (means["study"] == "bookstore")
        & (means["format"] == "xml")
        & (means["metric"] == "wall_time")
    )
    table = means.assign(
        **{name: means[name].where(~faster, means[name] / 20) for name in ("value", "at_least")}
    )
    after = write_run(tmp_path / "faster", table)
    assert cli.main(["compare", folders[0], after]) == DONE
    first, change, counts, *_ = capsys.readouterr().out.splitlines()
    assert re.match(r"Verdicts: [1-9]\d* of \d+ claims changed", first)
    assert change.startswith(
        "  mostly holds -> does not hold: XML takes longer than JSON to be marshalled"
    )
    assert (
        counts.endswith(" | bookstore.round-trip.xml-slower")
        and "8 of 10 for, 2 open -> the opposite; 0 of 10" in counts
    )


def test_a_change_that_rounds_to_nothing_is_counted_and_not_listed(
    folders: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = run_diff.compare_ratios

    def change_little(*runs: Analysis) -> list[Comparison]:
        return [replace(row, estimate=1.004, p_holm=0.001) for row in real(*runs)]

    monkeypatch.setattr(run_diff, "compare_ratios", change_little)
    assert cli.main(["compare", *folders]) == DONE
    ratios = capsys.readouterr().out.split("\n\n")[1]
    (count,) = re.findall(r"(\d+) of them by less than 1 %", ratios)
    assert int(count) > 100 and ratios.count("\n") == 0


def test_the_command_says_what_it_cannot_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", "refrence", str(tmp_path)]) == USAGE
    assert "refrence: there is no such folder" in capsys.readouterr().err
    assert cli.main(["compare", "reference", str(tmp_path)]) == NOTHING_RUNS
    assert "has no finished cell that can be compared" in capsys.readouterr().err
