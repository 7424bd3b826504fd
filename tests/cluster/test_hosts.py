"""Runs on several machines give the rows of one, also if a host is lost or has another version."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import psutil
import pyarrow as pa
import pytest

from background_load import Others
from benchbook import cli, grid, paths, version
from benchbook.cli.command import DONE, FAILED, INTERRUPTED, USAGE
from benchbook.cluster import block, dispatch
from benchbook.cluster.child_process import HostsError
from benchbook.grid.cells import find_counted_results, list_result_keys
from benchbook.measure.machine import name_host
from benchbook.results import files
from benchbook.results.folder import open_results
from benchbook.results.views import connect, load_observations
from benchbook.runner import batch
from benchbook.runner.progress import Limits
from benchbook.studies.levels import read_parameters
from dask_lab import Lab, can_rename, write_configuration
from shared_kernels import SharedForkServers
from waiting import PATIENCE_S, ask_each, comes_true, is_gone

WHERE = ["language=python", "process=together", "case=1"]
"""Two cells in a block: the arms of an A/A check."""

SMOKE = (
    *("bookstore", "--profile", "smoke", "--set", "blocks=4"),
    *(f"--where={condition}" for condition in WHERE),
)
SERVED = (
    "crud",
    "--profile",
    "smoke",
    "--where",
    "database=mongodb",
    "--where",
    "language=python",
    "--where",
    "arm=a",
    "--set",
    "blocks=2",
)
"""Two cells in a block: a server, and a replicated pair."""
ONE = (*SMOKE[:4], "n=1", *SMOKE[5:])
RECORDS = "mine.json"
"""A file in the folder where the workers are started."""

OTHER = "0123456789"
"""A commit that this is not."""

KERNEL = "benchbook.runner.kernel"
"""What the command lines of a fork server and its kernels have."""

ALONE = "only Linux lets root give a process a host name of its own"
"""Why this machine cannot be two."""


@pytest.fixture(scope="module")
def running_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Yield a lab of the hosts one and two."""
    if not can_rename():
        pytest.skip(ALONE)
    folder = tmp_path_factory.mktemp("lab")
    (folder / RECORDS).write_text('[{"name": "there"}]')
    lab = Lab(folder, folder)
    lab.start_worker("one")
    lab.start_worker("two")
    lab.await_workers()
    yield lab
    lab.end()


@pytest.fixture
def lab(running_lab: Lab, results_folder: Path, tmp_path: Path) -> Lab:
    """Return the lab that all of these tests use, with folders of the test's own."""
    running_lab.results = results_folder
    running_lab.cwd = tmp_path
    return running_lab


def make_older_checkout(folder: Path) -> dict[str, str]:
    """Return the environment of a worker whose checkout is at another commit, as its git says."""
    (folder / "git").write_text(f"#!/bin/sh\necho {OTHER}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def rows() -> pd.DataFrame:
    """Return how many values each finished cell has, on whichever host."""
    observed = load_observations()
    cells = {row["cell_id"]: read_parameters(row) for row in observed.to_dict("records")}
    keys = ["study", "parameters", "block", "operation", "role", "metric"]
    return (
        observed.assign(parameters=observed["cell_id"].map(cells))
        .groupby(keys)
        .size()
        .reset_index(name="n")
    )


def hosts() -> set[str]:
    """Return the names of the machines that measured."""
    with connect() as connection:
        found = connection.sql("SELECT DISTINCT host FROM observations").fetchall()
    return {host.partition(" ")[0] for (host,) in found}


def list_measuring(process: "subprocess.Popen[bytes]") -> str:
    """Return the command lines of the processes that plan or measure for a worker."""
    commands = ask_each(
        psutil.Process(process.pid).children(recursive=True), psutil.Process.cmdline
    )
    return "\n".join(line for line in map(" ".join, commands) if "benchbook" in line)


def finish_run(lab: Lab, *options: str) -> str:
    """Return the output of a run that does all that is left."""
    before = len(lab.read_log("run"))
    assert lab.start_run(*options).wait(PATIENCE_S) == DONE, "\n".join(
        map(lab.read_log, ("run", "one", "two", "scheduler"))
    )
    return lab.read_log("run")[before:]


def count_cells(said: str) -> int:
    """Return how many cells a run's last summary says are done, now or before."""
    summary = [line for line in said.splitlines() if re.match(r"\d+ cells: ", line)][-1]
    return sum(int(count) for count in re.findall(r"(\d+) done", summary))


def list_written(lab: Lab) -> dict[str, int]:
    """Return when each result was written, by its name."""
    return {path.name: path.stat().st_mtime_ns for path in lab.results.glob("*/[!.]*.parquet")}


@pytest.mark.usefixtures("shared_kernels")
def test_two_hosts_give_the_rows_of_one_and_unfit_workers_are_not_used_even_without_others(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfit = [
        lab.start_worker("older", **make_older_checkout(tmp_path)),
        lab.start_worker("threads", "--nthreads", "2"),
    ]
    unfit += [lab.start_worker("again", host="two")]
    lab.await_workers()
    said = finish_run(lab, *SERVED)
    shared = rows()
    assert hosts() == {"one", "two"}
    assert said.count(" joined\n") == 2 and "failed" not in said, said
    assert said.count("not used: the worker at tls://") == 1
    assert "start it with --nthreads 1 --resources benchbook=1" in said
    theirs = f"it has benchbook {version.read_version()} ({OTHER}+changes)"
    assert f"{theirs}, the run has {version.describe_version()}: check out the same" in said
    for process in unfit[1:]:
        process.terminate()
    # The run's file has the name of the workers' file and other contents.
    (tmp_path / RECORDS).write_text('[{"name": "here"}]')
    run = lab.start_run(*SMOKE, "--set", f"dataset_file={RECORDS}")
    assert run.wait(PATIENCE_S) == FAILED
    said = lab.read_log("run")
    assert f": {theirs}" in said and said.count("dataset_file has other contents") >= 2
    assert "stopped: no worker of the scheduler can measure" in said
    unfit[0].terminate()
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "alone"))
    assert cli.main(["run", *SERVED]) == DONE
    pd.testing.assert_frame_equal(shared, rows())


def test_after_a_killed_run_ctrl_c_and_a_killed_worker_the_same_command_continues(lab: Lab) -> None:
    # A killed run leaves no process.
    first = lab.processes[1]
    run = lab.start_run(*SMOKE)
    assert comes_true(lambda: KERNEL in list_measuring(first)), lab.read_log("run")
    run.kill()
    run.wait()
    assert comes_true(lambda: not any(map(list_measuring, lab.processes[1:3])))

    # Ctrl-C keeps the finished cells.
    run = lab.start_run(*SMOKE)
    assert comes_true(lambda: list_written(lab))
    run.send_signal(signal.SIGINT)
    assert run.wait(PATIENCE_S) == INTERRUPTED, lab.read_log("run")
    kept = list_written(lab)
    assert kept and "Finished cells are kept" in lab.read_log("run")
    assert comes_true(lambda: not any(map(list_measuring, lab.processes[1:3])))

    # Another worker takes the block of a killed one.
    before = len(lab.read_log("run"))
    run = lab.start_run(*SMOKE)
    assert comes_true(lambda: KERNEL in list_measuring(first)), lab.read_log("run")
    family = [process.pid for process in psutil.Process(first.pid).children(recursive=True)]
    first.kill()
    first.wait()
    assert comes_true(lambda: all(is_gone(pid) for pid in family))
    assert run.wait(PATIENCE_S) == DONE, lab.read_log("run")
    said = lab.read_log("run")[before:]
    assert (
        "was lost; block" in said
        and "of bookstore is free for another host" in said
        and "failed" not in said
    )
    assert count_cells(said) == 8, said
    written = list_written(lab)
    assert written.items() >= kept.items() and len(written) > len(kept)
    assert {json.loads(name.split(".")[1]) for name in written} == {0, 1, 2, 3}
    assert "8 cells: 0 done, 8 done before, in " in finish_run(lab, *SMOKE)
    assert list_written(lab) == written

    # Of each block one cell is missing; whichever host continues it, each cell is counted once.
    one_of_each = {name.split(".")[1]: name for name in written}
    for path in [lab.results / "bookstore" / name for name in one_of_each.values()]:
        path.unlink()
    said = finish_run(lab, *SMOKE)
    assert count_cells(said) == 8 and "8 done before" not in said, said
    with connect() as connection:
        sql = "SELECT host, block FROM observations GROUP BY ALL"
        assert connection.sql(sql).fetchall()


def test_noisy_cells_of_hosts_are_measured_again_by_a_run_that_repeats_them(lab: Lab) -> None:
    few = [*SMOKE[:4], "blocks=1", "--set", "n=3", *SMOKE[5:]]
    finish_run(lab, *few)
    for file in open_results().list_files():
        table = files.read_table(file.path)
        for name, value in (("noisy", True), ("background_load", 1e6)):
            column = pa.array([value] * len(table), table.schema.field(name).type)
            table = table.set_column(table.column_names.index(name), name, column)
        files.write_table(file.path, table, file.facts)
    written = list_written(lab)
    assert "2 cells: 0 done, 2 done before" in finish_run(lab, *few)
    assert list_written(lab) == written
    # By their own host, or whole by another one that joins first.
    assert "2 cells: 2 done, in " in finish_run(lab, *few, "--again")
    with connect() as connection:
        sql = "SELECT count(DISTINCT cell_id) FROM cells WHERE background_load < 1e6"
        assert connection.sql(sql).fetchall() == [(2,)]


def test_a_run_without_the_labs_certificate_is_refused(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for environment in ({"DASK_CONFIG": str(tmp_path)}, write_configuration(tmp_path)):
        monkeypatch.setattr(lab, "environment", environment)
        before = len(lab.read_log("run"))
        assert lab.start_run(*ONE).wait(PATIENCE_S) == USAGE
        said = lab.read_log("run")[before:]
        assert f"--scheduler: no scheduler answers at {lab.address}" in said
        assert "Dask's configuration names its certificates, in distributed.comm.tls" in said


def test_a_missing_scheduler_is_reported_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_S", 0.5)
    assert cli.main(["run", *ONE, "--scheduler", "127.0.0.1:9"]) == USAGE
    assert "--scheduler: no scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "tcp://10.0.0.1"], "use tls://10.0.0.1:8786"),
        (
            ["--scheduler", "lab:9000"],
            "lab:9000 has no TLS, so all who can reach it can run any code here",
        ),
        (["--scheduler", "tls://lab:port"], "is not an address: write it as tls://10.0.0.1:8786"),
        (["--scheduler", "tls://lab", "--until-decided"], "runs on this machine only"),
        (["--unprotected"], "--unprotected needs --scheduler"),
    ],
)
def test_options_that_do_not_fit_together_or_are_unsafe_are_refused_with_a_remedy(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert cli.main(["run", *ONE, *options]) == USAGE
    assert said in capsys.readouterr().err


def test_an_address_without_tls_is_accepted_with_the_option_or_on_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_S", 0.2)
    for address, *options in (["[::1]:9"], ["localhost:9"], ["192.0.2.1:9", "--unprotected"]):
        assert cli.main(["run", *ONE, "--scheduler", address, *options]) == USAGE
        assert f"no scheduler answers at tcp://{address}" in capsys.readouterr().err


def test_one_machine_needs_no_dask() -> None:
    code = "import sys; from benchbook import cli"
    code += "; cli.main(['plan', 'bookstore', '--profile', 'smoke'])"
    code += "; import benchbook.cli.run, benchbook.cli.until_decided"
    code += "; sys.exit(bool({'dask', 'distributed'} & {*sys.modules}))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False
        ).returncode
        == 0
    )


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory, file_kernels: SharedForkServers) -> Path:
    """Return the results of a run of `ONE`."""
    folder = tmp_path_factory.mktemp("one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBOOK_RESULTS", str(folder))
        patch.setattr(batch, "ForkServer", file_kernels.provide)
        assert cli.main(["run", *ONE]) == DONE
    return folder


@pytest.fixture
def measured(one_run: Path, results_folder: Path) -> Path:
    """Return a results' folder of the test's own with the cells of `ONE`."""
    return shutil.copytree(one_run, results_folder)


def test_results_that_a_host_measured_for_a_lost_run_are_sent_up_to_a_size(
    measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        replace(cell, state="todo")
        for cell in grid.make_plan(["bookstore"], "smoke", WHERE, ["n=1"]).cells
    ]
    block_results = block.measure(cells, Limits(60.0), {})
    assert block_results.summary.done == len(cells) > 0 and block_results.summary.ended_by is None
    assert {f"bookstore/{cell.key}.parquet" for cell in cells} <= {*block_results.files}
    assert block_results.files[f"bookstore/{cells[0].key}.parquet"] == cells[0].path.read_bytes()
    monkeypatch.setattr(block, "MAX_BLOCK_BYTES", 10)
    with pytest.raises(HostsError, match="at most 10 are sent"):
        block.measure(cells, Limits(60.0), {})
    block._remove_other_results(open_results(), cells[:1])
    assert [path.name for path in paths.results().glob("*/*.parquet")] == [
        f"{cells[0].key}.parquet"
    ]


def test_a_host_returns_a_noisy_cell_of_the_run_only_with_less_noisy_values(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, file_kernels: SharedForkServers
) -> None:
    monkeypatch.setattr(batch, "ForkServer", file_kernels.provide)
    (cell, *_) = grid.make_plan(["bookstore"], "smoke", WHERE, ["n=1"]).cells
    for load, is_returned in ((2.5, False), (0.5, True)):
        Others(load).install(monkeypatch)
        block_results = block.measure([cell], Limits(60.0, 60.0), {cell.key: 1.5})
        summary = block_results.summary
        assert (summary.done, summary.ended_by) == (1, None)
        assert (f"bookstore/{cell.key}.parquet" in block_results.files) == is_returned


def test_results_of_another_host_with_the_same_code_count_too(
    measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["n=1"]
    here = [cell.key for cell in grid.make_plan(["bookstore"], "smoke", WHERE, changes).cells]
    planned = name_host()
    for module in ("benchbook.grid.cell_id", "benchbook.grid.cells"):
        monkeypatch.setattr(f"{module}.name_host", lambda: "elsewhere")
    there = grid.make_plan(["bookstore"], "smoke", WHERE, changes).cells
    assert not {cell.key for cell in there} & {*here} and all(
        cell.state == "todo" for cell in there
    )
    assert sorted(list_result_keys(there)) == sorted([*(cell.key for cell in there), *here])
    counted = find_counted_results(there)
    assert {(one.host, one.is_earlier) for one in counted} == {(planned, False)}
    monkeypatch.setattr("benchbook.grid.pooling.read_versions", lambda *_: {"measure": 100})
    assert not find_counted_results(there)


@pytest.mark.usefixtures("shared_kernels")
def test_results_of_a_machine_with_the_same_name_are_imported_under_another(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed_in = str(tmp_path / "ben.parquet")
    assert cli.main(["results", "export", handed_in]) == DONE
    for file in measured.glob("*/*.parquet"):
        file.unlink()
    assert cli.main(["run", *ONE]) == DONE
    plan = grid.make_plan(["bookstore"], "smoke", WHERE, ["n=1"]).cells
    assert cli.main(["results", "import", handed_in, "--as", "ben"]) == DONE
    assert {(one.host, one.cell.key) for one in find_counted_results(plan)} == {
        ("ben", cell.key) for cell in plan
    }


def test_results_are_exported_as_a_database_and_imported_again(
    measured: Path, tmp_path: Path
) -> None:
    before = rows()
    for name in ("all.duckdb", "all.parquet"):
        assert cli.main(["results", "export", str(tmp_path / name)]) == DONE
    with duckdb.connect(str(tmp_path / "all.duckdb"), read_only=True) as database:
        assert database.sql("SELECT count(*) FROM observations").fetchall() == [
            (before["n"].sum(),)
        ]
    for file in measured.glob("*/*.parquet"):
        file.unlink()
    assert cli.main(["results", "import", str(tmp_path / "all.parquet")]) == DONE
    pd.testing.assert_frame_equal(rows(), before)
