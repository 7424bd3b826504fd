"""Several machines: the rows that one gives, whoever is lost meanwhile; nobody takes part that runs something else."""

import asyncio
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import psutil
import pytest
from distributed.comm import connect

from benchbook import cli, grid, paths, results
from benchbook.grid import planning
from benchbook.hosts import dispatch, scheduler, worker
from benchbook.hosts.dispatch import Host
from benchbook.hosts.orders import Delivery, Order, Plan, Relay, differences, sameness
from benchbook.hosts.works import Shared, as_anywhere
from benchbook.measure.machine import host, hostname
from benchbook.runner.progress import Progress, Summary
from labs import PYTHON, Lab
from waiting import comes_true, gone

WHERE = ["lane=python", "process=together"]
CHOSEN = [word for text in WHERE for word in ("--where", text)]
SMOKE = ("bookstore", "--profile", "smoke", *CHOSEN, "--set", "blocks=4")
SERVED = ("crud", "--profile", "smoke", "--where", "engine=mongodb,noop", "--where", "lane=python", "--set", "blocks=2")
ONE = (*SMOKE[:-1], "n=1")


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = Lab(tmp_path_factory.mktemp("lab"))
    tls = [f"--tls-{part}={lab.credentials}" for part in ("ca-file", "cert", "key")]
    lab.start([*PYTHON, "dask", "worker", lab.address, "--no-nanny", "--no-dashboard", *tls], "other")
    lab.workers("one", "two")
    yield lab
    lab.end()


@pytest.fixture
def lab(standing: Lab, results_folder: Path) -> Lab:
    """Return the lab that all of these tests use, with a results' folder of the test's own."""
    standing.results = results_folder
    return standing


def rows() -> pd.DataFrame:
    """Return how many values each finished cell has."""
    with results.connect() as connection:
        sql = "SELECT study, cell_id, block, operation, role, metric, count(*) AS n FROM observations GROUP BY ALL"
        return results.frame(connection, f"{sql} ORDER BY ALL")


def measuring(worker: "subprocess.Popen[bytes]") -> bool:
    """Return whether a worker has a block in hand: its kernels' fork server stands."""
    return any("fork_server" in " ".join(child.cmdline()) for child in psutil.Process(worker.pid).children())


def finished(lab: Lab, *options: str) -> str:
    """Return what a run prints that does all that is left."""
    before = len(lab.said("run"))
    assert lab.run(*options).wait(200) == cli.DONE, "\n".join(map(lab.said, ("run", "one", "two", "scheduler")))
    return lab.said("run")[before:]


def kept(lab: Lab) -> dict[str, int]:
    """Return when each result was written, by its name."""
    return {path.name: path.stat().st_mtime_ns for path in lab.results.glob("*/[!.]*.parquet")}


def test_two_workers_give_the_rows_that_one_machine_gives_and_a_stranger_none(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = finished(lab, *SERVED)
    shared = rows()
    assert "another worker measures on this host" in lab.said("one") + lab.said("two")
    assert said.count("takes part") == 2 and "failed" not in said, said
    assert "refused: the worker at" in said and "it was not started by benchbook worker" in said
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "alone"))
    assert cli.main(["run", *SERVED]) == cli.DONE
    pd.testing.assert_frame_equal(shared, rows())
    with results.connect() as connection:
        assert len(connection.sql("SELECT DISTINCT host FROM observations").fetchall()) == 1
    before = kept(lab)
    assert f"{len(before)} before" in finished(lab, *SERVED) and kept(lab) == before


def test_ctrl_c_keeps_what_the_hosts_have_finished_and_the_same_command_goes_on(lab: Lab) -> None:
    run = lab.run(*SMOKE)
    assert comes_true(lambda: kept(lab))
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == cli.INTERRUPTED, lab.said("run")
    before = kept(lab)
    assert before and "what is finished is kept" in lab.said("run")
    finished(lab, *SMOKE)
    assert kept(lab).items() >= before.items() and len(kept(lab)) > len(before)


def test_a_killed_run_leaves_workers_that_measure_for_the_next_and_a_killed_worker_costs_its_block_alone(
    lab: Lab,
) -> None:
    first, second = lab.processes[2:4]
    run = lab.run(*SMOKE)
    assert comes_true(lambda: kept(lab))
    run.kill()
    run.wait()
    assert comes_true(lambda: not any(psutil.Process(one.pid).children(recursive=True) for one in (first, second)))
    run = lab.run(*SMOKE)
    assert comes_true(lambda: measuring(first)), lab.said("run")
    family = [process.pid for process in psutil.Process(first.pid).children(recursive=True)]
    first.kill()
    first.wait()
    assert comes_true(lambda: all(gone(pid) for pid in family))
    assert run.wait(200) == cli.DONE, lab.said("run")
    assert "was lost" in lab.said("run") and "failed" not in lab.said("run")
    assert {cell.state for cell in grid.plan([SMOKE[0]], "smoke", WHERE, ["blocks=4"])} == {"done"}


def test_no_scheduler_is_said_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_S", 0.5)
    assert cli.main(["run", "bookstore", "--profile", "smoke", "--hosts", "127.0.0.1:9", "--unprotected"]) == cli.USAGE
    assert "--hosts: no scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_what_differs_on_a_worker_is_named() -> None:
    mine = sameness()
    assert not differences(mine, dict(mine))
    theirs = {**mine, "Python": "3.14.0 on Linux aarch64", "package orjson": "1", "file lib/benchbook/cli/run.py": "x"}
    del theirs["package lxml"]
    said = differences(mine, theirs)
    assert "3.14.0 on Linux aarch64, here 3." in said
    assert "lxml missing, here" in said and "and 1 more" in said
    assert "lib/benchbook/cli/run.py is another file" in said


def test_one_machine_needs_no_dask() -> None:
    code = "import sys; from benchbook import cli; cli.main(['plan', 'bookstore', '--profile', 'smoke'])"
    code += "; import benchbook.cli.run, benchbook.cli.until; sys.exit(bool({'dask', 'distributed'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_nobody_gets_into_a_scheduler_or_a_worker_without_the_labs_credentials(lab: Lab, tmp_path: Path) -> None:
    scheduler.make(tmp_path / "other.pem")
    _, security = scheduler.secured("127.0.0.1", tmp_path / "other.pem")
    other = security.get_connection_args("client")
    open_at = [listening(process) for process in (lab.processes[0], lab.processes[3])]
    assert [[host for host, _ in sockets] for sockets in open_at] == [["127.0.0.1"], ["127.0.0.1"]]
    for ((ip, port),) in open_at:
        for kind, arguments in (("tcp", {}), ("tls", other)):
            with pytest.raises(OSError):
                asyncio.run(connect(f"{kind}://{ip}:{port}", timeout=1, **arguments))
    kept_there = paths.root() / ".cache" / "worker" / f"{hostname()}-1"
    assert kept_there.stat().st_mode & 0o077 == 0  # whoever can open its lock could hold it


def listening(process: "subprocess.Popen[bytes]") -> list[tuple[str, int]]:
    """Return where a process can be reached."""
    found = psutil.Process(process.pid).net_connections("inet")
    return [(one.laddr.ip, one.laddr.port) for one in found if one.status == psutil.CONN_LISTEN]


def test_a_run_with_another_labs_credentials_is_not_heard(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduler.make(tmp_path / "other.pem")
    monkeypatch.setattr(dispatch, "ANSWER_S", 1.0)
    assert cli.main(["run", *ONE, "--hosts", lab.address, "--credentials", str(tmp_path / "other.pem")]) == cli.USAGE
    assert f"--hosts: no scheduler answers at {lab.address}" in capsys.readouterr().err
    assert cli.main(["scheduler", lab.address, "--credentials", str(tmp_path / "other.pem")]) == cli.USAGE
    assert f"no scheduler can listen at {lab.address}: [Errno 98] Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "mode", "text", "said"),
    [
        ("tcp://127.0.0.1:9", 0o600, None, "tcp://127.0.0.1:9 asks nobody for credentials"),
        ("tcp://10.0.0.1", 0o600, None, "--unprotected trusts everybody who reaches this one"),
        ("10.0.0.1", 0o640, None, "is open to other accounts, who could run code as you: chmod 600"),
        ("10.0.0.1", 0o600, "no key", "holds no credentials"),
        ("10.0.0.1", None, None, "copy it from there"),
        ("tls://lab:port", 0o600, None, "is no scheduler's address"),
    ],
)
def test_what_would_let_strangers_in_is_refused_by_worker_and_run_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str, mode: int | None, text: str | None, said: str
) -> None:
    file = tmp_path / "lab.pem"
    if mode is not None:
        scheduler.make(file)
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(mode)
    if text is not None:
        file.write_text(text)
    for command in (["worker", address], ["run", *ONE, "--hosts", address]):
        assert cli.main([*command, "--credentials", str(file)]) == cli.USAGE
        assert said in capsys.readouterr().err


def test_a_lab_without_credentials_is_one_that_was_asked_for_by_name(tmp_path: Path) -> None:
    at, security = scheduler.secured("lab", tmp_path / "none.pem", unprotected=True)
    assert at == "tcp://lab:8786" and not security.require_encryption
    scheduler.make(tmp_path / "lab.pem")
    at, security = scheduler.secured("[::1]", tmp_path / "lab.pem")
    assert at == "tls://[::1]:8786" and security.require_encryption


def on(host: str, plan: list[grid.Cell]) -> Host:
    """Return a host whose cells have identities of their own."""
    cells = [replace(cell, identity=f"{host}{cell.identity}") for cell in plan]
    return Host(f"tcp://{host}", host, "boot", Plan(cells))


def test_a_plan_arrives_as_it_was_sent(results_folder: Path) -> None:
    plan = grid.plan(["bookstore", "tcp"], "smoke", ["lane=python"], ["blocks=3"])
    sent: Plan = pickle.loads(pickle.dumps(Plan(plan)))
    assert sent.cells() == plan and len(sent.kinds) == len(plan) // 3
    assert [*sent.parts] == [*dict.fromkeys((cell.block, cell.study) for cell in plan)]
    for block, study in sent.parts:
        assert sent.cells((block, study)) == [one for one in plan if (one.block, one.study) == (block, study)]
    assert not Plan([]).cells() and not Plan([]).parts


def test_each_host_goes_on_until_it_has_decided_or_the_budget_is_spent(lab: Lab) -> None:
    said = finished(lab, *SMOKE[:-1], "blocks=5", "--until-decided", "--budget", "20s")
    assert f"host {host()}:" in said and "failed" not in said
    begun = {int(name.split(".")[1]) for name in kept(lab)}
    assert begun and begun <= set(range(5))


def test_a_block_is_measured_on_one_host_and_a_lost_one_on_another(results_folder: Path) -> None:
    plan = grid.plan(["bookstore"], "smoke", ["lane=python"], ["blocks=4"])
    with Progress([], {}, as_anywhere) as progress:
        work = Shared(progress)
        a, b = on("a", plan), on("b", plan)
        for host in (a, b):
            work.joined(host)
        first, second, third = work.next(a), work.next(b), work.next(a)
        assert [{cell.block for cell in cells} for cells in (first, second, third)] == [{0}, {1}, {2}]
        assert len(first) == len(plan) // 4 and {cell.identity[0] for cell in first} == {"a"}
        work.returned(b, second, None)
        assert {cell.block for cell in work.next(a)} == {1}
        work.returned(a, third, Delivery())
        assert {cell.block for cell in work.next(b)} == {3} and not work.next(b) and work.finished([a, b])


def test_what_a_worker_had_measured_for_a_lost_run_is_counted_when_it_is_delivered(results_folder: Path) -> None:
    assert cli.main(["run", *ONE]) == cli.DONE
    cells = tuple(replace(cell, state="todo") for cell in grid.plan(["bookstore"], "smoke", WHERE, ["n=1"]))
    news: list[Any] = []
    summary = Summary()
    order = Order("benchbook-again", cells, 60.0, None, 60.0)
    worker._measure(order, Relay(order, news.append), summary)
    assert summary.done == len(cells) > 0
    assert [(method, arguments[:2]) for _, method, arguments in news] == [
        ("ended", (number, "done")) for number in range(len(cells))
    ]


def test_what_another_host_measured_with_this_code_counts_beside_ones_own(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["n=1"]
    assert cli.main(["run", *ONE]) == cli.DONE
    here = [cell.key for cell in grid.plan(["bookstore"], "smoke", WHERE, changes)]
    planned = planning.host()
    for module in ("benchbook.grid.identities", "benchbook.grid.planning"):
        monkeypatch.setattr(f"{module}.host", lambda: "elsewhere")
    there = grid.plan(["bookstore"], "smoke", WHERE, changes)
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
    plan = grid.plan(["bookstore"], "smoke", WHERE, ["n=1"])
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
