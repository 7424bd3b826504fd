"""Results are written whole or not at all, named by their state, and merged into views that change nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from benchbook import results
from benchbook.measure import timed
from benchbook.studies import cell

NOW = datetime(2026, 11, 21, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("results_folder")


def values(*formats: str) -> pd.DataFrame:
    rows = cell.Rows()
    for one in formats or ("json",):
        rows.add(0, "insert", timed(list)[1], 10, started_at=NOW, format=one)
    return rows.frame()


def columns(**others: Any) -> dict[str, Any]:
    times = {"cell_started_at": NOW, "cell_ended_at": NOW + timedelta(seconds=2)}
    return {"study": "crud", "cell_id": "abc", "block": 0, "state": "done", "parameters": "{}", **times, **others}


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "crud").iterdir()}


def test_nothing_run_is_empty_and_typed():
    frame = results.observations()
    assert list(frame.columns) == results.OBSERVATIONS.names
    assert frame.empty and frame["value"].dtype == "float64"
    assert results.states("crud") == {} and results.seconds() == {}


def test_every_value_stands_beside_its_cell_and_what_the_study_says_itself_goes_before():
    results.write(columns(codec="orjson", format="both", n=10), values("json", "xml"))
    frame = results.observations()
    assert list(frame["format"]) == ["json", "xml"]
    assert set(frame["codec"]) == {"orjson"} and set(frame["n"]) == {10}
    with results.connect() as connection:
        (one,) = results.frame(connection, "SELECT * FROM cells").to_dict("records")
        assert one["codec"] == "orjson" and pd.isna(one["format"]), "a cell of two formats has no one format"
        assert len(results.frame(connection, 'SELECT * FROM "values"')) == 2


def test_the_files_name_is_the_state_and_a_later_success_removes_the_failure(results_folder: Path):
    results.write(columns(state="skipped", reason="no server"))
    assert names(results_folder) == {"abc.0.skipped.parquet"}
    results.write(columns(state="failed", reason="boom"))
    assert names(results_folder) == {"abc.0.failed.parquet"} and results.states("crud") == {"abc.0": "failed"}
    assert results.observations().empty
    with results.connect() as connection:
        (one,) = results.frame(connection, "SELECT state, reason FROM cells").to_dict("records")
    assert one == {"state": "failed", "reason": "boom"}
    results.write(columns(), values())
    assert names(results_folder) == {"abc.0.parquet"} and results.states("crud") == {"abc.0": "done"}


def test_a_success_whose_failure_was_not_removed_in_time_is_a_success():
    failed = results.write(columns(state="failed", reason="boom"))
    kept = failed.read_bytes()
    results.write(columns(), values())
    failed.write_bytes(kept)
    assert results.states("crud") == {"abc.0": "done"}


def test_what_cannot_be_written_leaves_the_old_file_and_no_other(results_folder: Path, monkeypatch: pytest.MonkeyPatch):
    path = results.write(columns(), values())
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchbook.results.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        results.write(columns(), values("json", "xml"))
    assert path.read_bytes() == before and names(results_folder) == {"abc.0.parquet"}


def test_observations_are_those_of_the_identities_asked_for():
    for identity, block in (("abc", 0), ("abc", 1), ("def", 0)):
        results.write(columns(cell_id=identity, block=block), values())
    assert len(results.observations(["abc"])) == 2
    assert len(results.observations(["abc.1", "def.0"])) == 2
    assert results.observations([]).empty
    with results.connect(["abc.1"]) as connection:
        assert len(results.frame(connection, "SELECT * FROM all_observations")) == 3


def test_how_long_a_cell_took_is_known_by_its_study_and_parameters():
    results.write(columns(), values())
    results.write(columns(cell_id="def", parameters='{"n": 1}', state="failed", reason="boom"))
    assert results.seconds() == {("crud", "{}"): 2.0}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "COPY (SELECT 1) TO '/tmp/benchbook-leak.csv'",
        "ATTACH '/tmp/benchbook-leak.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_a_query_reaches_no_file(sql: str):
    with results.connect() as connection, pytest.raises(duckdb.Error):
        connection.execute(sql)
