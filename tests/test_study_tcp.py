"""Study `tcp`, against its server in a process of its own."""

import json
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from benchbook import formats
from benchbook.studies import tcp
from benchbook.wire.protocol import WireError

CODECS = [("json", "orjson"), ("xml", "lxml")]


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
        {"encode": "before"},
    ],
    ids=str,
)
@pytest.mark.parametrize(("kind", "codec"), CODECS)
def test_every_repetition_delivers_what_is_declared(kind, codec, variant):
    parameters = tcp.Parameters(format=kind, codec=codec, n=60, repetitions=2, **variant)
    frame = tcp.run(parameters)
    for repetition in range(2):
        rows = frame[frame["repetition"] == repetition]
        found = list(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
        assert len(found) == len(set(found))
        assert set(found) == tcp.expected(parameters)
    assert set(frame["count"]) == {60}
    assert set(frame["dataset"]) == {f"people-{parameters.fields}"} == {tcp.dataset(parameters)}
    assert frame["dataset_sha256"].nunique() == 1


@pytest.mark.parametrize("codec", formats.NAMES)
def test_every_codec_serves(codec):
    assert len(run(format=formats.NAMES[codec], codec=codec))


def test_the_servers_clock_lies_inside_the_clients():
    times = run(n=2000).query("metric == 'wall_time'").set_index("role")["value"]
    assert 0 < times["server"] < times["client"]


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
    "wrong", [{"format": "xml"}, {"codec": "lxml"}, {"fields": 3}, {"transport": "udp"}, {"connections": 0}, {"n": 0}]
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        tcp.Parameters(**wrong)


def test_own_records_take_the_peoples_place(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"text": f"line {i}", "number": i}) + "\n" for i in range(5)))
    for kind, codec in CODECS:
        frame = run(format=kind, codec=codec, n=12, dataset_file=str(file))
        assert (set(frame["dataset"]), set(frame["count"])) == ({"own-mine"}, {12})
