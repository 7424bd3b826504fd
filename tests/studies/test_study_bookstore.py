"""Study `bookstore`: what it delivers, and that a codec that lies fails the cell."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from pydantic import ValidationError

from benchbook import codecs, grid
from benchbook.codecs import FormatError
from benchbook.datasets.books import KEYS
from benchbook.schema import AnyBookstore
from benchbook.sockets.protocol import WireError
from benchbook.studies import bookstore
from benchbook.studies.language_cell import plan_processes
from shared_servers import needs_root
from user_files import FILES


def run(**parameters: Any) -> pd.DataFrame:
    return bookstore.run(bookstore.Parameters(**{"n": 10, "repetitions": 3, **parameters}))


def pivot_sizes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the size of each format's document and of its markup."""
    return frame.query("unit == 'B'").pivot(index="format", columns="metric", values="value")


@pytest.mark.parametrize("sink", ["file", "memory"])
@pytest.mark.parametrize("case", [1, 2])
@pytest.mark.parametrize(
    ("json_codec", "xml_codec"), [("orjson", "lxml"), ("json", "etree"), ("msgspec", "xsdata")]
)
def test_every_repetition_delivers_the_expected_values_of_each_format(
    case, sink, json_codec, xml_codec
):
    parameters = bookstore.Parameters(
        case=case, sink=sink, json_codec=json_codec, xml_codec=xml_codec, n=10, repetitions=3
    )
    frame = bookstore.run(parameters)
    assert set(zip(frame["format"], frame["codec"], strict=True)) == {
        ("json", json_codec),
        ("xml", xml_codec),
    }
    for _, rows in frame.groupby(["repetition", "format"]):
        found = list(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
        assert len(found) == len(set(found))
        assert set(found) == bookstore.expected(parameters)
    assert set(frame["repetition"]) == {0, 1, 2}
    assert (frame.loc[frame["metric"] == "wall_time", "value"] > 0).all()
    for name, level in parameters.as_columns().items():
        assert set(frame[name]) == {level}, name
    assert set(frame["count"]) == {10}
    assert set(frame["dataset"]) == {f"bookstore-{case}"}
    assert frame["dataset_sha256"].nunique() == 1


def test_the_round_trip_is_the_sum_of_marshalling_and_unmarshalling():
    times = run().query("unit == 'ns'")
    wide = times.pivot(
        index=["repetition", "format", "metric"], columns="operation", values="value"
    )
    assert (wide["round_trip"] == wide["marshal"] + wide["unmarshal"]).all()


@pytest.mark.parametrize("sink", ["file", "memory"])
@pytest.mark.parametrize(
    ("case", "n", "sizes"),
    [(1, 1, {282, 134}), (1, 100, {17_105, 12_403}), (1, 1000, {171_006, 124_904})],
)
def test_sizes_are_those_of_the_paper(case, n, sizes, sink):
    assert (
        set(run(case=case, n=n, sink=sink, repetitions=1).query("metric == 'size'")["value"])
        == sizes
    )


@pytest.mark.parametrize(("drawn", "order"), [(0, "xml json xml"), (1, "json xml json")])
def test_chance_decides_which_format_begins_and_then_they_alternate(drawn, order, monkeypatch):
    monkeypatch.setattr(bookstore.secrets, "randbelow", lambda count: drawn)
    first = run().drop_duplicates("repetition")
    assert list(first["format"]) == order.split()


@pytest.mark.parametrize(("json_codec", "xml_codec"), [("orjson", "lxml"), ("msgspec", "xsdata")])
def test_longer_keys_make_more_markup_with_the_same_values(json_codec, xml_codec):
    def sizes(keys: str) -> pd.DataFrame:
        frame = run(keys=keys, json_codec=json_codec, xml_codec=xml_codec, repetitions=1)
        assert set(frame["dataset"]) == {f"bookstore-{keys}"}
        return pivot_sizes(frame)

    short, long = sizes("short"), sizes("long")
    letters = sum(map(len, KEYS["long"])) - sum(map(len, KEYS["short"]))
    more = {"json": 10 * letters, "xml": 2 * 10 * letters}  # a name at both ends of an element
    assert (
        (long["size"] - short["size"]).to_dict()
        == more
        == (long["markup_size"] - short["markup_size"]).to_dict()
    )


def test_short_and_long_keys_alternate_in_one_process():
    frame = run(keys="short/long", repetitions=2)
    assert set(frame["keys"]) == {"short/long"}
    order = frame[frame["metric"] == "size"].drop_duplicates(["repetition", "own_level", "format"])
    turns = list(zip(order["own_level"], order["format"], strict=True))
    assert turns[:4] == turns[4:][::-1] and len({*turns}) == 4
    # Each document is as in a cell of its own.
    for level, rows in frame.groupby("own_level"):
        apart = run(keys=level, repetitions=2)
        first = rows[rows["repetition"] == 0]
        assert pivot_sizes(first).equals(pivot_sizes(apart[apart["repetition"] == 0]))
        assert set(rows["dataset_sha256"]) == set(apart["dataset_sha256"])


@pytest.mark.parametrize(("json_codec", "xml_codec"), [("orjson", "lxml"), ("json", "etree")])
def test_one_more_level_makes_more_markup_with_the_same_books(json_codec, xml_codec):
    chosen = {"json_codec": json_codec, "xml_codec": xml_codec}
    nested, flat = (
        pivot_sizes(run(keys=keys, repetitions=1, **chosen)) for keys in ("nested", "paper")
    )
    more = {
        "json": 10 * len('{"name":}'),
        "xml": 10 * len("<name></name>" + "\n" + 12 * " " + "\n" + 8 * " "),
    }
    assert (nested["size"] - flat["size"]).to_dict() == more
    assert (nested["markup_size"] - flat["markup_size"]).to_dict() == more


@pytest.mark.parametrize("case", [1, 2])
def test_markup_is_a_document_without_its_values(case):
    sizes = pivot_sizes(run(case=case, repetitions=1))
    values = sizes["size"] - sizes["markup_size"]
    if case == 1:
        assert values["json"] == values["xml"] == 9 * (1 + 45 + 44) + (2 + 45 + 44)
    assert (sizes["markup_size"] / sizes["size"]).between(0.1, 0.9).all()
    assert sizes["markup_size"]["xml"] > sizes["markup_size"]["json"]


def test_the_second_cell_of_an_aa_check_measures_both_arms(monkeypatch):
    monkeypatch.setattr(bookstore.secrets, "randbelow", lambda count: 0)
    frame = run(arm="b", repetitions=2).query("operation == 'marshal' and metric == 'size'")
    first, second = (
        list(zip(some["format"], some["arm"], strict=True))
        for _, some in frame.groupby("repetition")
    )
    assert first == [("xml", "a"), ("json", "a"), ("xml", "b"), ("json", "b")]
    assert second == first[::-1]


@pytest.mark.parametrize("kind", ["json", "xml"])
def test_a_cell_with_process_apart_has_one_format(kind):
    assert set(run(process="apart", format=kind)["format"]) == {kind}


@pytest.mark.parametrize(
    "wrong",
    [
        {"keys": "nested", "json_codec": "msgspec"},
        {"keys": "nested", "case": 2},
        {"process": "apart"},
        {"format": "json"},
        {"json_codec": "lxml"},
        {"case": 3},
        {"n": 0},
        {"network": "lan"},
        {"language": "java", "network": "lan-100m"},
        {"books": 3},
    ],
)
def test_impossible_combinations_are_refused(wrong):
    with pytest.raises(ValidationError):
        bookstore.Parameters(**wrong)


@pytest.mark.parametrize("sink", ["file", "memory"])
def test_a_codec_that_reads_back_another_object_fails_the_cell(sink, monkeypatch):
    codec = codecs.load_codec("lxml")
    decode = codec.decode_bookstore

    def lie(data: bytes, case: int) -> AnyBookstore:
        store = decode(data, case)
        store.books[-1].title += "!"
        return store

    monkeypatch.setattr(codec, "decode_bookstore", lie)
    with pytest.raises(bookstore.RoundTripError, match="lxml"):
        run(sink=sink)


def test_a_wrong_object_in_the_last_repetition_fails_the_cell(monkeypatch):
    codec = codecs.load_codec("orjson")
    decode, calls = codec.decode_bookstore, []

    def lie(data: bytes, case: int) -> AnyBookstore:
        calls.append(case)
        store = decode(data, case)
        if len(calls) == 3:
            store.books.pop()
        return store

    monkeypatch.setattr(codec, "decode_bookstore", lie)
    with pytest.raises(bookstore.RoundTripError, match="orjson"):
        run()


def test_a_document_that_a_codec_cannot_read_fails_the_cell(monkeypatch):
    codec = codecs.load_codec("orjson")
    monkeypatch.setattr(codec, "encode_bookstore", lambda store: b"{")
    with pytest.raises(FormatError):
        run()


AWKWARD = ["plain", "two\nlines", "\n", "\n<record>", "</record>\n<record>", "ünï", "", "]]>"]


@pytest.mark.parametrize("pair", [("orjson", "lxml"), ("json", "etree"), ("msgspec", "xsdata")])
@pytest.mark.parametrize("sink", ["file", "memory"])
def test_a_users_records_replace_the_books(tmp_path, pair, sink):
    file = tmp_path / "mine.jsonl"
    file.write_text(
        "".join(
            json.dumps({"text": text, "number": i, "record": text}) + "\n"
            for i, text in enumerate(AWKWARD)
        )
    )
    frame = run(dataset_file=str(file), n=20, sink=sink, json_codec=pair[0], xml_codec=pair[1])
    assert set(frame["dataset"]) == {"own-mine"}
    assert set(frame["count"]) == {20}
    for name, write in FILES.items():
        frame = run(
            dataset_file=str(write(tmp_path)),
            n=50,
            sink=sink,
            json_codec=pair[0],
            xml_codec=pair[1],
        )
        assert set(frame["dataset"]) == {f"own-{name}"}


@needs_root
@pytest.mark.parametrize(
    "parameters", [{}, {"sink": "memory", "case": 2}, {"keys": "nested"}, {"n": 10_000}]
)
def test_in_a_network_documents_are_sent_and_a_server_unmarshals_them(parameters):
    asked = bookstore.Parameters(**{"n": 10, "repetitions": 3, "network": "lan-100m", **parameters})
    frame = bookstore.run(asked)
    for _, rows in frame.groupby(["repetition", "format"]):
        found = list(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
        assert len(found) == len(set(found))
        assert set(found) == bookstore.expected(asked)
    wide = frame.pivot(
        index=["repetition", "format"], columns=["operation", "role", "metric"], values="value"
    )
    for metric in bookstore.METRICS:
        parts = [("marshal", "client"), ("send", "client"), ("unmarshal", "server")]
        assert (
            wide["round_trip", "client", metric] == sum(wide[*part, metric] for part in parts)
        ).all()
    size, card = wide["marshal", "client", "size"], wide["send", "client", "card_bytes_sent"]
    # A frame of 1,514 bytes has 1,448 of the document; beside it stand acknowledgements.
    assert (size < card).all() and (card < size * 1514 / 1448 + 1000).all()
    on_loopback = (
        run(**{**parameters, "repetitions": 1})
        .query("metric == 'size'")
        .set_index("format")["value"]
    )
    assert on_loopback.to_dict() == size[0].to_dict()


@needs_root
@pytest.mark.parametrize("sink", ["file", "memory"])
def test_a_server_compares_what_it_reads_with_the_expected_object(sink, monkeypatch):
    codec = codecs.load_codec("lxml")
    encode = codec.encode_bookstore
    monkeypatch.setattr(codec, "encode_bookstore", lambda store: encode(store)[:-20])
    with pytest.raises(WireError, match="FormatError"):
        run(sink=sink, network="lan-100m")

    def lie(store: AnyBookstore) -> bytes:
        store.books[-1].title, kept = "another", store.books[-1].title
        try:
            return encode(store)
        finally:
            store.books[-1].title = kept

    monkeypatch.setattr(codec, "encode_bookstore", lie)
    with pytest.raises(bookstore.RoundTripError, match="lxml"):
        run(sink=sink, network="lan-100m")


@needs_root
def test_a_users_records_are_sent_over_a_network(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(
        "".join(json.dumps({"text": text, "number": i}) + "\n" for i, text in enumerate(AWKWARD))
    )
    frame = run(dataset_file=str(file), n=20, network="lan-1g")
    assert set(frame["dataset"]) == {"own-mine"} and {"send"} < set(frame["operation"])


def test_missing_parts_of_java_are_named_with_a_remedy():
    with pytest.raises(
        ValidationError,
        match=r"network: lan-100m is for language: python \(--set language=python\)",
    ):
        bookstore.Parameters(language="java", network="lan-100m")


@pytest.mark.parametrize("network", ["none", pytest.param("lan-100m", marks=needs_root)])
def test_no_files_remain_after_a_cell(network, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = {process.pid for process in psutil.Process().children()}
    run(network=network)
    assert {process.pid for process in psutil.Process().children()} <= before
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.parametrize("profile", ["decide", "paper", "evening"])
def test_each_process_of_a_java_cell_makes_the_papers_repetitions(profile):
    cells = [cell.parameters for cell in grid.make_plan(["bookstore"], profile).cells]
    java = [one for one in cells if (one.language, one.process) == ("java", "together")]
    assert java
    for one in java:
        assert [each.repetitions for each in plan_processes(one, 1)] == [100, 100]


def test_a_decisive_run_has_aa_checks_at_sizes_that_claims_judge():
    cells = [cell.parameters for cell in grid.make_plan(["bookstore"], "decide").cells]
    checked = {(one.language, one.n) for one in cells if one.arm == "b"}
    assert checked == {("python", 10), ("python", 1000), ("java", 10), ("java", 10000)}
