"""Study `replication` on real pairs of servers."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from benchbook.databases.adapter import Adapter
from benchbook.datasets import phones
from benchbook.own_data import own_records
from benchbook.registry.products import STORES
from benchbook.studies import replication
from benchbook.studies.cell_database import WrongContentsError
from cases import PAIRED, Deployed
from shared_servers import Announce, list_outputs, skip_without, tamper
from user_files import FILES
from waiting import resume, suspend

EVERY, TEXTS = "document+json_text+xml_text+xml_fields", "json_text+xml_text+xml_fields"
MODELS = tuple(EVERY.split("+"))


def choose_models(database: str) -> str:
    """Return the models of a database, all but of MySQL, whose adapters are MariaDB's."""
    is_relational = database.endswith("+relational")
    if database.startswith("mysql+"):
        return "xml_text" if is_relational else "document"
    return TEXTS if is_relational else EVERY


REPLICATED = [name for name, topology in PAIRED if topology == "replicated" and name in STORES]
PAIRS = [(database, choose_models(database)) for database in REPLICATED]
OPTIONAL = {("insert", "primary", "memory_pss"), ("insert", "replica", "memory_pss")}


@pytest.mark.parametrize(("database", "model"), PAIRS)
def test_every_repetition_delivers_the_expected_values(
    database: Any, model: Any, announce: Announce
):
    process = "together" if "+" in model else "apart"
    parameters = replication.Parameters(
        database=database, process=process, model=model, n=50, repetitions=2
    )
    announce(*replication.deployment(parameters))
    frame = replication.run(parameters)
    for name, level in parameters.as_columns().items():
        assert set(frame[name]) == {level}, name
    assert set(frame["model"]) == {*model.split("+")}
    for one, rows in frame.groupby("model"):
        for repetition in range(2):
            assert list_outputs(rows, repetition) - OPTIONAL == replication.expected(parameters)
        assert set(rows["format"]) == {"xml" if one.startswith("xml") else "json"}
        assert set(rows["count"]) == {50}
        values = rows.groupby(["role", "metric"])["value"].sum()
        for role in ("primary", "replica"):
            assert 0 < values[role, "cpu_total"] < values[role, "cpu_capacity"]
            assert process == "together" or values[role, "memory_rss"] > 1e6


def test_models_and_aa_arms_alternate_in_separate_windows(
    announce: Announce,
):
    parameters = replication.Parameters(arm="b", n=50, repetitions=2)
    announce(*replication.deployment(parameters))
    frame = replication.run(parameters)
    starts = frame.groupby(["repetition", "model", "arm"])["started_at"].min().sort_values()
    first, second = (
        [one[1:] for one in starts.index if one[0] == repetition] for repetition in range(2)
    )
    assert first == second[::-1]
    turns = [(model, arm) for arm, model in product("ab", ("document", "xml_fields"))]
    assert sorted([first, second])[0] == turns
    received = frame[frame["metric"] == "bytes_received"].set_index(["model", "arm", "repetition"])[
        "value"
    ]
    for model in ("document", "xml_fields"):
        assert received[model].nunique() == 1, "MongoDB counts its log's entries to the byte"
    elapsed = frame[frame["metric"] == "elapsed_time"].sort_values("started_at")
    ends = elapsed["started_at"] + pd.to_timedelta(elapsed["value"], unit="ns")
    assert (elapsed["started_at"].to_numpy()[1:] > ends.to_numpy()[:-1]).all()


def test_a_bidirectional_topology_delivers_the_expected_values(announce: Announce):
    parameters = replication.Parameters(
        database="couchdb", topology="bidirectional", process="apart", model="document", n=50
    )
    announce(*replication.deployment(parameters))
    frame = replication.run(parameters)
    assert list_outputs(frame, 0) - OPTIONAL == replication.expected(parameters)
    assert set(frame["topology"]) == {"bidirectional"}


@pytest.mark.parametrize("database", [name for name, models in PAIRS if models == EVERY])
def test_the_replica_receives_the_written_bytes(database: Any, announce: Announce):
    # The others count to the byte. In PostgreSQL's log there is more, such as the whole pages after
    # a checkpoint: so many records, and twice, that it does not outweigh them.
    n, repetitions = (500, 2) if database == "postgresql+jsonb" else (100, 1)
    parameters = replication.Parameters(
        database=database, model=EVERY, n=n, repetitions=repetitions
    )
    announce(*replication.deployment(parameters))
    every = replication.run(parameters).groupby(["metric", "model"])["value"]
    received = every.min()["bytes_received"]
    written = n * sum(
        len(value) for value in phones.generate_smartphones(1, 20150501).records[0].values()
    )
    assert all(written < received[model] < 20 * written for model in MODELS)
    # Its requests' headers outweigh the difference, more so the fewer records a pull finds.
    if database != "couchdb":
        assert received["xml_text"] > received["json_text"]
        assert received["xml_fields"] > received["document"]


def test_nodes_whose_processes_are_unknown_have_no_process_metrics(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    deployment = deployed("mongodb", "replicated", own=True)
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", deployment.node("primary").url)
    monkeypatch.setenv("BENCHBOOK_MONGODB_REPLICA_URL", deployment.node("replica").url)
    parameters = replication.Parameters(process="apart", model="document", n=20)
    expected = replication.expected(parameters)
    assert {role for _, role, metric in expected if metric.startswith(("cpu", "memory"))} == set()
    monkeypatch.setattr(replication.CellDatabase, "pids", {})
    assert list_outputs(replication.run(parameters), 0) == expected


def test_a_missing_record_on_the_replica_fails_the_cell(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    def drop_last(adapter: Adapter) -> None:
        read_all = adapter.read_all
        adapter.read_all = (
            lambda role="primary": (  # type: ignore[method-assign]
                read_all(role)[role == "replica" :]
            )
        )

    announce("mongodb", "replicated")
    tamper(monkeypatch, drop_last)
    with pytest.raises(
        WrongContentsError, match="mongodb, replica after insert: 1 of 20 records are missing"
    ):
        replication.run(replication.Parameters(n=20, process="apart", model="document"))


@pytest.mark.parametrize(
    ("database", "topology"), [("mongodb", "replicated"), ("couchdb", "bidirectional")]
)
def test_a_disconnected_replica_times_out(
    database: str, topology: Any, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    skip_without(database, topology)
    parameters = replication.Parameters(
        database=database,
        topology=topology,
        model="document+xml_text",
        n=20,
        repetitions=2,
        timeout_s=0.5,
    )
    replica = announce(database, topology, own=True).node("replica").pid
    tamper(monkeypatch, stopping(replica))
    try:
        frame = replication.run(parameters)
    finally:
        resume(replica)
    for repetition, (_, rows) in product(range(2), frame.groupby("model")):
        assert list_outputs(rows, repetition) >= replication.expected(parameters)
    model = frame.loc[frame["value"].notna(), "model"].unique().item()
    began = (frame["repetition"] == 0) & (frame["model"] == model)
    first = frame[began].set_index(["role", "metric"])
    assert not first.loc[("client", "wall_time"), "timed_out"]
    assert first.loc[("replica", "catch_up_time"), "timed_out"]
    assert first.loc[("replica", "catch_up_time"), "value"] >= 0.5e9
    rest = frame[~began | ~frame["metric"].str.endswith("_time")]
    assert rest["timed_out"].all()
    assert rest["value"].isna().all()
    assert rest["source"].str.startswith("not measured: ").all()


def stopping(pid: int | None) -> Any:
    def change_adapter(adapter: Adapter) -> None:
        insert = adapter.insert

        def inserting(record: dict[str, Any]) -> None:
            suspend(pid)
            insert(record)

        adapter.insert = inserting  # type: ignore[method-assign]

    return change_adapter


@pytest.mark.parametrize("name", FILES)
def test_every_model_replicates_documents_of_a_users_file(
    name: str, tmp_path: Path, announce: Announce
):
    announce("mongodb", "replicated")
    own: dict[str, Any] = {
        "dataset_file": str(FILES[name](tmp_path, 12)),
        "n": 15,
        "repetitions": 1,
    }
    parameters = replication.Parameters(model="document+json_text+xml_text+xml_fields", **own)
    data = own_records.read_dataset(own["dataset_file"])
    for check in replication.STUDY.checks(parameters):
        check.check_records(data.schema, data.records)
    assert set(replication.run(parameters)["dataset"]) == {f"own-{name}"}
    (record, *_) = replication.apply_model(data, "xml_fields").records
    lines = {"orders": "<lines>", "export": "<Betrag>", "answer": "<owner><login>ada</login>"}
    assert any(str(text).startswith(lines[name]) for text in record.values())


def test_every_model_replicates_names_with_dots_and_dollars(tmp_path: Path, announce: Announce):
    announce("mongodb", "replicated")
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"a.b": "x", "$top": 1, "u": {"$set": 1}}))
    model: Any = "document+json_text"
    parameters = replication.Parameters(model=model, dataset_file=str(file), n=2, repetitions=1)
    assert set(replication.run(parameters)["model"]) == {"document", "json_text"}


@pytest.mark.parametrize("model", MODELS)
def test_every_model_stores_every_value(model: str):
    data = phones.generate_smartphones(5, 1)
    kept = replication.apply_model(data, model)
    assert [record["_id"] for record in kept.records] == [record["_id"] for record in data.records]
    for record, stored in zip(data.records, kept.records, strict=True):
        assert list(stored) == [field.name for field in kept.schema.fields]
        text = " ".join(str(value) for value in stored.values())
        assert all(str(value) in text for value in record.values())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"database": "noop"}, "database"),
        ({"topology": "single"}, "topology"),
        ({"model": "bson"}, "model"),
        (
            {"topology": "bidirectional"},
            "bidirectional is for database: couchdb; mongodb replicates one way",
        ),
        ({"database": "couchdb", "durability": "strict"}, "couchdb has no durability to choose"),
        ({"model": "xml_text+document"}, "model"),
        ({"process": "apart"}, "process: apart takes one"),
        ({"model": "document"}, "process: together takes several models"),
        (
            {"database": "postgresql+relational"},
            "model: document is a row in postgresql.relational",
        ),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], error: str):
    with pytest.raises(ValidationError, match=error):
        replication.Parameters(**wrong)
