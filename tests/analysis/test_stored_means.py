"""DuckDB's block means of stored files equal those of pandas over every row."""

import json
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import constructed
from benchbook.analysis.block_means import (
    MEAN_COLUMNS,
    REPETITION_COLUMNS,
    RUN_COLUMNS,
    compute_block_means,
    load_block_means,
)
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.orders import TURN_MEANS
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.quantities import MEAN_KEYS
from benchbook.analysis.runs import Analysis, load_reference_means
from benchbook.papers import exhibits
from benchbook.plots import points
from benchbook.plots.provenance import describe_provenance
from benchbook.registry.papers import PAPERS
from benchbook.results import files
from benchbook.results.additions import LATER_COLUMNS
from benchbook.results.folder import ResultsFolder, open_results
from benchbook.results.views import load_observations
from benchbook.studies.catalogue import load_study

SORTED = ["study", "cell_id", "block", "operation", "role", "metric", "format", "codec"]
START = datetime(2026, 1, 2, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("results_folder")

numbers = st.one_of(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.integers(-3, 3).map(float),  # ties, and values on the fences
    st.just(float("nan")),
    st.none(),
)
repetitions = st.lists(
    st.tuples(numbers, st.sampled_from([False, False, False, True, None])), min_size=1, max_size=12
)
cells = st.lists(st.lists(repetitions, min_size=1, max_size=3), min_size=1, max_size=4)


def rows(quantities: list[list[tuple[float | None, bool | None]]]) -> pd.DataFrame:
    """Return a study's rows: one quantity per list, of two formats, one without a codec."""
    numbered = []
    for place, listed in enumerate(quantities):
        numbered += [(place, repetition, *row) for repetition, row in enumerate(listed)]
    return pd.DataFrame(
        {
            "repetition": repetition, "operation": "insert", "role": "client", "unit": "ns",
            "count": 10 + repetition,
            "metric": ("wall_time", "cpu_user", "elapsed_time")[place],
            "format": ("json", "xml", None)[place], "codec": (None, "lxml", None)[place],
            "value": value, "timed_out": timed_out, "resolution": 1.0,
            "source": "clock" if value is not None else "not measured: the replica was lost",
            "started_at": START + timedelta(seconds=repetition),
        }
        for place, repetition, value, timed_out in numbered
    )  # fmt: skip


def write_values(cell_id: str, block: int, values: pd.DataFrame, state: str = "done") -> None:
    columns = {"study": "crud", "cell_id": cell_id, "block": block, "state": state}
    columns |= {
        "database": "mongodb",
        "n": 10,
        "environment": json.dumps({"cpu": "Test", "load": [block]}),
    }
    open_results().write_cell(columns, values)


def drop_newest_column(path: Path) -> None:
    """Drop a column that an earlier version did not have from a file."""
    table = pq.read_table(path).drop_columns(["image_digest"])
    files.write_table(path, table, files.collect_facts(table))


def average_every_row() -> pd.DataFrame:
    """Return the reference: pandas' means of all single values."""
    rows = load_observations()
    rows = rows.assign(timed_out=rows["timed_out"].fillna(False).astype(bool))
    rows = rows[(rows["value"].notna() | rows["timed_out"]) & rows["state"].eq("done")].reset_index(
        drop=True
    )
    unit = rows.groupby([*MEAN_KEYS], dropna=False, sort=False).ngroup()
    grouped, timed_out = rows["value"].groupby(unit), rows["timed_out"].groupby(unit).any()
    carried = rows.loc[
        ~unit.duplicated(), rows.columns.difference([*REPETITION_COLUMNS, *RUN_COLUMNS])
    ]
    found = carried.set_index(unit[~unit.duplicated()]).assign(
        noisy=rows["noisy"].fillna(False).astype(bool).groupby(unit).any(),
        rows=grouped.size(), at_least=grouped.mean(), timed_out=timed_out,
        value=grouped.mean().mask(timed_out), count=rows["count"].groupby(unit).mean(),
        started_at=rows["started_at"].groupby(unit).min(),
        last_started_at=rows["started_at"].groupby(unit).max(),
        when_first=np.nan, when_later=np.nan,
    )  # fmt: skip
    return found.sort_values(SORTED, ignore_index=True)


def same(found: pd.DataFrame, expected: pd.DataFrame, **options: Any) -> None:
    """Check that two tables are equal, however they hold their texts."""
    texts = {
        name: kind for name, kind in expected.dtypes.items() if isinstance(kind, pd.StringDtype)
    }
    assert all(isinstance(found[name].dtype, pd.StringDtype) for name in texts)
    pd.testing.assert_frame_equal(found.astype(texts), expected, rtol=1e-9, **options)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=cells)
def test_the_means_are_those_of_every_row(
    drawn: list[list[list[tuple[float | None, bool | None]]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBOOK_RESULTS", str(tmp_path_factory.mktemp("drawn")))
        for place, quantities in enumerate(drawn):
            write_values(f"cell{place // 2}", place % 2, rows(quantities))
        expected, found = average_every_row(), load_block_means(open_results())
    assert set(found) == set(expected)
    same(found, expected[found.columns], atol=1e-6, check_dtype=not expected.empty)


def test_means_of_files_without_later_columns_have_them_empty():
    write_values("abc", 0, rows([[(1.0, False)]]))
    path = open_results().locate_file("crud", "abc", 0)
    table = pq.read_table(path).drop_columns([*LATER_COLUMNS[-2], *LATER_COLUMNS[-1]])
    files.write_table(path, table, files.collect_facts(table))
    means = load_block_means(open_results())
    assert list(means["value"]) == [1.0] and means["checked"].isna().all()


def test_files_of_another_version_are_named_and_left_out():
    for block in range(3):
        write_values("abc", block, rows([[(1.0, False)]]))
    drop_newest_column(open_results().locate_file("crud", "abc", 0))
    assert list(load_block_means(open_results())["block"]) == [1, 2]
    assert sorted(load_observations()["block"]) == [1, 2]
    (line,) = open_results().set_damaged_aside()
    assert (
        "abc.0.parquet is damaged (it is of another version of benchbook, whose results have other"
        " columns)" in line
    )
    assert open_results().find_lost_cells() == {"abc.0"}


def test_only_finished_cells_of_the_identities_asked_for_have_means():
    for cell_id, block, state in product(("abc", "def"), (0, 1), ("done",)):
        write_values(cell_id, block, rows([[(1.0, False)]]), state)
    write_values("ghi", 0, rows([[(1.0, False)]]), "failed")
    assert sorted(load_block_means(open_results())["cell_id"]) == ["abc", "abc", "def", "def"]
    chosen = load_block_means(open_results(), ["abc", "def.1", "ghi"])
    assert list(zip(chosen["cell_id"], chosen["block"], strict=True)) == [
        ("abc", 0),
        ("abc", 1),
        ("def", 1),
    ]
    assert load_block_means(open_results(), []).empty


def test_nothing_run_has_typed_means_and_no_comparison():
    means = load_block_means(open_results())
    assert means.empty and {*means} == {*MEAN_COLUMNS, *TURN_MEANS}
    assert compare_tables(compute_block_means(means)) == []


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return constructed rows of all five studies, and the means of their files."""
    every = constructed.observations()
    twin = every[every["study"] == "crud"].copy()
    twin["cell_id"] += "b"
    every = pd.concat([every, twin.assign(arm="b", cell_arm="b")], ignore_index=True)
    results = ResultsFolder(tmp_path_factory.mktemp("observed"))
    for (study, cell_id, block), values in every.groupby(["study", "cell_id", "block"]):
        results.write_cell(
            {"study": study, "cell_id": cell_id, "block": block, "state": "done"}, values
        )
    return every, load_block_means(results)


@pytest.fixture(scope="module")
def of_each(
    observed: tuple[pd.DataFrame, pd.DataFrame],
) -> tuple[Analysis, Analysis]:
    """Return the analysis of every row, and that of the stored means."""
    every, means = observed
    return Analysis(every), Analysis(means)


def test_what_follows_is_the_same_from_stored_means_as_from_every_row(
    of_each: tuple[Analysis, Analysis],
):
    keys = ["study", "name", "language", "operation", "role", "metric", "a", "b", "label"]
    for table in ("tables", "aa", "comparisons"):
        expected, found = (
            Comparison.to_frame(getattr(one, table)).drop(columns="settings") for one in of_each
        )
        assert len(expected)
        same(*(one.sort_values(keys, ignore_index=True) for one in (found, expected)))


@pytest.mark.parametrize("study", PAPERS)
def test_figures_draw_the_same_from_stored_means_as_from_every_row(
    study: str, of_each: tuple[Analysis, Analysis]
):
    every, means = of_each
    marks = ["cell_id", "block", "operation", "role", "format", "codec"]
    drawn = [*marks, "n", "timed_out", *means.means.query("study == @study")["metric"].unique()]
    expected, found = (
        points.get_measured_table(one, study)[drawn].sort_values(marks) for one in (every, means)
    )
    same(found.reset_index(drop=True), expected.reset_index(drop=True))
    name = next(one for one in exhibits.TABLES if one.startswith(study))
    same(*(exhibits.TABLES[name](one).frame for one in (means, every)))
    assert describe_provenance(every.means, "night") == describe_provenance(means.means, "night")


def test_a_mean_with_a_wait_that_ran_out_has_no_value():
    write_values("abc", 0, rows([[(1.0, False), (2.0, False), (1000.0, True)]]))
    (mean,) = load_block_means(open_results()).to_dict("records")
    assert mean["timed_out"] and np.isnan(mean["value"])
    assert mean["at_least"] == pytest.approx(1003 / 3)


def test_every_cell_of_the_reference_run_has_parameters_of_today():
    for row in load_reference_means().drop_duplicates("cell_id").to_dict("records"):
        model = load_study(row["study"]).Parameters
        parameters = model.model_validate(model.read_levels(row))
        stated = {
            name: level for name, level in parameters.as_columns().items() if row[name] != level
        }
        assert not stated, row["cell_id"]
