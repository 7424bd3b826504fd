"""Tests of a database: its server is found, it keeps records, and its errors are benchbook's."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from benchbook_my_example.client import Client

from benchbook.databases import catalogue
from benchbook.databases.adapter import DuplicateKeyError, MissingRecordError
from benchbook.datasets import blog, persons
from benchbook.servers import launcher
from benchbook.servers.address import name_url_variable
from benchbook.servers.deployment import Deployment
from benchbook.servers.programs import AvailableServer

COMMENTS = blog.generate_comments(20, 20150501)
PEOPLE = persons.generate_people(20, 20150501, fields=50)


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start the example server; replace it by the address of a server of your database."""
    command = [sys.executable, "-m", "benchbook_my_example.example_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        monkeypatch.setenv(name_url_variable("my_example"), address)
        yield address
        server.terminate()


@pytest.fixture
def deployment(url: str) -> Iterator[Deployment]:
    with launcher.provide_servers("my_example", "single") as running:
        yield running.deployment


def test_its_server_is_found_at_its_address(url: str) -> None:
    found = launcher.find_server("my_example")
    assert isinstance(found, AvailableServer), found
    assert found.source == "address"


@pytest.mark.parametrize("data", [COMMENTS, PEOPLE], ids=lambda one: one.name)
def test_records_are_read_as_they_were_inserted(deployment: Deployment, data) -> None:
    with catalogue.open_adapter("my_example", deployment) as database:
        database.create(data.schema)
        database.insert_many(data.records[:10])
        for record in data.records[10:]:
            database.insert(record)
        assert sorted(database.list_ids()) == sorted(data.index_by_key())
        assert {one["_id"]: one for one in database.read_all()} == data.index_by_key()


def test_records_are_found_changed_and_deleted(deployment: Deployment) -> None:
    with catalogue.open_adapter("my_example", deployment) as database:
        database.create(COMMENTS.schema)
        database.insert_many(COMMENTS.records)
        first = COMMENTS.records[0]
        assert len(database.find("article_id", first["article_id"])) == 10
        database.update(first["_id"], {"title": "new"})
        assert [one["title"] for one in database.find("_id", first["_id"])] == ["new"]
        assert database.update_all({"title": "all"}) == 20
        database.delete(first["_id"])
        assert database.delete_all() == 19
        assert database.read_all() == []


def test_errors_are_benchbooks_own(deployment: Deployment) -> None:
    with catalogue.open_adapter("my_example", deployment) as database:
        database.create(COMMENTS.schema)
        database.insert(COMMENTS.records[0])
        with pytest.raises(DuplicateKeyError):
            database.insert(COMMENTS.records[0])
        with pytest.raises(MissingRecordError):
            database.update("unknown", {"title": "new"})


def test_a_run_leaves_only_the_data_of_others(deployment: Deployment, url: str) -> None:
    theirs = Client(url)
    theirs.call("make", store="customers")
    with (
        catalogue.use_fresh_database(deployment),
        catalogue.open_adapter("my_example", deployment) as database,
    ):
        database.create(COMMENTS.schema)
        assert catalogue.list_run_databases(database) == [deployment.database]
    assert theirs.call("stores") == ["customers"]
    theirs.close()
