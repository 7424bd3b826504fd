"""Studies on a user's servers, by address, with few rights and unusual passwords."""

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

from benchbook.cli import main
from benchbook.databases.adapter import Adapter, UnreachableError
from benchbook.servers import launcher
from benchbook.servers.address import format_host_port, name_url_variable
from benchbook.servers.deployment import FRESH_DATABASE_PATTERN, Deployment
from benchbook.studies import crud, drivers, harness
from owners import Owner, open_owner
from shared_servers import tamper
from waiting import comes_true

PASSWORD = "p%ss \"w/rd@'漢\\n"
ROLES = ["clusterMonitor", "hostManager"]
ANYWHERE = "readWriteAnyDatabase"
MINE = "benchbook_0a1b2c3"
"""A user's database that is called almost as ours are."""


@contextmanager
def lent(product: str) -> Iterator[Deployment]:
    """Yield a server, and at its address an account of somebody who is not its administrator."""
    with launcher.start_servers(product, "single") as running:
        url = running.deployment.node().url
        if product == "mongodb":
            with pymongo.MongoClient[Any](url) as client:
                client["admin"].command("createUser", "lea", pwd=PASSWORD, roles=[*ROLES, ANYWHERE])
        else:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    f"CREATE ROLE lea LOGIN PASSWORD {psycopg.sql.Literal(PASSWORD).as_string()}"
                )
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
    return parts._replace(netloc=f"{login}@{format_host_port(deployment.node().url, 0)}").geturl()


def give(monkeypatch: pytest.MonkeyPatch, deployment: Deployment) -> Owner:
    monkeypatch.setenv(name_url_variable(deployment.product), address(deployment))
    return open_owner(deployment.product, deployment.node())


SMALL: dict[str, Any] = {"n": 20, "repetitions": 1}
ALONE: dict[str, Any] = {
    "language": "node",
    "driver": "mongoclient+mongoose",
    "process": "operation",
    "calls": "bulk",
}
CELLS: list[tuple[str, Callable[[], object]]] = [
    ("postgresql", lambda: crud.run(crud.Parameters(database="postgresql+relational", **SMALL))),
    ("mongodb", lambda: drivers.run(drivers.Parameters(attributes=6, **SMALL))),
    ("mongodb", lambda: crud.run(crud.Parameters(language="node", **SMALL))),
    (
        "mongodb",
        lambda: drivers.run(
            drivers.Parameters(language="node", driver="mongoclient+mongoose", **SMALL)
        ),
    ),
    ("mongodb", lambda: drivers.run(drivers.Parameters(**ALONE, **SMALL))),
]


@pytest.mark.parametrize(
    ("product", "run"),
    CELLS,
    ids=["crud", "drivers", "crud-node", "drivers-node", "drivers-node-alone"],
)
def test_a_cell_does_not_change_a_users_server(
    product: str,
    run: Callable[[], object],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = harness.find_harness("node")
    if "node" in request.node.callspec.id and isinstance(node, harness.MissingHarness):
        pytest.skip(f"language node is not installed with the suite: {node.why}")
    user = give(monkeypatch, request.getfixturevalue(product))
    before = user.list_all()
    run()
    assert user.list_all() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_stopped_cell_does_not_change_a_users_server(
    error: type[BaseException], postgresql: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def insert(record: object) -> None:
        raise error

    def stops(adapter: Adapter) -> None:
        adapter.insert = insert  # type: ignore[method-assign]

    user = give(monkeypatch, postgresql)
    before = user.list_all()
    tamper(monkeypatch, stops)
    with pytest.raises(error):
        crud.run(crud.Parameters(database="postgresql+jsonb", **SMALL))
    assert user.list_all() == before


def test_an_account_without_the_right_to_create_a_schema_gets_the_grant(
    postgresql: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = give(monkeypatch, postgresql)
    before = user.list_all()
    with psycopg.connect(postgresql.node().url, autocommit=True) as root:
        root.execute("REVOKE CREATE ON DATABASE postgres FROM lea")
        try:
            said = r"make_database: permission denied .*; its user needs GRANT CREATE ON DATABASE"
            with pytest.raises(UnreachableError, match=said):
                crud.run(crud.Parameters(database="postgresql+jsonb", **SMALL))
        finally:
            root.execute("GRANT CREATE ON DATABASE postgres TO lea")
    assert user.list_all() == before


def test_an_account_of_one_mongodb_database_gets_the_role(
    mongodb: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = give(monkeypatch, mongodb)
    before = user.list_all()
    with pymongo.MongoClient[Any](mongodb.node().url) as client:
        client["admin"].command("revokeRolesFromUser", "lea", roles=[ANYWHERE])
        client["admin"].command(
            "grantRolesToUser", "lea", roles=[{"role": "dbOwner", "db": "benchbook"}]
        )
        try:
            said = r"make_database: not authorized .*; its user needs the role readWriteAnyDatabase"
            with pytest.raises(UnreachableError, match=said):
                crud.run(crud.Parameters(database="mongodb", **SMALL))
        finally:
            client["admin"].command("grantRolesToUser", "lea", roles=[ANYWHERE])
    assert user.list_all() == before


def run(databases_: str) -> "subprocess.Popen[str]":
    chosen = [
        "--set",
        f"database={databases_}",
        "--set",
        "topology=single",
        "--set",
        "n=50,60",
        "--where",
        "arm=a",
    ]
    command = [sys.executable, "-m", "benchbook.cli", "run", "crud", "--profile", "smoke", *chosen]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_the_next_run_names_databases_of_a_killed_run_and_clean_removes_them(
    postgresql: Deployment,
    home: Path,
    results_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    user = give(monkeypatch, postgresql)
    user.write(MINE)
    before = user.list_all()
    with run("postgresql+jsonb") as killed:
        assert comes_true(
            lambda: FRESH_DATABASE_PATTERN.search(str(user.list_all()[2])) is not None
        )
        killed.kill()
    (left,) = FRESH_DATABASE_PATTERN.findall(str(user.list_all()[2]))
    with run("postgresql+jsonb") as again:
        printed = again.communicate()[0]
    assert again.returncode == 0 and "2 done" in printed and "Traceback" not in printed, printed
    clean = ["servers", "clean", name_url_variable("postgresql")]
    assert (
        printed.count(f"databases of other runs: {left} of ") == 1
        and f"benchbook {' '.join(clean)}" in printed
    )
    assert main([*clean, "--yes"]) == 0
    printed += "".join(capsys.readouterr())
    assert user.list_all() == before
    user.erase(MINE)
    kept = b"".join(file.read_bytes() for file in results_folder.rglob("*") if file.is_file())
    for form in (PASSWORD, quote(PASSWORD, safe="")):
        assert form not in printed and form.encode() not in kept
