"""Several machines: the rows that one gives, whoever is lost meanwhile; nobody takes part that runs something else."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import psutil
import pytest

from benchbook import cli, grid, results
from benchbook.grid import planning
from benchbook.hosts import lab as runner
from benchbook.hosts.lab import Host
from benchbook.hosts.orders import Delivery
from benchbook.hosts.sameness import differences, sameness
from benchbook.hosts.works import Shared, as_anywhere
from benchbook.runner.progress import Progress
from waiting import comes_true, gone

SMOKE = ("bookstore", "--profile", "smoke", "--where", "lane=python")
ONE = (*SMOKE, "--set", "n=1")
PYTHON = [sys.executable, "-m"]


class Lab:
    """A scheduler and workers on this machine, and runs that use them."""

    def __init__(self, folder: Path, security: dict[str, str]) -> None:
        self._folder = folder
        self.environment = {**os.environ, "BENCHBOOK_RESULTS": str(folder / "results"), **security}
        self.processes: list[subprocess.Popen[str]] = []
        kind = "tls" if security else "tcp"
        address = folder / "scheduler.json"
        options = ["--host", f"{kind}://127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address)]
        self.start([*PYTHON, "dask", "scheduler", *options], "scheduler")
        written = comes_true(lambda: address.exists() and address.read_text().strip().endswith("}"))
        assert written, self.said("scheduler")
        self.address: str = json.loads(address.read_text())["address"]

    def start(self, command: list[str], name: str) -> "subprocess.Popen[str]":
        with (self._folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        return process

    def worker(self, name: str = "worker") -> "subprocess.Popen[str]":
        waiting = self.said(name).count("waits for blocks")
        process = self.start([*PYTHON, "benchbook.cli", "worker", self.address], name)
        assert comes_true(lambda: self.said(name).count("waits for blocks") > waiting), self.said(name)
        return process

    def run(self, *options: str, name: str = "run") -> "subprocess.Popen[str]":
        return self.start([*PYTHON, "benchbook.cli", "run", *options, "--hosts", self.address], name)

    def said(self, name: str) -> str:
        file = self._folder / f"{name}.log"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    labs: list[Lab] = []

    def open_(**security: str) -> Lab:
        labs.append(Lab(tmp_path, security))
        return labs[-1]

    yield open_
    for process in [one for lab in labs for one in reversed(lab.processes)]:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def lab(opened: Callable[..., Lab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    return opened()


def rows() -> pd.DataFrame:
    """Return how many values each finished cell has."""
    with results.connect() as connection:
        sql = "SELECT study, cell_id, block, operation, role, metric, count(*) AS n FROM observations GROUP BY ALL"
        return results.frame(connection, f"{sql} ORDER BY ALL")


def finished(run: "subprocess.Popen[str]", lab: Lab, status: int = cli.DONE) -> str:
    said = lab.said("run")
    assert run.wait(200) == status, lab.said("run") + lab.said("worker") + lab.said("scheduler")
    return lab.said("run")[len(said) :] or lab.said("run")


def test_two_workers_give_the_rows_that_one_machine_gives(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = lab.worker("one"), lab.worker("two")
    said = finished(lab.run(*SMOKE, "--set", "blocks=2"), lab)
    shared = rows()
    assert "another worker measures on this host" in lab.said("two")
    assert said.count("takes part") == 2 and "failed" not in said
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "alone"))
    assert cli.main(["run", *SMOKE, "--set", "blocks=2"]) == cli.DONE
    pd.testing.assert_frame_equal(shared, rows())
    with results.connect() as connection:
        hosts = connection.sql("SELECT DISTINCT host FROM observations").fetchall()
    assert len(hosts) == 1
    assert finished(lab.run(*SMOKE, "--set", "blocks=2"), lab)  # nothing is left: the same command says so and ends
    assert first.poll() is None and second.poll() is None


def test_a_worker_that_is_killed_costs_its_block_alone_and_one_that_comes_gets_the_next(lab: Lab) -> None:
    first = lab.worker()
    run = lab.run(*SMOKE, "--set", "blocks=3")
    assert comes_true(lambda: kept(lab))
    family = [process.pid for process in psutil.Process(first.pid).children(recursive=True)]
    first.kill()
    first.wait()
    assert comes_true(lambda: all(gone(pid) for pid in family))
    assert comes_true(lambda: "was lost" in lab.said("run"))
    lab.worker()
    said = finished(run, lab)
    assert "failed" not in said
    plan = grid.plan(["bookstore"], "smoke", ["lane=python"], ["blocks=3"])
    assert {cell.state for cell in plan} == {"done"}


def kept(lab: Lab) -> dict[str, int]:
    """Return when each result was written, by its name."""
    files = Path(lab.environment["BENCHBOOK_RESULTS"]).glob("*/[!.]*.parquet")
    return {path.name: path.stat().st_mtime_ns for path in files}


def test_ctrl_c_keeps_what_the_hosts_have_finished_and_the_same_command_goes_on(lab: Lab) -> None:
    worker = lab.worker()
    run = lab.run(*SMOKE, "--set", "blocks=3")
    assert comes_true(lambda: kept(lab))
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == cli.INTERRUPTED, lab.said("run")
    before = kept(lab)
    assert before and "what is finished is kept" in lab.said("run")
    assert worker.poll() is None
    finished(lab.run(*SMOKE, "--set", "blocks=3"), lab)
    assert kept(lab).items() >= before.items() and len(kept(lab)) > len(before)


def test_a_killed_run_leaves_a_worker_that_measures_for_the_next(lab: Lab) -> None:
    worker = lab.worker()
    run = lab.run(*SMOKE, "--set", "blocks=3")
    assert comes_true(lambda: kept(lab))
    run.kill()
    run.wait()
    assert comes_true(lambda: not psutil.Process(worker.pid).children(recursive=True))
    finished(lab.run(*SMOKE, "--set", "blocks=3"), lab)


def test_a_worker_of_dasks_own_is_refused_and_said(lab: Lab) -> None:
    lab.start([*PYTHON, "dask", "worker", lab.address, "--no-nanny", "--no-dashboard"], "other")
    lab.worker()
    said = finished(lab.run(*ONE), lab)
    assert "refused: the worker at" in said and "it was not started by benchbook worker" in said


def test_no_scheduler_is_said_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ANSWER_S", 0.5)
    assert cli.main(["run", "bookstore", "--profile", "smoke", "--hosts", "tcp://127.0.0.1:9"]) == cli.USAGE
    assert "--hosts: no scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_what_differs_on_a_worker_is_named() -> None:
    mine = sameness()
    assert not differences(mine, dict(mine))
    theirs = {
        **mine,
        "Python": "3.14.0 on Linux aarch64",
        "package orjson": "1",
        "file lib/benchbook/cli/run.py": "x",
    }
    del theirs["package lxml"]
    said = differences(mine, theirs)
    assert "3.14.0 on Linux aarch64, here 3." in said
    assert "lxml missing, here" in said and "and 1 more" in said
    assert "lib/benchbook/cli/run.py is another file" in said


def test_one_machine_needs_no_dask() -> None:
    code = "import sys; from benchbook import cli; cli.main(['plan', 'bookstore', '--profile', 'smoke'])"
    code += "; import benchbook.cli.run, benchbook.cli.until; sys.exit(bool({'dask', 'distributed'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_tls_lets_nobody_in_without_a_certificate(
    opened: Callable[..., Lab],
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cert, key = map(str, certificate)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    files = {"CERT": cert, "KEY": key}
    roles = ("SCHEDULER", "WORKER", "CLIENT")
    security = {f"{tls}{role}__{what}": path for role in roles for what, path in files.items()}
    security |= {f"{tls}CA_FILE": cert, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
    lab = opened(**security)
    assert lab.address.startswith("tls://")
    lab.worker()
    finished(lab.run(*ONE), lab)
    monkeypatch.setattr(runner, "ANSWER_S", 1.0)
    assert cli.main(["run", *ONE, "--hosts", lab.address]) == cli.USAGE  # this process knows of no certificate
    assert f"--hosts: no scheduler answers at {lab.address}" in capsys.readouterr().err


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Return a certificate that is its own authority, and its key."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    signed = made.sign(key, hashes.SHA256())
    files = tmp_path / "lab.pem", tmp_path / "lab-key.pem"
    files[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    return files


def on(host: str, plan: list[grid.Cell]) -> Host:
    """Return a host whose cells have identities of their own."""
    return Host(f"tcp://{host}", host, [replace(cell, identity=f"{host}{cell.identity}") for cell in plan])


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
        assert {cell.block for cell in work.next(b)} == {3} and not work.next(b) and work.finished()


def test_what_another_host_measured_with_this_code_counts_beside_ones_own(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, changes = ["lane=python"], ["n=1"]
    assert cli.main(["run", *ONE]) == cli.DONE
    here = [cell.key for cell in grid.plan(["bookstore"], "smoke", where, changes)]
    planned = planning.host()
    for module in ("benchbook.grid.identities", "benchbook.grid.planning"):
        monkeypatch.setattr(f"{module}.host", lambda: "elsewhere")
    there = grid.plan(["bookstore"], "smoke", where, changes)
    assert not {cell.key for cell in there} & {*here} and all(cell.state == "todo" for cell in there)
    assert sorted(grid.keys(there)) == sorted([*(cell.key for cell in there), *here])
    assert {one.host for one in grid.elsewhere(there)} == {planned}
    monkeypatch.setattr(planning, "code_hash", lambda *_: "another")
    assert not grid.elsewhere(there)


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
