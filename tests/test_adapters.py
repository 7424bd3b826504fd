"""The one compliance suite: every database on every topology, real servers.

What a database cannot do it declares in `gaps`: then the test must fail, with the error named here (see `holds`). That
each gap is one, capability by capability, is in ``test_capabilities.py``.
"""

import itertools
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, date
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg
import pymongo
import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo.monitoring import CommandListener, CommandStartedEvent
from rethinkdb import r

import products
from benchbook import databases, registry, servers
from benchbook.cli import main
from benchbook.databases import Adapter, DuplicateKeyError, Durability, GapError, MissingRecordError
from benchbook.databases.couchdb.node import HTTPNode
from benchbook.databases.mongodb import adapter as mongodb
from benchbook.databases.postgresql.adapter import record_end
from benchbook.databases.rethinkdb.server import connected
from benchbook.datasets import Dataset, blog, own_records
from benchbook.deployment import Deployment, Node, Topology, fresh_database
from benchbook.schemas import Field, Schema, UnfitError
from benchbook.servers.address import login
from benchbook.studies.cell_store import same_change
from cases import (
    CASES,
    COMMENTS,
    EACH,
    EACH_PAIR,
    EACH_REAL_SINGLE,
    EACH_SINGLE,
    ELSEWHERE,
    KEYS,
    MOMENTS,
    NAMES,
    ON_MYSQL,
    ON_POSTGRESQL,
    PAIRED,
    PROTOCOL_ONLY,
    REAL,
    SETS,
    TABLES,
    TEXTS,
    TYPED,
    Case,
    Deployed,
    Opened,
    assert_contents,
    awkward,
    by_key,
    changed,
    filled,
    holds,
    singles,
)
from own_files import FILES
from owners import MINE, OWNERS, Owner, owner
from standing import driver_needed, needed
from stopping import processes, stopped
from waiting import PATIENCE_S, comes_true

# what every database does


@EACH
@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_what_is_inserted_one_at_a_time_is_read_back_equal(adapter: Adapter, data: Dataset) -> None:
    adapter.create(data.schema, parents=data.parents)
    before = [dict(record) for record in data.records]
    for record in data.records:
        adapter.insert(record)
    assert data.records == before
    with holds(adapter, "contents", AssertionError):
        assert_contents(adapter, data.records)


@EACH
@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_every_verb_changes_what_it_should_and_nothing_else(adapter: Adapter, data: Dataset) -> None:
    with holds(adapter, "contents", AssertionError):
        records = filled(adapter, data)
        assert_contents(adapter, records)
        first, second, *rest = records
        adapter.update(second["_id"], changed(data))
        second.update(changed(data))
        assert_contents(adapter, records)
        assert by_key(adapter.find("_id", second["_id"])) == by_key([second])
        adapter.delete(first["_id"])
        assert_contents(adapter, [second, *rest])
        assert sorted(adapter.ids()) == sorted(by_key([second, *rest]))
        assert adapter.update_all(changed(data)) == len(rest) + 1
        assert_contents(adapter, [{**record, **changed(data)} for record in (second, *rest)])
        assert adapter.delete_all() == len(rest) + 1
        assert_contents(adapter, [])
        assert adapter.delete_all() == 0


def of_texts(names: Sequence[str]) -> Schema:
    return Schema("own_records", tuple(Field(name, "string") for name in ("_id", *names)))


@EACH_SINGLE
def test_own_records_that_are_not_refused_before_anything_starts_are_kept(adapter: Adapter) -> None:
    def taken(schema: Schema, *some: dict[str, Any]) -> bool:
        try:
            adapter.hold(schema, some, adapter.gaps)
        except UnfitError:
            return False
        return True

    server = adapter.product if products.available(adapter.product) else ""
    reserved = products.REFUSED_NAMES.get(server, ())
    unkept = products.REFUSED_KEYS.get(server, lambda key: False)
    names = [name for name in NAMES if name not in reserved and taken(of_texts([name]))]
    schema = of_texts(names)
    records: list[dict[str, Any]] = []
    for key in itertools.filterfalse(unkept, KEYS):
        record = dict(zip(("_id", *names), (key, *TEXTS, *names), strict=False))
        records += [record] if taken(schema, *records, record) else []
    assert len(names) > len(NAMES) // 2 and len(records) > len(KEYS) // 2
    adapter.create(schema)
    for record in records:
        adapter.insert(record)
    assert_contents(adapter, records)
    change = {name: f"new {name}" for name in names}
    adapter.update_all(change)
    assert_contents(adapter, [record | change for record in records])
    for record in records:
        assert list(adapter.find("_id", record["_id"]))
        adapter.update(record["_id"], {names[0]: "newer"})
        adapter.delete(record["_id"])
    assert_contents(adapter, [])


@EACH
def test_documents_of_a_person_s_file_are_kept_by_every_store(adapter: Adapter, tmp_path: Path) -> None:
    for write in FILES.values():
        assert_kept(adapter, own_records.read(write(tmp_path, count=12)))


def assert_kept(adapter: Adapter, data: Dataset) -> None:
    adapter.hold(data.schema, data.records, adapter.gaps)
    records = [dict(record) for record in data.records]
    change = same_change(data.schema)
    adapter.create(data.schema)
    for record in records[:6]:
        adapter.insert(record)
    adapter.insert_many(records[6:])
    with holds(adapter, "contents", AssertionError):
        assert_contents(adapter, records)
        assert by_key(adapter.find("_id", records[0]["_id"])) == by_key(records[:1])
        adapter.update(records[0]["_id"], change)
        assert_contents(adapter, [records[0] | change, *records[1:]])
        adapter.update_all(change)
        assert_contents(adapter, [record | change for record in records])
        adapter.delete(records[0]["_id"])
        assert adapter.delete_all() == len(records) - 1


IN_TABLES = pytest.mark.parametrize("case", [case for case in CASES if case[0] in TABLES], ids="-".join)


@IN_TABLES
@pytest.mark.parametrize("constraints", [True, False], ids=["constraints", "none"])
def test_arrays_are_tables_whose_rows_are_their_elements(opened: Opened, constraints: bool, tmp_path: Path) -> None:
    adapter = opened(arrays="table", constraints=constraints)
    for name in ("orders", "answer"):
        assert_kept(adapter, own_records.read(FILES[name](tmp_path, count=12)))
    with pytest.raises(UnfitError, match="without arrays"):
        assert_kept(adapter, own_records.read(FILES["export"](tmp_path)))
    items = Field("item", "document", fields=(Field("record", "integer"), Field("Place", "float", optional=True)))
    array = Field("of", "array", optional=True, fields=(items,))
    schema = Schema("own_records", (Field("_id", "string"), Field("text", "string"), array))
    first = {"_id": "a", "text": "t", "of": [{"record": 2, "Place": 0.5}, {"record": 1}, {"record": 2, "Place": 0.5}]}
    adapter.create(schema)
    adapter.insert_many([first, {"_id": "b", "text": "t", "of": []}, {"_id": "c", "text": "t"}])
    assert by_key(adapter.find("text", "t"))["a"] == first
    with pytest.raises(DuplicateKeyError):
        adapter.insert({"_id": "a", "text": "t", "of": [{"record": 9}]})
    with pytest.raises(MissingRecordError):
        adapter.delete("d")
    with pytest.raises(GapError, match="not updated"):
        adapter.update("a", {"of": []})
    adapter.delete("b")
    assert_contents(adapter, [first, {"_id": "c", "text": "t"}])
    unnamed = replace(items, fields=(Field("a\0b", "string"),))
    why = adapter.unfit_fields(replace(schema, fields=(Field("of", "array", fields=(unnamed,)),)))
    assert why.startswith("in the array 'of' the field 'a\\x00b'")


@singles(TABLES)
@pytest.mark.parametrize("value", [2**53 - 1, "x" * 24, "x" * 700], ids=["integers", "short texts", "long texts"])
def test_the_widest_row_that_is_not_refused_before_anything_starts_is_kept(adapter: Adapter, value: Any) -> None:
    kind: Any = "integer" if type(value) is int else "string"

    def wide(count: int) -> tuple[Schema, dict[str, Any]]:
        names = [f"c{number}" for number in range(count)]
        fields = (Field("_id", "string"), *(Field(name, kind) for name in names))
        return Schema("wide", fields), {"_id": "k" * 191, **dict.fromkeys(names, value)}

    def refused(count: int) -> bool:
        schema, record = wide(count)
        return bool(adapter.unfit_fields(schema) or adapter.unfit_record(record, {}))

    schema, record = wide(bisect_left(range(1_700), True, key=refused) - 1)
    assert len(record) > 100
    adapter.create(schema)
    adapter.insert(record)
    assert list(adapter.read_all()) == [record]


@EACH
def test_find_returns_all_comments_of_an_article(adapter: Adapter) -> None:
    records = filled(adapter, COMMENTS)
    with holds(adapter, "contents", AssertionError), holds(adapter, "find", databases.GapError):
        for article in COMMENTS.parents[0].records:
            wanted = [record for record in records if record["article_id"] == article["_id"]]
            assert by_key(adapter.find("article_id", article["_id"])) == by_key(wanted)
    with holds(adapter, "find", databases.GapError):
        assert list(adapter.find("article_id", "no such article")) == []


@EACH
def test_awkward_values_and_names_come_back_equal(adapter: Adapter) -> None:
    records = awkward()
    adapter.create(TYPED)
    for record in records[:4]:
        adapter.insert(record)
    adapter.insert_many(records[4:])
    with holds(adapter, "contents", AssertionError):
        assert_contents(adapter, records)
        assert {type(record["real"]) for record in adapter.read_all()} == {float}
        assert {record["moment"].utcoffset() for record in adapter.read_all()} == {UTC.utcoffset(None)}
        with holds(adapter, "find", databases.GapError):
            for field in [field for field in TYPED.fields if field.type != "float"]:
                wanted = [record for record in records if record[field.name] == records[2][field.name]]
                assert by_key(adapter.find(field.name, records[2][field.name])) == by_key(wanted)
        adapter.update("k3", {"text %s": "50 %", "day": date(2000, 2, 29), "moment": MOMENTS[0], "real": 2.0})
        records[3].update({"text %s": "50 %", "day": date(2000, 2, 29), "moment": MOMENTS[0], "real": 2.0})
        assert_contents(adapter, records)


_LOADED = [name for name in databases.NAMES if not registry.missing_driver(name)]
NESTING = [name for name in _LOADED if databases.load(name).model == "document" and not name.endswith("+mongoengine")]
"""Document stores: a mapper's documents have the fields of a schema, which are flat here."""


@singles(NESTING)
def test_a_document_store_gives_a_nested_document_back_as_it_was(adapter: Adapter) -> None:
    flat = Schema("nested", (Field("_id", "string"), Field("content", "string")))
    answers = [{"author": {"name": f"utilizator{i}", "emails": [f"{i}@email.com"]}, "votes": [i, None]} for i in (1, 2)]
    document = {"_id": "one", "content": "text", "answers": answers, "article": {"title": {"en": "title0"}}}
    adapter.create(flat)
    adapter.insert(document)
    assert [dict(record) for record in adapter.read_all()] == [document]
    adapter.update("one", {"content": "new"})
    assert [dict(record) for record in adapter.read_all()] == [{**document, "content": "new"}]


@EACH
def test_create_leaves_nothing_of_what_was_there(adapter: Adapter) -> None:
    filled(adapter, COMMENTS)
    other = Schema("comments", (Field("_id", "string"), Field("content", "integer")))
    record = {"_id": "one", "content": 1}
    for _ in range(2):
        adapter.create(other)
        assert list(adapter.read_all()) == []
        adapter.insert(record)
        with holds(adapter, "contents", AssertionError):
            assert_contents(adapter, [record])


@EACH
def test_a_set_may_return_with_other_types_after_long_use(adapter: Adapter) -> None:
    values: list[tuple[Any, Any]] = [("string", "x"), ("integer", 1), ("float", 0.5)]
    for type_, value in values * 2:
        adapter.create(Schema("same", (Field("_id", "string"), Field("value", type_))))
        for number in range(8):  # the drivers prepare a statement when it comes often
            adapter.insert({"_id": str(number), "value": value})
            adapter.update(str(number), {"value": value})
            with holds(adapter, "contents", AssertionError), holds(adapter, "find", databases.GapError):
                assert len(adapter.find("value", value)) == len(adapter.read_all()) == number + 1


@EACH
def test_an_empty_batch_changes_nothing(adapter: Adapter) -> None:
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    adapter.insert_many([])
    assert_contents(adapter, [])
    assert adapter.update_all(changed(COMMENTS)) == 0


@EACH
def test_a_second_record_of_one_key_is_refused_and_the_first_stays(adapter: Adapter) -> None:
    records = filled(adapter, COMMENTS)
    with holds(adapter, "contents", pytest.fail.Exception):
        with pytest.raises(databases.DuplicateKeyError, match=adapter.name.replace("+", r"\+")):
            adapter.insert({**records[0], "content": "other"})
        with pytest.raises(databases.DuplicateKeyError):
            adapter.insert_many(records[1:3])
        assert_contents(adapter, records)


@EACH
def test_a_missing_record_cannot_be_changed_or_deleted(adapter: Adapter) -> None:
    records = filled(adapter, COMMENTS)
    with holds(adapter, "contents", pytest.fail.Exception):
        with pytest.raises(databases.MissingRecordError, match="no such key"):
            adapter.update("no such key", changed(COMMENTS))
        with pytest.raises(databases.MissingRecordError, match="no such key"):
            adapter.delete("no such key")
        assert_contents(adapter, records)


@EACH_SINGLE
def test_only_a_replica_can_be_waited_for(adapter: Adapter) -> None:
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    assert "replica" in adapter.gaps["wait_for"]
    with pytest.raises(databases.GapError, match="replica"):
        adapter.wait_for(adapter.position(), 1)
    assert adapter.counters("replica") == []


# how records are kept


@singles([*TABLES, "mongodb+mongoengine"])
def test_a_schema_that_is_enforced_refuses_what_is_missing_or_of_another_type(adapter: Adapter) -> None:
    adapter.create(TYPED)
    record = awkward()[0]
    for change in ({"select": None}, {"whole": "many"}, {"day": "someday"}, {"moment": "soon"}):
        with pytest.raises(databases.RefusedError):
            adapter.insert({**record, **change})
        with pytest.raises(databases.RefusedError):
            adapter.insert_many([record, {**record, "_id": "other", **change}])
    assert_contents(adapter, [])


def uses_of_index(deployment: Deployment) -> dict[str, int]:
    """Return how often each index of the comments but their key's was used."""
    url = deployment.node().url
    if deployment.product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](url) as client:
            stats = client[deployment.database]["comments"].aggregate([{"$indexStats": {}}])
            return {index["name"]: index["accesses"]["ops"] for index in stats if index["name"] != "_id_"}
    if deployment.product.startswith(("mysql", "mariadb")):
        with (
            closing(pymysql.connect(**login(url, 3306), database=deployment.database)) as mysql,
            mysql.cursor() as cursor,
        ):
            traditional = " FORMAT = TRADITIONAL" if deployment.product == "mysql" else ""
            cursor.execute(f"EXPLAIN{traditional} SELECT * FROM comments WHERE article_id = 'one of them'")
            plan = dict(zip([column[0] for column in cursor.description], cursor.fetchall()[0], strict=True))
            return {plan["key"]: 1} if plan["key"] else {}
    if deployment.product == "couchdb":  # it counts no uses, and says which index it would take
        ask = HTTPNode(deployment.node().url).ask
        (name,) = [name for name in ask("GET", "/_all_dbs") if name.startswith(f"{deployment.database}-comments-")]
        index = ask("POST", f"/{name}/_explain", {"selector": {"article_id": {"$eq": "any"}}})["index"]
        return {index["name"]: 1} if index["type"] == "json" else {}
    if deployment.product == "rethinkdb":  # it counts what it reads: all records, where no index leads to them
        with connected(url) as link:
            table = r.db(deployment.database).table("comments")
            of_table = ["table_server", table.info()["id"], link.server()["id"]]
            stats = r.db("rethinkdb").table("stats").get(of_table).run(link)
            few = stats["query_engine"]["read_docs_total"] < table.count().run(link)
            return dict.fromkeys(table.index_list().run(link), int(few))
    query = (
        "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = 'comments' AND indexrelname !~ 'pkey'"
    )
    with psycopg.connect(url) as connection:
        return dict(connection.execute(query).fetchall())


@EACH_REAL_SINGLE
def test_an_index_is_there_when_asked_for_and_find_uses_it(deployed: Deployed, case: Case) -> None:
    data = blog.comments(1000, 1, per_article=10)
    for index in (("article_id", "not a field"), ()):
        with databases.open(case[0], deployed(*case), index=index) as adapter:
            filled(adapter, data)
            assert len(adapter.find("article_id", data.records[0]["article_id"])) == 10
            there = bool(index) or "reference_without_index" in adapter.gaps
        if there or not case[0].endswith("+json"):  # without an index there is no column to explain
            # PostgreSQL counts at the end of a session, the old one some time later
            assert comes_true(lambda wanted=[1] * there: [*uses_of_index(deployed(*case)).values()] == wanted)


class Listener(CommandListener):
    """Keeps the write concern of every command that the driver sends."""

    def __init__(self) -> None:
        self.concerns: list[tuple[str, Any]] = []

    def started(self, event: CommandStartedEvent) -> None:
        self.concerns.append((event.command_name, event.command.get("writeConcern")))

    def succeeded(self, event: object) -> None: ...

    def failed(self, event: object) -> None: ...


@pytest.mark.parametrize("durability", ["default", "relaxed", "strict"])
@pytest.mark.parametrize("case", [case for case in CASES if case[0].startswith("mongodb")], ids="-".join)
def test_every_write_to_mongodb_states_its_concern(
    opened: Opened, durability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener()
    monkeypatch.setattr(pymongo, "MongoClient", partial(pymongo.MongoClient, event_listeners=[listener]))
    adapter = opened(durability=durability)
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    listener.concerns.clear()
    every_write(adapter)
    wanted = {"w": 1} | {"default": {}, "relaxed": {"j": False}, "strict": {"j": True}}[durability]
    commands = ("insert", "insert", "update", "update", "delete", "delete")
    assert listener.concerns == [(command, wanted) for command in commands]


def every_write(adapter: Adapter) -> None:
    adapter.insert(COMMENTS.records[0])
    adapter.insert_many(COMMENTS.records[1:])
    adapter.update(COMMENTS.records[0]["_id"], changed(COMMENTS))
    adapter.update_all(changed(COMMENTS))
    adapter.delete(COMMENTS.records[0]["_id"])
    adapter.delete_all()


@singles(ON_POSTGRESQL)
@pytest.mark.parametrize(("durability", "waits"), [("default", True), ("relaxed", False), ("strict", True)])
def test_a_commit_waits_for_postgresqls_log_unless_relaxed(
    opened: Opened, deployed: Deployed, case: Case, durability: str, waits: bool
) -> None:
    adapter = opened(durability=durability)
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    behind: list[bool] = []
    with psycopg.connect(deployed(*case).node().url, autocommit=True) as connection:
        for record in COMMENTS.records:
            inserted = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            adapter.insert(record)
            behind += connection.execute("SELECT pg_current_wal_flush_lsn() <= %s", inserted).fetchone() or ()
    assert any(behind) is not waits


@singles(ON_MYSQL)
@pytest.mark.parametrize(("durability", "flushes"), [("default", None), ("relaxed", (2, 0)), ("strict", (1, 1))])
def test_mysql_flushes_as_asked_and_as_before_afterwards(
    opened: Opened, deployed: Deployed, case: Case, durability: str, flushes: tuple[int, int] | None
) -> None:
    def state() -> tuple[Any, ...]:
        cursor.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog")
        return cursor.fetchall()[0]

    with closing(pymysql.connect(**login(deployed(*case).node().url, 3306))) as mysql, mysql.cursor() as cursor:
        before = state()
        if not deployed(*case).given:
            assert before == (1, 1 if case[0].startswith("mysql+") else 0)
        adapter = opened(durability=durability)
        adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
        assert state() == (flushes or before)
        adapter.close()
        assert state() == before


# what is a user's


KEEPING = {
    (product, topology): (name, topology) for name, topology in CASES if (product := servers.product_of(name)) in OWNERS
}
"""One database a product and topology: all of a product share its databases."""
EACH_KEEPING = pytest.mark.parametrize("case", KEEPING.values(), ids="-".join)
FOREIGN = ("mine", "benchbook_0a1b2c3", "benchbook_0a1b2c3d4", "benchbook_mine")
"""Databases of a user, some of them called almost as ours are."""


@pytest.fixture
def lent(deployed: Deployed, case: Case) -> Deployment:
    """Return the case's servers, empty, as a user's, with a new database's name."""
    deployment = deployed(*case)
    with databases.open(case[0], deployment) as adapter:
        assert isinstance(adapter, databases.Connected)
        adapter.drop_database(deployment.database)
    return replace(deployment, settings={**deployment.settings, "source": "address"}, database=fresh_database())


@pytest.fixture
def owners(lent: Deployment) -> Iterator[list[Owner]]:
    """Yield each node's user, the primary's first, who has databases there, before and afterwards."""
    users = [owner(lent.product, node) for node in lent.nodes]
    writers = users if lent.product == "couchdb" else users[:1]  # whose nodes are servers by themselves
    for user in writers:
        for name in FOREIGN:
            user.write(name)
    assert comes_true(lambda: users[0].all() == users[-1].all())
    yield users
    for user in writers:
        for name in FOREIGN:
            assert user.read(name) == [MINE]
            user.erase(name)


@EACH_KEEPING
def test_a_run_drops_its_database_and_nothing_of_a_users(lent: Deployment, case: Case, owners: list[Owner]) -> None:
    before = [one.all() for one in owners]
    with databases.use_fresh_database(lent), databases.open(case[0], lent) as adapter:
        for _ in range(2):
            adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
        adapter.insert_many(COMMENTS.records)
        assert databases.list_run_databases(adapter) == [lent.database]
    assert comes_true(lambda: [one.all() for one in owners] == before)


@EACH_KEEPING
def test_what_a_killed_run_left_is_named_to_the_next_and_removed_when_that_is_agreed_to(
    lent: Deployment,
    case: Case,
    owners: list[Owner],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = [one.all() for one in owners]
    killed = replace(lent, database="benchbook_4cafe0ff")
    with databases.open(case[0], killed) as adapter:
        adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    with databases.use_fresh_database(lent):
        named = capsys.readouterr().err
    assert "benchbook_4cafe0ff of 2023-10-01" in named and "if those were killed: benchbook servers clean " in named
    urls = [node.url for node in (lent.nodes if lent.product == "couchdb" else lent.nodes[:1])]
    answers = iter(["", "n", "no", "y", "y"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    for url in urls:
        assert main(["servers", "clean", url]) == 0
    assert capsys.readouterr().out.count("  benchbook_4cafe0ff, made on 2023-10-01\n") == len(urls)
    assert [one.all() for one in owners] != before
    monkeypatch.setenv("MY_SERVER", urls[-1])
    assert main(["servers", "clean", *urls[:-1], "MY_SERVER", "--yes"]) == 0
    assert comes_true(lambda: [one.all() for one in owners] == before)
    printed = "".join(capsys.readouterr())
    assert printed.count("removed 1") == len(urls) and not any(urlsplit(url).password in printed for url in urls)


@EACH_KEEPING
def test_two_runs_at_once_do_not_see_each_other(lent: Deployment, case: Case, owners: list[Owner]) -> None:
    other = replace(lent, database=fresh_database())
    with databases.use_fresh_database(lent), databases.open(case[0], lent) as adapter:
        adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
        adapter.insert_many(COMMENTS.records)
        with databases.use_fresh_database(other), databases.open(case[0], other) as second:
            second.create(COMMENTS.schema, parents=COMMENTS.parents)
            assert len(second.ids()) == 0 and len(adapter.ids()) == len(COMMENTS.records)
        assert_contents(adapter, COMMENTS.records)


# replication


DURABLE: list[tuple[Durability, str, Topology]] = [
    (durability, *case)
    for durability in ("default", "relaxed")
    for case in PAIRED
    if durability == "default" or "durability" not in databases.load(case[0]).lacks
]


@pytest.mark.parametrize(("durability", "case"), [(first, rest) for first, *rest in DURABLE], ids=str)
def test_a_wait_ends_when_the_replica_has_it_or_the_time_runs_out(
    deployed: Deployed, case: Case, durability: Durability
) -> None:
    deployment = deployed(*case, own=True)
    with databases.open(case[0], deployment, durability=durability) as adapter:
        records = filled(adapter, COMMENTS)
        assert adapter.wait_for(adapter.position(), PATIENCE_S)
        with stopped(deployment.node("replica").pid):
            adapter.update_all(changed(COMMENTS))
            position = adapter.position()
            for _ in range(2):
                started = time.monotonic()
                assert adapter.wait_for(position, 0.2) is False
                assert time.monotonic() - started >= 0.2
        assert adapter.wait_for(position, PATIENCE_S)
        assert by_key(adapter.read_all("replica")) == by_key([{**record, **changed(COMMENTS)} for record in records])
        assert adapter.wait_resolution_ns > 0


@EACH_PAIR
def test_after_a_wait_the_replica_holds_the_last_write_every_time(adapter: Adapter) -> None:
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    for number, record in enumerate(COMMENTS.records, 1):
        adapter.insert(record)
        assert adapter.wait_for(adapter.position(), PATIENCE_S)
        assert len(adapter.read_all("replica")) == number


@given(page=st.integers(0, 2**40), length=st.integers(1, 8152))
def test_the_end_of_a_log_record_never_lies_behind_a_page_header(page: int, length: int) -> None:
    start = page * 8192
    assert record_end(start + 24) == record_end(start + 40) == start
    if length not in (16,):  # 24 + 16 is where a file's first page begins its records
        assert record_end(start + 24 + length) == start + 24 + length


# what goes wrong


def test_an_unknown_database_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(databases.AdapterError, match=r"'mongdb': did you mean 'mongodb'\?"):
        databases.load("mongdb")


def test_a_database_refuses_another_products_servers(deployed: Deployed) -> None:
    with pytest.raises(databases.AdapterError, match=r"postgresql.*mongodb"):
        databases.open("postgresql+jsonb", deployed("mongodb", "single"))


def kill(pid: int | None) -> None:
    for process in processes(pid):
        with suppress(psutil.NoSuchProcess):  # a child that ended with its parent
            process.kill()


@pytest.mark.parametrize("name", REAL)
def test_killed_servers_are_told_promptly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongodb, "PATIENCE_S", 1)  # with five seconds, all that this test did would be waiting
    needed(servers.product_of(name))
    with servers.start(servers.product_of(name), "replicated") as running:
        deployment = running.deployment
        with databases.open(name, deployment) as adapter:
            adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
            kill(deployment.node("replica").pid)
            assert_told_promptly(lambda: adapter.wait_for(adapter.position(), PATIENCE_S))
            killer = threading.Timer(0.2, kill, [deployment.node().pid])
            killer.start()
            assert_told_promptly(lambda: [adapter.insert({**COMMENTS.records[0], "_id": str(i)}) for i in range(10**7)])
            assert_told_promptly(adapter.read_all)
            killer.join()
        assert_told_promptly(lambda: databases.open(name, deployment))


@pytest.mark.parametrize("name", [name for name in PROTOCOL_ONLY if products.available(name)])
def test_a_server_of_its_protocol_that_is_killed_is_told_promptly(name: str) -> None:
    with products.start(name, "single") as running:
        with databases.open(name, running.deployment) as adapter:
            adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
            kill(running.deployment.node().pid)
            assert_told_promptly(lambda: adapter.insert(COMMENTS.records[0]))
        assert_told_promptly(lambda: databases.open(name, running.deployment))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_server_that_is_not_there_is_told_promptly_and_without_its_password(name: str) -> None:
    product = servers.product_of(name)
    driver_needed(name)
    node = Node("primary", f"{product}://someone:s3cret@127.0.0.1:1/benchbook", None, "")
    with pytest.raises(databases.UnreachableError, match=r"at 127\.0\.0\.1:1: ") as told:
        databases.open(name, Deployment(product, "single", (node,)))
    assert "s3cret" not in str(told.value)


def assert_told_promptly(action: Callable[[], object]) -> None:
    started = time.monotonic()
    with pytest.raises(databases.UnreachableError, match=r"at 127\.0\.0\.1:\d+: ") as told:
        action()
    assert "Topology" not in str(told.value), "what happened, not what the driver knows of every server"
    assert time.monotonic() - started < PATIENCE_S  # a driver's own patience is minutes, or none


@pytest.mark.parametrize("name", ["postgresql+jsonb", "noop"])
def test_a_driver_is_imported_only_when_used(name: str) -> None:
    foreign = {"pymongo", "mongoengine", "psycopg", "pymysql", "urllib3", "pandas", "scipy", "duckdb"}
    code = f"import sys, benchbook.databases as e; e.load({name!r}); print({foreign!r} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert loaded == ("{'psycopg'}" if name != "noop" else "set()")
