"""Servers on a disk that is full: told as such, and nothing is left behind."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pymongo
import pytest
from urllib3.exceptions import HTTPError

from benchbook.databases.couchdb.node import AnswerError, HTTPNode
from benchbook.servers import launcher
from benchbook.servers.deployment import Deployment, Topology
from benchbook.servers.errors import ServerError
from benchbook.servers.fleet import Fleet
from shared_servers import WHEELS
from waiting import comes_true


def fill_disk(folder: Path, leaving_kb: int) -> Path:
    """Take all of the disk's space but so much."""
    free = psutil.disk_usage(str(folder)).free - leaving_kb * 1024
    (folder / "filler").write_bytes(bytes(free))
    return folder / "filler"


@pytest.mark.parametrize("serves", [True, False])
def test_a_program_that_waits_for_disk_space_has_failed(serves: bool, temporary: Path) -> None:
    says = (
        "echo '[ERROR] mysqld: Disk is full writing ./binlog.000001 (Errcode: 28). "
        "Waiting for someone to free space'"
    )
    command = ["sh", "-c", f"{says}; exec sleep 600"]
    standing = psutil.Process().children()  # Other tests have children, too.
    fleet = Fleet(
        "mysql", stop_signal=signal.SIGKILL, waiting_text="Waiting for someone to free space"
    )
    try:
        if serves:
            server = fleet.start_server("primary", lambda port: command)
            server.await_line("Waiting")
            why = fleet.find_failures() or ""
            assert "mysql's primary (process" in why
        else:
            with pytest.raises(ServerError) as told:
                fleet.run(command)
            why = str(told.value)
        assert "waits: the disk is full: free some of it" in why
    finally:
        fleet.stop()
    assert set(psutil.Process().children()) <= set(standing)


def test_a_program_that_ends_well_between_two_polls_has_not_failed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = Fleet.describe_failure

    def later(fleet: Fleet, name: str, process: subprocess.Popen[bytes], log: Path) -> str | None:
        process.wait()
        return trouble(fleet, name, process, log)

    monkeypatch.setattr(Fleet, "describe_failure", later)
    fleet = Fleet("postgresql", stop_signal=signal.SIGKILL)
    try:
        fleet.run(["sh", "-c", "sleep 0.3"])
        with pytest.raises(ServerError, match="sh ended with status 3"):
            fleet.run(["sh", "-c", "sleep 0.3; exit 3"])
    finally:
        fleet.stop()


def write_until_it_fails(deployment: Deployment) -> None:
    """Insert, acknowledged by the disk, until the server cannot."""
    url, page = deployment.node().url, "x" * 100_000
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](url, timeoutMS=60_000) as client:
            pages = client.test.get_collection(
                "pages", write_concern=pymongo.WriteConcern(w=1, j=True)
            )
            while True:
                pages.insert_one({"page": os.urandom(50_000)})
    if deployment.product == "couchdb":
        HTTPNode(url).ask("PUT", "/pages")
        while True:
            HTTPNode(url).ask("POST", "/pages", {"page": os.urandom(50_000).hex()})
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE pages (page text)")
        connection.execute("ALTER TABLE pages ALTER page SET STORAGE EXTERNAL")
        while True:
            connection.execute("INSERT INTO pages VALUES (%s)", [page])


@pytest.mark.parametrize("leaving_kb", [0, 1000])
@pytest.mark.parametrize(
    ("product", "topology"), [("mongodb", "replicated"), ("postgresql", "single")]
)
def test_a_full_disk_is_named_when_servers_do_not_start(
    product: str, topology: Topology, leaving_kb: int, small_disk: Path
) -> None:
    fill_disk(small_disk, leaving_kb)
    before = psutil.Process().children()
    with pytest.raises(ServerError, match=r"the disk is full: .*TMPDIR"):
        launcher.start_servers(product, topology)
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
    assert set(psutil.Process().children()) <= set(before)


def test_a_replica_that_does_not_fit_on_the_disk_stops_the_primary(small_disk: Path) -> None:
    before = psutil.Process().children()
    with pytest.raises(ServerError, match=r"(?s)pg_basebackup .*the disk is full"):
        launcher.start_servers("postgresql", "replicated")
    assert list(small_disk.iterdir()) == []
    assert set(psutil.Process().children()) <= set(before)


@pytest.mark.parametrize("product", WHEELS)
def test_a_disk_that_fills_later_is_the_reported_reason(product: str, small_disk: Path) -> None:
    with launcher.start_servers(product, "single") as running:
        fill_disk(small_disk, 4096)
        with pytest.raises((pymongo.errors.PyMongoError, psycopg.Error, AnswerError, HTTPError)):
            write_until_it_fails(running.deployment)
        if product == "mongodb":  # it ends itself; the others refuse the write and live
            assert comes_true(lambda: running.find_failures() is not None)
            assert "the disk is full" in (running.find_failures() or "")
        else:
            assert running.find_failures() is None
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
