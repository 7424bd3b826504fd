"""Studies on servers that are a user's, by address, as accounts that may do little and have awkward passwords."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
import pymongo
import pytest

from benchbook import databases, lanes, servers
from benchbook.databases import Engine
from benchbook.deployment import Deployment
from benchbook.servers.address import location, variable
from benchbook.studies import crud, drivers
from owners import MINE, Owner, owner
from standing import tamper
from waiting import comes_true

PASSWORD = "p%ss \"w/rd@'漢\\n"
ROLES = ["clusterMonitor", "hostManager", {"role": "dbOwner", "db": "benchbook"}]


@contextmanager
def lent(product: str) -> Iterator[Deployment]:
    """Yield a server, and at its address an account of somebody who is not its administrator."""
    with servers.start(product, "single") as running:
        url = running.deployment.node().url
        if product == "mongodb":
            with pymongo.MongoClient[Any](url) as client:
                client["admin"].command("createUser", "lea", pwd=PASSWORD, roles=ROLES)
        else:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"CREATE ROLE lea LOGIN PASSWORD {psycopg.sql.Literal(PASSWORD).as_string()}")
                connection.execute("GRANT pg_checkpoint TO lea")
                connection.execute("GRANT CREATE ON DATABASE postgres TO lea")
        yield running.deployment


@pytest.fixture(scope="module")
def mongodb() -> Iterator[Deployment]:
    with lent("mongodb") as deployment:
        yield deployment


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Deployment]:
    with lent("postgresql") as deployment:
        yield deployment


def address(deployment: Deployment) -> str:
    parts = urlsplit(deployment.node().url)
    login = f"lea:{quote(PASSWORD, safe='')}"
    return parts._replace(netloc=f"{login}@{location(deployment.node().url, 0)}").geturl()


def give(monkeypatch: pytest.MonkeyPatch, deployment: Deployment) -> Owner:
    monkeypatch.setenv(variable(deployment.product), address(deployment))
    return owner(deployment.product, deployment.node())


SMALL: dict[str, Any] = {"n": 20, "repetitions": 1}
CELLS: list[tuple[str, str, Callable[[], object]]] = [
    ("postgresql", "comments", lambda: crud.run(crud.Parameters(engine="postgresql+relational", **SMALL))),
    ("mongodb", "players", lambda: drivers.run(drivers.Parameters(attributes=6, **SMALL))),
    ("mongodb", "comments", lambda: crud.run(crud.Parameters(lane="node", **SMALL))),
    ("mongodb", "wide", lambda: drivers.run(drivers.Parameters(lane="node", driver="mongoclient+mongoose", **SMALL))),
]


@pytest.mark.parametrize(("product", "store", "run"), CELLS, ids=["crud", "drivers", "crud-node", "drivers-node"])
def test_a_cell_leaves_a_given_server_as_it_was(
    product: str,
    store: str,
    run: Callable[[], object],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "node" in request.node.callspec.id and isinstance(found := lanes.find("node"), lanes.Missing):
        pytest.skip(f"lane node is not installed with the suite: {found.why}")
    user = give(monkeypatch, request.getfixturevalue(product))
    before = user.all()
    user.write(store)
    with pytest.raises(databases.OccupiedError, match=rf"did not make \({store}\)"):
        run()
    assert user.read(store) == [MINE]
    user.erase(store)
    run()
    assert user.all() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_cell_that_is_stopped_leaves_a_given_server_as_it_was(
    error: type[BaseException], postgresql: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def insert(record: object) -> None:
        raise error

    def stops(engine: Engine) -> None:
        engine.insert = insert  # type: ignore[method-assign]

    user = give(monkeypatch, postgresql)
    before = user.all()
    tamper(monkeypatch, stops)
    with pytest.raises(error):
        crud.run(crud.Parameters(engine="postgresql+jsonb", **SMALL))
    assert user.all() == before


def test_an_account_that_may_make_nothing_is_told_so_and_may_be_given_an_empty_schema(
    postgresql: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = give(monkeypatch, postgresql)
    cell = crud.Parameters(engine="postgresql+jsonb", **SMALL)
    with psycopg.connect(postgresql.node().url, autocommit=True) as root:
        root.execute("REVOKE CREATE ON DATABASE postgres FROM lea")
        try:
            with pytest.raises(databases.UnreachableError, match=r"benchbook takes no marker .*: permission denied"):
                crud.run(cell)
            root.execute("CREATE SCHEMA benchbook AUTHORIZATION lea")
            before = user.all()
            crud.run(cell)
            assert user.all() == before
            root.execute("DROP SCHEMA benchbook")
        finally:
            root.execute("GRANT CREATE ON DATABASE postgres TO lea")


def run(engines_: str) -> "subprocess.Popen[str]":
    chosen = ["--set", f"engine={engines_}", "--set", "topology=single", "--set", "n=50,60", "--where", "arm=a"]
    command = [sys.executable, "-m", "benchbook.cli", "run", "crud", "--profile", "smoke", *chosen]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_run_takes_over_what_a_killed_one_left_and_refuses_what_is_a_users(
    postgresql: Deployment,
    mongodb: Deployment,
    home: Path,
    results_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = give(monkeypatch, postgresql), give(monkeypatch, mongodb)
    before = ours.all()
    with run("postgresql+jsonb") as killed:
        assert comes_true(lambda: "benchbook_marker" in str(ours.all()))
        killed.kill()
    assert ours.all() != before
    theirs.write("comments")
    with run("postgresql+jsonb,mongodb") as again:
        printed = again.communicate()[0]
    assert again.returncode == 1 and "2 done, 2 failed" in printed and "Traceback" not in printed, printed
    refused = re.findall(r"^failed: .*engine=mongodb .*did not make \(comments\); .* drop it yourself", printed, re.M)
    assert len(refused) == 2, printed
    assert theirs.read("comments") == [MINE]
    assert ours.all() == before
    theirs.erase("comments")
    kept = b"".join(file.read_bytes() for file in results_folder.rglob("*") if file.is_file())
    for form in (PASSWORD, quote(PASSWORD, safe="")):
        assert form not in printed and form.encode() not in kept
