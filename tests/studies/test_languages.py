"""Java and Node.js: their answers keep the contract, and failures are reported in one line."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_study_drivers import check_means

from benchbook import codecs, grid, paths
from benchbook.datasets import blog, books, persons, players
from benchbook.servers.deployment import Topology
from benchbook.sockets.client import Processors
from benchbook.studies import bookstore, crud, drivers, harness, language_cell, tcp
from shared_servers import Announce, list_outputs, skip_without_language

CODECS = {"json": "orjson", "xml": "lxml"}
SECTION = {
    "operation": "marshal",
    "count": 1,
    "started_at": "2026-01-01T00:00:00Z",
    "values": [
        {
            "role": "client",
            "metric": "wall_time",
            "value": 5,
            "unit": "ns",
            "source": "a clock",
            "resolution": 1,
        }
    ],
}
REPETITION = json.dumps({"repetition": 0, "sections": [SECTION]})
PROGRAM = {"driver": "a library 1.0", "runtime": "a machine 17", "heap_limit": 1_000_000}
CLOSING = json.dumps({"closed": True, "repetitions": 1, **PROGRAM})

Scripted = Callable[[str], None]


@pytest.fixture
def java() -> None:
    skip_without_language("java", "mvn", "javac")


@pytest.fixture
def node() -> None:
    skip_without_language("node", "npm", "node")


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Scripted:
    """Use a Python script as harness, in a new process."""

    def put(script: str) -> None:
        file = tmp_path / "harness.py"
        file.write_text(f"import json, sys, time\nasked = json.load(sys.stdin)\n{script}")
        found = harness.Harness("scripted", (sys.executable, str(file)))
        monkeypatch.setattr(harness, "find_harness", lambda language: found)

    return put


def run_harness() -> tuple[list[harness.Repetition], harness.Closing]:
    return harness.run_cell("java", "bookstore", {"repetitions": 1}, "/nowhere")


def write_bookstore(shop: books.AnyBookstore, folder: Path) -> tuple[dict[str, bytes], Path]:
    """Encode a bookstore as JSON and as XML; return both, and the file with the JSON."""
    document = {
        kind: codecs.load_codec(name).encode_bookstore(shop) for kind, name in CODECS.items()
    }
    given = folder / "given.json"
    given.write_bytes(document["json"])
    return document, given


def print_line(*lines: str) -> str:
    return "".join(f"print({line!r}, flush=True)\n" for line in lines)


def test_a_jar_older_than_its_sources_is_refused(
    java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = harness.find_jar()
    copied = tmp_path / "java"
    shutil.copytree(built.parents[1], copied)  # with the files' times
    monkeypatch.setattr(harness.paths, "harness", lambda language: tmp_path / language)
    assert isinstance(harness._find_java(), harness.Harness)
    os.utime(next(copied.glob("src/main/java/**/*.java")))
    stale = harness._find_java()
    assert (
        isinstance(stale, harness.MissingHarness)
        and "changed after it was built: make setup" in stale.why
    )


def test_an_answer_has_its_repetitions_and_a_closing_line(scripted: Scripted) -> None:
    scripted(print_line(REPETITION, CLOSING))
    (repetition,), closing = run_harness()
    assert [vars(reading) for reading in repetition.sections[0].readings] == SECTION["values"]
    assert closing == harness.Closing(1, **PROGRAM)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (print_line("Listening on port 1"), "not part of its answer: 'Listening on port 1'"),
        (
            print_line(json.dumps({"repetition": 0, "sections": []})),
            "repetition breaks the contract: data.sections must contain at least 1",
        ),
        (
            print_line(json.dumps({"repetition": 1, "sections": [SECTION]})),
            "repetition 1 came, 0 was due",
        ),
        (print_line(REPETITION), "ended after 1 repetitions without closing"),
        (print_line(CLOSING), "closed after 0 repetitions and counted 1"),
        (
            print_line(json.dumps({"error": {"type": "IOException", "message": "no space"}})),
            "IOException: no space",
        ),
        ("sys.stderr.write('out of memory')\nsys.exit(7)", r"\(exit status 7\): out of memory"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9"),
    ],
)
def test_a_harness_that_fails_or_breaks_the_contract_is_reported_in_one_line(
    scripted: Scripted, script: str, told: str
) -> None:
    scripted(script)
    with pytest.raises(harness.LanguageError, match=told) as caught:
        run_harness()
    assert "\n" not in str(caught.value)


def test_a_harness_that_hangs_is_stopped(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "PATIENCE_S", 0.5)
    scripted(print_line(REPETITION) + "time.sleep(600)")
    with pytest.raises(harness.LanguageError, match=r"did not end within 0\.5 s"):
        run_harness()


def test_a_request_that_breaks_the_contract_is_not_sent(scripted: Scripted, tmp_path: Path) -> None:
    scripted(f"open({str(tmp_path / 'asked')!r}, 'w')")
    with pytest.raises(
        harness.LanguageError,
        match=r"^the harness' request breaks the contract: data.parameters must",
    ):
        harness.run_cell("java", "bookstore", {}, "/nowhere")
    assert not (tmp_path / "asked").exists()


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(
    ("case", "n", "sink"), [(1, 1, "file"), (1, 300, "memory"), (2, 1, "memory"), (2, 300, "file")]
)
def test_java_writes_what_python_writes_and_each_reads_the_other(
    case: int, n: int, sink: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.setenv(name, "--of-the-users")  # a JVM that reads it does not start
    shop = books.generate_bookstore(n, 7, case)
    document, given = write_bookstore(shop, tmp_path)
    parameters = bookstore.Parameters(
        language="java",
        json_codec="jackson",
        xml_codec="jaxb",
        case=case,
        n=n,
        sink=sink,
        repetitions=2,
    )
    asked = parameters.model_dump(mode="json")
    answer, _ = harness.run_cell("java", "bookstore", asked, str(tmp_path), data=str(given))
    for kind, name in CODECS.items():
        theirs = (tmp_path / f"last.{kind}").read_bytes()
        # Which Java read back to an equal object, or it would have failed.
        assert theirs == document[kind]
        assert codecs.load_codec(name).decode_bookstore(theirs, case) == shop
    sizes = set()
    for repetition in answer:
        for section in repetition.sections:
            for reading in section.readings:
                if reading.metric == "size":
                    sizes.add((section.arm["format"], reading.value))
    assert sizes == {(kind, len(data)) for kind, data in document.items()}


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(
    ("json_codec", "case", "sink", "binding"),
    [
        ("jackson", 1, "file", "once"),
        ("jackson", 2, "file", "each"),
        ("moxy", 1, "memory", "each"),
        ("moxy", 2, "file", "once"),
    ],
)
def test_a_cell_in_java_delivers_the_studys_values(
    json_codec: str, case: int, sink: str, binding: str
) -> None:
    parameters = bookstore.Parameters(
        language="java",
        json_codec=json_codec,
        xml_codec="jaxb",
        case=case,
        sink=sink,
        n=3,
        repetitions=2,
        binding=binding,
    )
    rows = bookstore.run(parameters)
    for kind, codec in (("xml", "jaxb"), ("json", json_codec)):
        mine = rows[(rows["format"] == kind) & (rows["codec"] == codec)]
        for repetition in range(2):
            found = mine[mine["repetition"] == repetition]
            assert set(
                zip(found["operation"], found["role"], found["metric"], strict=True)
            ) == bookstore.expected(parameters)
    assert rows["driver_version"].str.match(rf"jaxb-runtime \d.*, {json_codec} \d").all()
    assert rows["runtime"].str.contains(r"\d+\.\d+").all()
    assert (rows["heap_limit"] > 2**20).all()


@pytest.mark.usefixtures("java")
def test_a_warm_cell_in_java_delivers_one_iteration_per_repetition(tmp_path: Path) -> None:
    shop = books.generate_bookstore(50, 7, 1)
    document, given = write_bookstore(shop, tmp_path)
    parameters = bookstore.Parameters(
        language="java",
        json_codec="jackson",
        xml_codec="jaxb",
        n=50,
        repetitions=2,
        process="warm",
        sink="memory",
    )
    asked = parameters.model_dump(mode="json") | {"iteration_ms": 20}
    answer, _ = harness.run_cell("java", "bookstore", asked, str(tmp_path), data=str(given))
    assert len(answer) == 2
    for repetition in answer:
        for kind in CODECS:
            told = {}
            for section in repetition.sections:
                if section.arm["format"] == kind:
                    for reading in section.readings:
                        told[section.operation, reading.role, reading.metric] = reading.value
            assert told.keys() == bookstore.expected(parameters)
            assert told["marshal", "client", "size"] == len(document[kind])
            assert all(
                told[operation, "client", "wall_time"] > 0
                for operation in bookstore.LOCAL_OPERATIONS
            )


@pytest.mark.usefixtures("java")
def test_text_that_xml_cannot_have_fails_the_java_cell_in_one_line(tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"books": [{"id": "1", "title": "a\x01b", "author": "c"}]}))
    parameters = bookstore.Parameters(
        language="java", json_codec="jackson", xml_codec="jaxb", n=1, repetitions=1
    )
    with pytest.raises(harness.LanguageError, match=r"java: jakarta\.xml\.bind\.\w+"):
        harness.run_cell(
            "java", "bookstore", parameters.model_dump(mode="json"), str(tmp_path), data=str(given)
        )


def java_tcp(codec: str, **more: Any) -> tcp.Parameters:
    """Return a cell of `tcp` on Java: Jackson, or Jackson and an XML codec in one process."""
    if tcp.JAVA_CODECS[codec] == "json":
        more |= {"process": "apart", "format": "json"}
    xml = "jaxb" if codec == "jackson" else codec
    return tcp.Parameters(language="java", json_codec="jackson", xml_codec=xml, **more)


def list_orders(rows: pd.DataFrame, *names: str) -> list[list[Any]]:
    """Return each repetition's sides, as the levels of some columns, in their order."""
    starts = rows.groupby(["repetition", *names])["started_at"].min().sort_values(kind="stable")
    orders: dict[int, list[Any]] = {}
    for repetition, *side in starts.index:
        orders.setdefault(repetition, []).append(side[0] if len(names) == 1 else tuple(side))
    assert sorted(orders) == [*range(len(orders))]
    return [orders[repetition] for repetition in sorted(orders)]


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("repetitions", [4, 3])
def test_each_format_begins_one_of_a_java_cells_two_processes(
    repetitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = []
    run_cell = harness.run_cell

    def note_process(language: str, study: str, asked: Any, *rest: Any, **more: Any) -> Any:
        processes.append((more["first"], asked["repetitions"]))
        return run_cell(language, study, asked, *rest, **more)

    monkeypatch.setattr(harness, "run_cell", note_process)
    parameters = bookstore.Parameters(language="java", n=3, repetitions=repetitions)
    rows = bookstore.run(parameters)
    half = repetitions // 2
    assert processes == [(0, repetitions - half), (1, half)]
    assert sorted(rows["repetition"].unique()) == [*range(repetitions)]
    assert set(rows["repetitions"]) == {repetitions}
    begun = rows[rows["turn"].eq(1)].groupby("repetition")["format"].unique().map(list)
    assert list(begun) == (repetitions - half) * [["xml"]] + half * [["json"]]
    xml_first, json_first = ["xml", "json"], ["json", "xml"]
    first = [xml_first, json_first][: repetitions - half]
    assert list_orders(rows, "format") == first + [json_first, xml_first][:half]
    starts = rows.groupby("repetition")["started_at"].min()
    assert starts.is_monotonic_increasing


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(("drawn", "begins"), [(0, "xml"), (1, "json")])
def test_chance_decides_which_format_begins_a_java_cell_of_one_repetition(
    drawn: int, begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_cell.secrets, "choice", lambda turns: turns[drawn])
    rows = bookstore.run(bookstore.Parameters(language="java", n=3, repetitions=1))
    ((first, _),) = list_orders(rows, "format")
    assert first == begins


@pytest.mark.usefixtures("java")
def test_a_java_cell_of_one_format_has_one_process() -> None:
    parameters = bookstore.Parameters(
        language="java", n=3, repetitions=3, process="apart", format="json"
    )
    assert list_orders(bookstore.run(parameters), "format") == 3 * [["json"]]


@pytest.mark.usefixtures("java")
def test_an_aa_check_in_java_alternates_in_each_process() -> None:
    parameters = bookstore.Parameters(language="java", n=3, repetitions=4, arm="b")
    orders = list_orders(bookstore.run(parameters), "format", "arm")
    xml_first = [("xml", "a"), ("json", "a"), ("xml", "b"), ("json", "b")]
    json_first = [xml_first[-1], *xml_first[:-1]]
    assert orders == [xml_first, xml_first[::-1], json_first, json_first[::-1]]


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("json_codec", ["jackson", "moxy"])
def test_java_makes_contexts_and_mappers_inside_the_first_marshalling(
    json_codec: str, first: int, tmp_path: Path
) -> None:
    """Test it with the order in which classes are loaded: `Cpu` is loaded as a clock starts."""
    _, given = write_bookstore(books.generate_bookstore(3, 7, 1), tmp_path)
    parameters = bookstore.Parameters(
        language="java", json_codec=json_codec, xml_codec="jaxb", n=3, repetitions=1
    )
    asked = parameters.model_dump(mode="json")
    request = {"study": "bookstore", "parameters": asked, "data": str(given), "first": first}
    found = harness.find_harness("java")
    assert isinstance(found, harness.Harness)
    program, *arguments = found.command
    log = tmp_path / "classes.log"
    ran = subprocess.run(
        [program, f"-Xlog:class+load:file={log}", *arguments],
        input=json.dumps(request | {"folder": str(tmp_path)}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout.splitlines()[-1])["closed"]
    loaded = re.findall(r"\] ([\w.$]+) source:", log.read_text())
    clock = loaded.index("org.benchbook.Cpu")
    libraries = ("com.fasterxml.", "org.glassfish.", "org.eclipse.", "jakarta.xml.bind.JAXBContext")
    positions = [place for place, name in enumerate(loaded) if name.startswith(libraries)]
    context = "org.glassfish.jaxb.runtime.v2.runtime.JAXBContextImpl"
    mapper = "com.fasterxml.jackson.databind.ObjectMapper"
    if json_codec == "moxy":
        mapper = "org.eclipse.persistence.jaxb.JAXBContext"
    begins, follows = (mapper, context) if first else (context, mapper)
    assert clock < min(positions)
    assert clock < loaded.index(begins) < loaded.index(follows)


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(
    ("codec", "transport", "connections"),
    [
        ("jackson", "framed", 1),
        ("jaxb", "batched", 2),
        ("dom", "acknowledged", 2),
        ("jaxb_context", "framed", 1),
        ("xmldecoder", "connection", 2),
    ],
)
def test_a_java_server_decodes_the_objects_of_a_java_client(
    codec: str, transport: str, connections: int
) -> None:
    parameters = java_tcp(codec, n=20, transport=transport, connections=connections, repetitions=1)
    rows = tcp.run(parameters)
    for _, some in rows.groupby("codec"):
        assert set(
            zip(some["operation"], some["role"], some["metric"], strict=True)
        ) == tcp.expected(parameters)
    assert set(rows["codec"]) == set(parameters.codecs())
    assert set(rows["count"]) == {20}
    assert (rows.loc[rows["metric"] == "wall_time", "value"] > 0).all()


@pytest.mark.usefixtures("java")
def test_a_java_server_of_a_sequence_reports_the_papers_smaller_trials_first() -> None:
    # Of each language, each repetition has new processes (`test_study_tcp`).
    parameters = java_tcp("jackson", n=20001, trials="sequence", repetitions=1)
    rows = tcp.run(parameters)
    assert set(zip(rows["operation"], rows["role"], rows["metric"], strict=True)) == tcp.expected(
        parameters
    )
    starts = rows.groupby("operation")["started_at"].min()
    assert starts["warm_up"] < starts["receive"]
    assert dict(rows.groupby("operation")["count"].first()) == {"receive": 20001, "warm_up": 20000}


@pytest.mark.usefixtures("java")
def test_a_java_server_with_a_processor_of_its_own_has_shares_of_that_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = os.sched_getaffinity(0)
    monkeypatch.setattr(tcp, "choose_processors", lambda: Processors(min(before), max(before)))
    server = tcp.run(java_tcp("jackson", n=20)).set_index(["role", "metric"])["value"]["server"]
    assert server["cpu_capacity"] == server["wall_time"]
    assert os.sched_getaffinity(0) == before


@pytest.mark.usefixtures("java")
def test_a_java_servers_memory_stays_within_its_heap() -> None:
    """Test it with 5,000 objects: JAXB's garbage is more than 16 MB, so a default heap grows."""

    def measure_memory(heap: str) -> float:
        parameters = java_tcp(
            "jaxb", n=5000, heap=heap, process="apart", format="xml", repetitions=1
        )
        return float(
            tcp.run(parameters).set_index(["role", "metric"])["value"]["server", "memory_rss"]
        )

    assert measure_memory("16m") < measure_memory("default") - 2**24


AWKWARD = ["", "plain", "&<>\"'", "two\nlines", "\ttab\r", "ü 語", "\U0001f600", "]]>", "\x7f"]
"""Texts that XML encoders escape, or might."""


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("codec", ["jackson", "xmldecoder"])
def test_java_prepares_the_bytes_of_its_encoder_and_the_server_decodes_them(
    codec: str, tmp_path: Path
) -> None:
    """Test it with fewer than 100 objects: the harness compares each of them in both ways."""
    data = persons.generate_people(60, 7)
    for record, text in zip(data.records, AWKWARD, strict=False):
        record |= {"name": text, "street": text, "age": 0, "height": 0.0, "children": 0}
        record["active"] = False
    given = tmp_path / "people.json"
    given.write_bytes(b"\n".join(map(codecs.load_codec("orjson").encode_record, data.records)))
    asked = java_tcp(codec, n=60, repetitions=1).model_dump(mode="json")
    answer, _ = harness.run_cell("java", "tcp", asked, str(tmp_path), data=str(given))
    assert len(answer) == 1


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(("codec", "theirs"), [("orjson", "jackson"), ("lxml", "jaxb")])
def test_java_sends_the_objects_that_python_sends(codec: str, theirs: str, tmp_path: Path) -> None:
    data = persons.generate_people(5, 7)
    encode = codecs.load_codec(codec).encode_record
    given = tmp_path / "people.json"
    given.write_bytes(b"\n".join(map(codecs.load_codec("orjson").encode_record, data.records)))
    parameters = java_tcp(theirs, n=5)
    harness.run_cell(
        "java", "tcp", parameters.model_dump(mode="json"), str(tmp_path), data=str(given)
    )
    assert (tmp_path / f"last.{tcp.JAVA_CODECS[theirs]}").read_bytes() == encode(data.records[-1])


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    ("driver", "calls", "attributes"),
    [
        ("mongoclient", "bulk", 89),
        ("mongoose", "single", 6),
        ("mongoclient+mongoose", "bulk", 89),
        ("mongoclient+mongoose", "single", 6),
    ],
)
def test_a_cell_in_node_delivers_the_studys_values(
    driver: str, calls: str, attributes: int, announce: Announce, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce("mongodb", "single")
    monkeypatch.setenv("NODE_OPTIONS", "--require /nowhere/of-the-users.js")
    settings: dict[str, Any] = {
        "calls": calls,
        "batch": 10000 if calls == "bulk" else "all",
        "attributes": attributes,
        "n": 30,
        "repetitions": 2,
    }
    arm, process = ("b", "together") if "+" in driver else ("a", "apart")
    parameters = drivers.Parameters(
        language="node", process=process, driver=driver, arm=arm, durability="relaxed", **settings
    )
    rows = drivers.run(parameters)
    rows = rows if "arm" in rows else rows.assign(arm="a")
    turns = {(turn["driver"], turn.get("arm", "a")) for turn in parameters.turns()}
    assert set(rows[["driver", "arm"]].itertuples(index=False, name=None)) == turns
    for _, part in rows.groupby(["driver", "arm"]):
        assert all(
            list_outputs(part, repetition) == drivers.expected(parameters)
            for repetition in range(2)
        )
    assert set(rows["count"]) == {30}
    assert (
        rows["driver_version"]
        .str.startswith("mongodb 7" if driver == "mongoclient" else "mongoose 9")
        .all()
    )
    if calls == "bulk":
        for _, part in rows.groupby(["driver", "arm", "repetition"]):
            check_means(part)


@pytest.mark.usefixtures("node")
def test_each_driver_in_node_begins_a_process_of_the_cell(announce: Announce) -> None:
    announce("mongodb", "single")
    few: dict[str, Any] = {"language": "node", "attributes": 6, "n": 30, "heap": "256m"}
    rows = drivers.run(drivers.Parameters(repetitions=3, **few))
    native, mapper = drivers.NODE_DRIVERS
    # The second repetition reverses the order of the first process; then comes the second one.
    assert list_orders(rows, "driver") == [[native, mapper], [mapper, native], [mapper, native]]
    assert 2**28 <= rows["heap_limit"].unique()[0] < 2**29
    rows = drivers.run(drivers.Parameters(repetitions=2, **few | {"heap": "default"}))
    assert list_orders(rows, "driver") == [[native, mapper], [mapper, native]]
    assert 3 * 2**30 <= rows["heap_limit"].unique()[0] < 3.5 * 2**30


@pytest.mark.usefixtures("node")
def test_each_arm_of_an_aa_check_in_node_begins_a_process(announce: Announce) -> None:
    announce("mongodb", "single")
    parameters = drivers.Parameters(language="node", arm="b", attributes=6, n=30, repetitions=2)
    native, mapper = drivers.NODE_DRIVERS
    arms = {arm: [(native, arm), (mapper, arm)] for arm in "ab"}
    orders = [[*arms["a"], *arms["b"]], [*arms["b"], *arms["a"]]]
    assert list_orders(drivers.run(parameters), "driver", "arm") == orders


WRONG_STORES = {
    "updates_only_once": ("updateMany", "async () => {}", "after update: record '.*' differs"),
    "deletes_nothing": ("deleteMany", "async () => {}", "after delete: record '.*' is there"),
}


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("lie", WRONG_STORES)
def test_a_wrong_answer_of_a_database_fails_the_node_cell(
    lie: str, announce: Announce, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    announce("mongodb", "single")
    method, wrong, error = WRONG_STORES[lie]
    script = tmp_path / "lie.js"
    mongodb = paths.harness("node") / "mongodb.js"
    script.write_text(
        f"const {{ DRIVERS }} = require({str(mongodb)!r})\n"
        "const open = DRIVERS.mongoclient\n"
        "DRIVERS.mongoclient = async (...given) => ("
        f"{{ ...await open(...given), {method}: {wrong} }})\n"
        f"require({str(mongodb.parent / 'harness.js')!r})\n"
    )
    found = harness.find_harness("node")
    assert isinstance(found, harness.Harness)
    command = (*found.command[:-1], str(script))
    monkeypatch.setattr(harness, "find_harness", lambda _: replace(found, command=command))
    parameters = drivers.Parameters(
        language="node", process="apart", driver="mongoclient", attributes=6, n=3, repetitions=1
    )
    with pytest.raises(harness.LanguageError, match=error):
        drivers.run(parameters)


@pytest.mark.usefixtures("node")
def test_memory_in_node_is_measured_in_a_process_of_one_operation(announce: Announce) -> None:
    announce("mongodb", "single")
    parameters = drivers.Parameters(
        language="node",
        process="operation",
        driver="+".join(drivers.NODE_DRIVERS),
        document_schema="validated",
        attributes=89,
        n=300,
        repetitions=1,
    )
    rows = drivers.run(parameters)
    for driver, part in rows.groupby("driver"):
        assert list_outputs(part, 0) == drivers.expected(parameters), driver
    grown = rows.pivot_table(index="operation", columns=["metric", "driver"], values="value") / 1e6
    assert (grown.loc["find", "heap_change"] > 2).all()
    assert (grown.loc[["update", "delete"], "memory_change"] < 1).all(axis=None)


@pytest.mark.usefixtures("node")
def test_a_record_that_the_mapper_refuses_fails_the_node_cell(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce("mongodb", "single")
    data = players.generate_players(3, 7, attributes=6)
    data.records[1]["Age"] = None
    monkeypatch.setattr(players, "generate_players", lambda *_, **__: data)
    parameters = drivers.Parameters(
        language="node", process="apart", driver="mongoose", attributes=6, n=3, repetitions=1
    )
    with pytest.raises(harness.LanguageError, match=r"node: ValidationError: .*Age"):
        drivers.run(parameters)


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    ("topology", "calls"), [("single", "single"), ("single", "bulk"), ("replicated", "single")]
)
def test_crud_in_node_delivers_the_studys_values(
    topology: Topology, calls: str, announce: Announce
) -> None:
    announce("mongodb", topology)
    parameters = crud.Parameters(
        language="node", topology=topology, calls=calls, n=30, repetitions=2, article_index=True
    )
    rows = crud.run(parameters)
    for repetition in range(2):
        assert list_outputs(rows, repetition) == crud.expected(parameters)
    assert set(rows["count"]) == {30}
    assert set(rows["topology"]) == {topology}
    assert not rows["timed_out"].any()
    assert (rows["value"] > 0).all()


@pytest.mark.usefixtures("node")
def test_a_wait_in_node_that_runs_out_is_timed_out_with_its_values(
    announce: Announce,
) -> None:
    announce("mongodb", "replicated")
    parameters = crud.Parameters(
        language="node", topology="replicated", n=10, repetitions=2, timeout_s=1e-9
    )
    rows = crud.run(parameters)
    for repetition in range(2):
        assert list_outputs(rows, repetition) == crud.expected(parameters)
    measured = rows[rows["value"].notna()].set_index("metric")
    assert measured["timed_out"].to_dict() == {
        "wall_time": False,
        "catch_up_time": True,
        "elapsed_time": True,
    }
    owed = rows[rows["value"].isna()]
    assert owed["timed_out"].all()
    assert owed["source"].str.contains("has not caught up within 2 times").all()


@pytest.mark.usefixtures("node")
def test_a_record_that_mongodb_refuses_fails_the_node_cell(
    announce: Announce, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce("mongodb", "single")
    data = blog.generate_comments(3, 7)
    data.records[2]["_id"] = data.records[0]["_id"]
    monkeypatch.setattr(blog, "generate_comments", lambda *_, **__: data)
    with pytest.raises(
        harness.LanguageError, match=r"node: MongoServerError: E11000 duplicate key"
    ):
        crud.run(crud.Parameters(language="node", n=3, repetitions=1))


def test_crud_in_node_only_has_mongodb() -> None:
    with pytest.raises(ValueError, match="language: node takes database: mongodb"):
        crud.Parameters(language="node", database="postgresql+jsonb")


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": "java", "json_codec": "orjson"},
        {"json_codec": "jackson"},
        {"language": "java", "json_codec": "jackson", "xml_codec": "lxml"},
        {"binding": "each"},
        {"process": "warm", "sink": "memory"},
    ],
)
def test_a_language_and_its_codecs_belong_together(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="language: java"):
        bookstore.Parameters.model_validate(wrong)


def test_a_missing_language_is_left_out_or_skipped_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    harness.find_harness.cache_clear()
    try:
        (one,) = grid.make_plan(["bookstore"], "smoke").skipped
        assert one.what == "language java" and "make setup" in one.why
        cells = [
            cell
            for cell in grid.make_plan(["bookstore"], "paper").cells
            if '"java"' in cell.combination[1]
        ]
        assert cells and all("make setup" in (cell.missing or "") for cell in cells)
    finally:
        harness.find_harness.cache_clear()
