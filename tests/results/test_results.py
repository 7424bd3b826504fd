"""Results are written atomically, named by their state, and read in views."""

import json
import os
import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchbook import cli
from benchbook.cli import results as results_command
from benchbook.cli.command import DONE, USAGE
from benchbook.measure import time_action
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.save import save_exhibit
from benchbook.results import files
from benchbook.results.files import build_table
from benchbook.results.folder import open_results
from benchbook.results.schema import OBSERVATIONS
from benchbook.results.views import connect, fetch_frame, load_observations
from benchbook.studies import cell
from damage import flip_bit

NOW = datetime(2026, 11, 21, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("results_folder")


def values(*formats: str) -> pd.DataFrame:
    rows = cell.Rows()
    for one in formats or ("json",):
        rows.add(0, "insert", time_action(list)[1], 10, started_at=NOW, format=one)
    return rows.frame()


def columns(**others: Any) -> dict[str, Any]:
    times = {"cell_started_at": NOW, "cell_ended_at": NOW + timedelta(seconds=2)}
    return {"study": "crud", "cell_id": "abc", "block": 0, "state": "done", **times, **others}


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "crud").iterdir()}


def test_nothing_run_is_empty_and_typed():
    frame = load_observations()
    assert list(frame.columns) == OBSERVATIONS.names
    assert frame.empty and frame["value"].dtype == "float64"
    assert open_results().list_states("crud") == {} and open_results().list_durations() == {}


def test_every_value_has_its_cells_columns_unless_the_study_states_its_own():
    open_results().write_cell(columns(codec="orjson", format="both", n=10), values("json", "xml"))
    frame = load_observations()
    assert list(frame["format"]) == ["json", "xml"]
    assert set(frame["codec"]) == {"orjson"} and set(frame["n"]) == {10}
    with connect() as connection:
        (one,) = fetch_frame(connection, "SELECT * FROM cells").to_dict("records")
        assert one["codec"] == "orjson" and pd.isna(one["format"]), (
            "a cell of two formats has no one format"
        )
        assert len(fetch_frame(connection, 'SELECT * FROM "values"')) == 2


def test_the_files_name_is_the_state_and_a_later_success_removes_the_failure(results_folder: Path):
    open_results().write_cell(columns(state="skipped", reason="no server"))
    assert names(results_folder) == {"abc.0.skipped.parquet"}
    open_results().write_cell(columns(state="failed", reason="boom"))
    assert names(results_folder) == {"abc.0.failed.parquet"}
    assert open_results().list_states("crud") == {"abc.0": "failed"}
    assert load_observations().empty
    with connect() as connection:
        (one,) = fetch_frame(connection, "SELECT state, reason FROM cells").to_dict("records")
    assert one == {"state": "failed", "reason": "boom"}
    open_results().write_cell(columns(), values())
    assert names(results_folder) == {"abc.0.parquet"}
    assert open_results().list_states("crud") == {"abc.0": "done"}


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("[Errno 2] No such file or directory: '/Users/Jane Doe/a b/own.csv'", "…/own.csv'"),
        ("/opt/suite/harness/java has no jar: get file:///srv/jars/mock.jar", "file://…/mock.jar"),
        ("/dev/shm/mine/own.csv: has changed", "…/own.csv: has changed"),
        ("LD_LIBRARY_PATH=/opt/lib:/home/me/lib", "LD_LIBRARY_PATH=…/lib:…/lib"),
        (
            "from /proc/PID/stat of http://127.0.0.1:80/a/b, XML/JSON",
            "from /proc/PID/stat of http://127.0.0.1:80/a/b, ",
        ),
    ],
)
def test_results_have_no_path_of_the_machine(said: str, written: str):
    open_results().write_cell(
        columns(
            state="failed",
            reason=said,
            environment=json.dumps({"é": said, "folder": "/tmp/jörg/servers"}),
        )
    )
    with connect() as connection:
        (one,) = fetch_frame(connection, "SELECT reason, environment FROM cells").to_dict("records")
    environment = json.loads(one["environment"])
    assert environment == {"é": one["reason"], "folder": "…/servers"}
    assert written in one["reason"]
    assert not any(folder in one["reason"] for folder in ("Jane", "/opt", "/srv", "/home"))


def test_a_success_whose_failure_was_not_removed_in_time_is_a_success():
    failed = open_results().write_cell(columns(state="failed", reason="boom"))
    kept = failed.read_bytes()
    open_results().write_cell(columns(), values())
    failed.write_bytes(kept)
    assert open_results().list_states("crud") == {"abc.0": "done"}


def test_a_failed_write_leaves_only_the_old_file(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    path = open_results().write_cell(columns(), values())
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchbook.files.suite_files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        open_results().write_cell(columns(), values("json", "xml"))
    assert path.read_bytes() == before and names(results_folder) == {"abc.0.parquet"}


def test_observations_are_those_of_the_identities_asked_for():
    for identity, block in (("abc", 0), ("abc", 1), ("def", 0)):
        open_results().write_cell(columns(cell_id=identity, block=block), values())
    assert len(load_observations(["abc"])) == 2
    assert len(load_observations(["abc.1", "def.0"])) == 2
    assert load_observations([]).empty
    with connect(["abc.1"]) as connection:
        assert len(fetch_frame(connection, "SELECT * FROM all_observations")) == 3


def test_how_long_a_cell_took_is_known_by_its_study_and_parameters():
    open_results().write_cell(columns(), values())
    open_results().write_cell(
        columns(cell_id="def", parameters='{"n": 1}', state="failed", reason="boom")
    )
    assert open_results().list_durations() == {("crud", "{}"): 2.0}


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
    with connect() as connection, pytest.raises(duckdb.Error):
        connection.execute(sql)


def everything() -> pd.DataFrame:
    with connect() as connection:
        return fetch_frame(connection, "SELECT * FROM all_observations ORDER BY ALL")


def test_cells_that_were_measured_before_are_imported_once(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    open_results().write_cell(columns(n=10), values("json", "xml"))
    open_results().write_cell(columns(cell_id="def", block=3, state="failed", reason="boom"))
    kept, written = tmp_path / "kept.parquet", everything()
    assert (
        cli.main(["results", "--sql", "SELECT * FROM all_observations", "--output", str(kept)])
        == DONE
    )
    for source in (kept, results_folder):
        monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / f"from {source.name}"))
        assert cli.main(["results", "import", str(source)]) == DONE
        assert capsys.readouterr().out == "imported 2 cells; 0 were already present\n"
        assert open_results().list_states("crud") == {"abc.0": "done", "def.3": "failed"}
        pd.testing.assert_frame_equal(everything(), written)
        open_results().write_cell(columns(cell_id="def", block=3), values())
        assert cli.main(["results", "import", str(source), str(source)]) == DONE
        assert capsys.readouterr().out == "imported 0 cells; 4 were already present\n"
        assert open_results().list_states("crud") == {
            "abc.0": "done",
            "def.3": "done",
        }, "a failure does not replace a success"


def test_a_damaged_cell_of_another_folder_is_named_and_not_imported(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    file = open_results().write_cell(columns(), values())
    flip_bit(file, 8 * (file.read_bytes().index(b"insert") + 1))
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "other"))
    assert cli.main(["results", "import", str(results_folder)]) == USAGE
    assert (
        f"{file}: no observations that can be read: it cannot be read: " in capsys.readouterr().err
    )
    assert open_results().list_states("crud") == {}


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (pd.DataFrame({"a": [1]}), "it has no column 'cell_id'"),
        (pd.DataFrame({"value": [1.0]}), "it has no column 'cell_id'"),
        (columns(cell_id="../../x"), "row 0, sorted by cell, is of no cell: crud ../../x.0, done"),
        (columns(state="perhaps"), "row 0, sorted by cell, is of no cell: crud abc.0, perhaps"),
        (columns(block=-1), "row 0, sorted by cell, is of no cell: crud abc.-1, done"),
        (None, "no observations that can be read: "),
    ],
)
def test_a_file_without_cells_is_refused_whole(
    results_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], held: Any, why: str
):
    file = tmp_path / "given.parquet"
    if isinstance(held, dict):
        held = build_table(pd.DataFrame([columns(cell_id="fine"), held]), OBSERVATIONS)
    elif held is not None:
        held = pa.Table.from_pandas(held)
    if held is None:
        file.write_bytes(b"PAR1")
    else:
        files.write_table(file, held)
    assert cli.main(["results", "import", str(file)]) == USAGE
    assert why in capsys.readouterr().err and open_results().list_states("crud") == {}


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (
            {"durability": "`<svg onload=alert(1)>"},
            "row 1: durability is '`<svg onload=alert(1)>': the study",
        ),
        ({"calls": "=1+1"}, "row 1: calls is '=1+1': the study crud knows single"),
        (
            {"cell_database": "oracle"},
            "row 1: cell_database is 'oracle': the study crud knows mongodb",
        ),
        ({"environment": "<b>"}, "row 1: environment is not a JSON object: '<b>'"),
    ],
)
def test_a_level_that_its_study_does_not_know_is_not_imported(
    results_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    odd: dict[str, str],
    why: str,
):
    rows = pd.DataFrame([columns(cell_id="fine", durability="strict"), columns(block=1, **odd)])
    files.write_table(tmp_path / "given.parquet", build_table(rows, files.infer_schema(rows)))
    assert cli.main(["results", "import", str(tmp_path / "given.parquet")]) == USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "given.parquet: " in line and why in line and open_results().list_states("crud") == {}


def test_no_text_in_csv_is_a_formula_and_numbers_are_numbers(results_folder: Path, tmp_path: Path):
    odd = ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", "\t=1", "-0.5 (-1 to 2) MB", "plain"]
    rows = pd.DataFrame([columns(cell_id=f"c{at}", database=text) for at, text in enumerate(odd)])
    for row in rows.to_dict("records"):
        open_results().write_cell(row)
    written, expected = tmp_path / "all.csv", [f"'{text}" for text in odd[:5]] + odd[5:]
    query = "SELECT database, -1.5 AS value FROM all_observations ORDER BY cell_id"
    assert cli.main(["results", "--sql", query, "--output", str(written)]) == DONE
    frame = pd.read_csv(written)
    assert list(frame["database"]) == expected and set(frame["value"]) == {-1.5}
    save_exhibit(Exhibit("a table", rows[["database"]].assign(value=-1.5)), tmp_path / "table", {})
    frame = pd.read_csv(tmp_path / "table.csv")
    assert list(frame["database"]) == expected and set(frame["value"]) == {-1.5}


def test_an_export_removes_what_a_killed_one_left_and_no_other_file(tmp_path: Path):
    open_results().write_cell(columns(n=10), values())
    folder = tmp_path / "exports"
    folder.mkdir()
    written = folder / "all.csv"
    code = (
        "import os, sys, pathlib\n"
        "from benchbook.files import suite_files\n"
        "with suite_files.replace_file(pathlib.Path(sys.argv[1])):\n"
        "    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, written])
    (left,) = folder.iterdir()
    assert left.name.startswith(".all.csv.")
    others = [f".all.csv.{os.getppid()}", ".all.csv.old", f".all.csv.{'9' * 30}", ".all.csv.gz.1x"]
    for name in others:
        (folder / name).touch()
    assert cli.main(["results", "export", str(written)]) == DONE
    assert {path.name for path in folder.iterdir()} == {written.name, *others}


def test_no_flipped_bit_of_an_export_is_imported(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """An import of a file with a flipped bit in headers or footer has the exported values."""
    open_results().write_cell(columns(n=10), values("json", "xml"))
    kept, exported = tmp_path / "kept.parquet", everything()
    assert cli.main(["results", "export", str(kept)]) == DONE
    whole, refused = kept.read_bytes(), 0
    for bit in random.Random(5).sample(range(8 * len(whole)), 75):
        monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / f"from {bit}"))
        kept.write_bytes(whole)
        flip_bit(kept, bit)
        if cli.main(["results", "import", str(kept)]) == DONE:
            pd.testing.assert_frame_equal(everything(), exported)
        else:
            refused += 1
            assert (
                "no observations that can be read" in capsys.readouterr().err
                and open_results().list_states("crud") == {}
            )
    assert refused > 25


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("MAX_FILE_BYTES", "bytes: at most 1 are read"),
        ("MAX_ROWS", "2 rows: at most 1 are read"),
    ],
)
def test_files_that_are_too_large_are_not_imported(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    limit: str,
    why: str,
):
    open_results().write_cell(columns(), values("json", "xml"))
    monkeypatch.setattr(results_command, limit, 1)
    assert cli.main(["results", "import", str(results_folder)]) == USAGE
    assert why in capsys.readouterr().err


def test_a_small_file_that_unpacks_to_any_size_is_not_imported(tmp_path: Path):
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), ["x" * 2**20])
    one = build_table(pd.DataFrame([columns()] * 60_000), OBSERVATIONS)
    file = tmp_path / "bomb.parquet"
    bomb = one.set_column(one.column_names.index("environment"), "environment", long)
    pq.write_table(bomb, file, compression="zstd")
    assert file.stat().st_size < 2**20
    limits = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))"
    code = (
        f"{limits}\nfrom benchbook import cli\nraise SystemExit(cli.main(['results', 'import',"
        f" {str(file)!r}]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == USAGE, ran.stderr
    why = (
        "its values take more than 2,147,483,648 bytes: import fewer cells at a time, or their"
        " results' folder"
    )
    assert ran.stderr == f"benchbook: {file}: no observations that can be read: {why}\n"
    assert open_results().list_states("crud") == {}


@pytest.mark.parametrize(
    "error", [MemoryError(), pa.ArrowMemoryError("malloc of size 60000000000 failed")]
)
def test_memory_that_runs_out_while_cells_are_imported_is_a_refusal(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
):
    file = tmp_path / "given.parquet"
    files.write_table(file, build_table(pd.DataFrame([columns()]), OBSERVATIONS))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(results_command, "import_cells", fail)
    assert cli.main(["results", "import", str(file)]) == USAGE
    assert (
        f"no observations that can be read: {str(error) or 'not enough memory'}"
        in capsys.readouterr().err
    )


def test_two_machines_of_one_name_have_their_blocks_one_after_the_other(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Two cloned laptops have one name and processor: the same identities, other values."""
    handed_in = {}
    for number, student in enumerate(("anna", "ben", "carl")):
        monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / student))
        for block in range(2):
            began = datetime(2026, 11, 28, 10 + number, block, tzinfo=UTC)
            cell = columns(block=block, host="lab (a processor)", cell_started_at=began)
            open_results().write_cell(cell, values("json", "xml"))
        handed_in[student] = str(tmp_path / f"{student}.parquet")
        assert cli.main(["results", "export", handed_in[student]]) == DONE
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(results_folder))
    assert cli.main(["results", "import", handed_in["anna"]]) == DONE
    capsys.readouterr()

    for _ in range(2):
        assert cli.main(["results", "import", handed_in["ben"]]) == DONE
    assert capsys.readouterr().out == (
        "imported 2 cells; 0 were already present\n"
        "2 cells got the next free block number: another measurement here has theirs\n"
        "imported 0 cells; 2 were already present\n"
    )
    frame = everything()
    began = frame.groupby("block")["cell_started_at"].unique().explode()
    assert [moment.hour for moment in began] == [10, 10, 11, 11] and [*began.index] == [0, 1, 2, 3]

    assert cli.main(["results", "import", handed_in["carl"], "--as", "carl"]) == DONE
    frame = everything()
    assert dict(frame.groupby("host")["block"].nunique()) == {"carl": 2, "lab (a processor)": 4}
    assert frame["cell_id"].nunique() == 2, "blocks of one cell stay blocks of one cell"


def test_a_measurement_whose_values_were_changed_is_refused(
    results_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    began = datetime(2026, 11, 28, 10, tzinfo=UTC)
    open_results().write_cell(columns(host="lab", cell_started_at=began), values("json", "xml"))
    measured, changed = str(tmp_path / "measured.parquet"), str(tmp_path / "changed.parquet")
    assert cli.main(["results", "export", measured]) == DONE
    table = pq.read_table(measured)
    doubled = pc.multiply(table["value"], 2.0)
    pq.write_table(table.set_column(table.column_names.index("value"), "value", doubled), changed)
    before = everything()
    capsys.readouterr()
    assert cli.main(["results", "import", changed]) == USAGE
    assert capsys.readouterr().err == (
        f"benchbook: {changed}: 1 cell is already present with other values of the same "
        "measurement, first crud abc.0 of 'lab': one of them was changed; add --as NAME to have "
        "both\n"
    )
    pd.testing.assert_frame_equal(everything(), before)


def test_a_cell_with_more_operations_replaces_one_with_some_of_them(
    results_folder: Path, tmp_path: Path
):
    # As a reference run has them, in which only some operations of an earlier version count.
    began = datetime(2026, 11, 28, 10, tzinfo=UTC)
    rows = values("json", "xml")
    other = rows.assign(operation="another")
    open_results().write_cell(columns(host="lab", cell_started_at=began), pd.concat([rows, other]))
    whole, part = str(tmp_path / "whole.parquet"), str(tmp_path / "part.parquet")
    assert cli.main(["results", "export", whole]) == DONE
    before = everything()
    table = pq.read_table(whole)
    pq.write_table(table.filter(pc.not_equal(table["operation"], "another")), part)
    shutil.rmtree(results_folder)
    for file, operations in ((part, 1), (whole, 2), (part, 2)):
        assert cli.main(["results", "import", file]) == DONE
        assert everything()["operation"].nunique() == operations
    pd.testing.assert_frame_equal(everything(), before)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "--as '': a host's name begins with a letter or digit"),
        ("..", "--as '..': a host's name begins with a letter or digit"),
        ("a\nb", r"--as 'a\nb': a host's name begins with a letter or digit, and has letters"),
        ("ben", "--as ben: the files hold cells of 2 hosts: import those of one host at a time"),
    ],
)
def test_one_host_at_a_time_is_imported_under_another_name(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    why: str,
):
    for host in ("lab", "home"):
        open_results().write_cell(columns(cell_id=host, host=host), values())
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "other"))
    assert cli.main(["results", "import", str(results_folder), "--as", name]) == USAGE
    assert why in capsys.readouterr().err and open_results().list_states("crud") == {}


def test_paths_of_a_file_of_others_are_shortened_when_it_is_imported(
    results_folder: Path, tmp_path: Path
):
    cell = columns(host="lab", reason="/home/anna/thesis/data.json has no records")
    file = tmp_path / "given.parquet"
    files.write_table(file, build_table(values("json").assign(**cell), OBSERVATIONS))
    assert cli.main(["results", "import", str(file)]) == DONE
    assert {*everything()["reason"]} == {"…/data.json has no records"}
