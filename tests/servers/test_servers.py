"""Real servers: started, paired, watched, stopped, and never left behind."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pymongo
import pymysql
import pytest
from rethinkdb import r

from benchbook.databases import catalogue
from benchbook.databases.couchdb.node import AnswerError, HTTPNode
from benchbook.databases.mongodb import server as mongodb
from benchbook.databases.rethinkdb.server import open_connection
from benchbook.files import suite_files
from benchbook.schema import Field, Schema
from benchbook.servers import fleet, launcher
from benchbook.servers.address import read_login
from benchbook.servers.deployment import Deployment
from benchbook.servers.errors import ServerError
from benchbook.servers.processes import run_command
from shared_servers import LOCAL, find_present_server, is_here, skip_without
from waiting import PATIENCE_S, ask_each, comes_true, hold_suspended, is_gone, suspend

AS_ANYBODY = ("mongodb", "couchdb", "rethinkdb")
"""Products whose servers root may run."""
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")


def list_processes(deployment: Deployment) -> list[psutil.Process]:
    tops = [psutil.Process(node.pid) for node in deployment.nodes if node.pid]
    assert len(tops) == len(deployment.nodes)
    processes = []
    for top in tops:
        processes += [top, *top.children(recursive=True)]
    return processes


def is_mysql(deployment: Deployment) -> bool:
    return deployment.product.startswith(("mysql", "mariadb"))


def write_value(deployment: Deployment, value: int) -> None:
    """Write one value on the primary, acknowledged as the product does by default."""
    url = deployment.node("primary").url
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](url, timeoutMS=60_000) as client:
            client.test.get_collection("values").insert_one({"_id": value})
    elif is_mysql(deployment):
        with (
            closing(pymysql.connect(**read_login(url, 3306), autocommit=True)) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("CREATE DATABASE IF NOT EXISTS test")
            cursor.execute("CREATE TABLE IF NOT EXISTS test.numbers (value int)")
            cursor.execute("INSERT INTO test.numbers VALUES (%s)", [value])
    elif deployment.product == "rethinkdb":
        with open_connection(url) as link:
            if "benchbook" not in r.db_list().run(link):  # there replication is a table's
                with catalogue.open_adapter("rethinkdb", deployment) as adapter:
                    adapter.create(Schema("numbers", (Field("_id", "string"),)))
            r.db("benchbook").table("numbers").insert({"_id": str(value)}).run(link)
    elif deployment.product == "couchdb":
        if HTTPNode(url).ask("PUT", "/values", ignored=(412,)):
            follow_writes(deployment)
        HTTPNode(url).ask("PUT", f"/values/{value}", {})
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS numbers (value int)")
            connection.execute("INSERT INTO numbers VALUES (%s)", [value])


def follow_writes(deployment: Deployment) -> None:
    """Let CouchDB's replica follow the database of `write_value`: it replicates databases."""
    primary, replica = (HTTPNode(deployment.node(role).url) for role in ("primary", "replica"))
    replica.ask("PUT", "/values")
    ends = {
        "source": f"{primary.peer}/values",
        "target": f"{replica.peer}/values",
        "continuous": True,
    }
    replica.ask("PUT", "/_replicator/values", ends)


def read_values(deployment: Deployment) -> set[int]:
    """Return all values that the replica has."""
    url = deployment.node("replica").url
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](
            url, timeoutMS=60_000, readPreference="secondary"
        ) as client:
            return {document["_id"] for document in client.test.get_collection("values").find()}
    if is_mysql(deployment):
        with (
            closing(pymysql.connect(**read_login(url, 3306))) as connection,
            connection.cursor() as cursor,
        ):
            where = "table_schema = 'test' AND table_name = 'numbers'"
            query = f"SELECT 1 FROM information_schema.tables WHERE {where}"
            if not cursor.execute(query):
                return set()
            cursor.execute("SELECT value FROM test.numbers")
            return {value for (value,) in cursor.fetchall()}
    if deployment.product == "rethinkdb":
        with open_connection(url) as link:
            table = r.db("benchbook").table("numbers", read_mode="_debug_direct")
            return {int(row["_id"]) for row in table.run(link)}
    if deployment.product == "couchdb":
        return {int(row["id"]) for row in HTTPNode(url).ask("GET", "/values/_all_docs")["rows"]}
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('numbers')").fetchone() == (None,):
            return set()
        return {value for (value,) in connection.execute("SELECT value FROM numbers")}


# A pair


@pytest.fixture(scope="module", params=filter(is_here, LOCAL))
def pair(request: pytest.FixtureRequest) -> Iterator[launcher.RunningServers]:
    skip_without(request.param)
    with launcher.start_servers(request.param, "replicated") as running:
        yield running


def test_records_of_the_primary_reach_the_replica(pair: launcher.RunningServers) -> None:
    write_value(pair.deployment, 1)
    assert comes_true(lambda: 1 in read_values(pair.deployment))


def test_a_write_never_waits_for_the_replica(pair: launcher.RunningServers) -> None:
    with hold_suspended(pair.deployment.node("replica").pid):
        write_value(pair.deployment, 2)
    assert comes_true(lambda: 2 in read_values(pair.deployment))


def test_servers_listen_on_the_loopback_only(pair: launcher.RunningServers) -> None:
    found = ask_each(list_processes(pair.deployment), lambda one: one.net_connections("all"))
    sockets = [*itertools.chain.from_iterable(found)]
    listening = [s.laddr for s in sockets if s.status == psutil.CONN_LISTEN]
    assert len(listening) == (4 if pair.deployment.product == "rethinkdb" else 2)
    assert {address.ip for address in listening} == {"127.0.0.1"}
    named = [s.laddr for s in sockets if s.family == socket.AF_UNIX and s.laddr]
    assert named == []


def test_no_client_connects_without_the_password(pair: launcher.RunningServers) -> None:
    for node in pair.deployment.nodes:
        password = urlsplit(node.url).password or ""
        assert len(password) == 32
        if pair.deployment.product == "mongodb":
            stranger = node.url.replace(f"benchbook:{password}@", "").replace(
                "&authSource=admin", ""
            )
            with (
                pymongo.MongoClient[dict[str, Any]](stranger) as client,
                pytest.raises(pymongo.errors.OperationFailure),
            ):
                client.test.get_collection("values").find_one()
            with pytest.raises(ConnectionError, match="Authentication failed"):
                launcher.load_servers("mongodb").ask(node.url.replace(password, "wrong"))
        elif is_mysql(pair.deployment):
            for user, word in (("benchbook", "wrong"), ("benchbook", ""), ("root", ""), ("", "")):
                address = read_login(node.url, 3306) | {"user": user, "password": word}
                with pytest.raises(pymysql.OperationalError, match="Access denied"):
                    pymysql.connect(**address)
        elif pair.deployment.product == "couchdb":
            for url in (
                node.url.replace(password, "wrong"),
                node.url.replace(f"benchbook:{password}@", ""),
            ):
                for path in ("/", "/values", "/_replicator/values", "/_received"):
                    with pytest.raises(AnswerError, match="authentication failed"):
                        HTTPNode(url).ask("GET", path)
        elif pair.deployment.product == "rethinkdb":
            for word in ("wrong", ""):
                with pytest.raises(ConnectionError, match="password"):
                    launcher.load_servers("rethinkdb").ask(node.url.replace(password, word))
        else:
            for url in (node.url.replace(password, "wrong"), node.url.replace(f":{password}", "")):
                with pytest.raises(psycopg.OperationalError, match="password"):
                    psycopg.connect(url)


def test_no_server_joins_rethinkdbs_cluster_without_its_certificate(temporary: Path) -> None:
    skip_without("rethinkdb", "replicated")
    found = find_present_server("rethinkdb")
    with launcher.start_servers("rethinkdb", "single") as running, ExitStack() as standing:
        other = fleet.Fleet("rethinkdb")
        standing.callback(other.stop)
        url = running.deployment.node().url
        (cluster,) = parse_qs(urlsplit(url).query)["cluster"]
        command = [
            found.programs["rethinkdb"],
            "--directory",
            other.make_folder("stranger"),
            "--no-http-admin",
        ]
        command += [
            "--cluster-port",
            "0",
            "--join",
            f"127.0.0.1:{cluster}",
            "--initial-password",
            "auto",
        ]
        stranger = other.start_server(
            "replica", lambda port: [*command, "--driver-port", str(port)]
        )
        stranger.await_line("invalid clustering header")
        assert not launcher.load_servers("rethinkdb").ask(url).followers


def test_a_stranger_among_mongodbs_users_ends_the_server(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    initiated = mongodb._connect

    def join_as_test(url: str) -> mongodb.Client:
        client = initiated(url)
        if "__system" in url:
            client.test.command("createUser", "stranger", pwd="stranger", roles=[])
        return client

    monkeypatch.setattr(mongodb, "_connect", join_as_test)
    with pytest.raises(ServerError, match=r"users that are not ours: test\.stranger"):
        launcher.start_servers("mongodb", "single")
    assert list(temporary.iterdir()) == []


@ROOT
def test_processes_of_the_servers_user_read_neither_their_files_nor_their_memory(
    pair: launcher.RunningServers,
) -> None:
    folder = Path(pair.deployment.settings["folder"])
    files = [path for path in folder.iterdir() if path.is_file()]
    assert files
    for node in pair.deployment.nodes:
        user = psutil.Process(node.pid).username()
        if pair.deployment.product not in AS_ANYBODY:
            assert run_command(["id", "-un"], user=user, cwd=Path("/")).stdout.strip() == user
            of_process = Path(f"/proc/{node.pid}")
            for path in (*files, folder / node.role, of_process / "environ", of_process / "cwd"):
                tried = run_command(["head", "-c1", path], user=user, cwd=Path("/"))
                assert tried.returncode and "denied" in tried.stderr, (path, tried)


def test_the_folder_is_closed_to_others(pair: launcher.RunningServers) -> None:
    folder = Path(pair.deployment.settings["folder"])
    private = list(folder.iterdir())
    assert {"primary", "replica", "primary.log"} <= {path.name for path in private}
    assert all(path.stat().st_mode & 0o077 == 0 for path in private)
    assert folder.stat().st_mode & 0o067 == 0


def test_the_deployment_describes_its_servers(pair: launcher.RunningServers) -> None:
    deployment = pair.deployment
    found = find_present_server(deployment.product)
    assert {node.version for node in deployment.nodes} == {found.version}
    assert [node.role for node in deployment.nodes] == ["primary", "replica"]
    assert deployment.settings["source"] == found.source
    own = deployment.settings["primary"]
    name, value = {
        "mongodb": ("cache_bytes", 1 << 28),
        "postgresql": ("synchronous_commit", "on"),
        "couchdb": ("fsync", "every commit"),
        "rethinkdb": ("cache_size_mb", 256),
    }.get(deployment.product, ("binlog_format", "ROW"))
    assert own[name] == value
    assert Deployment.from_json(deployment.to_json()) == deployment
    assert pair.find_failures() is None


@ROOT
def test_servers_that_refuse_root_run_as_another_user(pair: launcher.RunningServers) -> None:
    if pair.deployment.product not in AS_ANYBODY:
        assert 0 not in ask_each(list_processes(pair.deployment), lambda one: one.uids().effective)


def test_no_bytes_of_mysqls_clients_and_servers_are_encrypted(
    pair: launcher.RunningServers,
) -> None:
    if is_mysql(pair.deployment):
        for node in pair.deployment.nodes:
            with (
                closing(pymysql.connect(**read_login(node.url, 3306))) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
                assert cursor.fetchall() in ((("Ssl_cipher", ""),), ())
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")
                assert all(value == "0" for _, value in cursor.fetchall())


# Single servers


def test_a_single_server_has_no_replica_and_leaves_no_trace(product: str, temporary: Path) -> None:
    with launcher.start_servers(product, "single") as running:
        (node,) = running.deployment.nodes
        assert node.role == "primary"
        if product == "mongodb":  # a standalone, not a set of one: no oplog
            assert running.deployment.settings["primary"]["replica_set"] is None
        alive = list_processes(running.deployment)
        assert [path.name for path in temporary.iterdir()] == [
            Path(running.deployment.settings["folder"]).name
        ]
    assert comes_true(lambda: all(is_gone(process.pid) for process in alive))
    assert list(temporary.iterdir()) == []
    running.stop()


def test_two_servers_run_at_once_and_one_that_ended_is_named_with_its_last_lines(
    product: str,
) -> None:
    with (
        launcher.start_servers(product, "single") as running,
        launcher.start_servers(product, "single") as other,
    ):
        urls = {one.deployment.node().url.rpartition("@")[2] for one in (running, other)}
        assert len(urls) == 2
        assert running.find_failures() is None
        assert other.find_failures() is None
        pid = running.deployment.node().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert comes_true(lambda: running.find_failures() is not None)
        report = running.find_failures()
        assert report is not None
        assert f"{product}'s primary (process {pid}) was ended by SIGKILL" in report
        assert other.find_failures() is None
        folder = running.deployment.settings["folder"]
    assert not Path(folder).exists()


def test_a_server_whose_port_is_taken_starts_on_another(
    product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = fleet.find_free_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1]])
        monkeypatch.setattr(
            fleet, "find_free_port", lambda address: next(ports, None) or free(address)
        )
        with launcher.start_servers(product, "single") as running:
            assert f":{taken.getsockname()[1]}/" not in running.deployment.node().url
            assert next(ports, "used") == "used"


def test_when_every_port_is_taken_the_error_says_so(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(fleet, "find_free_port", lambda _: taken.getsockname()[1])
        with pytest.raises(ServerError, match="every port it tried was taken"):
            launcher.start_servers("mongodb", "single")
    assert list(temporary.iterdir()) == []


# Owners that die

OWNER = """
import json, sys, time
from benchbook.servers import launcher
running = launcher.start_servers(sys.argv[1], "replicated")
print(running.deployment.to_json().replace("\\n", ""), flush=True)
time.sleep(600)
"""


def test_servers_end_when_their_owner_is_killed_and_the_next_start_removes_their_folders(
    product: str, temporary: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, product], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        deployment = Deployment.from_json(owner.stdout.readline())
        alive = list_processes(deployment)
        assert len(alive) >= 2
        owner.kill()
    assert psutil.wait_procs(alive, timeout=PATIENCE_S)[1] == []
    shared = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    assert not {int(fields[4]) for fields in shared} & {node.pid for node in deployment.nodes}
    left = Path(deployment.settings["folder"])
    assert left.is_dir()
    with launcher.start_servers(product, "single") as running:
        assert [str(path) for path in temporary.iterdir()] == [
            running.deployment.settings["folder"]
        ]


PREPARES = """
import signal
from benchbook.servers.fleet import Fleet
Fleet("postgresql", death_signal=signal.SIGQUIT).run(["sh", "-c", "trap '' QUIT; exec sleep 600"])
"""


def test_a_program_that_prepares_a_server_ends_with_its_owner(
    temporary: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", PREPARES]) as owner:
        assert comes_true(
            lambda: [one.name() for one in psutil.Process(owner.pid).children()] == ["sleep"]
        )
        children = psutil.Process(owner.pid).children()
        owner.kill()
    assert psutil.wait_procs(children, timeout=PATIENCE_S)[1] == []


STARTS_POSTGRESQL = """
import time
from benchbook.servers import launcher
running = launcher.start_servers("postgresql", "single")
print(running.deployment.node().pid, flush=True)
time.sleep(600)
"""


def test_the_next_start_ends_suspended_servers_of_a_killed_owner(temporary: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_POSTGRESQL], stdout=subprocess.PIPE, text=True
    ) as owner:
        try:
            assert owner.stdout is not None
            pid = int(owner.stdout.readline())
            family = [pid, *(one.pid for one in psutil.Process(pid).children(recursive=True))]
            suspend(pid)
        finally:
            owner.kill()
    assert not is_gone(pid)
    with suite_files.TemporaryFolder("cell"):
        assert comes_true(lambda: all(map(is_gone, family)))
    assert list(temporary.iterdir()) == []


def test_a_disk_that_cannot_lock_folders_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(suite_files, "_lock_folder", lambda folder: None)
    with pytest.raises(suite_files.FolderError, match="cannot lock folders"):
        suite_files.TemporaryFolder("run", tmp_path)


def test_the_next_start_keeps_folders_in_use_and_folders_of_others(temporary: Path) -> None:
    used = suite_files.TemporaryFolder("servers")
    (temporary / "benchbook-servers-dead").mkdir()
    (temporary / "benchbook-run-dead").mkdir()
    (temporary / "something-else").mkdir()
    (temporary / "benchbook-servers-link").symlink_to(temporary / "something-else")
    if os.geteuid() == 0:
        (temporary / "benchbook-servers-theirs").mkdir()
        shutil.chown(temporary / "benchbook-servers-theirs", "nobody")
    suite_files.sweep_folders(temporary)
    assert used.path.is_dir()
    assert not (temporary / "benchbook-servers-dead").exists()
    assert not (temporary / "benchbook-run-dead").exists()
    assert (temporary / "something-else").is_dir()
    assert os.geteuid() != 0 or (temporary / "benchbook-servers-theirs").is_dir()
    used.remove()
    assert not used.path.exists()
