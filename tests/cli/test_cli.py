"""The command: its exit statuses, its errors, and what it prints for people and for programs."""

import argparse
import errno
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchbook import cli, grid, paths, version
from benchbook.analysis import runs
from benchbook.analysis.runs import Run
from benchbook.cli import command as command_line
from benchbook.cli import doctor, output, report, selection
from benchbook.cli.command import DONE, NOTHING_RUNS, USAGE
from benchbook.databases import catalogue
from benchbook.grid.cells import find_server
from benchbook.measure import time_action
from benchbook.results.folder import open_results
from benchbook.servers import launcher
from benchbook.servers.programs import AvailableServer, MissingServer
from benchbook.studies import cell
from checkout import ROOT
from mounts import mount_memory
from waiting import PATIENCE_S

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def finish(one: grid.Cell) -> None:
    """Write a finished cell as a run would."""
    rows = cell.Rows()
    rows.add(0, "insert", time_action(list)[1], 10, started_at=NOW)
    study, parameters = one.combination
    known = {"study": study, "cell_id": one.identity, "block": one.block, "state": "done"}
    known |= one.parameters.as_columns()
    open_results().write_cell(
        {**known, "cell_started_at": NOW, "cell_ended_at": NOW}, rows.frame(), parameters
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "required: COMMAND"),
        (["rnu"], "COMMAND: there is no 'rnu': did you mean 'run'?"),
        (["clams"], "did you mean 'claims'?"),
        (["new", "engine", "tinystore"], "did you mean 'database'?"),
        (["xyzzy"], "there are ask, claims, compare, doctor,"),
        (["run", "--porfile", "quick"], "unrecognized arguments"),
        (["run", "--timeout", "-1"], "above 0"),
        (["run", "crut"], "no such study: did you mean 'crud'?"),
        (["run", "--profile", "quik"], "did you mean 'quick'?"),
        (["plan", "crud", "--where", "database=nop"], "did you mean 'noop'?"),
        (["run", "crud", "--set", "n=0"], "--set n=0: n should be greater than or equal to 1"),
        (["report", "--profile", "quik"], "did you mean 'quick'?"),
        (["results", "--profile", "quik"], "did you mean 'quick'?"),
        (["results", "--sql", "SELEC"], "syntax error"),
        (["results", "--sql", "SELECT valu FROM observations"], "valu"),
        (["results", "--sql", "DROP VIEW observations"], "one SELECT"),
        (["results", "--sql", "SELECT 1; SELECT 2"], "one SELECT"),
        (["results", "--sql", "SELECT * FROM read_csv('/etc/hostname')"], "--sql"),
        (
            ["results", "--sql", "SELECT INTERVAL 1 DAY AS x", "--format", "parquet"],
            "parquet cannot hold the answer",
        ),
        (["results", "--sql", "SELECT 10::HUGEINT**38", "--output", "/tmp"], "is a folder"),
        (["results", "--output", "/absent/x.csv"], "cannot be written: No such file or directory"),
        (["results", "--output", "x.xls"], "unknown format .xls"),
        (
            ["results", "--sql", "SELECT repeat('x', 1000000) FROM range(100000)"],
            "a query may take 1GB",
        ),
        (["results", "--sql", "\udcff"], "--sql"),
        (["results", "--sql", f"SELECT '{'x' * 100_000}'"], "at most 100,000 are read"),
        (["run", "--timeout", "inf"], "up to 2,592,000"),
        (["plan", "crud", "--set", "n=many"], "valid integer"),
        (["servers", "up", "mongo"], "mongo"),
        (["servers", "up", "noop"], "has no server"),
        (["servers", "up", "mongodb", "--topology", "ring"], "--topology: there is no 'ring'"),
        (
            ["servers", "up", "mongodb", "--topology", "bidirectional"],
            "runs single or replicated here",
        ),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_usage_ends_with_2_and_starts_nothing(
    home: Path,
    results_folder: Path,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
):
    assert cli.main(arguments) == 2
    printed = capfd.readouterr()
    assert says in printed.err and printed.out == ""
    assert not results_folder.exists()
    usage = printed.err.startswith("usage:")  # argparse's own, of several lines
    assert usage or (
        printed.err.count("\n") == 1 and printed.err[:-1].isprintable() and len(printed.err) < 1000
    )


def test_a_wrong_grid_ends_with_2_and_names_file_and_line(
    home: Path, capfd: pytest.CaptureFixture[str]
):
    path = home / "papermill_params" / "tcp.yaml"
    path.write_text(path.read_text().replace("transport:", "transprot:", 1))
    assert cli.main(["run", "tcp"]) == 2
    assert re.search(
        r"papermill_params/tcp.yaml:\d+: .*did you mean 'transport'\?", capfd.readouterr().err
    )


def test_help_ends_with_0(capfd: pytest.CaptureFixture[str]):
    assert cli.main(["--help"]) == 0
    printed = capfd.readouterr().out
    assert all(command in printed for command in command_line.COMMANDS)


def test_doctor_writes_every_database_as_json(capfd: pytest.CaptureFixture[str]):
    assert cli.main(["doctor", "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert [row["database"] for row in rows] == list(catalogue.DATABASE_NAMES)
    assert {"database", "available", "version", "why"} <= set(rows[0])


def test_doctor_ends_with_what_can_run_and_what_is_missing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    _remove_products(monkeypatch, "mongodb", "couchdb")
    monkeypatch.delenv("BENCHBOOK_COUCHDB_URL", raising=False)
    assert cli.main(["doctor"]) == 0
    *above, ready, missing = capfd.readouterr().out.splitlines()
    assert ready.startswith("Ready: bookstore, tcp, ") and " of 9 databases, " in ready
    assert missing.startswith("Missing: MongoDB, ") and missing.endswith(
        "To add them: benchbook doctor --missing"
    )
    (line,) = [line for line in above if line.startswith("databases ")]
    assert "MongoDB" not in line and re.search(r"PostgreSQL \d", line)
    assert "no mongodb here" not in "\n".join(above), "how to add it is asked for"
    assert cli.main(["doctor", "--missing"]) == 0
    printed = capfd.readouterr().out
    assert "Can be added with a command:\n" in printed
    assert re.search(r"^  Couchbase +install benchbook-more-databases$", printed, re.MULTILINE)
    (line,) = [line for line in printed.splitlines() if line.startswith("  MongoDB ")]
    assert "conda install -c conda-forge mongodb" in line and "or set BENCHBOOK_MONGODB_URL" in line


def test_doctor_gives_the_reason_why_an_address_does_not_work(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BENCHBOOK_MYSQL_URL", "mysql://127.0.0.1:1/x")
    find_server.cache_clear()
    assert cli.main(["doctor"]) == 0
    find_server.cache_clear()
    assert (
        "\nMySQL does not run: BENCHBOOK_MYSQL_URL (mysql://127.0.0.1:1/x) does not answer"
        in capfd.readouterr().out
    )


def test_doctor_returns_a_data_frame_for_a_notebook():
    frame = doctor.as_frame()
    assert list(frame.columns) == ["kind", "part", "ready", "version", "how to add it"]
    assert not frame["part"].duplicated().any() and {"MongoDB", "Python", "Java"} <= {
        *frame["part"]
    }
    assert ((frame["ready"] == "yes") == (frame["how to add it"] == "")).all()


def test_plan_begins_with_the_totals_and_json_has_every_cell_and_its_state(
    home: Path, capfd: pytest.CaptureFixture[str]
):
    cells = grid.make_plan(["crud"], "smoke").cells
    finish(cells[0])
    assert cli.main(["plan", "crud", "--profile", "smoke", "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert [row["identity"] for row in rows] == [one.identity for one in cells]
    assert [row["state"] for row in rows] == ["done"] + ["todo"] * (len(cells) - 1)
    assert rows[0]["seconds"] == 0 and rows[1]["seconds"] is None
    assert cli.main(["plan", "crud", "--profile", "smoke"]) == 0
    first = capfd.readouterr().out.splitlines()[0]
    assert (
        first == f"{len(cells)} cells in 1 block: 1 done, {len(cells) - 1} to do, time left unknown"
    )


def test_plan_lists_each_cell_once_below_its_number_of_blocks(
    home: Path, capfd: pytest.CaptureFixture[str]
):
    asked = [
        "plan",
        "bookstore",
        "tcp",
        "--profile",
        "smoke",
        "--where",
        "language=python",
        "--set",
        "blocks=3",
    ]
    cells = grid.make_plan(["bookstore", "tcp"], "smoke", ["language=python"], ["blocks=3"]).cells
    finish(cells[0])
    assert cli.main(asked) == 0
    printed = capfd.readouterr().out
    assert f"\nbookstore  {sum(cell.study == 'bookstore' for cell in cells)} " in printed
    assert "json_codec" not in printed, "cells are listed where they are asked for"
    assert cli.main([*asked, "--cells"]) == 0
    printed = capfd.readouterr().out
    once = len({cell.identity for cell in cells})
    assert f"\n{once} cells x 3 blocks\n" in printed and len(cells) == 3 * once
    assert len(re.findall(r"^(bookstore|tcp) .*=", printed, re.MULTILINE)) == once
    assert len(re.findall(r"  1 done, 2 to do( |$)", printed, re.MULTILINE)) == 1


def test_nothing_can_run_here_ends_with_3(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    find_server.cache_clear()
    monkeypatch.setattr(
        launcher,
        "find_server",
        lambda product, topology="single": MissingServer(product, "no mongod here"),
    )
    asked = ["run", "drivers", "--profile", "smoke"]
    assert cli.main(asked) == 3
    assert cli.main(asked) == 3, "again, although each has its row already"
    assert "no mongod here" in capfd.readouterr().out
    find_server.cache_clear()
    assert set(open_results().list_states("drivers").values()) == {"skipped"}


@pytest.mark.parametrize("asked", [["report"], ["figure", "overview"], ["number", "claims.all"]])
def test_commands_about_a_profile_that_never_ran_end_with_3(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    asked: list[str],
):
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    monkeypatch.chdir(tmp_path)
    finish(grid.make_plan(["crud"], "smoke").cells[0])
    assert cli.main([*asked, "--profile", "evening"]) == NOTHING_RUNS == 3
    printed = capfd.readouterr()
    said = "benchbook: no cell of the profile evening ran here (the results here are of other cells"
    assert printed.err.startswith(said) and printed.err.count("\n") == 1 and printed.out == ""
    assert "benchbook run --profile evening, or " in printed.err
    assert not (tmp_path / "figures").exists() and not [*tmp_path.glob("overview*")]


def test_command_lines_share_what_is_judged_while_nothing_changes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = ["database=noop", "topology=single", "arm=a"]
    (planned,) = grid.make_plan(["crud"], "smoke", only).cells
    finish(planned)

    def load(inputs: str) -> tuple[Run, bool, int]:
        options = argparse.Namespace(profile="smoke", inputs=inputs, records=None)
        return selection.load_profile(options)

    def refuse(*_: object) -> None:
        raise AssertionError("planned again")

    run, *others = load("same")
    means = run.means
    assert others == [True, 0] and {*means["cell_id"]} == {planned.identity}
    monkeypatch.setattr(grid, "make_plan", refuse)
    monkeypatch.setattr(runs, "load_block_means", refuse)
    again, *others = load("same")
    assert others == [True, 0] and again.identities == run.identities
    pd.testing.assert_frame_equal(again.means, means)
    with pytest.raises(AssertionError, match="planned again"):
        load("other")


def _remove_products(monkeypatch: pytest.MonkeyPatch, *products: str) -> None:
    """Let no server of these products be found."""
    real = launcher.find_server

    def find(product: str, topology: str = "single") -> AvailableServer | MissingServer:
        return (
            MissingServer(product, f"no {product} here")
            if product in products
            else real(product, topology)
        )

    monkeypatch.setattr(launcher, "find_server", find)
    find_server.cache_clear()


def test_optional_databases_of_quick_that_are_missing_are_named_in_one_line(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    _remove_products(monkeypatch, "mysql", "couchdb", "rethinkdb", "couchbase", "sqlserver")
    for name in ("MYSQL", "COUCHDB", "RETHINKDB", "COUCHBASE", "SQLSERVER"):
        monkeypatch.delenv(f"BENCHBOOK_{name}_URL", raising=False)
    cells = grid.make_plan().cells
    assert "mysql" not in {cell.product for cell in cells} and not any(
        cell.missing for cell in cells
    )
    for one in cells:
        finish(one)
    assert cli.main(["plan"]) == 0
    planned = capfd.readouterr().out
    assert cli.main(["run"]) == 0, "all that is in the plan is done"
    ran = capfd.readouterr().out
    assert cli.main(["plan", "--cells"]) == 0
    in_full = capfd.readouterr().out
    find_server.cache_clear()
    for printed in (planned, ran):
        (line,) = [line for line in printed.splitlines() if line.startswith("Left out")]
        assert "missing here: " in line and "mysql" in line and "couchdb" in line
        assert line.endswith("(benchbook doctor --missing)")
    assert "Left out: couchdb (crud, replication): no couchdb here\n" in in_full


def test_a_database_that_is_left_out_despite_its_address_has_a_reason(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    _remove_products(monkeypatch, "mysql")
    monkeypatch.setenv("BENCHBOOK_MYSQL_URL", "mysql://127.0.0.1:1/x")
    assert cli.main(["plan", "crud"]) == 0
    find_server.cache_clear()
    assert "Left out: mysql (crud): no mysql here\n" in capfd.readouterr().out


def test_a_run_of_missing_databases_only_ends_with_3_and_says_how_to_add_them(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    _remove_products(monkeypatch, "mysql")
    assert cli.main(["run", "crud", "--where", "database=mysql+relational"]) == 3
    find_server.cache_clear()
    assert "Left out: mysql (crud): no mysql here" in capfd.readouterr().out


def test_plan_prints_one_line_per_reason_and_no_row_for_a_skipped_cell(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    _remove_products(monkeypatch, "mysql")
    asked = [
        "plan",
        "crud",
        "--profile",
        "paper",
        "--where",
        "database=mysql+json,noop",
        "--set",
        "blocks=1",
    ]
    assert cli.main([*asked, "--cells"]) == 0
    printed = capfd.readouterr().out.splitlines()
    find_server.cache_clear()
    (line,) = [line for line in printed if "no mysql here" in line]
    assert (
        line == f"Skipped {re.findall('[0-9]+ skipped', printed[0])[0].split()[0]}: no mysql here"
    )
    assert not any("mysql+json" in line for line in printed) and any(
        "database=noop" in line for line in printed
    )


def test_observations_are_those_of_the_current_code(home: Path, capfd: pytest.CaptureFixture[str]):
    one, two = grid.make_plan(
        ["crud"], "smoke", ["database=noop,mongodb", "topology=single", "arm=a"]
    ).cells
    finish(one)
    known = {"study": "crud", "block": 0, "state": "done"}
    open_results().write_cell(
        {**known, "cell_id": "old", **one.parameters.as_columns()}, parameters=one.combination[1]
    )
    open_results().write_cell({**known, "cell_id": "older", "gone": 1}, parameters='{"gone": 1}')
    query = ["results", "--json", "--sql", "SELECT cell_id FROM "]
    assert cli.main([*query[:-1], query[-1] + "observations"]) == 0
    assert json.loads(capfd.readouterr().out) == [{"cell_id": one.identity}]
    assert cli.main([*query[:-1], query[-1] + "all_observations"]) == 0
    assert len(json.loads(capfd.readouterr().out)) == 3
    finish(two)
    assert cli.main([*query[:-1], query[-1] + "observations", "--profile", "quick"]) == 0
    assert json.loads(capfd.readouterr().out) == []


def test_results_without_a_query_print_a_summary_and_an_example_query(
    home: Path, capfd: pytest.CaptureFixture[str]
):
    (one,) = grid.make_plan(["crud"], "smoke", ["database=noop", "topology=single", "arm=a"]).cells
    finish(one)
    assert cli.main(["results"]) == 0
    names, row, _, *advice = capfd.readouterr().out.splitlines()
    assert names.split()[:3] == ["study", "cells", "blocks"]
    assert row.split()[:3] == ["crud", "1", "1"]
    assert "--sql" in advice[0] and advice[2].startswith('  benchbook results --sql "SELECT ')
    assert cli.main(["results", "--format", "csv"]) == 0
    assert capfd.readouterr().out.splitlines()[0].startswith("cell_id,block,"), (
        "other forms hold everything"
    )


def test_the_summary_of_results_has_separate_rows_for_users_documents(
    home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    file = tmp_path / "own.jsonl"
    file.write_text('{"name": "ann", "city": "x"}\n' * 2)
    only = ["database=noop", "topology=single", "arm=a"]
    (paper,) = grid.make_plan(["crud"], "smoke", only).cells
    (own,) = grid.make_plan(["crud"], "smoke", only, [f"dataset_file={file}", "n=2"]).cells
    for one in (paper, own):
        finish(one)
    assert cli.main(["results"]) == 0
    names, first, second, *asked = capfd.readouterr().out.splitlines()
    assert names.split()[-1] == "documents"
    assert first.split()[:3] == second.split()[:3] == ["crud", "1", "1"]
    assert first.endswith(" as in the paper") and second.endswith(" own.jsonl")
    assert "dataset_file IS NULL" in "".join(asked), "the example reads the papers' data alone"


def test_the_command_prints_its_version(capfd: pytest.CaptureFixture[str]):
    assert cli.main(["--version"]) == 0
    assert re.fullmatch(
        rf"benchbook {version.read_version()}( \([0-9a-f]{{10}}(\+changes)?\))?\n",
        capfd.readouterr().out,
    )


def test_results_are_written_as_text_csv_json_and_parquet(
    home: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
):
    sql = "SELECT 1 AS a, 'é, \"x\"' AS b, TIMESTAMP '2026-11-21' AS c, NULL AS d"
    printed = {}
    for form in ("text", "csv", "json", "parquet"):
        assert cli.main(["results", "--sql", sql, "--format", form]) == 0
        printed[form] = capfdbinary.readouterr().out
    assert "é" in printed["text"].decode() and printed["csv"].startswith(
        b'a,b,c,d\n1,"\xc3\xa9, ""x""",2026-11-21'
    )
    (row,) = json.loads(printed["json"])
    assert (row["a"], row["b"], row["d"]) == (1, 'é, "x"', None)
    assert pd.read_parquet(io.BytesIO(printed["parquet"]))["b"].to_list() == ['é, "x"']
    target = tmp_path / "out.csv"
    assert cli.main(["results", "--sql", sql, "--output", str(target)]) == 0, (
        "the file's name says which form"
    )
    assert target.read_bytes() == printed["csv"] and capfdbinary.readouterr().out == b""


ODD = {
    "INTERVAL '1 month 2 days'": "1 month 2 days",
    "170141183460469231731687303715884105727::HUGEINT": 2**127 - 1,
    "12345678901234567890.5::DECIMAL(38, 1)": 12345678901234567890.5,
    "'nan'::DOUBLE": None,
    "'-inf'::FLOAT": None,
    "1e20::DOUBLE": 1e20,
    "[{'a': 1.5, 'b': INTERVAL 1 day}]": [{"a": 1.5, "b": "1 day"}],
    "MAP {'k': [1, NULL]}": {"k": [1, None]},
    "union_value(a := 1)": {"a": 1},
    "'\\xAA'::BLOB": "\\xAA",
    "'0101'::BIT": "0101",
    "1::BIGNUM": 1,
    "'a'::ENUM('a', 'b')": "a",
    "TIME '12:00:00.5'": "12:00:00.5",
    "'12:00:00+02'::TIMETZ": "12:00:00+02",
    "TIMESTAMPTZ '2026-11-21 01:02:03.5'": "2026-11-21T01:02:03.500000Z",
    "TIMESTAMP '200000-01-01'": "200000-01-01 00:00:00",
    "'infinity'::DATE": "infinity",
    "chr(0) || chr(10) || chr(27)": "\0\n\x1b",
    "true": True,
}


def test_every_type_of_duckdb_is_valid_json_csv_and_text(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    sql = f"SELECT {', '.join(f'{one} AS same' for one in ODD)}"
    assert cli.main(["results", "--sql", sql, "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    assert list(row.values()) == list(ODD.values())
    for form in ("csv", "text"):
        assert cli.main(["results", "--sql", sql, "--format", form]) == 0
        assert "1 month 2 days" in capfd.readouterr().out
    assert cli.main(["results", "--sql", "SELECT 1 WHERE false", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == []


def test_a_full_disk_is_reported_in_one_line_and_the_old_file_stays(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    kept = tmp_path / "kept.csv"
    kept.write_text("before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert cli.main(["results", "--sql", "SELECT 1", "--output", str(kept)]) == 1
    assert cli.main(["results", "--sql", "SELECT 1", "--output", "/dev/full"]) == 1
    told = capfd.readouterr().err
    assert told.count("the disk is full: free some of it") == told.count("\n") == 2
    assert told.startswith(f"benchbook: {kept}: the disk is full")
    assert kept.read_text() == "before" and [path.name for path in tmp_path.glob("*kept*")] == [
        "kept.csv"
    ]
    command = [sys.executable, "-m", "benchbook.cli", "results", "--sql", "SELECT 1"]
    with Path("/dev/full").open("wb") as nothing:
        ended = subprocess.run(command, stdout=nothing, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1 and "output" in ended.stderr
    assert (
        ended.stderr.endswith("the disk is full: free some of it\n")
        and ended.stderr.count("\n") == 1
    )


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a disk that takes 16 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with mount_memory(disk, "size=16k", "small"):
        yield disk


@pytest.mark.parametrize(
    "arguments",
    [
        [
            "figure",
            "bookstore_case1",
            "--reference",
            "--format",
            "pdf,svg,png",
            "--output",
            "{disk}/figures",
        ],
        ["init", "{disk}/folder"],
        ["new", "codec", "mine", "--folder", "{disk}/mine"],
        ["explore", "--no-open"],
        [
            "run",
            "bookstore",
            "--profile",
            "smoke",
            "--noisy",
            "--where",
            "language=python",
            "--set",
            "repetitions=3000",
        ],
        ["results", "import", "{rows}"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_reports_a_full_disk_in_one_line(
    arguments, full_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd
):
    rows = tmp_path / "rows.parquet"
    if arguments[0] == "results":
        observed = pq.ParquetFile(ROOT / "figures" / "reference" / "repetitions.parquet")
        pq.write_table(pa.Table.from_batches([next(observed.iter_batches(20_000))]), rows)
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(full_disk / "results"))
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(full_disk / "figures"))
    monkeypatch.chdir(paths.root())
    assert cli.main([part.format(disk=full_disk, rows=rows) for part in arguments]) == 1
    *_, said = capfd.readouterr().err.splitlines()
    assert str(full_disk) in said and "free some of it" in said
    files = [path for path in full_disk.rglob("*") if path.is_file()]
    assert [path for path in files if re.fullmatch(r"\..*\.\d+", path.name)] == [], (
        "no half file is left"
    )
    assert not files or arguments[0] in ("run", "results", "explore")


def test_a_command_works_with_its_standard_output_closed():
    command = f"{shlex.quote(sys.executable)} -m benchbook.cli plan bookstore --profile smoke >&-"
    ended = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_ends_an_endless_query(home: Path):
    sql = "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t"
    interrupted = "signal.signal(signal.SIGALRM, signal.default_int_handler); signal.alarm(2)"
    code = f"import signal, benchbook.cli.results as _\nfrom benchbook import cli\n{interrupted}\n"
    code += f"raise SystemExit(cli.main(['results', '--sql', {sql!r}]))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "benchbook: stopped\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_servers_stay_up_until_they_are_stopped(temporary: Path, number: signal.Signals):
    command = [sys.executable, "-m", "benchbook.cli", "servers", "up", "postgresql+jsonb"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    assert list(temporary.iterdir()) == []
    found = re.match(r"export BENCHBOOK_POSTGRESQL_URL='(\S+)'  # .*process (\d+)", address)
    assert found and process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(found[2]), 0)


def test_cells_that_a_users_records_do_not_fit_are_left_out_with_a_reason(tmp_path, capsys):
    file = tmp_path / "people.csv"
    file.write_text("id;name;paid\nx;ann;1,5\ny;bob;\n")
    own = ["--set", f"dataset_file={file}", "--set", "n=2"]
    assert cli.main(["plan", "bookstore", "--profile", "quick", *own]) == DONE
    said = capsys.readouterr().out
    assert "Left out: 2 cells per block (bookstore): case: 2 is not for your records" in said
    assert "language: java marshals the paper's classes, not your records" in said
    form = "delimited text, UTF-8, delimiter semicolon, decimal comma"
    assert f"{file}: {form}: 2 records of 3 fields, " in said
    tables = ["--set", "arrays=table", "--set", "database=postgresql+relational"]
    assert cli.main(["plan", "crud", "--profile", "smoke", *tables, *own]) == USAGE
    assert f"{file}: arrays: table is for records with arrays" in capsys.readouterr().err


DATABASES = "database=mongodb,postgresql+jsonb,postgresql+relational,noop"
MB = 2**20


NOT_UPDATED = "an update changes a text or a number, and no field but the keys holds one"
REFUSED = ":1: lxml does not take this record: "


@pytest.mark.parametrize(
    ("record", "studies", "says", "left"),
    [
        ({"xmin": "x", "$a": "\0", "a.b": "x"}, "crud", [], 4),
        ({"a": "x\1"}, "bookstore tcp", [f"{REFUSED}field 'a': All strings"], 1),
        ({"a": "x" * (10 * MB + 1)}, "bookstore", [f"{REFUSED}not a flat record"], 1),
        ({"a": "x" * (MB + 1)}, "tcp", [f"{REFUSED}a document of 1,048"], 0),
        ({"a": 1}, "crud", [], 4),
        ({"a": True}, "crud", [NOT_UPDATED], 0),
        ({}, "crud drivers", [NOT_UPDATED], 0),
        ({}, "bookstore replication", [], 6),
    ],
    ids=lambda one: None if isinstance(one, int) else str(one)[:24],
)
def test_records_that_a_codec_or_study_refuses_are_refused_before_anything_starts(
    record: dict[str, Any],
    studies: str,
    says: list[str],
    left: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(record) + "\n" + json.dumps(record) + "\n")
    sets = (
        ["--set", DATABASES, "--set", "topology=single"]
        if "crud" in studies and "drivers" not in studies
        else []
    )
    asked = [
        "plan",
        *studies.split(),
        "--profile",
        "smoke",
        "--where",
        "arm=a",
        *sets,
        "--set",
        f"dataset_file={file}",
    ]
    status = cli.main([*asked, "--set", "n=2"])
    said = capsys.readouterr()
    assert status == (DONE if left else USAGE)
    for one in says:
        assert (f"{file}{one}" if one[0] == ":" else f"{file}: {one}") in said.out + said.err
    if left:
        assert said.out.startswith(f"{left} cell{'s' * (left > 1)} in 1 block: {left} to do")
    else:
        assert said.out == "" and said.err.count("\n") == 1


def test_a_report_prints_one_line_per_step_in_a_log_and_one_renewed_line_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def build(profile: str, say: Callable[[str], object]) -> str:
        for step in ("drawing", "drawing", "writing", profile * 100):
            say(step)
        return "report.html"

    monkeypatch.setattr(report, "build_report", build)
    assert cli.main(["report"]) == DONE
    assert capsys.readouterr() == ("report.html\n", f"drawing\nwriting\n{'quick' * 100}\n")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert cli.main(["report"]) == DONE
        terminal.write("end")
        terminal.flush()
        shown = b""
        while not shown.endswith(b"end"):
            shown += os.read(ours, 1024)
    os.close(ours)
    assert b"drawing" in shown and b"writing" in shown and b"quick" in shown
    assert max(map(len, re.split(rb"\r|\x1b\[2K", shown))) < 100 and shown.count(b"\n") <= 1
    assert capsys.readouterr().out == "report.html\n"


def test_plan_names_parameters_with_levels_outside_the_profile_of_a_named_study(capsys):
    def print_plan(*words: str) -> str:
        assert cli.main(["plan", "tcp", *words]) == DONE
        lines = capsys.readouterr().out.splitlines()
        return "".join(
            line for line in lines if line.startswith("Not in the profile quick of tcp: levels of ")
        )

    assert ", n, " in print_plan() and "40000" not in print_plan()
    assert "n 40000, 60000" in print_plan("--cells") and "fields 2, 50" in print_plan("--cells")
    assert print_plan("--profile", "paper") == ""


def test_a_table_is_not_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", "100")
    rows = [{"name": "one", "what it is": "word " * 40}]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    table = output.format_table(rows).splitlines()
    assert len(table) > 2 and max(map(len, table)) <= 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert len(output.format_table(rows).splitlines()) == 2, (
        "a pipe's reader wants one row per line"
    )


def test_claims_of_a_users_file_are_judged_like_the_papers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (shown,) = re.findall(
        r"```yaml\n(study: .*?)```", (ROOT / "docs" / "method.md").read_text(), re.DOTALL
    )
    file = tmp_path / "mine.yaml"
    file.write_text(shown)
    assert cli.main(["claims", "--claims", str(file), "--reference", "--json"]) == DONE
    (row,) = json.loads(capsys.readouterr().out)
    assert row["id"] == "bookstore.mine.xml-slower"
    assert 1.2 < row["low"] < row["estimate"] < row["high"]
    file.write_text(shown.replace("claimed: more", "claimed: mroe"))
    assert cli.main(["claims", "--claims", str(file), "--reference"]) == USAGE
    assert re.search(r"mine\.yaml:\d+: .*claimed", capsys.readouterr().err)
    file.write_text(shown.replace("study: bookstore", "study: bookstor"))
    assert cli.main(["claims", "--claims", str(file), "--reference"]) == USAGE
    assert "mine.yaml:1: study: one of bookstore, " in capsys.readouterr().err
