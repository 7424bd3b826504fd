"""Two runs compared: what did not change is not named, and what did is."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from benchbook.evidence import Evidence, changes, reference
from benchbook.evidence.runs import Run
from benchbook.report.merge import Merged
from benchbook.results import files


@pytest.fixture(scope="module")
def means() -> pd.DataFrame:
    run = Run.of_reference().evidence
    return pd.concat([rows[rows["study"] == study] for study in ("bookstore", "tcp")
                      for rows in [run.of_one_host(study).means]])  # fmt: skip


@pytest.fixture(scope="module")
def run(means: pd.DataFrame) -> Evidence:
    return Evidence.of(means)


def slower(means: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Return the run with XML's round trip slower in one cell."""
    marks = ('"case": 2', '"n": 1000,', '"lane": "python"', '"arm": "a"', '"process": "together"', '"keys": "paper"')
    cell = means["parameters"].map(lambda text: all(mark in text for mark in marks)) & (means["format"] == "xml")
    of_it = cell & (means["study"] == "bookstore") & (means["operation"] == "round_trip")
    of_it &= means["metric"] == "wall_time"
    assert means.loc[of_it, "cell_id"].nunique() == 1
    return means.assign(**{name: means[name].where(~of_it, means[name] * factor) for name in ("value", "at_least")})


def keep(folder: Path, means: pd.DataFrame) -> None:
    """Write means as a reference run's are."""
    files.write_table(folder / reference.MEANS, pa.Table.from_pandas(means))


def test_the_same_run_has_not_changed(run: Evidence):
    for table in (changes.ratios(run, run), changes.values(run, run)):
        assert len(table) > 100 and changes.changed(table).empty
        assert list(table["change"].dropna()) == pytest.approx([1] * table["change"].notna().sum())
        assert table["p"].notna().sum() > 100


@pytest.mark.parametrize(("compared", "factor"), [(changes.ratios, 1.3), (changes.values, 5)])
def test_what_got_slower_is_named_and_nothing_else(run: Evidence, means: pd.DataFrame, compared: Any, factor: float):
    table = compared(run, Evidence.of(slower(means, factor)))
    (row,) = changes.changed(table).to_dict("records")
    assert row["study"] == "bookstore" and "round_trip, wall_time of the client" in row["what"]
    assert "case 2" in row["settings"] and "n 1000" in row["settings"]
    assert row["change"] == pytest.approx(factor, rel=1e-3) and row["low"] < factor < row["high"]
    assert table.iloc[0].to_dict() == row


def test_a_report_compares_its_run_with_the_reference_run_but_not_that_with_itself(tmp_path: Path):
    means = reference.means()
    means = means[means["study"] == "tcp"]
    assert Merged("decide", [], Run("decide", Evidence.of(means)), tmp_path).beside.empty
    later = means.assign(campaign="2026-12-01T00:00:00Z")
    assert len(Merged("decide", [], Run("decide", Evidence.of(later)), tmp_path).beside) > 100
