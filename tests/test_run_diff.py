"""Two runs compared: what did not change is not named, and what did is."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from benchbook import cli
from benchbook.analysis import Analysis, reference, run_diff
from benchbook.analysis.runs import Run
from benchbook.results import files


@pytest.fixture(scope="module")
def means() -> pd.DataFrame:
    """The block means of two studies of the reference run."""
    means = Run.of_reference().means
    return means[means["study"].isin(["bookstore", "tcp"])]


@pytest.fixture(scope="module")
def run(means: pd.DataFrame) -> Analysis:
    return Analysis(means)


def slower(means: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Return the run with XML's round trip slower in one cell."""
    marks = ('"case": 2', '"n": 1000,', '"lane": "python"', '"arm": "a"', '"process": "together"', '"keys": "paper"')
    cell = means["parameters"].map(lambda text: all(mark in text for mark in marks)) & (means["format"] == "xml")
    of_it = cell & (means["study"] == "bookstore") & (means["operation"] == "round_trip")
    of_it &= means["metric"] == "wall_time"
    assert of_it.any()
    return means.assign(**{name: means[name].where(~of_it, means[name] * factor) for name in ("value", "at_least")})


def test_the_same_run_has_not_changed(run: Analysis) -> None:
    for table in (run_diff.ratios(run, run), run_diff.values(run, run)):
        assert len(table) > 100 and run_diff.changed(table).empty
        assert list(table["estimate"].dropna()) == pytest.approx([1] * table["estimate"].notna().sum())
        assert table["p"].notna().sum() > 100


@pytest.mark.parametrize(("compared", "factor"), [(run_diff.ratios, 1.5), (run_diff.values, 5)])
def test_what_got_slower_is_named_and_nothing_else(
    run: Analysis, means: pd.DataFrame, compared: Any, factor: float
) -> None:
    table = compared(run, Analysis(slower(means, factor)))
    (row,) = run_diff.changed(table).to_dict("records")
    about = [row[name] for name in ("study", "operation", "role", "metric")]
    assert about == ["bookstore", "round_trip", "client", "wall_time"]
    assert "case 2" in row["label"] and "n 1000" in row["label"]
    assert row["estimate"] == pytest.approx(factor, rel=1e-3) and row["low"] < factor < row["high"]
    assert row["mean_a"] / row["mean_b"] == pytest.approx(factor, rel=1e-3)
    assert table["label"].iloc[0] == row["label"], "the largest change comes first"


def test_the_command_names_what_changed_and_writes_every_row(
    means: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, factor in (("before", 1.0), ("after", 5.0)):
        (tmp_path / name).mkdir()
        table = pa.Table.from_pandas(slower(means, factor).drop(columns=["begun", "machine_day"]))
        files.write_table(tmp_path / name / reference.MEANS, table)
    folders = [str(tmp_path / name) for name in ("before", "after")]
    assert cli.main(["compare", *folders, "--output", str(tmp_path / "rows.csv")]) == cli.DONE
    printed = capsys.readouterr().out
    assert "1 changed (Holm's p below .01, in each study)" in printed
    assert printed.count(" times ") == 2, "the ratio and the value"
    assert "bookstore: round_trip, wall_time of the client; " in printed
    assert cli.main(["compare", *folders, "--json"]) == cli.DONE
    rows = json.loads(capsys.readouterr().out)
    assert {row["compared"] for row in rows} == {"ratio", "value"}
    assert len(rows) == len(pd.read_csv(tmp_path / "rows.csv"))


def test_the_command_says_what_it_cannot_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "refrence", str(tmp_path)]) == cli.USAGE
    assert "refrence: there is no such folder" in capsys.readouterr().err
    assert cli.main(["compare", "reference", str(tmp_path)]) == cli.NOTHING_RUNS
    assert "holds no finished cell that can be compared" in capsys.readouterr().err
