"""Study `replication` on real pairs of servers."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchbook import servers
from benchbook.databases import Engine
from benchbook.datasets import phones
from benchbook.deployment import VARIABLE, Deployment
from benchbook.studies import replication
from benchbook.studies.store import WrongContentsError
from standing import Announce, needed, outputs, tamper

MODELS = ("document", "json_text", "xml_text", "xml_fields")
PAIRS = [
    *((engine, model) for engine in ("mongodb", "postgresql+jsonb", "mariadb+json", "couchdb") for model in MODELS),
    *((engine, model) for engine in ("postgresql+relational", "mariadb+relational") for model in MODELS[1:]),
    *((engine, "document") for engine in ("mysql+json", "postgresql@9.6+jsonb")),
    *((engine, "xml_text") for engine in ("mysql+relational", "mysql@5.5+relational", "postgresql@9.6+relational")),
]
OPTIONAL = {("insert", "primary", "memory_pss"), ("insert", "replica", "memory_pss")}


@pytest.mark.parametrize(("engine", "model"), PAIRS)
def test_every_repetition_delivers_what_is_declared(engine: Any, model: Any, announce: Announce):
    parameters = replication.Parameters(engine=engine, model=model, n=300, repetitions=2)
    announce(*replication.deployment(parameters))
    frame = replication.run(parameters)
    for repetition in range(2):
        assert outputs(frame, repetition) - OPTIONAL == replication.expected(parameters)
    assert set(frame["model"]) == {model}
    assert set(frame["format"]) == {"xml" if model.startswith("xml") else "json"}
    assert set(frame["count"]) == {300}
    values = frame.groupby(["role", "metric"])["value"].sum()
    for role in ("primary", "replica"):
        assert 0 < values[role, "cpu_total"] < values[role, "cpu_capacity"]
        assert values[role, "memory_rss"] > 1e6


def test_both_ways_everything_declared_is_delivered(announce: Announce):
    parameters = replication.Parameters(engine="couchdb", topology="bidirectional", n=50)
    deployment = announce(*replication.deployment(parameters))
    frame = replication.run(parameters)
    assert outputs(frame, 0) - OPTIONAL == replication.expected(parameters)
    assert set(frame["topology"]) == {"bidirectional"}
    assert (frame["stand_in"] == deployment.node().stand_in).all()


@pytest.mark.parametrize("engine", ["mongodb", "postgresql+jsonb", "mariadb+json", "couchdb"])
def test_the_replica_receives_what_was_written(engine: Any, announce: Announce):
    received, n = {}, 200 if engine == "couchdb" else 2000  # so many that what else is in a log does not outweigh them
    for model in MODELS:
        parameters = replication.Parameters(engine=engine, model=model, n=n)
        announce(*replication.deployment(parameters))
        frame = replication.run(parameters).set_index("metric")
        received[model] = frame.loc["bytes_received", "value"]
    written = n * sum(len(value) for value in phones.smartphones(1, 20150501).records[0].values())
    assert all(written < received[model] < 20 * written for model in MODELS)
    if engine != "couchdb":  # its requests' headers outweigh the difference, more so the fewer records a pull finds
        assert received["xml_text"] > received["json_text"]
        assert received["xml_fields"] > received["document"]


def test_nodes_whose_processes_are_unknown_have_no_process_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with servers.start("mongodb", "replicated") as running:
        monkeypatch.setenv("BENCHBOOK_MONGODB_URL", running.deployment.node("primary").url)
        monkeypatch.setenv("BENCHBOOK_MONGODB_REPLICA_URL", running.deployment.node("replica").url)
        parameters = replication.Parameters(n=20)
        owed = replication.expected(parameters)
        assert {role for _, role, metric in owed if metric.startswith(("cpu", "memory"))} == set()
        monkeypatch.setattr(replication.Store, "pids", {})
        assert outputs(replication.run(parameters), 0) == owed


def test_a_replica_that_lacks_a_record_fails_the_cell(announce: Announce, monkeypatch: pytest.MonkeyPatch):
    def lacking(engine: Engine) -> None:
        read_all = engine.read_all
        engine.read_all = lambda role="primary": read_all(role)[role == "replica" :]  # type: ignore[method-assign]

    announce("mongodb", "replicated")
    tamper(monkeypatch, lacking)
    with pytest.raises(WrongContentsError, match="mongodb, replica after insert: 1 of 20 records are missing"):
        replication.run(replication.Parameters(n=20))


@pytest.mark.parametrize(("engine", "topology"), [("mongodb", "replicated"), ("couchdb", "bidirectional")])
def test_a_replica_that_is_cut_off_is_censored(
    engine: str, topology: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    needed(engine, topology)
    parameters = replication.Parameters(engine=engine, topology=topology, n=20, repetitions=2, timeout_s=1.0)
    with servers.start(engine, topology) as running:
        (tmp_path / "deployment").write_text(running.deployment.to_json())
        monkeypatch.setenv(VARIABLE, str(tmp_path / "deployment"))
        tamper(monkeypatch, stopping(running.deployment))
        frame = replication.run(parameters)
    for repetition in range(2):
        assert outputs(frame, repetition) >= replication.expected(parameters)
    first = frame[frame["repetition"] == 0].set_index(["role", "metric"])
    assert not first.loc[("client", "wall_time"), "censored"]
    assert first.loc[("replica", "catch_up_time"), "censored"]
    assert first.loc[("replica", "catch_up_time"), "value"] >= 1e9
    rest = frame[(frame["repetition"] == 1) | ~frame["metric"].str.endswith("_time")]
    assert rest["censored"].all()
    assert rest["value"].isna().all()
    assert rest["source"].str.startswith("not measured: ").all()


def stopping(deployment: Deployment) -> Any:
    def tampered(engine: Engine) -> None:
        insert = engine.insert

        def inserting(record: dict[str, Any]) -> None:
            os.kill(deployment.node("replica").pid or 0, signal.SIGSTOP)
            insert(record)

        engine.insert = inserting  # type: ignore[method-assign]

    return tampered


@pytest.mark.parametrize("model", MODELS)
def test_every_model_keeps_every_value(model: str):
    data = phones.smartphones(5, 1)
    kept = replication.modelled(data, model)
    assert [record["_id"] for record in kept.records] == [record["_id"] for record in data.records]
    for record, stored in zip(data.records, kept.records, strict=True):
        assert list(stored) == [field.name for field in kept.schema.fields]
        text = " ".join(str(value) for value in stored.values())
        assert all(str(value) in text for value in record.values())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"engine": "noop"}, "engine"),
        ({"topology": "single"}, "topology"),
        ({"model": "bson"}, "model"),
        ({"topology": "bidirectional"}, "bidirectional is for engine: couchdb; mongodb replicates one way"),
        ({"engine": "couchdb", "durability": "strict"}, "couchdb has no durability to choose"),
        ({"engine": "postgresql+relational"}, "model: document is a row in postgresql.relational"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], error: str):
    with pytest.raises(ValidationError, match=error):
        replication.Parameters(**wrong)
