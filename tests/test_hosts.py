"""Several machines: the rows that one gives, whichever is lost meanwhile; another suite takes no part."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import psutil
import pytest

from benchbook import cli, grid, paths, results, suite
from benchbook.grid import planning
from benchbook.hosts import HostsError, dispatch, worker
from benchbook.studies.levels import state_parameters
from labs import Lab, can_rename, configuration
from waiting import comes_true, gone, of_each

WHERE = ["language=python", "process=together"]
CHOSEN = [word for text in WHERE for word in ("--where", text)]
SMOKE = ("bookstore", "--profile", "smoke", *CHOSEN, "--set", "blocks=4")
SERVED = (
    "crud",
    "--profile",
    "smoke",
    "--where",
    "database=mongodb,noop",
    "--where",
    "language=python",
    "--set",
    "blocks=2",
)
ONE = (*SMOKE[:-1], "n=1")
OTHER = "0123456789"
"""A commit that this is not."""

ALONE = "only Linux lets root give a process a host name of its own"
"""Why this machine cannot be two."""


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Yield a lab of the hosts one and two."""
    if not can_rename():
        pytest.skip(ALONE)
    lab = Lab(tmp_path_factory.mktemp("lab"))
    lab.worker("one")
    lab.worker("two")
    yield lab
    lab.end()


@pytest.fixture
def lab(standing: Lab, results_folder: Path) -> Lab:
    """Return the lab that all of these tests use, with a results' folder of the test's own."""
    standing.results = results_folder
    return standing


def older(folder: Path) -> dict[str, str]:
    """Return the environment of a worker whose checkout is at another commit, as its git says."""
    (folder / "git").write_text(f"#!/bin/sh\necho {OTHER}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def rows() -> pd.DataFrame:
    """Return how many values each finished cell has, on whichever host."""
    observed = results.observations()
    cells = {row["cell_id"]: state_parameters(row) for row in observed.to_dict("records")}
    keys = ["study", "parameters", "block", "operation", "role", "metric"]
    return observed.assign(parameters=observed["cell_id"].map(cells)).groupby(keys).size().reset_index(name="n")


def hosts() -> set[str]:
    """Return the names of the machines that measured."""
    with results.connect() as connection:
        found = connection.sql("SELECT DISTINCT host FROM observations").fetchall()
    return {host.partition(" ")[0] for (host,) in found}


def measuring(process: "subprocess.Popen[bytes]") -> str:
    """Return the command lines of the processes that plan or measure for a worker."""
    commands = of_each(psutil.Process(process.pid).children(recursive=True), psutil.Process.cmdline)
    return "\n".join(line for line in map(" ".join, commands) if "benchbook" in line)


def finished(lab: Lab, *options: str) -> str:
    """Return what a run prints that does all that is left."""
    before = len(lab.said("run"))
    assert lab.run(*options).wait(200) == cli.DONE, "\n".join(map(lab.said, ("run", "one", "two", "scheduler")))
    return lab.said("run")[before:]


def kept(lab: Lab) -> dict[str, int]:
    """Return when each result was written, by its name."""
    return {path.name: path.stat().st_mtime_ns for path in lab.results.glob("*/[!.]*.parquet")}


def test_two_hosts_give_the_rows_that_one_machine_gives_and_workers_that_do_not_fit_none(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfit = [lab.worker("older", **older(tmp_path)), lab.worker("threads", "--nthreads", "2")]
    unfit += [lab.worker("again", host="two")]
    said = finished(lab, *SERVED)
    shared = rows()
    assert hosts() == {"one", "two"}
    assert said.count("takes part") == 2 and "failed" not in said, said
    assert said.count("not used: the worker at tls://") == 1
    assert "start it with --nthreads 1 --resources benchbook=1" in said
    assert (
        f"it has benchbook {suite.version()} ({OTHER}+changes), the run has {suite.suite()}: check out the same" in said
    )
    for process in unfit:
        process.terminate()
    before = kept(lab)
    assert f"{len(before)} done before" in finished(lab, *SERVED) and kept(lab) == before
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "alone"))
    assert cli.main(["run", *SERVED]) == cli.DONE
    pd.testing.assert_frame_equal(shared, rows())


def test_ctrl_c_keeps_what_the_hosts_have_finished_and_the_same_command_goes_on(lab: Lab) -> None:
    run = lab.run(*SMOKE)
    assert comes_true(lambda: kept(lab))
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == cli.INTERRUPTED, lab.said("run")
    before = kept(lab)
    assert before and "Finished cells are kept" in lab.said("run")
    assert comes_true(lambda: not any(map(measuring, lab.processes[1:3])))
    finished(lab, *SMOKE)
    assert kept(lab).items() >= before.items() and len(kept(lab)) > len(before)
    with results.connect() as connection:
        sql = "SELECT host, block FROM observations GROUP BY ALL"
        assert connection.sql(sql).fetchall()


def test_a_killed_run_leaves_nothing_running_and_the_block_of_a_killed_worker_is_measured_by_another(lab: Lab) -> None:
    first = lab.processes[1]
    run = lab.run(*SMOKE)
    assert comes_true(lambda: kept(lab))
    run.kill()
    run.wait()
    assert comes_true(lambda: not any(map(measuring, lab.processes[1:3])))
    before = len(lab.said("run"))
    run = lab.run(*SMOKE)
    assert comes_true(lambda: "fork_server" in measuring(first)), lab.said("run")
    family = [process.pid for process in psutil.Process(first.pid).children(recursive=True)]
    first.kill()
    first.wait()
    assert comes_true(lambda: all(gone(pid) for pid in family))
    assert run.wait(200) == cli.DONE, lab.said("run")
    said = lab.said("run")[before:]
    assert "was lost; block" in said and "of bookstore is free for another host" in said and "failed" not in said
    assert {json.loads(name.split(".")[1]) for name in kept(lab)} == {0, 1, 2, 3}
    count = len(kept(lab))
    assert "12 cells: 0 done, 12 done before, in " in finished(lab, *SMOKE) and len(kept(lab)) == count


def test_a_run_without_the_labs_certificate_is_refused(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for environment in ({"DASK_CONFIG": str(tmp_path)}, configuration(tmp_path)):
        monkeypatch.setattr(lab, "environment", environment)
        before = len(lab.said("run"))
        assert lab.run(*ONE).wait(60) == cli.USAGE
        said = lab.said("run")[before:]
        assert f"--scheduler: no scheduler answers at {lab.address}" in said
        assert "Dask's configuration names its certificates, in distributed.comm.tls" in said


def test_no_scheduler_is_said_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_S", 0.5)
    assert cli.main(["run", *ONE, "--scheduler", "127.0.0.1:9"]) == cli.USAGE
    assert "--scheduler: no scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_a_run_ends_when_all_workers_have_another_suite_or_other_documents_under_that_name(
    results_folder: Path, tmp_path: Path
) -> None:
    if not can_rename():
        pytest.skip(ALONE)
    lab = Lab(tmp_path)
    try:
        lab.worker("older", **older(tmp_path))
        for name in ("there", "here"):
            lab.cwd = tmp_path / name
            lab.cwd.mkdir()
            (lab.cwd / "mine.json").write_text(f'[{{"name": "{name}"}}]')
            if name == "there":
                lab.worker(name)
        assert lab.run(*SMOKE[:-1], "dataset_file=mine.json").wait(60) == cli.FAILED
        assert ": it has benchbook" in lab.said("run") and "dataset_file has other contents" in lab.said("run")
        assert "stopped: no worker of the scheduler can measure" in lab.said("run")
    finally:
        lab.end()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "tcp://10.0.0.1"], "use tls://10.0.0.1:8786"),
        (["--scheduler", "lab:9000"], "lab:9000 has no TLS, so all who can reach it can run any code here"),
        (["--scheduler", "tls://lab:port"], "is not an address: write it as tls://10.0.0.1:8786"),
        (["--scheduler", "tls://lab", "--until-decided"], "runs on this machine only"),
        (["--unprotected"], "--unprotected needs --scheduler"),
        (["--hosts", "10.0.0.1"], "--hosts was removed: use --scheduler 10.0.0.1"),
    ],
)
def test_options_that_do_not_fit_or_let_strangers_in_are_refused_with_what_to_do(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert cli.main(["run", *ONE, *options]) == cli.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["scheduler", "worker"])
def test_the_commands_that_dask_has_now_are_named(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert cli.main([command, "10.0.0.1"]) == cli.USAGE
    assert f"use Dask's own command, dask {command} (docs/hosts.md)" in capsys.readouterr().err


def test_an_address_without_tls_is_taken_when_asked_for_by_name_or_on_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_S", 0.2)
    for address, *options in (["[::1]:9"], ["localhost:9"], ["192.0.2.1:9", "--unprotected"]):
        assert cli.main(["run", *ONE, "--scheduler", address, *options]) == cli.USAGE
        assert f"no scheduler answers at tcp://{address}" in capsys.readouterr().err


def test_one_machine_needs_no_dask() -> None:
    code = "import sys; from benchbook import cli; cli.main(['plan', 'bookstore', '--profile', 'smoke'])"
    code += "; import benchbook.cli.run, benchbook.cli.until; sys.exit(bool({'dask', 'distributed'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_what_a_host_had_measured_for_a_lost_run_is_delivered_up_to_a_size(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["run", *ONE]) == cli.DONE
    cells = [replace(cell, state="todo") for cell in grid.plan(["bookstore"], "smoke", WHERE, ["n=1"]).cells]
    delivery = worker._measure(cells, 60.0, None)
    assert delivery.summary.done == len(cells) > 0 and delivery.ended is None
    assert {f"bookstore/{cell.key}.parquet" for cell in cells} <= {*delivery.files}
    assert delivery.files[f"bookstore/{cells[0].key}.parquet"] == cells[0].path.read_bytes()
    monkeypatch.setattr(worker, "LARGEST", 10)
    with pytest.raises(HostsError, match="at most 10 are sent"):
        worker._measure(cells, 60.0, None)
    worker._remove_others(cells[:1])
    assert [path.name for path in paths.results().glob("*/*.parquet")] == [f"{cells[0].key}.parquet"]


def test_what_another_host_measured_with_this_code_counts_beside_ones_own(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["n=1"]
    assert cli.main(["run", *ONE]) == cli.DONE
    here = [cell.key for cell in grid.plan(["bookstore"], "smoke", WHERE, changes).cells]
    planned = planning.host()
    for module in ("benchbook.grid.identities", "benchbook.grid.planning"):
        monkeypatch.setattr(f"{module}.host", lambda: "elsewhere")
    there = grid.plan(["bookstore"], "smoke", WHERE, changes).cells
    assert not {cell.key for cell in there} & {*here} and all(cell.state == "todo" for cell in there)
    assert sorted(grid.keys(there)) == sorted([*(cell.key for cell in there), *here])
    assert {one.host for one in grid.elsewhere(there)} == {planned}
    monkeypatch.setattr(planning, "code_hash", lambda *_: "another")
    assert not grid.elsewhere(there)


def test_what_another_machine_of_this_name_measured_counts_under_the_name_that_it_is_given(
    results_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed_in = str(tmp_path / "ben.parquet")
    assert cli.main(["run", *ONE]) == cli.DONE
    assert cli.main(["results", "export", handed_in]) == cli.DONE
    for file in results_folder.glob("*/*.parquet"):
        file.unlink()
    assert cli.main(["run", *ONE]) == cli.DONE
    plan = grid.plan(["bookstore"], "smoke", WHERE, ["n=1"]).cells
    assert cli.main(["results", "import", handed_in]) == cli.USAGE
    assert "already present with other values" in capsys.readouterr().err and not grid.elsewhere(plan)
    assert cli.main(["results", "import", handed_in, "--as", "ben"]) == cli.DONE
    assert {(one.host, one.cell.key) for one in grid.elsewhere(plan)} == {("ben", cell.key) for cell in plan}


def test_results_go_out_as_a_database_and_come_back(results_folder: Path, tmp_path: Path) -> None:
    assert cli.main(["run", *ONE]) == cli.DONE
    before = rows()
    for name in ("all.duckdb", "all.parquet"):
        assert cli.main(["results", "export", str(tmp_path / name)]) == cli.DONE
    with duckdb.connect(str(tmp_path / "all.duckdb"), read_only=True) as database:
        assert database.sql("SELECT count(*) FROM observations").fetchall() == [(before["n"].sum(),)]
    for file in results_folder.glob("*/*.parquet"):
        file.unlink()
    assert cli.main(["results", "import", str(tmp_path / "all.parquet")]) == cli.DONE
    pd.testing.assert_frame_equal(rows(), before)
