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

from benchbook import servers
from benchbook.databases.couchdb.node import AnswerError, HTTPNode
from benchbook.deployment import Deployment, Topology
from benchbook.servers.fleet import Fleet
from standing import WHEELS
from waiting import comes_true


def fill(folder: Path, leaving_kb: int) -> Path:
    """Take all of the disk's space but so much."""
    free = psutil.disk_usage(str(folder)).free - leaving_kb * 1024
    (folder / "filler").write_bytes(bytes(free))
    return folder / "filler"


@pytest.mark.parametrize("serves", [True, False])
def test_a_program_that_waits_for_somebody_to_free_the_disk_is_told_of(serves: bool, temporary: Path) -> None:
    says = (
        "echo '[ERROR] mysqld: Disk is full writing ./binlog.000001 (Errcode: 28). Waiting for someone to free space'"
    )
    command = ["sh", "-c", f"{says}; exec sleep 600"]
    standing = psutil.Process().children()  # what other tests started stays for theirs
    fleet = Fleet("mysql", stop_signal=signal.SIGKILL, waits="Waiting for someone to free space")
    try:
        if serves:
            server = fleet.serve("primary", lambda port: command)
            server.await_line("Waiting")
            assert "mysql's primary (process" in (why := fleet.failure() or "")
        else:
            with pytest.raises(servers.ServerError) as told:
                fleet.run(command)
            why = str(told.value)
        assert "waits: the disk is full: free some of it" in why
    finally:
        fleet.stop()
    assert set(psutil.Process().children()) <= set(standing)


def test_a_program_that_ends_well_between_two_looks_has_not_failed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = Fleet.trouble

    def later(fleet: Fleet, name: str, process: subprocess.Popen[bytes], log: Path) -> str | None:
        process.wait()
        return trouble(fleet, name, process, log)

    monkeypatch.setattr(Fleet, "trouble", later)
    fleet = Fleet("postgresql", stop_signal=signal.SIGKILL)
    try:
        fleet.run(["sh", "-c", "sleep 0.3"])
        with pytest.raises(servers.ServerError, match="sh ended with status 3"):
            fleet.run(["sh", "-c", "sleep 0.3; exit 3"])
    finally:
        fleet.stop()


def write_until_it_fails(deployment: Deployment) -> None:
    """Insert, acknowledged by the disk, until the server cannot."""
    url, page = deployment.node().url, "x" * 100_000
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](url, timeoutMS=60_000) as client:
            pages = client.test.get_collection("pages", write_concern=pymongo.WriteConcern(w=1, j=True))
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
@pytest.mark.parametrize(("product", "topology"), [("mongodb", "replicated"), ("postgresql", "single")])
def test_a_full_disk_is_named_when_servers_do_not_start(
    product: str, topology: Topology, leaving_kb: int, small_disk: Path
) -> None:
    fill(small_disk, leaving_kb)
    before = psutil.Process().children()
    with pytest.raises(servers.ServerError, match=r"the disk is full: .*TMPDIR"):
        servers.start(product, topology)
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
    assert set(psutil.Process().children()) <= set(before)


def test_a_replica_that_does_not_fit_takes_the_primary_along(small_disk: Path) -> None:
    before = psutil.Process().children()
    with pytest.raises(servers.ServerError, match=r"(?s)pg_basebackup .*the disk is full"):
        servers.start("postgresql", "replicated")
    assert list(small_disk.iterdir()) == []
    assert set(psutil.Process().children()) <= set(before)


@pytest.mark.parametrize("product", WHEELS)
def test_a_disk_that_fills_later_is_the_reason_that_the_server_gives(product: str, small_disk: Path) -> None:
    with servers.start(product, "single") as running:
        fill(small_disk, 4096)
        with pytest.raises((pymongo.errors.PyMongoError, psycopg.Error, AnswerError, HTTPError)):
            write_until_it_fails(running.deployment)
        if product == "mongodb":  # it ends itself; the others refuse the write and live
            assert comes_true(lambda: running.alive() is not None)
            assert "the disk is full" in (running.alive() or "")
        else:
            assert running.alive() is None
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
