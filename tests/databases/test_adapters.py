"""The contract of adapters: every database on every topology, with real servers.

What a database cannot do is in its `limitations`: then a test must fail, with the error named here
(see `expect_capability`). ``test_capabilities.py`` tests each limitation.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
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
from bson import Int64, Timestamp
from hypothesis import given
from hypothesis import strategies as st
from pymongo.monitoring import CommandListener, CommandStartedEvent
from rethinkdb import r

import stand_ins
from benchbook.cli import main
from benchbook.databases import catalogue
from benchbook.databases.adapter import (
    Adapter,
    AdapterError,
    DuplicateKeyError,
    Durability,
    MissingRecordError,
    RefusedError,
    UnreachableError,
    UnsupportedError,
)
from benchbook.databases.couchdb.node import HTTPNode
from benchbook.databases.mongodb import adapter as mongodb
from benchbook.databases.postgresql.adapter import find_record_end
from benchbook.databases.rethinkdb.server import open_connection
from benchbook.databases.server_adapter import ServerAdapter
from benchbook.datasets import blog
from benchbook.datasets.dataset import Dataset
from benchbook.own_data import own_records
from benchbook.registry import products
from benchbook.schema import Field, Schema, UnfitError
from benchbook.servers import launcher
from benchbook.servers.address import read_login
from benchbook.servers.deployment import Deployment, Node, Topology, name_fresh_database
from benchbook.studies.cell_database import CellDatabase, call_each
from benchbook.studies.update import make_change
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
    change_last_text,
    expect_capability,
    fill,
    index_by_key,
    make_awkward_records,
    parametrize_singles,
)
from owners import MINE, OWNERS, Owner, open_owner
from shared_servers import skip_without, skip_without_plugin
from user_files import FILES
from waiting import PATIENCE_S, comes_true, hold_suspended, list_processes

# what every database does


@EACH
@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_records_inserted_one_at_a_time_are_read_equal(adapter: Adapter, data: Dataset) -> None:
    adapter.create(data.schema, parents=data.parents)
    before = [dict(record) for record in data.records]
    for record in data.records:
        adapter.insert(record)
    assert data.records == before
    with expect_capability(adapter, "contents", AssertionError):
        assert_contents(adapter, data.records)


@EACH
@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_every_verb_changes_its_records_and_no_others(adapter: Adapter, data: Dataset) -> None:
    with expect_capability(adapter, "contents", AssertionError):
        records = fill(adapter, data)
        assert_contents(adapter, records)
        first, second, *rest = records
        adapter.update(second["_id"], change_last_text(data))
        second.update(change_last_text(data))
        assert_contents(adapter, records)
        assert index_by_key(adapter.find("_id", second["_id"])) == index_by_key([second])
        adapter.delete(first["_id"])
        assert_contents(adapter, [second, *rest])
        assert sorted(adapter.list_ids()) == sorted(index_by_key([second, *rest]))
        assert adapter.update_all(change_last_text(data)) == len(rest) + 1
        assert_contents(
            adapter, [{**record, **change_last_text(data)} for record in (second, *rest)]
        )
        assert adapter.delete_all() == len(rest) + 1
        assert_contents(adapter, [])
        assert adapter.delete_all() == 0


def make_text_dataset(names: Sequence[str], records: Sequence[dict[str, Any]]) -> Dataset:
    schema = Schema("own_records", tuple(Field(name, "string") for name in ("_id", *names)))
    return Dataset("own", schema, records, "")


def try_records(adapter: Adapter, data: Dataset, change: dict[str, str]) -> str:
    """Return why a database refuses records that are written and read back; empty: it does not."""

    def prepare_update(records: Any) -> Any:
        return dict.fromkeys(records, change), partial(adapter.update_all, change)

    insert = partial(call_each, adapter.insert, data.records)
    try:
        CellDatabase(adapter, adapter.deployment).try_records(data, insert, prepare_update)
    except UnfitError as refusal:
        return str(refusal)
    return ""


def find_refused(
    items: Sequence[str], explain: Callable[[Sequence[str], Sequence[str]], str]
) -> dict[str, str]:
    """Return the refused items, each with the reason, in addition to the accepted ones before it.

    Many are tried at once, and halves of those that are refused, down to single ones. `explain`
    gets the accepted items and more, and returns why the more are refused; empty: they are not.
    """
    reasons: dict[str, str] = {}
    accepted: list[str] = []
    parts = [items]
    while parts:
        part = parts.pop()
        why = explain(accepted, part)
        middle = len(part) // 2
        if not why:
            accepted += part
        elif len(part) > 1:
            parts += [part[middle:], part[:middle]]
        else:
            reasons[part[0]] = why
    return reasons


@EACH_SINGLE
def test_a_users_records_are_kept_or_refused_in_the_products_words(adapter: Adapter) -> None:
    def explain_names(accepted: Sequence[str], more: Sequence[str]) -> str:
        record = {"_id": "a", **dict.fromkeys([*accepted, *more], "text")}
        data = make_text_dataset([*accepted, *more], [record])
        return try_records(adapter, data, dict.fromkeys(more, "new"))

    def explain_keys(accepted: Sequence[str], more: Sequence[str]) -> str:
        records = [{"_id": key, names[0]: "text"} for key in (*accepted, *more)]
        return try_records(adapter, make_text_dataset(names[:1], records), {names[0]: "new"})

    refused_names = find_refused(NAMES, explain_names)
    names = [name for name in NAMES if name not in refused_names]
    refused_keys = find_refused(KEYS, explain_keys)
    keys = [key for key in KEYS if key not in refused_keys]
    records: list[dict[str, Any]] = [
        dict(zip(("_id", *names), (key, *TEXTS, *names), strict=False)) for key in keys
    ]
    for why in (*refused_names.values(), *refused_keys.values()):
        assert why.startswith((f"{adapter.name} does not take ", f"{adapter.name}, read back"))
    if adapter.name == "mongodb":
        # All but those that no BSON has: with dots and dollars, too.
        assert names == [name for name in NAMES if "\0" not in name]

    # Every verb keeps to them.
    assert len(names) > len(NAMES) // 2
    assert len(records) > len(KEYS) // 2
    adapter.create(make_text_dataset(names, []).schema)
    adapter.insert_many(records)
    change = {name: f"new {name}" for name in names}
    adapter.update_all(change)
    assert_contents(adapter, [record | change for record in records])
    for name in names:
        adapter.update(records[0]["_id"], {name: "newest"})
    newest = records[0] | dict.fromkeys(names, "newest")
    assert_contents(adapter, [newest, *(record | change for record in records[1:])])
    for record in records:
        assert list(adapter.find("_id", record["_id"]))
        adapter.update(record["_id"], {names[0]: "newer"})
        adapter.delete(record["_id"])
    assert_contents(adapter, [])


@EACH_SINGLE
def test_the_refused_record_is_named(adapter: Adapter) -> None:
    good = [{"_id": str(number), "text": "x"} for number in range(3)]
    data = make_text_dataset(["text"], [*good, good[0]])
    insert = partial(adapter.insert_many, data.records)
    database = CellDatabase(adapter, adapter.deployment)
    with expect_capability(adapter, "contents", pytest.fail.Exception):
        with pytest.raises(UnfitError, match=r"does not take record 4: .+") as refusal:
            database.try_records(data, insert)
        assert isinstance(refusal.value.__cause__, DuplicateKeyError)
        assert "127.0.0.1" not in str(refusal.value)


@parametrize_singles(["mongodb"])
def test_a_server_that_is_gone_refuses_no_records(adapter: Adapter) -> None:
    data = make_text_dataset(["text"], [{"_id": "a", "text": "x"}])

    def insert() -> None:
        raise UnreachableError("it is gone")

    database = CellDatabase(adapter, adapter.deployment)
    with pytest.raises(UnreachableError, match="it is gone"):
        database.try_records(data, insert)


@parametrize_singles(["mongodb"])
def test_records_that_come_back_different_are_refused(adapter: Adapter) -> None:
    field = Field("u", "document", fields=(Field("$ref", "string"), Field("$id", "integer")))
    schema = Schema("own_records", (Field("_id", "string"), field))
    data = Dataset("own", schema, [{"_id": "a", "u": {"$ref": "c", "$id": 1}}], "")
    insert = partial(call_each, adapter.insert, data.records)
    changed = "mongodb, read back: record 'a' differs: u is DBRef"
    with pytest.raises(UnfitError, match=changed):
        CellDatabase(adapter, adapter.deployment).try_records(data, insert)


@EACH
def test_documents_of_a_users_file_are_kept(adapter: Adapter, tmp_path: Path) -> None:
    for write in FILES.values():
        assert_kept(adapter, own_records.read_dataset(write(tmp_path, count=12)))


def assert_kept(adapter: Adapter, data: Dataset) -> None:
    records = [dict(record) for record in data.records]
    change = make_change(data.schema, records)
    adapter.create(data.schema)
    for record in records[:6]:
        adapter.insert(record)
    adapter.insert_many(records[6:])
    with expect_capability(adapter, "contents", AssertionError):
        assert_contents(adapter, records)
        assert index_by_key(adapter.find("_id", records[0]["_id"])) == index_by_key(records[:1])
        adapter.update(records[0]["_id"], change)
        assert_contents(adapter, [records[0] | change, *records[1:]])
        adapter.update_all(change)
        assert_contents(adapter, [record | change for record in records])
        adapter.delete(records[0]["_id"])
        assert adapter.delete_all() == len(records) - 1


IN_TABLES = pytest.mark.parametrize(
    "case", [case for case in CASES if case[0] in TABLES], ids="-".join
)


@IN_TABLES
@pytest.mark.parametrize("constraints", [True, False], ids=["constraints", "none"])
def test_arrays_are_tables_whose_rows_are_their_elements(
    opened: Opened, constraints: bool, tmp_path: Path
) -> None:
    adapter = opened(arrays="table", constraints=constraints)
    for name in ("orders", "answer"):
        assert_kept(adapter, own_records.read_dataset(FILES[name](tmp_path, count=12)))
    items = Field(
        "item",
        "document",
        fields=(Field("record", "integer"), Field("Place", "float", optional=True)),
    )
    array = Field("of", "array", optional=True, fields=(items,))
    schema = Schema("own_records", (Field("_id", "string"), Field("text", "string"), array))
    first = {
        "_id": "a",
        "text": "t",
        "of": [{"record": 2, "Place": 0.5}, {"record": 1}, {"record": 2, "Place": 0.5}],
    }
    adapter.create(schema)
    adapter.insert_many([first, {"_id": "b", "text": "t", "of": []}, {"_id": "c", "text": "t"}])
    assert index_by_key(adapter.find("text", "t"))["a"] == first
    with pytest.raises(DuplicateKeyError):
        adapter.insert({"_id": "a", "text": "t", "of": [{"record": 9}]})
    with pytest.raises(MissingRecordError):
        adapter.delete("d")
    with pytest.raises(UnsupportedError, match="not updated"):
        adapter.update("a", {"of": []})
    adapter.delete("b")
    assert_contents(adapter, [first, {"_id": "c", "text": "t"}])


@parametrize_singles(TABLES)
def test_a_row_that_is_too_wide_is_refused_and_the_next_is_kept(adapter: Adapter) -> None:
    for count in (2_000, 800, 3):
        names = [f"c{number}" for number in range(count)]
        record = {"_id": "a", **dict.fromkeys(names, "text that is kept in the row" * 2)}
        data = make_text_dataset(names, [record])
        why = try_records(adapter, data, {"c0": "new"})
        assert bool(why) == (count > 3), why
        assert not why or "columns" in why or "size" in why


@EACH
def test_find_returns_all_comments_of_an_article(adapter: Adapter) -> None:
    records = fill(adapter, COMMENTS)
    with (
        expect_capability(adapter, "contents", AssertionError),
        expect_capability(adapter, "find", UnsupportedError),
    ):
        for article in COMMENTS.parents[0].records:
            wanted = [record for record in records if record["article_id"] == article["_id"]]
            assert index_by_key(adapter.find("article_id", article["_id"])) == index_by_key(wanted)
    with expect_capability(adapter, "find", UnsupportedError):
        assert list(adapter.find("article_id", "no such article")) == []


@EACH
def test_awkward_values_and_names_are_read_equal(adapter: Adapter) -> None:
    records = make_awkward_records()
    adapter.create(TYPED)
    for record in records[:4]:
        adapter.insert(record)
    adapter.insert_many(records[4:])
    with expect_capability(adapter, "contents", AssertionError):
        assert_contents(adapter, records)
        assert {type(record["real"]) for record in adapter.read_all()} == {float}
        assert {record["moment"].utcoffset() for record in adapter.read_all()} == {
            UTC.utcoffset(None)
        }
        with expect_capability(adapter, "find", UnsupportedError):
            for field in [field for field in TYPED.fields if field.type != "float"]:
                wanted = [
                    record for record in records if record[field.name] == records[2][field.name]
                ]
                assert index_by_key(
                    adapter.find(field.name, records[2][field.name])
                ) == index_by_key(wanted)
        adapter.update(
            "k3", {"text %s": "50 %", "day": date(2000, 2, 29), "moment": MOMENTS[0], "real": 2.0}
        )
        records[3].update(
            {"text %s": "50 %", "day": date(2000, 2, 29), "moment": MOMENTS[0], "real": 2.0}
        )
        assert_contents(adapter, records)


_LOADED = [name for name in catalogue.DATABASE_NAMES if not products.find_missing_plugin(name)]
NESTING = [
    name
    for name in _LOADED
    if catalogue.load_adapter(name).model == "document" and not name.endswith("+mongoengine")
]
"""Document stores: a mapper's documents have the fields of a schema, which are flat here."""


@parametrize_singles(NESTING)
def test_a_document_database_keeps_a_nested_document(adapter: Adapter) -> None:
    flat = Schema("nested", (Field("_id", "string"), Field("content", "string")))
    answers = [
        {"author": {"name": f"utilizator{i}", "emails": [f"{i}@email.com"]}, "votes": [i, None]}
        for i in (1, 2)
    ]
    document = {
        "_id": "one",
        "content": "text",
        "answers": answers,
        "article": {"title": {"en": "title0"}},
    }
    adapter.create(flat)
    adapter.insert(document)
    assert [dict(record) for record in adapter.read_all()] == [document]
    adapter.update("one", {"content": "new"})
    assert [dict(record) for record in adapter.read_all()] == [{**document, "content": "new"}]


@EACH
def test_create_removes_the_former_records(adapter: Adapter) -> None:
    fill(adapter, COMMENTS)
    other = Schema("comments", (Field("_id", "string"), Field("content", "integer")))
    record = {"_id": "one", "content": 1}
    for _ in range(2):
        adapter.create(other)
        assert list(adapter.read_all()) == []
        adapter.insert(record)
        with expect_capability(adapter, "contents", AssertionError):
            assert_contents(adapter, [record])


@EACH
def test_a_store_may_be_created_again_with_other_types(adapter: Adapter) -> None:
    values: list[tuple[Any, Any]] = [("string", "x"), ("integer", 1), ("float", 0.5)]
    for type_, value in values * 2:
        adapter.create(Schema("same", (Field("_id", "string"), Field("value", type_))))
        for number in range(8):  # the drivers prepare a statement when it comes often
            adapter.insert({"_id": str(number), "value": value})
            adapter.update(str(number), {"value": value})
            with (
                expect_capability(adapter, "contents", AssertionError),
                expect_capability(adapter, "find", UnsupportedError),
            ):
                assert len(adapter.find("value", value)) == len(adapter.read_all()) == number + 1


@EACH
def test_an_empty_batch_changes_nothing(adapter: Adapter) -> None:
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    adapter.insert_many([])
    assert_contents(adapter, [])
    assert adapter.update_all(change_last_text(COMMENTS)) == 0


@EACH
def test_a_duplicate_key_is_refused_and_the_first_record_stays(adapter: Adapter) -> None:
    records = fill(adapter, COMMENTS)
    with expect_capability(adapter, "contents", pytest.fail.Exception):
        with pytest.raises(DuplicateKeyError, match=adapter.name.replace("+", r"\+")):
            adapter.insert({**records[0], "content": "other"})
        with pytest.raises(DuplicateKeyError):
            adapter.insert_many(records[1:3])
        assert_contents(adapter, records)


@EACH
def test_a_missing_record_cannot_be_changed_or_deleted(adapter: Adapter) -> None:
    records = fill(adapter, COMMENTS)
    with expect_capability(adapter, "contents", pytest.fail.Exception):
        with pytest.raises(MissingRecordError, match="no such key"):
            adapter.update("no such key", change_last_text(COMMENTS))
        with pytest.raises(MissingRecordError, match="no such key"):
            adapter.delete("no such key")
        assert_contents(adapter, records)


@EACH_SINGLE
def test_without_a_replica_there_is_no_wait(adapter: Adapter) -> None:
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    assert "replica" in adapter.limitations["wait_for"]
    with pytest.raises(UnsupportedError, match="replica"):
        adapter.wait_for(adapter.position(), 1)
    assert adapter.list_counters("replica") == []


# how records are kept


@parametrize_singles([*TABLES, "mongodb+mongoengine"])
def test_an_enforced_schema_refuses_missing_values_and_other_types(
    adapter: Adapter,
) -> None:
    adapter.create(TYPED)
    record = make_awkward_records()[0]
    for change in ({"select": None}, {"whole": "many"}, {"day": "someday"}, {"moment": "soon"}):
        with pytest.raises(RefusedError):
            adapter.insert({**record, **change})
        with pytest.raises(RefusedError):
            adapter.insert_many([record, {**record, "_id": "other", **change}])
    assert_contents(adapter, [])


def count_index_uses(deployment: Deployment) -> dict[str, int]:
    """Return how often each index of the comments, without their key's, was used."""
    return COUNT_INDEX_USES[deployment.product](deployment)


def count_mongodb_index_uses(deployment: Deployment) -> dict[str, int]:
    with pymongo.MongoClient[dict[str, Any]](deployment.node().url) as client:
        stats = client[deployment.database]["comments"].aggregate([{"$indexStats": {}}])
        uses = {index["name"]: index["accesses"]["ops"] for index in stats}
    del uses["_id_"]
    return uses


def count_mysql_index_uses(deployment: Deployment) -> dict[str, int]:
    """Return the index that the server would use: it counts no uses."""
    table_format = " FORMAT = TRADITIONAL" if deployment.product == "mysql" else ""
    query = f"EXPLAIN{table_format} SELECT * FROM comments WHERE article_id = 'one of them'"
    login = read_login(deployment.node().url, 3306)
    with (
        closing(pymysql.connect(**login, database=deployment.database)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(query)
        columns = [column[0] for column in cursor.description]
        plan = dict(zip(columns, cursor.fetchall()[0], strict=True))
    return {plan["key"]: 1} if plan["key"] else {}


def count_couchdb_index_uses(deployment: Deployment) -> dict[str, int]:
    """Return the index that the server would use: it counts no uses."""
    ask = HTTPNode(deployment.node().url).ask
    prefix = f"{deployment.database}-comments-"
    (name,) = [name for name in ask("GET", "/_all_dbs") if name.startswith(prefix)]
    query = {"selector": {"article_id": {"$eq": "any"}}}
    index = ask("POST", f"/{name}/_explain", query)["index"]
    return {index["name"]: 1} if index["type"] == "json" else {}


def count_rethinkdb_index_uses(deployment: Deployment) -> dict[str, int]:
    """Return the indexes, used if the server read fewer records than all."""
    with open_connection(deployment.node().url) as connection:
        table = r.db(deployment.database).table("comments")
        key = ["table_server", table.info()["id"], connection.server()["id"]]
        stats = r.db("rethinkdb").table("stats").get(key).run(connection)
        is_used = stats["query_engine"]["read_docs_total"] < table.count().run(connection)
        return dict.fromkeys(table.index_list().run(connection), int(is_used))


def count_postgresql_index_uses(deployment: Deployment) -> dict[str, int]:
    query = (
        "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes "
        "WHERE relname = 'comments' AND indexrelname !~ 'pkey'"
    )
    with psycopg.connect(deployment.node().url) as connection:
        return dict(connection.execute(query).fetchall())


COUNT_INDEX_USES: dict[str, Callable[[Deployment], dict[str, int]]] = {
    "mongodb": count_mongodb_index_uses,
    "mysql": count_mysql_index_uses,
    "mariadb": count_mysql_index_uses,
    "couchdb": count_couchdb_index_uses,
    "rethinkdb": count_rethinkdb_index_uses,
    "postgresql": count_postgresql_index_uses,
}


@EACH_REAL_SINGLE
def test_find_uses_an_index_that_was_asked_for(deployed: Deployed, case: Case) -> None:
    if launcher.name_product(case[0]) not in COUNT_INDEX_USES:
        pytest.skip(f"this test cannot ask {case[0]} which index it used")
    data = blog.generate_comments(1000, 1, per_article=10)
    for index in (("article_id", "not a field"), ()):
        with catalogue.open_adapter(case[0], deployed(*case), index=index) as adapter:
            fill(adapter, data)
            assert len(adapter.find("article_id", data.records[0]["article_id"])) == 10
            there = bool(index) or "reference_without_index" in adapter.limitations
        if there or not case[0].endswith("+json"):  # without an index there is no column to explain
            # PostgreSQL counts at the end of a session, the old one some time later
            assert comes_true(
                lambda wanted=[1] * there: [*count_index_uses(deployed(*case)).values()] == wanted
            )


class Listener(CommandListener):
    """Keeps the write concern of every command that the driver sends."""

    def __init__(self) -> None:
        self.concerns: list[tuple[str, Any]] = []

    def started(self, event: CommandStartedEvent) -> None:
        self.concerns.append((event.command_name, event.command.get("writeConcern")))

    def succeeded(self, event: object) -> None: ...

    def failed(self, event: object) -> None: ...


@pytest.mark.parametrize("durability", ["default", "relaxed", "strict"])
@pytest.mark.parametrize(
    "case", [case for case in CASES if case[0].startswith("mongodb")], ids="-".join
)
def test_every_write_to_mongodb_states_its_write_concern(
    opened: Opened, durability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener()
    monkeypatch.setattr(
        pymongo, "MongoClient", partial(pymongo.MongoClient, event_listeners=[listener])
    )
    adapter = opened(durability=durability)
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    listener.concerns.clear()
    execute_every_write(adapter)
    wanted = {"w": 1} | {"default": {}, "relaxed": {"j": False}, "strict": {"j": True}}[durability]
    commands = ("insert", "insert", "update", "update", "delete", "delete")
    assert listener.concerns == [(command, wanted) for command in commands]


def execute_every_write(adapter: Adapter) -> None:
    adapter.insert(COMMENTS.records[0])
    adapter.insert_many(COMMENTS.records[1:])
    adapter.update(COMMENTS.records[0]["_id"], change_last_text(COMMENTS))
    adapter.update_all(change_last_text(COMMENTS))
    adapter.delete(COMMENTS.records[0]["_id"])
    adapter.delete_all()


@parametrize_singles(ON_POSTGRESQL)
@pytest.mark.parametrize(
    ("durability", "waits"), [("default", True), ("relaxed", False), ("strict", True)]
)
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
            behind += (
                connection.execute("SELECT pg_current_wal_flush_lsn() <= %s", inserted).fetchone()
                or ()
            )
    assert any(behind) is not waits


@parametrize_singles(ON_MYSQL)
@pytest.mark.parametrize(
    ("durability", "flushes"), [("default", None), ("relaxed", (2, 0)), ("strict", (1, 1))]
)
def test_mysql_flushes_as_asked_and_its_setting_is_restored(
    opened: Opened, deployed: Deployed, case: Case, durability: str, flushes: tuple[int, int] | None
) -> None:
    def state() -> tuple[Any, ...]:
        cursor.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog")
        return cursor.fetchall()[0]

    with (
        closing(pymysql.connect(**read_login(deployed(*case).node().url, 3306))) as mysql,
        mysql.cursor() as cursor,
    ):
        before = state()
        if not deployed(*case).is_given:
            assert before == (1, 1 if case[0].startswith("mysql+") else 0)
        adapter = opened(durability=durability)
        adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
        assert state() == (flushes or before)
        adapter.close()
        assert state() == before


# what is a user's


KEEPING = {
    (launcher.name_product(name), topology): (name, topology)
    for name, topology in CASES
    if launcher.name_product(name) in OWNERS
}
"""One database per product and topology: all of a product share its databases."""
EACH_KEEPING = pytest.mark.parametrize("case", KEEPING.values(), ids="-".join)
FOREIGN = ("mine", "benchbook_0a1b2c3", "benchbook_0a1b2c3d4", "benchbook_mine")
"""Databases of a user, some with names that are similar to ours."""


@pytest.fixture
def user_servers(deployed: Deployed, case: Case) -> Deployment:
    """Return the case's servers, empty, as a user gives them, with a new database's name."""
    deployment = deployed(*case)
    with catalogue.open_adapter(case[0], deployment) as adapter:
        assert isinstance(adapter, ServerAdapter)
        adapter.drop_database(deployment.database)
    return replace(
        deployment,
        settings={**deployment.settings, "source": "address"},
        database=name_fresh_database(),
    )


@pytest.fixture
def owners(user_servers: Deployment) -> Iterator[list[Owner]]:
    """Yield each node's user, the primary's first, with databases there that must stay."""
    users = [open_owner(user_servers.product, node) for node in user_servers.nodes]
    # Whose nodes are servers by themselves.
    writers = users if user_servers.product == "couchdb" else users[:1]
    for user in writers:
        for name in FOREIGN:
            user.write(name)
    assert comes_true(lambda: users[0].list_all() == users[-1].list_all())
    yield users
    for user in writers:
        for name in FOREIGN:
            assert user.read(name) == [MINE]
            user.erase(name)


@EACH_KEEPING
def test_a_run_drops_its_database_and_none_of_a_user(
    user_servers: Deployment, case: Case, owners: list[Owner]
) -> None:
    before = [one.list_all() for one in owners]
    with (
        catalogue.use_fresh_database(user_servers),
        catalogue.open_adapter(case[0], user_servers) as adapter,
    ):
        for _ in range(2):
            adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
        adapter.insert_many(COMMENTS.records)
        assert catalogue.list_run_databases(adapter) == [user_servers.database]
    assert comes_true(lambda: [one.list_all() for one in owners] == before)


@EACH_KEEPING
def test_the_database_of_a_killed_run_is_listed_and_removed_on_confirmation(
    user_servers: Deployment,
    case: Case,
    owners: list[Owner],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = [one.list_all() for one in owners]
    killed = replace(user_servers, database="benchbook_4cafe0ff")
    with catalogue.open_adapter(case[0], killed) as adapter:
        adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    with catalogue.use_fresh_database(user_servers):
        named = capsys.readouterr().err
    assert (
        "benchbook_4cafe0ff of 2023-10-01" in named
        and "if those were killed: benchbook servers clean " in named
    )
    # CouchDB's nodes are servers by themselves.
    count = len(user_servers.nodes) if user_servers.product == "couchdb" else 1
    urls = [node.url for node in user_servers.nodes[:count]]
    answers = iter(["", "n", "no", "y", "y"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    for url in urls:
        assert main(["servers", "clean", url]) == 0
    assert capsys.readouterr().out.count("  benchbook_4cafe0ff, made on 2023-10-01\n") == len(urls)
    assert [one.list_all() for one in owners] != before
    monkeypatch.setenv("MY_SERVER", urls[-1])
    assert main(["servers", "clean", *urls[:-1], "MY_SERVER", "--yes"]) == 0
    assert comes_true(lambda: [one.list_all() for one in owners] == before)
    printed = "".join(capsys.readouterr())
    assert printed.count("removed 1") == len(urls) and not any(
        urlsplit(url).password in printed for url in urls
    )


@EACH_KEEPING
def test_two_runs_at_once_have_databases_of_their_own(
    user_servers: Deployment, case: Case, owners: list[Owner]
) -> None:
    other = replace(user_servers, database=name_fresh_database())
    with (
        catalogue.use_fresh_database(user_servers),
        catalogue.open_adapter(case[0], user_servers) as adapter,
    ):
        adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
        adapter.insert_many(COMMENTS.records)
        with catalogue.use_fresh_database(other), catalogue.open_adapter(case[0], other) as second:
            second.create(COMMENTS.schema, parents=COMMENTS.parents)
            assert len(second.list_ids()) == 0 and len(adapter.list_ids()) == len(COMMENTS.records)
        assert_contents(adapter, COMMENTS.records)


# replication


DURABLE: list[tuple[Durability, str, Topology]] = [("default", *case) for case in PAIRED]
DURABLE += [
    ("relaxed", *case)
    for case in PAIRED
    if "durability" not in catalogue.load_adapter(case[0]).limitations
]


@pytest.mark.parametrize(
    ("durability", "case"), [(first, rest) for first, *rest in DURABLE], ids=str
)
def test_a_wait_ends_when_the_replica_has_caught_up_or_at_its_deadline(
    deployed: Deployed, case: Case, durability: Durability
) -> None:
    deployment = deployed(*case, own=True)
    with catalogue.open_adapter(case[0], deployment, durability=durability) as adapter:
        records = fill(adapter, COMMENTS)
        assert adapter.wait_for(adapter.position(), PATIENCE_S)
        with hold_suspended(deployment.node("replica").pid):
            adapter.update_all(change_last_text(COMMENTS))
            position = adapter.position()
            for _ in range(2):
                started = time.monotonic()
                assert adapter.wait_for(position, 0.2) is False
                assert time.monotonic() - started >= 0.2
        assert adapter.wait_for(position, PATIENCE_S)
        assert index_by_key(adapter.read_all("replica")) == index_by_key(
            [{**record, **change_last_text(COMMENTS)} for record in records]
        )
        assert adapter.wait_resolution_ns > 0


@EACH_PAIR
def test_after_every_wait_the_replica_has_the_last_write(adapter: Adapter) -> None:
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    for number, record in enumerate(COMMENTS.records, 1):
        adapter.insert(record)
        assert adapter.wait_for(adapter.position(), PATIENCE_S)
        assert len(adapter.read_all("replica")) == number


@pytest.mark.parametrize("case", [("mongodb", "replicated")], ids=str)
def test_a_replica_without_the_key_of_a_time_is_asked_again(deployed: Deployed, case: Case) -> None:
    skip_without("mongodb")
    with catalogue.open_adapter(case[0], deployed(*case)) as adapter:
        fill(adapter, COMMENTS)
        operation_time, cluster_time = adapter.position()
        signature = cluster_time["signature"]
        unknown = {**signature, "keyId": Int64(1)}
        # The server refuses it with "No keys found for HMAC".
        later = Timestamp(operation_time.time + 60, 1)
        position = operation_time, {"clusterTime": later, "signature": unknown}
        assert adapter.wait_for(position, 0.2) is False
        assert adapter.wait_for((operation_time, cluster_time), PATIENCE_S)


@given(page=st.integers(0, 2**40), length=st.integers(1, 8152))
def test_the_end_of_a_log_record_is_never_behind_a_page_header(page: int, length: int) -> None:
    start = page * 8192
    assert find_record_end(start + 24) == find_record_end(start + 40) == start
    if length not in (16,):  # 24 + 16 is where a file's first page begins its records
        assert find_record_end(start + 24 + length) == start + 24 + length


# what goes wrong


def test_an_unknown_database_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(AdapterError, match=r"'mongdb': did you mean 'mongodb'\?"):
        catalogue.load_adapter("mongdb")


def test_a_database_refuses_another_products_servers(deployed: Deployed) -> None:
    with pytest.raises(AdapterError, match=r"postgresql.*mongodb"):
        catalogue.open_adapter("postgresql+jsonb", deployed("mongodb", "single"))


def kill(pid: int | None) -> None:
    for process in list_processes(pid):
        with suppress(psutil.NoSuchProcess):  # a child that ended with its parent
            process.kill()


@pytest.mark.parametrize("product", dict.fromkeys(map(launcher.name_product, REAL)))
def test_killed_servers_are_an_error_at_once(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # With five seconds, all that this test did would be waiting.
    monkeypatch.setattr(mongodb, "PATIENCE_S", 1)
    skip_without(product)
    names = [name for name in REAL if launcher.name_product(name) == product]
    with launcher.start_servers(product, "replicated") as running, ExitStack() as stack:
        deployment = running.deployment
        # Each of the product's databases writes into one of its own.
        adapters = []
        for name in names:
            own = replace(deployment, database=name_fresh_database())
            adapters.append(stack.enter_context(catalogue.open_adapter(name, own)))
            adapters[-1].create(COMMENTS.schema, parents=COMMENTS.parents)
        kill(deployment.node("replica").pid)
        for adapter in adapters:
            assert_fails_at_once(partial(wait_for_replica, adapter))
        killer = threading.Timer(0.2, kill, [deployment.node().pid])
        killer.start()
        with ThreadPoolExecutor() as threads:
            actions = [partial(insert_without_end, adapter) for adapter in adapters]
            assert list(threads.map(assert_fails_at_once, actions)) == [None] * len(names)
        killer.join()
        for adapter in adapters:
            assert_fails_at_once(adapter.read_all)
        for name in names:
            assert_fails_at_once(partial(catalogue.open_adapter, name, deployment))


def wait_for_replica(adapter: Adapter) -> None:
    adapter.wait_for(adapter.position(), PATIENCE_S)


def insert_without_end(adapter: Adapter) -> None:
    for number in range(10**7):
        adapter.insert({**COMMENTS.records[0], "_id": str(number)})


@pytest.mark.parametrize("name", [name for name in PROTOCOL_ONLY if stand_ins.available(name)])
def test_a_killed_server_of_the_same_protocol_is_an_error_at_once(name: str) -> None:
    with stand_ins.start(name, "single") as running:
        with catalogue.open_adapter(name, running.deployment) as adapter:
            adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
            kill(running.deployment.node().pid)
            assert_fails_at_once(lambda: adapter.insert(COMMENTS.records[0]))
        assert_fails_at_once(lambda: catalogue.open_adapter(name, running.deployment))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_missing_server_is_an_error_at_once_and_without_its_password(name: str) -> None:
    product = launcher.name_product(name)
    skip_without_plugin(name)
    node = Node("primary", f"{product}://someone:s3cret@127.0.0.1:1/benchbook", None, "")
    with pytest.raises(UnreachableError, match=r"at 127\.0\.0\.1:1: ") as told:
        catalogue.open_adapter(name, Deployment(product, "single", (node,)))
    assert "s3cret" not in str(told.value)


def assert_fails_at_once(action: Callable[[], object]) -> None:
    started = time.monotonic()
    with pytest.raises(UnreachableError, match=r"at 127\.0\.0\.1:\d+: ") as told:
        action()
    assert "Topology" not in str(told.value), (
        "what happened, not what the driver knows of every server"
    )
    assert time.monotonic() - started < PATIENCE_S  # a driver's own patience is minutes, or none


@pytest.mark.parametrize("name", ["postgresql+jsonb", "noop"])
def test_a_driver_is_imported_only_when_used(name: str) -> None:
    foreign = {
        "pymongo",
        "mongoengine",
        "psycopg",
        "pymysql",
        "urllib3",
        "pandas",
        "scipy",
        "duckdb",
    }
    code = (
        "import sys; from benchbook.databases import catalogue; "
        f"catalogue.load_adapter({name!r}); print({foreign!r} & set(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert loaded == ("{'psycopg'}" if name != "noop" else "set()")
