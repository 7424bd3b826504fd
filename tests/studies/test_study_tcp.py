"""Study `tcp`, against its server in a process of its own."""

import os
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from benchbook import codecs, grid
from benchbook.analysis.block_means import compute_block_means
from benchbook.results.files import build_inferred_table
from benchbook.sockets import client
from benchbook.sockets.protocol import WireError
from benchbook.studies import tcp
from user_files import FILES
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
        {"process": "apart", "format": "xml", "trials": "sequence"},
    ],
    ids=str,
)
def test_every_repetition_delivers_the_expected_values_of_each_format(variant):
    parameters = tcp.Parameters(n=60, repetitions=2, **variant)
    frame = tcp.run(parameters)
    kinds = {variant["format"]} if "format" in variant else {"json", "xml"}
    assert set(zip(frame["format"], frame["codec"], strict=True)) == {
        (kind, CODECS[kind]) for kind in kinds
    }
    for _, rows in frame.groupby(["repetition", "format"]):
        found = list(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
        assert len(found) == len(set(found))
        assert set(found) == tcp.expected(parameters)
    assert set(frame["repetition"]) == {0, 1}
    for name, level in parameters.as_columns().items():
        assert set(frame[name]) == {level}, name
    assert set(frame["count"]) == {60}
    assert (
        set(frame["dataset"]) == {f"people-{parameters.fields}"} == {tcp.STUDY.dataset(parameters)}
    )
    assert frame["dataset_sha256"].nunique() == 1


@pytest.mark.parametrize(("encode", "connections"), [("before", 1), ("inside", 1), ("before", 4)])
def test_a_sequence_takes_the_papers_smaller_trials_first_and_reports_them(
    encode, connections, monkeypatch
):
    monkeypatch.setattr(tcp, "PAPER_TRIALS", (10, 20, 30, 60))
    cell = {
        "process": "apart",
        "format": "json",
        "trials": "sequence",
        "encode": encode,
        "connections": connections,
    }
    parameters = tcp.Parameters(n=30, repetitions=2, **cell)
    frame = tcp.run(parameters)
    for _, rows in frame.groupby("repetition"):
        assert set(
            rows[["operation", "role", "metric"]].itertuples(index=False, name=None)
        ) == tcp.expected(parameters)
        assert dict(rows.groupby("operation")["count"].first()) == {
            "receive": 30,
            "warm_up": 10 + 20,
        }
        starts = rows.groupby("operation")["started_at"].min()
        assert starts["warm_up"] < starts["receive"]


def test_each_repetition_of_a_sequence_starts_a_server(monkeypatch):
    pids = []
    opened = tcp.Client.open_trial

    def noting(client, connections):
        pids.append(client.server.pid)
        return opened(client, connections)

    monkeypatch.setattr(tcp.Client, "open_trial", noting)
    run(process="apart", format="json", trials="sequence", repetitions=3)
    assert len(set(pids)) == 3
    pids.clear()
    run(process="apart", format="json", repetitions=3)
    assert len(set(pids)) == 1


def test_a_servers_shares_are_relative_to_its_processors():
    observations = build_inferred_table(run(n=2000)).to_pandas()
    measured = compute_block_means(observations).query("role == 'server'")
    rows = measured.pivot(index="codec", columns="metric", values="value")
    capacity = rows["wall_time"] * len(os.sched_getaffinity(0))
    assert (rows["cpu_capacity"] == capacity).all()
    shares = rows["cpu_user_percent"] + rows["cpu_system_percent"]
    assert list(shares) == pytest.approx(
        list(100 * (rows["cpu_user"] + rows["cpu_system"]) / capacity)
    )


def test_with_three_cores_client_and_server_have_one_each(monkeypatch):
    threads = {0: "0,4", 1: "1,5", 2: "2,6", 4: "0,4", 5: "1,5", 6: "2,6"}
    monkeypatch.setattr(client, "_read_siblings", threads.get)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(threads))
    assert client.choose_processors() == (1, 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 4, 5})
    assert client.choose_processors() is None


def test_a_server_with_one_processor_has_shares_of_it(monkeypatch):
    before = os.sched_getaffinity(0)
    monkeypatch.setattr(
        tcp, "choose_processors", lambda: client.Processors(min(before), max(before))
    )
    rows = (
        run(n=500).query("role == 'server'").pivot(index="codec", columns="metric", values="value")
    )
    assert (rows["cpu_capacity"] == rows["wall_time"]).all()
    several = (
        run(n=500, connections=2)
        .query("role == 'server'")
        .pivot(index="codec", columns="metric", values="value")
    )
    assert (several["cpu_capacity"] == several["wall_time"] * len(before)).all()
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("codec", codecs.NAMES)
def test_every_codec_serves(codec):
    frame = run(**{f"{codecs.NAMES[codec]}_codec": codec})
    assert codec in set(frame["codec"])


def test_the_formats_alternate_in_going_first():
    times = (
        run(repetitions=3)
        .query("role == 'client' and metric == 'wall_time'")
        .sort_values("started_at")
    )
    assert list(times["format"]) == ["xml", "json", "json", "xml", "xml", "json"]


def test_memory_that_the_client_holds_is_in_the_machines_memory():
    def seen(role: str, metric: str) -> float:
        """Return by how much holding it raises a value."""
        held, alone = (run(process="apart", format="json", held_mb=held_mb) for held_mb in (512, 0))
        values = [
            frame.set_index(["role", "metric"])["value"][role, metric] for frame in (held, alone)
        ]
        return float(values[0] - values[1])

    assert comes_true(lambda: seen("machine", "memory_used") > 2**28), (
        "other processes' memory comes and goes"
    )
    assert seen("server", "memory_rss") < 2**27


def test_memory_is_read_when_a_process_has_one_format():
    assert not run()["metric"].str.startswith("memory").any()
    alone = run(process="apart", format="xml")
    assert set(alone.loc[alone["metric"].str.startswith("memory"), "role"]) == {"server", "machine"}


def test_the_second_cell_of_an_aa_check_measures_both_arms_with_one_server():
    frame = (
        run(arm="b", repetitions=2)
        .query("role == 'server' and metric == 'wall_time'")
        .sort_values("started_at")
    )
    first, second = (
        list(zip(some["format"], some["arm"], strict=True))
        for _, some in frame.groupby("repetition")
    )
    assert first == [("xml", "a"), ("json", "a"), ("xml", "b"), ("json", "b")]
    assert second == first[::-1]
    assert "arm" not in run(arm="b", process="apart", format="json"), "which the cell itself says"


def test_the_servers_window_is_inside_the_clients():
    times = (
        run(n=2000)
        .query("metric == 'wall_time'")
        .pivot(index="format", columns="role", values="value")
    )
    assert ((times["server"] > 0) & (times["server"] < times["client"])).all()


def test_fewer_objects_than_connections_are_all_sent():
    assert set(run(n=2, connections=4)["count"]) == {2}


@pytest.mark.parametrize("encode", ["inside", "before"])
def test_wrong_objects_fail_the_cell(encode, monkeypatch):
    codec = codecs.load_codec("orjson")
    honest = codec.encode_record
    monkeypatch.setattr(codec, "encode_record", lambda record: honest({**record, "age": 1}))
    with pytest.raises(tcp.WrongObjectsError, match="not those that were sent"):
        run(encode=encode)


def test_bytes_that_do_not_parse_fail_the_cell(monkeypatch):
    monkeypatch.setattr(codecs.load_codec("orjson"), "encode_record", lambda record: b"{")
    with pytest.raises(WireError, match="object 0: "):
        run()


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "xml"},
        {"process": "apart"},
        {"json_codec": "lxml"},
        {"xml_codec": "jaxb"},
        {"language": "java", "xml_codec": "lxml"},
        {"fields": 3},
        {"transport": "udp"},
        {"connections": 0},
        {"trials": "sequence"},
        {"heap": "64m"},
        {"heap": "64", "language": "java", "json_codec": "jackson", "xml_codec": "jaxb"},
        {"n": 0},
    ],
)
def test_impossible_combinations_are_refused(wrong):
    with pytest.raises(ValidationError):
        tcp.Parameters(**wrong)


def test_a_users_records_replace_the_people(tmp_path):
    for name, write in FILES.items():
        frame = run(n=12, dataset_file=str(write(tmp_path, 5)))
        assert (set(frame["dataset"]), set(frame["count"])) == ({f"own-{name}"}, {12})


@pytest.mark.parametrize("profile", ["decide", "paper"])
def test_profiles_have_the_cells_with_which_claims_on_shares_are_comparable(profile):
    """Test the remedies that `data/claims/tcp.yaml` names: a processor each, and XMLDecoder."""
    planned, blocks = set(), set()
    for cell in grid.make_plan(["tcp"], profile, everywhere=True).cells:
        one = cell.parameters
        if one.language == "java" and (one.trials, one.heap) == ("sequence", "64m"):
            planned.add((one.network, one.format, one.xml_codec, one.n))
            if one.network == "1core":
                blocks.add(cell.block)
    assert blocks == {*range({"decide": 120, "paper": 5}[profile])}
    shares = {("1core", "json", "jaxb", n) for n in (20000, 40000, 100000, 1000000)}
    for n in (20000, 100000, 1000000):
        shares |= {("1core", kind, "xmldecoder", n) for kind in ("json", "xml")}
    times = set()
    for n in (60000, 1000000):
        times |= {("none", kind, "xmldecoder", n) for kind in ("json", "xml")}
    assert shares | times <= planned
