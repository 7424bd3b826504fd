"""Study `drivers` on a real MongoDB."""

import json
import subprocess
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from benchbook import paths
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter, RefusedError
from benchbook.datasets import players
from benchbook.own_data import own_records
from benchbook.schema import UnfitError
from benchbook.studies import drivers
from benchbook.studies.cell_database import WrongContentsError
from benchbook.studies.harness import LanguageError
from benchbook.studies.language_cell import plan_processes
from shared_servers import Announce, list_outputs, skip_without_language, tamper
from user_files import FILES

SMALL: dict[str, Any] = {"n": 40, "repetitions": 2}


@pytest.mark.parametrize("calls", ["bulk", "single"])
@pytest.mark.parametrize("attributes", [89, 6])
@pytest.mark.parametrize("driver", drivers.DRIVER_DATABASES)
def test_every_repetition_delivers_the_expected_values(
    driver: Any, attributes: Any, calls: Any, announce: Announce
):
    announce("mongodb", "single")
    parameters = drivers.Parameters(
        process="apart", driver=driver, attributes=attributes, calls=calls, **SMALL
    )
    frame = drivers.run(parameters)
    for repetition in range(2):
        assert list_outputs(frame, repetition) == drivers.expected(parameters)
    assert set(frame["count"]) == {40}
    for name, level in parameters.as_columns().items():
        assert set(frame[name]) == {level}, name
    assert (frame.loc[frame["metric"] == "wall_time", "value"] > 0).all()
    assert not frame["timed_out"].any()
    assert set(frame["dataset"]) == {drivers.STUDY.dataset(parameters)} == {f"wide-{attributes}"}
    assert set(frame["driver"]) == {driver}
    assert frame["driver_version"].str.match(rf"{driver} \d").all()
    assert set(frame["topology"]) == {"single"}
    assert frame["database_version"].str.match(r"\d").all()


def test_a_pair_alternates_on_one_client(announce: Announce, monkeypatch: pytest.MonkeyPatch):
    announce("mongodb", "single")
    clients, repetition = set(), drivers._measure_turn

    def note_client(parameters: Any, store: Any, *rest: Any) -> None:
        clients.add(id(store.adapter._sessions["primary"]))
        repetition(parameters, store, *rest)

    monkeypatch.setattr(drivers, "_measure_turn", note_client)
    parameters = drivers.Parameters(driver="pymongo+mongoengine", attributes=6, **SMALL)
    frame = drivers.run(parameters)
    native, mapper = "pymongo", "mongoengine"
    for arm in (native, mapper):
        rows = frame[frame["driver"] == arm]
        assert all(
            list_outputs(rows, repetition) == drivers.expected(parameters)
            for repetition in range(2)
        )
        assert set(rows["database"]) == {drivers.DRIVER_DATABASES[arm]}
    first, second = (
        order(frame[frame["repetition"] == repetition], "driver") for repetition in range(2)
    )
    assert {tuple(first), tuple(second)} == {(native, mapper), (mapper, native)}
    assert len(clients) == 1


def order(rows: pd.DataFrame, *names: str) -> list[Any]:
    """Return the levels of some columns in their order, without repetitions in a row."""
    levels = rows.sort_values("started_at", kind="stable")[[*names]].itertuples(
        index=False, name=None
    )
    return [level[0] if len(level) == 1 else level for level, _ in groupby(levels)]


def test_aa_arms_alternate_with_the_other_driver(announce: Announce):
    announce("mongodb", "single")
    parameters = drivers.Parameters(arm="b", attributes=6, **SMALL)
    frame = drivers.run(parameters)
    forwards = [("pymongo", "a"), ("mongoengine", "a"), ("pymongo", "b"), ("mongoengine", "b")]
    orders = [
        order(frame[frame["repetition"] == repetition], "driver", "arm") for repetition in range(2)
    ]
    assert sorted(orders) == sorted([forwards, forwards[::-1]])
    for _, rows in frame.groupby(["driver", "arm"]):
        assert all(
            list_outputs(rows, repetition) == drivers.expected(parameters)
            for repetition in range(2)
        )


def test_memory_of_a_process_with_one_operation_is_repeatable(
    announce: Announce,
):
    announce("mongodb", "single")
    parameters = drivers.Parameters(
        process="operation", document_schema="validated", attributes=89, n=300, repetitions=2
    )
    frame = drivers.run(parameters)
    for driver, rows in frame.groupby("driver"):
        assert all(
            list_outputs(rows, repetition) == drivers.expected(parameters)
            for repetition in range(2)
        ), driver
    grown = (
        frame.pivot_table(index="operation", columns=["driver", "repetition"], values="value") / 1e6
    )
    for driver in parameters.drivers():
        assert (grown.loc["find", driver] > 2).all(), (
            "300 records of 1.4 KB come back, whatever insert freed"
        )
        assert (grown.loc[["update", "delete"], driver] < 1).all(axis=None)
        assert grown.loc["find", driver].max() < 1.2 * grown.loc["find", driver].min()


def test_no_call_inserts_more_than_a_batch(announce: Announce, monkeypatch: pytest.MonkeyPatch):
    announce("mongodb", "single")
    sizes: list[int] = []

    def counting(adapter: Adapter) -> None:
        insert_many = adapter.insert_many

        def insert_and_count(records: Any) -> None:
            sizes.append(len(records))
            insert_many(records)

        adapter.insert_many = insert_and_count  # type: ignore[method-assign]

    tamper(monkeypatch, counting)
    parameters = drivers.Parameters(
        process="apart", driver="pymongo", attributes=6, n=10050, batch=10000, repetitions=1
    )
    assert list_outputs(drivers.run(parameters), 0) == drivers.expected(parameters)
    refills = [10050] * (drivers.DELETES - 1)
    assert sizes == [10000, 50, *refills]


@pytest.mark.parametrize("driver", drivers.DRIVER_DATABASES)
def test_bulk_updates_and_deletes_are_repeated_and_refilled_by_the_native_driver(
    driver: Any, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    announce("mongodb", "single")
    called: list[Any] = []

    def note_calls(adapter: Adapter) -> None:
        update, insert, delete = adapter.update_all, adapter.insert_many, adapter.delete_all

        def note_update(changes: Any) -> int:
            called.append(changes["Name"])
            return update(changes)

        def note_insert(records: Any) -> object:
            called.append(("insert", adapter.name))
            return insert(records)

        def note_delete() -> int:
            called.append(("delete", adapter.name))
            count = delete()
            assert count == 40, "the collection was filled before"
            return count

        adapter.update_all = note_update  # type: ignore[method-assign]
        adapter.insert_many = note_insert  # type: ignore[method-assign]
        adapter.delete_all = note_delete  # type: ignore[method-assign]

    tamper(monkeypatch, note_calls)
    levels = {"process": "apart", "driver": driver, "n": 40, "repetitions": 1}
    frame = drivers.run(drivers.Parameters.model_validate(levels))

    name = drivers.DRIVER_DATABASES[driver]
    texts = [f"new Name {number:02}" for number in range(1, drivers.UPDATES + 1)]
    refilled = [("insert", "mongodb"), ("delete", name)] * (drivers.DELETES - 1)
    assert called == [("insert", name), *texts, ("delete", name), *refilled]
    check_means(frame)


def check_means(frame: pd.DataFrame) -> None:
    """Assert that each value of a repetition of one side is that of one call."""
    calls = {"insert": 1, "find": 1, "update": drivers.UPDATES, "delete": drivers.DELETES}
    whole = frame[frame["operation"] == "insert"].set_index("metric")["resolution"]
    for row in frame.itertuples():
        count = calls[row.operation]
        expected = f"mean of {count} calls" if count > 1 else ""
        assert row.source.partition(", ")[2] == expected
        assert row.resolution == pytest.approx(whole[row.metric] / count)
    # All calls of an update end before the delete that follows.
    times = frame[frame["metric"] == "wall_time"].sort_values("started_at", kind="stable")
    ends = times["started_at"].shift(-1)
    for row, end in zip(times.itertuples(), ends, strict=True):
        if row.operation == "update":
            elapsed_ms = (end - row.started_at) / pd.Timedelta("1ms")
            # In Node.js starts are cut to milliseconds.
            assert drivers.UPDATES * row.value / 1e6 < elapsed_ms + 1


IDLE = """
const { timeAction } = require('./timed')
const { setTimeout: sleep } = require('node:timers/promises')
async function main () {
  for (let i = 0; i < 3; i++) {
    // These objects are garbage at once.
    Array.from({ length: 300_000 }, (_, i) => ({ i, text: 'text ' + i, more: [i] }))
    const [, { values }] = await timeAction('rest', 1, () => sleep(50))
    const cpu = values.filter(({ metric }) => metric !== 'wall_time')
    console.log(cpu.reduce((sum, { value }) => sum + value, 0))
  }
}
main()
"""


def test_processor_time_does_not_include_garbage_of_the_operation_before():
    skip_without_language("node", "npm", "node")
    command = ["node", "--expose-gc", "--eval", IDLE]
    answer = subprocess.run(
        command, cwd=paths.harness("node"), capture_output=True, text=True, check=True
    )
    used = [float(line) for line in answer.stdout.split()]
    assert len(used) == 3
    assert max(used) < 2e6, "an operation that only waits takes no milliseconds of a processor"


SCHEMAS = pytest.mark.parametrize("schema", ["types", "required", "validated"])


@SCHEMAS
@pytest.mark.parametrize(
    ("language", "pair"), [("python", "pymongo+mongoengine"), ("node", "mongoclient+mongoose")]
)
def test_a_mapper_stores_the_same_records_with_every_schema(
    language: Any, pair: Any, schema: Any, announce: Announce
):
    if language == "node":
        skip_without_language("node", "npm", "node")
    announce("mongodb", "single")
    few = {"n": 40, "repetitions": 1, "attributes": 6}
    parameters = drivers.Parameters(language=language, driver=pair, document_schema=schema, **few)
    for _, rows in drivers.run(parameters).groupby("driver"):
        assert list_outputs(rows, 0) == drivers.expected(parameters)


@SCHEMAS
@pytest.mark.parametrize("empty", [None, ""])
def test_mongoose_checks_that_a_required_text_exists(
    schema: Any, empty: Any, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    skip_without_language("node", "npm", "node")
    announce("mongodb", "single")
    data = players.generate_players(3, 7, attributes=6)
    data.records[1]["Name"] = empty
    monkeypatch.setattr(players, "generate_players", lambda *_, **__: data)
    parameters = drivers.Parameters(
        language="node",
        process="apart",
        driver="mongoose",
        document_schema=schema,
        attributes=6,
        n=3,
        repetitions=1,
    )
    if empty is None and schema != "types":
        with pytest.raises(LanguageError, match=r"ValidationError: .*Name"):
            drivers.run(parameters)
    else:
        assert list_outputs(drivers.run(parameters), 0) == drivers.expected(parameters)


@SCHEMAS
def test_mongoengine_checks_required_fields_and_calls_validators(
    schema: Any, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    called: list[object] = []
    monkeypatch.setattr("benchbook.databases.mongodb.mongoengine._check_presence", called.append)
    data = players.generate_players(3, 7, attributes=6)
    with catalogue.open_adapter(
        "mongodb+mongoengine", announce("mongodb", "single"), document_schema=schema
    ) as adapter:
        adapter.create(data.schema)
        adapter.insert_many(data.records)
        assert len(called) == (3 * len(data.schema.fields) if schema == "validated" else 0)
        taken = nullcontext() if schema == "types" else pytest.raises(RefusedError, match="Name")
        with taken:
            adapter.insert_many([{**data.records[0], "_id": "another", "Name": None}])


def leaves_one_out_of_what_it_finds(adapter: Adapter) -> None:
    read_all = adapter.read_all
    adapter.read_all = lambda *role: read_all(*role)[:-1]  # type: ignore[method-assign]


def drops_a_record(adapter: Adapter) -> None:
    insert_many = adapter.insert_many
    adapter.insert_many = lambda records: insert_many(records[1:])  # type: ignore[method-assign]


def updates_nothing(adapter: Adapter) -> None:
    adapter.update_all = lambda changes: 40  # type: ignore[method-assign]


def deletes_nothing(adapter: Adapter) -> None:
    adapter.delete_all = lambda: 40  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (leaves_one_out_of_what_it_finds, "mongodb, find: 1 of 40 records are missing"),
        (drops_a_record, "mongodb, find: 1 of 40 records are missing"),
        (
            updates_nothing,
            "mongodb, primary after update: record '.*' differs: Name is .*, should be '.* 05'",
        ),
        (deletes_nothing, "mongodb, primary after delete: record '.*' is there, and should not be"),
    ],
)
def test_a_wrong_answer_of_a_database_fails_the_cell(
    lie: Any, error: str, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    announce("mongodb", "single")
    tamper(monkeypatch, lie)
    with pytest.raises(WrongContentsError, match=error):
        drivers.run(drivers.Parameters(process="apart", driver="pymongo", **SMALL))


@pytest.mark.parametrize("driver", [*drivers.DRIVER_DATABASES, *drivers.NODE_DRIVERS])
def test_a_users_records_replace_the_generated_ones(
    driver: Any, tmp_path: Path, announce: Announce
):
    announce("mongodb", "single")
    for name, write in FILES.items():
        language: Any = "node" if driver in drivers.NODE_DRIVERS else "python"
        own = {"dataset_file": str(write(tmp_path, 12)), "n": 15, "repetitions": 1}
        parameters = drivers.Parameters(language=language, process="apart", driver=driver, **own)
        for check in drivers.STUDY.checks(parameters):
            data = own_records.read_dataset(own["dataset_file"])
            check.check_records(data.schema, data.records)
        frame = drivers.run(parameters)
        assert list_outputs(frame, 0) == drivers.expected(parameters)
        assert set(frame["dataset"]) == {f"own-{name}"} == {drivers.STUDY.dataset(parameters)}


@pytest.mark.parametrize("calls", ["single", "bulk"])
def test_pymongo_takes_names_with_dots_and_dollars_and_mongoengine_says_why_not(
    calls: Any, tmp_path: Path, announce: Announce
):
    announce("mongodb", "single")
    own = tmp_path / "iris.csv"
    own.write_text('"Sepal.Length","$top","Species.name"\n5.1,1,setosa\n')
    levels = {"dataset_file": str(own), "n": 3, "repetitions": 1, "calls": calls}
    parameters = drivers.Parameters(process="apart", driver="pymongo", **levels)
    assert list_outputs(drivers.run(parameters), 0) == drivers.expected(parameters)
    mapped = drivers.Parameters(process="apart", driver="mongoengine", **levels)
    with pytest.raises(UnfitError, match=r"mongodb\+mongoengine does not take these records: .+"):
        drivers.run(mapped)


@pytest.mark.parametrize("driver", ["mongoclient", "mongoose"])
def test_node_stores_a_users_records_or_says_why_not(
    driver: Any, tmp_path: Path, announce: Announce
):
    announce("mongodb", "single")
    own = tmp_path / "towns.jsonl"
    parameters = drivers.Parameters(
        language="node", process="apart", driver=driver, dataset_file=str(own), n=2, repetitions=1
    )
    kept = {"text": "x", "n": 2**53, "when": "2020-01-01T00:00:00Z", "u": {"a": ["b", 0.5]}}
    own.write_text(json.dumps(kept))
    assert list_outputs(drivers.run(parameters), 0) == drivers.expected(parameters)
    refused = [
        ({"n": 2**53 + 1}, "Node.js does not take record 1: its numbers are doubles"),
        ({"a\0b": "x"}, f"{driver} does not take these records: .*null bytes"),
        ({"u": {"$ref": "c", "$id": 1}}, f"{driver} does not take these records: "),
    ]
    if driver == "mongoose":
        refused.append(({"constructor": "x"}, "mongoose does not take .* `constructor` is not"))
    for change, reason in refused:
        own.write_text(json.dumps(kept | change))
        with pytest.raises(UnfitError, match=reason):
            drivers.run(parameters)


@pytest.mark.parametrize("process", ["together", "operation"])
@pytest.mark.parametrize("arm", ["a", "b"])
@pytest.mark.parametrize("repetitions", [1, 2, 3, 10])
def test_each_side_begins_a_process_of_half_of_the_repetitions(
    repetitions: int, arm: Any, process: Any
):
    parameters = drivers.Parameters(
        language="node", process=process, arm=arm, repetitions=repetitions, heap="4096m"
    )
    sides = len(parameters.turns()) // 2
    planned = plan_processes(parameters, sides, parameters.heap)
    assert sum(each.repetitions for each in planned) == repetitions
    assert {each.heap for each in planned} == {"4096m"}
    if process == "operation" or repetitions == 1:
        assert len(planned) == 1
        assert planned[0].first in (0, sides)
    else:
        first, second = planned
        assert (first.first, second.first) == (0, sides)
        assert first.repetitions - second.repetitions in (0, 1)


def test_a_cell_with_the_papers_heap_is_the_one_of_before():
    assert "heap" not in json.loads(drivers.Parameters().as_json())
    larger = drivers.Parameters(language="node", heap="4096m")
    assert json.loads(larger.as_json())["heap"] == "4096m"


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            {"driver": "mongoclient+mongoose"},
            {"driver": "pymongo"},
            {"driver": "pymongo+mongoose"},
            {"process": "apart"},
        ),
        {"heap": "4096m"},
        {"heap": "4g", "language": "node", "driver": "mongoclient+mongoose"},
        *({"attributes": 7}, {"n": 0}, {"calls": "many"}, {"repetitons": 3}, {"n": "10"}),
        {"batch": 10000, "calls": "single"},
        {"document_schema": "types", "process": "apart", "driver": "pymongo"},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        drivers.Parameters(**wrong)
