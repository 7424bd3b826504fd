"""Two runs compared: what did not change is not named, and what did is."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from benchbook import cli
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


def test_what_a_stand_in_took_is_not_set_beside_what_the_product_took(means: pd.DataFrame):
    stood_in = Evidence.of(means.assign(stand_in=True))
    assert changes.values(Evidence.of(means), stood_in).empty and len(changes.values(stood_in, stood_in)) > 100


@pytest.fixture(scope="module")
def stores() -> pd.DataFrame:
    """Return what MongoDB and PostgreSQL did in the reference run, whose deletions were one by one."""
    means = Run.of_reference().evidence.of_one_host("crud").means
    of_both = means["engine"].isin(["mongodb", "postgresql+relational"])
    return means[(means["study"] == "crud") & of_both & (means["n"] == 1000)]


def test_cells_and_ratios_of_another_topology_or_arm_have_other_words(stores: pd.DataFrame):
    run = Evidence.of(stores)
    for table in (changes.ratios(run, run), changes.values(run, run)):
        assert not table[["study", "what", "settings"]].duplicated().any()
        assert {"single", "replicated"} == {*table["settings"].str.extract(r"topology (\w+)")[0].dropna()}
    assert changes.values(run, run)["settings"].str.contains("arm b").any()


def test_a_study_that_both_ran_without_a_common_cell_is_named_with_what_differs(
    stores: pd.DataFrame, means: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def at_once(parameters: str) -> str:
        return json.dumps(json.loads(parameters) | {"delete": "all"})

    others = stores.assign(parameters=stores["parameters"].map(at_once))
    (tmp_path / "alone").mkdir()
    keep(tmp_path / "alone", others)
    says = f"crud: both ran it, and no cell is in both: delete each in reference, all in {tmp_path}"
    assert cli.main(["compare", "reference", str(tmp_path / "alone")]) == cli.USAGE
    assert f"have no cell in common: {says}/alone" in capsys.readouterr().err
    keep(tmp_path, pd.concat([others, means[means["study"] == "bookstore"]]))
    assert cli.main(["compare", "reference", str(tmp_path)]) == cli.DONE
    assert capsys.readouterr().err == f"benchbook: {says}\n"


def test_where_nothing_ran_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "none"))
    assert cli.main(["compare"]) == cli.NOTHING_RUNS
    assert "no finished cell that can be compared: benchbook run, or name two folders" in capsys.readouterr().err


def test_too_few_blocks_are_told_apart_from_no_change(run: Evidence, means: pd.DataFrame):
    first = Evidence.of(means[means["block"] == 0])
    table = changes.values(first, run)
    assert len(table) > 100 and table["p"].isna().all() and table["change"].notna().all()


def test_the_command_names_what_changed(means: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    keep(tmp_path, slower(means, 1.3))
    assert cli.main(["compare", "reference", str(tmp_path), "--output", str(tmp_path / "all.csv")]) == cli.DONE
    said = capsys.readouterr().out
    assert "1 changed beyond noise" in said and "XML / JSON, round_trip, wall_time of the client" in said
    assert len(pd.read_csv(tmp_path / "all.csv")) > 200
    assert cli.main(["compare", str(tmp_path / "nowhere")]) == cli.USAGE
    assert "there is no such folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert cli.main(["compare", str(tmp_path / "empty")]) == cli.NOTHING_RUNS


def test_a_study_that_is_not_installed_and_parameters_that_are_no_json_are_named_and_left_out(
    means: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    first = means[means["study"] == "tcp"].head(20)
    keep(tmp_path, pd.concat([means, first.assign(study="elsewhere"), first.assign(parameters="{'n': 1}")]))
    assert cli.main(["compare", "reference", str(tmp_path)]) == cli.DONE
    printed = capsys.readouterr()
    assert "bookstore" in printed.out or "0 changed" in printed.out
    assert printed.err.splitlines() == [
        f"benchbook: {tmp_path}: a cell of tcp has parameters that are no JSON object ({{'n': 1}}): left out",
        f"benchbook: {tmp_path}: the study elsewhere is not installed here: left out",
    ]
    keep(tmp_path, first.assign(study="elsewhere"))
    assert cli.main(["compare", "reference", str(tmp_path)]) == cli.NOTHING_RUNS
