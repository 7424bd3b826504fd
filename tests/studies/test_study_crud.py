"""Study `crud` on real servers, alone and replicated."""

import itertools
import json
import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError
from pymongo import MongoClient

from benchbook.databases.adapter import Adapter
from benchbook.databases.mysql.server import connect
from benchbook.registry import products
from benchbook.schema import Field, Schema, UnfitError
from benchbook.servers.launcher import name_product
from benchbook.studies import crud
from benchbook.studies.cell_database import WrongContentsError
from benchbook.studies.update import (
    UpdateCheck,
    UpdatedField,
    change_value,
    find_updated_field,
    make_change,
)
from cases import MET, PAIRED
from shared_servers import (
    Announce,
    list_outputs,
    skip_without,
    skip_without_language,
    tamper,
)
from user_files import write_orders
from waiting import PATIENCE_S, resume, suspend

SMALL: dict[str, Any] = {"n": 30, "repetitions": 2}
LIBRARY = [name for name in products.STORES if name not in products.PLUGIN_DATABASES]
STORES = [name for name in LIBRARY if name_product(name) not in ("mysql", "rethinkdb")]
"""Without MySQL, whose adapters are MariaDB's, and RethinkDB, whose stand-in has no pair."""


def ran(announce: Announce, **fields: Any) -> Any:
    """Run a small cell, hold it against what it declares, and return its rows."""
    parameters = crud.Parameters(**(SMALL | fields))
    if parameters.language == "node":
        skip_without_language("node", "npm", "node")
    announce(*crud.deployment(parameters))
    frame = crud.run(parameters)
    for repetition in range(parameters.repetitions):
        assert list_outputs(frame, repetition) == crud.expected(parameters)
    for name, level in parameters.as_columns().items():
        assert set(frame[name]) == {level}, name
    return frame


@pytest.mark.parametrize("topology", ["single", "replicated"])
@pytest.mark.parametrize("database", dict.fromkeys([*LIBRARY, *MET]))
def test_every_repetition_delivers_the_expected_values(
    database: Any, topology: Any, announce: Announce
):
    frame = ran(announce, database=database, topology=topology)
    assert set(frame["count"]) == {30}
    # So few writes may take less than a tick of the machine's clock.
    is_share = frame["role"] == "machine"
    assert (frame["value"] > 0)[~is_share].all() and (frame["value"] >= 0).all()
    assert not frame["timed_out"].any()
    assert set(frame["database"]) == {database}
    assert set(frame["topology"]) == {topology}
    assert ("select" in set(frame["operation"])) == (topology == "single")


@pytest.mark.parametrize("database", STORES)
def test_elapsed_time_is_the_sum_of_client_time_and_catch_up_time(
    database: Any, announce: Announce
):
    frame = ran(announce, database=database, topology="replicated")
    times = frame.pivot(index=["repetition", "operation"], columns="metric", values="value")
    assert (times["wall_time"] + times["catch_up_time"] == times["elapsed_time"]).all()


VARIANTS: list[dict[str, Any]] = [
    {"calls": "bulk"},
    {"calls": "bulk", "topology": "replicated"},
    {"delete": "each"},
    {"delete": "each", "topology": "replicated"},
    {"delete": "each", "calls": "bulk"},
    {"article_index": True},
    {"comments_per_article": 10},
    {"comments_per_article": 100},
    {"durability": "relaxed"},
    {"durability": "strict", "topology": "replicated"},
]


@pytest.mark.parametrize(
    ("database", "variant"),
    [
        (database, variant)
        for database, variant in itertools.product(STORES, VARIANTS)
        # CouchDB has no durability to choose.
        if database != "couchdb" or "durability" not in variant
    ],
)
def test_all_variants_store_the_same_records(
    database: Any, variant: dict[str, Any], announce: Announce
):
    ran(announce, database=database, repetitions=1, **variant)


@pytest.mark.parametrize("topology", ["single", "replicated"])
@pytest.mark.parametrize("database", ["postgresql+relational", "mariadb+relational"])
def test_relational_tables_work_without_constraints(
    database: Any, topology: Any, announce: Announce
):
    ran(announce, database=database, topology=topology, constraints="off", repetitions=1)


def ran_pair(announce: Announce, pair: str, topology: Any, **fields: Any) -> Any:
    """Run a small cell of a pair, check the rows of each database, and return all rows."""
    parameters = crud.Parameters(**(SMALL | {"database": pair, "topology": topology} | fields))
    for product in (crud.deployment(parameters)[0], *crud.other_products(parameters)):
        skip_without(product, topology)
    announce(*crud.deployment(parameters))
    frame = crud.run(parameters)
    assert set(frame["database"]) == set(pair.split("/"))
    for _, rows in frame.groupby("database"):
        for repetition in range(parameters.repetitions):
            assert list_outputs(rows, repetition) == crud.expected(parameters)
    return frame


@pytest.mark.parametrize(
    ("pair", "topology"), zip(crud.PAIRS, ("single", "replicated"), strict=True)
)
def test_a_pair_alternates_in_one_process_and_each_row_has_its_database(
    pair: str, topology: Any, announce: Announce
):
    frame = ran_pair(announce, pair, topology, delete="each")
    assert (frame["value"] > 0)[frame["role"] != "machine"].all()
    # A, B, B, A: no database always goes first.
    order = (
        frame.groupby(["repetition", "database"])["started_at"].min().sort_values().index.to_list()
    )
    assert [repetition for repetition, _ in order] == [0, 0, 1, 1]
    assert order[0][1] == order[3][1] != order[1][1] == order[2][1]
    # Each is measured on its own servers, and there are none left.
    versions = frame.groupby("database")["database_version"].unique()
    assert versions.map(len).eq(1).all() and versions.iloc[0] != versions.iloc[1]


def test_servers_of_a_pairs_second_database_end_with_the_cell(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    pids = []

    def noting(adapter: Adapter) -> None:
        pids.extend(
            node.pid for node in adapter.deployment.nodes if adapter.name == "postgresql+relational"
        )

    tamper(monkeypatch, noting)
    before = os.environ.get("TMPDIR")
    ran_pair(announce, "mongodb/postgresql+relational", "replicated", repetitions=1)
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert os.environ.get("TMPDIR") == before


def test_a_wrong_answer_of_one_database_of_a_pair_fails_the_cell(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    tamper(
        monkeypatch,
        lambda adapter: (
            drops_a_record(adapter) if adapter.name == "postgresql+relational" else None
        ),
    )
    with pytest.raises(
        WrongContentsError, match="primary after insert: 1 of 30 records are missing"
    ):
        ran_pair(announce, "mongodb/postgresql+relational", "single")


def test_a_pairs_second_database_is_measured_after_the_firsts_replica_is_lost(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    pair = "mongodb/postgresql+relational"
    parameters = crud.Parameters(
        database=pair, topology="replicated", n=20, repetitions=2, timeout_s=0.5
    )
    replica = announce(*crud.deployment(parameters), own=True).node("replica").pid
    stops = stops_the_replica(replica, for_good=True)
    tamper(monkeypatch, lambda adapter: stops(adapter) if adapter.name == "mongodb" else None)
    try:
        frame = crud.run(parameters)
    finally:
        resume(replica)
    for adapter, rows in frame.groupby("database"):
        assert all(
            list_outputs(rows, repetition) == crud.expected(parameters) for repetition in range(2)
        )
        measured = rows["value"].notna()
        assert (
            measured.all()
            if adapter == "postgresql+relational"
            else set(rows[measured]["operation"]) == {"insert"}
        )


@pytest.mark.parametrize("database", STORES)
def test_only_select_is_timed_after_loading_in_bulk(database: Any, announce: Announce):
    frame = ran(announce, database=database, load="bulk", delete="each")
    assert set(frame["operation"]) == {"select"}
    assert set(frame["count"]) == {30}


def test_a_wrong_load_fails_the_cell(announce: Announce, monkeypatch: pytest.MonkeyPatch):
    def leaves_one_out(adapter: Adapter) -> None:
        insert = adapter.insert_many
        adapter.insert_many = lambda records: insert(records[1:])  # type: ignore[method-assign]

    tamper(monkeypatch, leaves_one_out)
    with pytest.raises(WrongContentsError, match="primary after load: 1 of 30 records are missing"):
        ran(announce, database="mongodb", load="bulk")


def test_the_mapper_stores_the_same_records(announce: Announce):
    ran(announce, database="mongodb+mongoengine", repetitions=1, delete="each")


@pytest.mark.parametrize(("delete", "calls"), [("each", 30), ("all", 0)])
@pytest.mark.parametrize("database", ["mongodb", "postgresql+relational"])
def test_comments_are_deleted_in_one_call_each_or_in_one_for_all(
    database: Any, delete: Any, calls: int, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    keys: list[str] = []

    def counting(adapter: Adapter) -> None:
        delete = adapter.delete
        adapter.delete = lambda key: (keys.append(key), delete(key))  # type: ignore[method-assign]

    tamper(monkeypatch, counting)
    ran(announce, database=database, repetitions=1, delete=delete)
    assert len(set(keys)) == len(keys) == calls


@pytest.mark.parametrize(("delete", "calls"), [("each", 30), ("all", 1)])
def test_comments_are_deleted_in_node_in_one_call_each_or_in_one_for_all(
    delete: Any, calls: int, announce: Announce
):
    with MongoClient(announce("mongodb", "single").node().url) as client:

        def count_deletes() -> int:
            return int(client["admin"].command("serverStatus")["opcounters"]["delete"])

        # The harness' store is made once by the adapter, which deletes what it finds.
        ran(announce, language="node", repetitions=1, delete=delete)
        before = count_deletes()
        ran(announce, language="node", repetitions=2, delete=delete)
        assert 2 * calls <= count_deletes() - before < 2 * calls + 5


@pytest.mark.parametrize("database", ["mysql+json", "mysql+relational"])
def test_a_single_mysql_writes_a_binary_log_only_on_request(database: Any, announce: Announce):
    with (
        closing(connect(announce("mysql", "single").node().url)) as session,
        session.cursor() as cursor,
    ):

        def sum_log_bytes() -> int:
            cursor.execute("SHOW BINARY LOGS")
            return sum(int(row[1]) for row in cursor.fetchall())

        before = sum_log_bytes()
        ran(announce, database=database, delete="each")
        marked = sum_log_bytes() - before
        ran(announce, database=database, delete="each", binary_log="always")
        assert marked < 30 * 1000 < 2 * 30 * 1000 < sum_log_bytes() - before - marked, (
            "30 comments of 1 KB, twice"
        )


def test_a_primary_always_writes_its_binary_log(announce: Announce):
    ran(
        announce,
        database="mysql+relational",
        topology="replicated",
        repetitions=1,
        binary_log="needed",
    )


def test_a_deletion_that_deletes_nothing_fails_the_cell(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    tamper(monkeypatch, leaves_a_deletion_out)
    with pytest.raises(
        WrongContentsError, match=r"primary after delete: record '.*' is there, and should not be"
    ):
        ran(announce, database="mongodb", delete="each")


def test_the_noop_database_starts_no_server(announce: Announce):
    frame = ran(announce, database="noop")
    assert crud.deployment(crud.Parameters(database="noop")) == ("none", "none")
    assert set(frame["topology"]) == {"single"}


def drops_a_record(adapter: Adapter) -> None:
    insert, dropped = adapter.insert, []

    def lying(record: dict[str, Any]) -> None:
        if dropped:
            insert(record)
        else:
            dropped.append(record)

    adapter.insert = lying  # type: ignore[method-assign]


def leaves_an_update_out(adapter: Adapter) -> None:
    update, first = adapter.update, adapter.list_ids
    adapter.update = lambda one, changes: (  # type: ignore[method-assign]
        None if one == first()[0] else update(one, changes)
    )


def leaves_one_out_of_what_it_finds(adapter: Adapter) -> None:
    find = adapter.find
    adapter.find = lambda field, value: find(field, value)[1:]  # type: ignore[method-assign]


def deletes_nothing(adapter: Adapter) -> None:
    adapter.delete_all = lambda: 30  # type: ignore[method-assign]


def leaves_a_deletion_out(adapter: Adapter) -> None:
    delete, first = adapter.delete, adapter.list_ids
    adapter.delete = lambda key: (  # type: ignore[method-assign]
        None if key == first()[0] else delete(key)
    )


def says_that_a_replica_follows_which_does_not(adapter: Adapter) -> None:
    read_all = adapter.read_all
    adapter.read_all = lambda role="primary": (  # type: ignore[method-assign]
        [] if role == "replica" else read_all(role)
    )


@pytest.mark.parametrize(
    ("topology", "lie", "error"),
    [
        ("single", drops_a_record, "primary after insert: 1 of 30 records are missing"),
        ("single", leaves_an_update_out, "primary after update: record '.*' differs: content is"),
        ("single", leaves_one_out_of_what_it_finds, "select: 1 of 30 records are missing"),
        (
            "single",
            deletes_nothing,
            "primary after delete: record '.*' is there, and should not be",
        ),
        (
            "replicated",
            says_that_a_replica_follows_which_does_not,
            "replica after insert: 30 of 30 records are missing",
        ),
    ],
)
@pytest.mark.parametrize("database", ["mongodb", "postgresql+relational", "couchdb"])
def test_a_wrong_answer_of_a_database_fails_the_cell(
    database: Any,
    topology: Any,
    lie: Any,
    error: str,
    announce: Announce,
    monkeypatch: pytest.MonkeyPatch,
):
    tamper(monkeypatch, lie)
    with pytest.raises(WrongContentsError, match=error):
        ran(announce, database=database, topology=topology)


def stops_the_replica(pid: int | None, for_good: bool) -> Any:
    """Stop the replica's process at the first insertion; continue it after a wait, or never."""

    def change_adapter(adapter: Adapter) -> None:
        insert, wait_for, done = adapter.insert, adapter.wait_for, []

        def inserting(record: dict[str, Any]) -> None:
            if not done:
                done.append("stopped")
                suspend(pid)
            insert(record)

        def waiting(position: object, deadline_s: float) -> bool:
            # Else what must come may take its time, whatever the cell allows.
            ends = for_good or done == ["stopped"]
            caught_up = wait_for(position, deadline_s if ends else PATIENCE_S)
            if done == ["stopped"] and not for_good:
                done.append("goes on")
                resume(pid)
            return caught_up

        adapter.insert, adapter.wait_for = inserting, waiting  # type: ignore[method-assign]

    return change_adapter


@pytest.mark.parametrize(
    "database", list({name_product(name): name for name, topology in PAIRED}.values())
)
@pytest.mark.parametrize("for_good", [False, True])
def test_a_disconnected_replica_times_out(
    database: Any, for_good: bool, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    # With five seconds, ending a pull of CouchDB's suspended node would be most of this test.
    for module in ("adapter", "node"):
        monkeypatch.setattr(f"benchbook.databases.couchdb.{module}.PATIENCE_S", 1)
    parameters = crud.Parameters(
        database=database, topology="replicated", n=20, repetitions=2, timeout_s=0.5
    )
    replica = announce(*crud.deployment(parameters), own=True).node("replica").pid
    tamper(monkeypatch, stops_the_replica(replica, for_good))
    try:
        frame = crud.run(parameters)
    finally:
        resume(replica)
    for repetition in range(2):
        assert list_outputs(frame, repetition) == crud.expected(parameters)
    first = frame[(frame["repetition"] == 0) & (frame["operation"] == "insert")].set_index("metric")
    assert first["timed_out"].to_dict() == {
        "wall_time": False,
        "catch_up_time": True,
        "elapsed_time": True,
        **dict.fromkeys(crud.PROCESSOR_METRICS, True),
    }
    assert first.loc["catch_up_time", "value"] >= 0.5e9
    rest = frame.drop(frame[(frame["repetition"] == 0) & (frame["operation"] == "insert")].index)
    assert rest["timed_out"].all() == for_good
    assert rest["value"].isna().all() == for_good
    if for_good:
        assert rest["source"].str.startswith("not measured: ").all()


@pytest.mark.parametrize("database", STORES)
def test_a_users_records_replace_the_comments(database: Any, tmp_path: Path, announce: Announce):
    frame = ran(
        announce, database=database, dataset_file=str(write_orders(tmp_path, 3)), n=5, repetitions=1
    )
    assert set(frame["dataset"]) == {"own-orders"}


DOTTED = '"Sepal.Length","$top","Species.name"\n5.1,1,setosa\n4.9,2,virginica\n'
"""What R writes: a header with dots; the only text has one, too."""


@pytest.mark.parametrize("calls", ["single", "bulk"])
@pytest.mark.parametrize("database", ["mongodb", "postgresql+relational"])
def test_names_with_dots_and_dollars_are_taken(
    database: Any, calls: Any, tmp_path: Path, announce: Announce
):
    file = tmp_path / "iris.csv"
    file.write_text(DOTTED)
    levels = {"database": database, "calls": calls, "dataset_file": str(file), "n": 5}
    assert set(ran(announce, **levels, repetitions=2)["repetition"]) == {0, 1}


@pytest.mark.parametrize("calls", ["single", "bulk"])
@pytest.mark.parametrize("database", [*STORES, "mongodb+mongoengine"])
def test_a_text_inside_documents_is_updated(
    database: Any, calls: Any, tmp_path: Path, announce: Announce
):
    file = tmp_path / "theaters.json"
    addresses = [{"city": "Łódź", "zip": 1}, {"zip": 2}, {"city": "Bonn", "street": "A"}]
    theaters = [{"seats": 9, "at": {"address": address, "geo": [1, 2]}} for address in addresses]
    file.write_text(json.dumps(theaters))
    levels = {"database": database, "calls": calls, "dataset_file": str(file), "n": 5}
    assert set(ran(announce, **levels, repetitions=1)["count"]) == {5}


def test_the_changed_text_is_the_nearest_that_all_records_have():
    text, many = Field("t", "string"), Field("m", "array", fields=(Field("item", "string"),))
    key = Field("_id", "string")
    inner = Field("d", "document", fields=(replace(text, optional=True), Field("u", "string")))
    sometimes = replace(text, optional=True)
    assert find_updated_field(Schema("s", (key, inner, sometimes))) == UpdatedField(("t",), str)
    assert find_updated_field(Schema("s", (key, many, inner))) == UpdatedField(("d", "u"), str)
    with pytest.raises(UnfitError, match=r"holds one; m\[\] is inside an array"):
        find_updated_field(Schema("s", (key, many)))
    records = [{"_id": "a", "d": {"u": "x"}}, {"_id": "b", "d": {"u": "y", "t": "z"}}]
    assert make_change(Schema("s", (key, inner)), records) == {"d": {"u": "new u", "t": "z"}}
    assert records[0] == {"_id": "a", "d": {"u": "x"}}


def test_without_a_text_a_number_is_changed_always_to_another_of_its_type():
    whole, part = Field("i", "integer", optional=True), Field("f", "float")
    key = Field("_id", "string")
    number = find_updated_field(Schema("s", (key, whole, part)))
    assert number == UpdatedField(("f",), float)
    assert number.write({"_id": "a"}, change_value(number.read({"_id": "a"}))) == {"f": 1.0}
    assert find_updated_field(Schema("s", (key, whole))) == UpdatedField(("i",), int)
    inner = Field("d", "document", fields=(Field("n", "integer"), Field("t", "string")))
    assert find_updated_field(Schema("s", (key, part, inner))) == UpdatedField(("d", "t"), str)
    UpdateCheck("python").check_records(Schema("s", (key, whole)), [])
    with pytest.raises(UnfitError, match=r"in Node\.js an update changes a text"):
        UpdateCheck("node").check_records(Schema("s", (key, whole)), [])
    for value in (0, -1, 2**63 - 1, -(2**63), 0.0, -0.5, 1e300, 2.0**52):
        changed = change_value(value)
        assert changed != value and type(changed) is type(value)
        assert isinstance(changed, float) or -(2**63) <= changed < 2**63


@pytest.mark.parametrize("calls", ["single", "bulk"])
@pytest.mark.parametrize("database", [*STORES, "mongodb+mongoengine"])
def test_a_file_of_numbers_is_updated(
    database: Any, calls: Any, tmp_path: Path, announce: Announce
):
    file = tmp_path / "numbers.csv"
    file.write_text("a,b\n1,2.5\n3,4.5\n5,6.5\n")
    levels = {"database": database, "calls": calls, "dataset_file": str(file), "n": 3}
    assert set(ran(announce, **levels, repetitions=1)["count"]) == {3}


@pytest.mark.parametrize("topology", ["single", "replicated"])
@pytest.mark.parametrize("database", [name for name in STORES if name.endswith("+relational")])
def test_arrays_of_a_users_records_are_tables(
    database: Any, topology: Any, tmp_path: Path, announce: Announce
):
    file = str(write_orders(tmp_path, 3))
    frame = ran(
        announce,
        database=database,
        topology=topology,
        dataset_file=file,
        arrays="table",
        n=5,
        repetitions=1,
    )
    assert set(frame["count"]) == {5}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"database": "mysql5"}, "database"),
        ({"topology": "ring"}, "topology"),
        ({"comments_per_article": 11}, "comments_per_article"),
        ({"timeout_s": 0.0}, "timeout_s"),
        (
            {"constraints": "off"},
            "constraints: off is for relational databases; mongodb has no constraints",
        ),
        (
            {"arrays": "table", "database": "postgresql+relational"},
            "arrays: table is for relational databases and your",
        ),
        ({"binary_log": "always"}, "binary_log: always is for a single MySQL from 8.0 on"),
        ({"commit": "later"}, "commit: later is for couchdb; mongodb takes commit: each"),
        ({"load": "bulk", "topology": "replicated"}, "load: bulk times select only"),
        ({"load": "bulk", "language": "node"}, "load: bulk times select only"),
        (
            {"database": "mysql+json", "topology": "replicated", "binary_log": "always"},
            "for a single MySQL",
        ),
        (
            {"database": "noop", "topology": "replicated"},
            "noop stores nothing; it takes topology: single",
        ),
        ({"database": "noop", "durability": "strict"}, "noop stores nothing"),
        ({"database": "mongodb/mongodb"}, "database"),
        (
            {"database": "mongodb/postgresql+relational", "constraints": "off"},
            "mongodb has no constraints to drop",
        ),
        ({"database": "mongodb/mysql+relational", "binary_log": "always"}, "for a single MySQL"),
        (
            {"database": "mongodb/mysql+relational", "network": "lan-100m"},
            "in a network take one database",
        ),
        (
            {"database": "mongodb/mysql+relational", "language": "node"},
            "language: node takes database: mongodb",
        ),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], error: str):
    with pytest.raises(ValidationError, match=error):
        crud.Parameters(**wrong)


@pytest.mark.parametrize("topology", ["single", "replicated"])
@pytest.mark.parametrize("database", ["postgresql+relational", "mysql+relational"])
def test_tables_with_and_without_constraints_alternate_on_the_same_servers(
    database: Any, topology: Any, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    seen = []

    def noting(adapter: Adapter) -> None:
        create = adapter.create
        adapter.create = lambda *args, **named: (  # type: ignore[method-assign]
            seen.append(adapter.options.constraints),
            create(*args, **named),
        )

    tamper(monkeypatch, noting)
    parameters = crud.Parameters(
        **SMALL, database=database, topology=topology, constraints="on/off", delete="each"
    )
    skip_without(*crud.deployment(parameters))
    announce(*crud.deployment(parameters))
    frame = crud.run(parameters)
    assert set(frame["constraints"]) == {"on/off"}
    for level, rows in frame.groupby("own_level"):
        assert level in ("on", "off")
        for repetition in range(2):
            assert list_outputs(rows, repetition) == crud.expected(parameters)
    # A, B, B, A.
    assert seen in ([True, False, False, True], [False, True, True, False])
