"""Study `tcp`, against its server in a process of its own."""

import json
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from benchbook import formats
from benchbook.studies import tcp
from benchbook.wire.protocol import WireError
from waiting import comes_true

CODECS = {"json": "orjson", "xml": "lxml"}


def run(**parameters: Any) -> pd.DataFrame:
    return tcp.run(tcp.Parameters(**{"n": 60, **parameters}))


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"transport": "batched"},
        {"transport": "acknowledged"},
        {"transport": "connection"},
        {"connections": 4},
        {"transport": "connection", "connections": 4},
        {"fields": 2},
        {"fields": 50},
        {"encode": "inside"},
        {"process": "apart", "format": "json"},
        {"process": "apart", "format": "xml"},
    ],
    ids=str,
)
def test_every_repetition_delivers_what_is_declared_for_each_format(variant):
    parameters = tcp.Parameters(n=60, repetitions=2, **variant)
    frame = tcp.run(parameters)
    kinds = {variant["format"]} if "format" in variant else {"json", "xml"}
    assert set(zip(frame["format"], frame["codec"], strict=True)) == {(kind, CODECS[kind]) for kind in kinds}
    for _, rows in frame.groupby(["repetition", "format"]):
        found = list(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
        assert len(found) == len(set(found))
        assert set(found) == tcp.expected(parameters)
    assert set(frame["repetition"]) == {0, 1}
    assert set(frame["count"]) == {60}
    assert set(frame["dataset"]) == {f"people-{parameters.fields}"} == {tcp.dataset(parameters)}
    assert frame["dataset_sha256"].nunique() == 1


@pytest.mark.parametrize("codec", formats.NAMES)
def test_every_codec_serves(codec):
    frame = run(**{f"{formats.NAMES[codec]}_codec": codec})
    assert codec in set(frame["codec"])


def test_the_formats_take_turns_in_going_first():
    times = run(repetitions=3).query("role == 'client' and metric == 'wall_time'").sort_values("started_at")
    assert list(times["format"]) == ["xml", "json", "json", "xml", "xml", "json"]


def test_what_the_client_holds_before_is_in_the_machines_memory():
    def seen(role: str, metric: str) -> float:
        """Return by how much holding it raises a value."""
        held, alone = (run(process="apart", format="json", held_mb=held_mb) for held_mb in (512, 0))
        values = [frame.set_index(["role", "metric"])["value"][role, metric] for frame in (held, alone)]
        return float(values[0] - values[1])

    assert comes_true(lambda: seen("machine", "memory_used") > 2**28), "other processes' memory comes and goes"
    assert seen("server", "memory_rss") < 2**27


def test_memory_is_read_where_a_process_has_one_format():
    assert not run()["metric"].str.startswith("memory").any()
    alone = run(process="apart", format="xml")
    assert set(alone.loc[alone["metric"].str.startswith("memory"), "role"]) == {"server", "machine"}


def test_the_second_cell_of_an_a_a_pair_measures_both_arms_in_turn_with_one_server():
    frame = run(arm="b", repetitions=2).query("role == 'server' and metric == 'wall_time'").sort_values("started_at")
    first, second = (list(zip(some["format"], some["arm"], strict=True)) for _, some in frame.groupby("repetition"))
    assert first == [("xml", "a"), ("json", "a"), ("xml", "b"), ("json", "b")]
    assert second == first[::-1]
    assert "arm" not in run(arm="b", process="apart", format="json"), "which the cell itself says"


def test_the_servers_clock_lies_inside_the_clients():
    times = run(n=2000).query("metric == 'wall_time'").pivot(index="format", columns="role", values="value")
    assert ((times["server"] > 0) & (times["server"] < times["client"])).all()


def test_fewer_objects_than_connections_are_all_sent():
    assert set(run(n=2, connections=4)["count"]) == {2}


@pytest.mark.parametrize("encode", ["inside", "before"])
def test_objects_that_are_not_those_of_the_set_fail_the_cell(encode, monkeypatch):
    codec = formats.codec("orjson")
    honest = codec.encode_record
    monkeypatch.setattr(codec, "encode_record", lambda record: honest({**record, "age": 1}))
    with pytest.raises(tcp.WrongObjectsError, match="not those that were sent"):
        run(encode=encode)


def test_bytes_that_do_not_parse_fail_the_cell(monkeypatch):
    monkeypatch.setattr(formats.codec("orjson"), "encode_record", lambda record: b"{")
    with pytest.raises(WireError, match="object 0: "):
        run()


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "xml"},
        {"process": "apart"},
        {"json_codec": "lxml"},
        {"xml_codec": "jaxb"},
        {"lane": "java", "xml_codec": "lxml"},
        {"fields": 3},
        {"transport": "udp"},
        {"connections": 0},
        {"n": 0},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        tcp.Parameters(**wrong)


def test_own_records_take_the_peoples_place(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"text": f"line {i}", "number": i}) + "\n" for i in range(5)))
    frame = run(n=12, dataset_file=str(file))
    assert (set(frame["dataset"]), set(frame["count"])) == ({"own-mine"}, {12})
