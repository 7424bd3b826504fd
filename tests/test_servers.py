"""Real servers: started, paired, watched, stopped, and never left behind."""

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

from benchbook import databases, folders, servers
from benchbook.databases.couchdb.node import AnswerError, HTTPNode
from benchbook.databases.mongodb import server as mongodb
from benchbook.databases.rethinkdb.server import connected
from benchbook.deployment import Deployment
from benchbook.processes import answer
from benchbook.schemas import Field, Schema
from benchbook.servers import fleet
from benchbook.servers.address import login
from standing import LOCAL, here, needed, present
from stopping import stopped
from waiting import PATIENCE_S, comes_true, gone, of_each

AS_ANYBODY = ("mongodb", "couchdb", "rethinkdb")
"""Products whose servers root may run."""
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")


def processes_of(deployment: Deployment) -> list[psutil.Process]:
    tops = [psutil.Process(node.pid) for node in deployment.nodes if node.pid]
    assert len(tops) == len(deployment.nodes)
    return [process for top in tops for process in (top, *top.children(recursive=True))]


def in_mysql(deployment: Deployment) -> bool:
    return deployment.product.startswith(("mysql", "mariadb"))


def write(deployment: Deployment, value: int) -> None:
    """Write one value on the primary, acknowledged as the product does by default."""
    url = deployment.node("primary").url
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](url, timeoutMS=60_000) as client:
            client.test.get_collection("values").insert_one({"_id": value})
    elif in_mysql(deployment):
        with closing(pymysql.connect(**login(url, 3306), autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE IF NOT EXISTS test")
            cursor.execute("CREATE TABLE IF NOT EXISTS test.numbers (value int)")
            cursor.execute("INSERT INTO test.numbers VALUES (%s)", [value])
    elif deployment.product == "rethinkdb":
        with connected(url) as link:
            if "benchbook" not in r.db_list().run(link):  # there replication is a table's
                with databases.open("rethinkdb", deployment) as adapter:
                    adapter.create(Schema("numbers", (Field("_id", "string"),)))
            r.db("benchbook").table("numbers").insert({"_id": str(value)}).run(link)
    elif deployment.product == "couchdb":
        if HTTPNode(url).ask("PUT", "/values", none=(412,)):
            follow(deployment)
        HTTPNode(url).ask("PUT", f"/values/{value}", {})
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS numbers (value int)")
            connection.execute("INSERT INTO numbers VALUES (%s)", [value])


def follow(deployment: Deployment) -> None:
    """Let CouchDB's replica follow what `write` makes: there replication is a database's."""
    primary, replica = (HTTPNode(deployment.node(role).url) for role in ("primary", "replica"))
    replica.ask("PUT", "/values")
    ends = {"source": f"{primary.peer}/values", "target": f"{replica.peer}/values", "continuous": True}
    replica.ask("PUT", "/_replicator/values", ends)


def read(deployment: Deployment) -> set[int]:
    """Return all values that the replica has."""
    url = deployment.node("replica").url
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](url, timeoutMS=60_000, readPreference="secondary") as client:
            return {document["_id"] for document in client.test.get_collection("values").find()}
    if in_mysql(deployment):
        with closing(pymysql.connect(**login(url, 3306))) as connection, connection.cursor() as cursor:
            query = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'test' AND table_name = 'numbers'"
            if not cursor.execute(query):
                return set()
            cursor.execute("SELECT value FROM test.numbers")
            return {value for (value,) in cursor.fetchall()}
    if deployment.product == "rethinkdb":
        with connected(url) as link:
            table = r.db("benchbook").table("numbers", read_mode="_debug_direct")
            return {int(row["_id"]) for row in table.run(link)}
    if deployment.product == "couchdb":
        return {int(row["id"]) for row in HTTPNode(url).ask("GET", "/values/_all_docs")["rows"]}
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('numbers')").fetchone() == (None,):
            return set()
        return {value for (value,) in connection.execute("SELECT value FROM numbers")}


# A pair


@pytest.fixture(scope="module", params=filter(here, LOCAL))
def pair(request: pytest.FixtureRequest) -> Iterator[servers.Running]:
    needed(request.param)
    with servers.start(request.param, "replicated") as running:
        yield running


def test_what_the_primary_has_reaches_the_replica(pair: servers.Running) -> None:
    write(pair.deployment, 1)
    assert comes_true(lambda: 1 in read(pair.deployment))


def test_a_write_never_waits_for_the_replica(pair: servers.Running) -> None:
    with stopped(pair.deployment.node("replica").pid):
        write(pair.deployment, 2)
    assert comes_true(lambda: 2 in read(pair.deployment))


def test_servers_listen_on_the_loopback_only(pair: servers.Running) -> None:
    sockets = [
        s for found in of_each(processes_of(pair.deployment), lambda one: one.net_connections("all")) for s in found
    ]
    listening = [s.laddr for s in sockets if s.status == psutil.CONN_LISTEN]
    assert len(listening) == (4 if pair.deployment.product == "rethinkdb" else 2)
    assert {address.ip for address in listening} == {"127.0.0.1"}
    named = [s.laddr for s in sockets if s.family == socket.AF_UNIX and s.laddr]
    assert named == []


def test_nobody_gets_in_without_the_password(pair: servers.Running) -> None:
    for node in pair.deployment.nodes:
        password = urlsplit(node.url).password or ""
        assert len(password) == 32
        if pair.deployment.product == "mongodb":
            stranger = node.url.replace(f"benchbook:{password}@", "").replace("&authSource=admin", "")
            with (
                pymongo.MongoClient[dict[str, Any]](stranger) as client,
                pytest.raises(pymongo.errors.OperationFailure),
            ):
                client.test.get_collection("values").find_one()
            with pytest.raises(ConnectionError, match="Authentication failed"):
                servers.servers_of("mongodb").ask(node.url.replace(password, "wrong"))
        elif in_mysql(pair.deployment):
            for user, word in (("benchbook", "wrong"), ("benchbook", ""), ("root", ""), ("", "")):
                address = login(node.url, 3306) | {"user": user, "password": word}
                with pytest.raises(pymysql.OperationalError, match="Access denied"):
                    pymysql.connect(**address)
        elif pair.deployment.product == "couchdb":
            for url in (node.url.replace(password, "wrong"), node.url.replace(f"benchbook:{password}@", "")):
                for path in ("/", "/values", "/_replicator/values", "/_received"):
                    with pytest.raises(AnswerError, match="authentication failed"):
                        HTTPNode(url).ask("GET", path)
        elif pair.deployment.product == "rethinkdb":
            for word in ("wrong", ""):
                with pytest.raises(ConnectionError, match="password"):
                    servers.servers_of("rethinkdb").ask(node.url.replace(password, word))
        else:
            for url in (node.url.replace(password, "wrong"), node.url.replace(f":{password}", "")):
                with pytest.raises(psycopg.OperationalError, match="password"):
                    psycopg.connect(url)


def test_no_server_joins_rethinkdbs_cluster_without_its_certificate(temporary: Path) -> None:
    needed("rethinkdb", "replicated")
    found = present("rethinkdb")
    with servers.start("rethinkdb", "single") as running, ExitStack() as standing:
        other = fleet.Fleet("rethinkdb")
        standing.callback(other.stop)
        url = running.deployment.node().url
        (cluster,) = parse_qs(urlsplit(url).query)["cluster"]
        command = [found.programs["rethinkdb"], "--directory", other.subfolder("stranger"), "--no-http-admin"]
        command += ["--cluster-port", "0", "--join", f"127.0.0.1:{cluster}", "--initial-password", "auto"]
        stranger = other.serve("replica", lambda port: [*command, "--driver-port", str(port)])
        stranger.await_line("invalid clustering header")
        assert not servers.servers_of("rethinkdb").ask(url).followers


def test_a_stranger_among_mongodbs_users_ends_the_server(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    initiated = mongodb._client

    def joined(url: str) -> mongodb.Client:
        client = initiated(url)
        if "__system" in url:
            client.test.command("createUser", "stranger", pwd="stranger", roles=[])
        return client

    monkeypatch.setattr(mongodb, "_client", joined)
    with pytest.raises(servers.ServerError, match=r"users that are not ours: test\.stranger"):
        servers.start("mongodb", "single")
    assert list(temporary.iterdir()) == []


@ROOT
def test_who_runs_as_the_servers_user_finds_neither_their_files_nor_what_is_in_their_processes(
    pair: servers.Running,
) -> None:
    folder = Path(pair.deployment.settings["folder"])
    files = [path for path in folder.iterdir() if path.is_file()]
    assert files
    for node in pair.deployment.nodes:
        user = psutil.Process(node.pid).username()
        if pair.deployment.product not in AS_ANYBODY:
            assert answer(["id", "-un"], user=user, cwd=Path("/")).stdout.strip() == user
            of_process = Path(f"/proc/{node.pid}")
            for path in (*files, folder / node.role, of_process / "environ", of_process / "cwd"):
                tried = answer(["head", "-c1", path], user=user, cwd=Path("/"))
                assert tried.returncode and "denied" in tried.stderr, (path, tried)


def test_the_folder_is_closed_to_others(pair: servers.Running) -> None:
    folder = Path(pair.deployment.settings["folder"])
    private = list(folder.iterdir())
    assert {"primary", "replica", "primary.log"} <= {path.name for path in private}
    assert all(path.stat().st_mode & 0o077 == 0 for path in private)
    assert folder.stat().st_mode & 0o067 == 0


def test_the_deployment_says_what_runs(pair: servers.Running) -> None:
    deployment = pair.deployment
    found = present(deployment.product)
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
    assert pair.alive() is None


@ROOT
def test_what_refuses_to_run_as_root_does_not(pair: servers.Running) -> None:
    if pair.deployment.product not in AS_ANYBODY:
        assert 0 not in of_each(processes_of(pair.deployment), lambda one: one.uids().effective)


def test_no_bytes_of_mysqls_clients_and_servers_are_encrypted(pair: servers.Running) -> None:
    if in_mysql(pair.deployment):
        for node in pair.deployment.nodes:
            with closing(pymysql.connect(**login(node.url, 3306))) as connection, connection.cursor() as cursor:
                cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
                assert cursor.fetchall() in ((("Ssl_cipher", ""),), ())
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")
                assert all(value == "0" for _, value in cursor.fetchall())


# Single servers


def test_a_single_server_stands_alone_and_goes_without_a_trace(product: str, temporary: Path) -> None:
    with servers.start(product, "single") as running:
        (node,) = running.deployment.nodes
        assert node.role == "primary"
        if product == "mongodb":  # a standalone, not a set of one: no oplog
            assert running.deployment.settings["primary"]["replica_set"] is None
        alive = processes_of(running.deployment)
        assert [path.name for path in temporary.iterdir()] == [Path(running.deployment.settings["folder"]).name]
    assert comes_true(lambda: all(gone(process.pid) for process in alive))
    assert list(temporary.iterdir()) == []
    running.stop()


def test_two_run_at_once(product: str) -> None:
    with servers.start(product, "single") as one, servers.start(product, "single") as other:
        urls = {running.deployment.node().url.rpartition("@")[2] for running in (one, other)}
        assert len(urls) == 2
        assert one.alive() is None
        assert other.alive() is None


def test_a_server_that_died_is_named_with_its_end(product: str) -> None:
    with servers.start(product, "single") as running:
        pid = running.deployment.node().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert comes_true(lambda: running.alive() is not None)
        report = running.alive()
        assert report is not None
        assert f"{product}'s primary (process {pid}) was ended by SIGKILL" in report
        folder = running.deployment.settings["folder"]
    assert not Path(folder).exists()


def test_a_taken_port_is_left_for_another(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    free = fleet.free_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1]])
        monkeypatch.setattr(fleet, "free_port", lambda address: next(ports, None) or free(address))
        with servers.start(product, "single") as running:
            assert f":{taken.getsockname()[1]}/" not in running.deployment.node().url
            assert next(ports, "used") == "used"


def test_when_every_port_is_taken_the_error_says_so(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(fleet, "free_port", lambda _: taken.getsockname()[1])
        with pytest.raises(servers.ServerError, match="every port it tried was taken"):
            servers.start("mongodb", "single")
    assert list(temporary.iterdir()) == []


# Owners that die

OWNER = """
import json, sys, time
from benchbook import servers
running = servers.start(sys.argv[1], "replicated")
print(running.deployment.to_json().replace("\\n", ""), flush=True)
time.sleep(600)
"""


def test_servers_die_with_an_owner_that_was_killed_and_the_next_start_sweeps(product: str, temporary: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, product], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        deployment = Deployment.from_json(owner.stdout.readline())
        alive = processes_of(deployment)
        assert len(alive) >= 2
        owner.kill()
    assert psutil.wait_procs(alive, timeout=PATIENCE_S)[1] == []
    shared = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    assert not {int(fields[4]) for fields in shared} & {node.pid for node in deployment.nodes}
    left = Path(deployment.settings["folder"])
    assert left.is_dir()
    with servers.start(product, "single") as running:
        assert [str(path) for path in temporary.iterdir()] == [running.deployment.settings["folder"]]


PREPARES = """
import signal
from benchbook.servers.fleet import Fleet
Fleet("postgresql", death_signal=signal.SIGQUIT).run(["sh", "-c", "trap '' QUIT; exec sleep 600"])
"""


def test_what_prepares_a_server_dies_with_its_owner_even_if_it_would_not_end_as_the_server_does(
    temporary: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", PREPARES]) as owner:
        assert comes_true(lambda: [one.name() for one in psutil.Process(owner.pid).children()] == ["sleep"])
        children = psutil.Process(owner.pid).children()
        owner.kill()
    assert psutil.wait_procs(children, timeout=PATIENCE_S)[1] == []


def test_a_sweep_spares_folders_in_use_and_folders_of_others(temporary: Path) -> None:
    used = folders.Folder("servers")
    (temporary / "benchbook-servers-dead").mkdir()
    (temporary / "benchbook-run-dead").mkdir()
    (temporary / "something-else").mkdir()
    (temporary / "benchbook-servers-link").symlink_to(temporary / "something-else")
    if os.geteuid() == 0:
        (temporary / "benchbook-servers-theirs").mkdir()
        shutil.chown(temporary / "benchbook-servers-theirs", "nobody")
    folders.sweep(temporary)
    assert used.path.is_dir()
    assert not (temporary / "benchbook-servers-dead").exists()
    assert not (temporary / "benchbook-run-dead").exists()
    assert (temporary / "something-else").is_dir()
    assert os.geteuid() != 0 or (temporary / "benchbook-servers-theirs").is_dir()
    used.remove()
    assert not used.path.exists()
