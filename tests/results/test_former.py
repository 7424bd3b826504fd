"""Results of earlier versions, with parameters in one JSON column, are read as today's."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchbook import cli
from benchbook.cli.command import USAGE
from benchbook.results import files
from benchbook.results.folder import open_results
from benchbook.results.schema import OBSERVATIONS
from benchbook.results.views import load_observations

PARAMETERS = {
    "lane": "python",
    "engine": "mongodb",
    "arm": "a",
    "n": 10,
    "comments_per_article": 100,
    "fault": "none",
}
"""A cell's parameters under former names: before networks, and with faults."""


def former(parameters: str = json.dumps(PARAMETERS), *, stand_in: bool = False) -> pa.Table:
    """Return one value as an earlier version wrote it."""
    columns = {name: pa.nulls(1, OBSERVATIONS.field(name).type) for name in OBSERVATIONS.names}
    known = {
        "study": "crud",
        "cell_id": "abc",
        "state": "done",
        "operation": "insert",
        "metric": "wall_time",
    }
    columns |= {name: pa.array([text]) for name, text in known.items()}
    columns |= {
        "block": pa.array([0], pa.int32()),
        "value": pa.array([1.0]),
        "noisy": pa.array([True]),
    }
    columns["database"] = pa.array(["mongodb"])
    names = {
        "language": "lane",
        "database": "engine",
        "database_version": "engine_version",
        "noisy": "disturbed",
        "timed_out": "censored",
        "background_load": "foreign_load",
    }
    table = pa.table({names.get(name, name): column for name, column in columns.items()})
    return table.append_column("parameters", pa.array([parameters])).append_column(
        "stand_in", pa.array([stand_in])
    )


def test_former_names_are_read_as_todays_with_a_column_for_each_parameter(tmp_path: Path):
    pq.write_table(former(), tmp_path / "old.parquet")
    table = files.read_table(tmp_path / "old.parquet")
    assert files.has_result_columns(table.schema)
    (row,) = table.to_pylist()
    stated = {
        "language": "python",
        "database": "mongodb",
        "cell_database": "mongodb",
        "cell_arm": "a",
        "n": 10,
    }
    assert stated.items() <= row.items() and row["noisy"] is True
    assert row["comments_per_article"] == "100", "its levels are numbers and texts"
    assert "fault" not in row and "parameters" not in row


def test_rows_of_stand_ins_are_left_out(tmp_path: Path):
    pq.write_table(pa.concat_tables([former(), former(stand_in=True)]), tmp_path / "old.parquet")
    assert files.read_table(tmp_path / "old.parquet").num_rows == 1


@pytest.mark.parametrize("parameters", ["[]", "{"])
def test_parameters_that_are_not_a_json_object_are_refused(tmp_path: Path, parameters: str):
    pq.write_table(former(parameters), tmp_path / "old.parquet")
    with pytest.raises(files.DamagedError, match="cannot be read"):
        files.read_table(tmp_path / "old.parquet")


def test_an_old_file_in_the_results_folder_gets_todays_columns_in_its_place(results_folder: Path):
    path = open_results().locate_file("crud", "abc", 0)
    path.parent.mkdir(parents=True)
    facts = {
        "study": "crud",
        "cell_id": "abc",
        "block": 0,
        "state": "done",
        "parameters": json.dumps(PARAMETERS),
    }
    with pq.ParquetWriter(path, former().schema, write_page_checksum=True) as writer:
        writer.write_table(former())
        writer.add_key_value_metadata({"benchbook.cell": json.dumps(facts)})
    (whole,) = open_results().list_files("crud")
    assert (
        json.loads(str(whole.facts.parameters))["database"] == "mongodb"
        and not open_results().find_damaged_files()
    )
    assert load_observations()["database"].tolist() == ["mongodb"]


def test_a_former_name_is_answered_with_todays(
    capsys: pytest.CaptureFixture[str], results_folder: Path
):
    asked = (
        (["plan", "crud", "--where", "engine=noop"], "database"),
        (["plan", "tcp", "--set", "lane=java"], "language"),
        (["plan", "tcp", "--set", "room=none"], "network"),
        (["results", "--sql", "SELECT engine FROM observations"], "database"),
    )
    for arguments, name in asked:
        assert cli.main(arguments) == USAGE
        assert f"did you mean '{name}'?" in capsys.readouterr().err
