"""Any grid, option, file of records or query works, or one line says why not."""

import os
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbook import cli
from benchbook.grid.cells import find_server
from benchbook.results.folder import open_results
from benchbook.servers import launcher
from benchbook.servers.programs import MissingServer

CASES = int(os.environ.get("BENCHBOOK_CASES", "12"))
"""How many of each kind: few in the suite, many when asked by hand."""

few = settings(
    max_examples=CASES, deadline=None, derandomize="BENCHBOOK_CASES" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip

GRID = """study: tcp
parameters: {seed: 1}
grid:
  - {n: [10], format: [json]}
profiles:
  quick: {blocks: 1}
"""
SCRAPS = [
    *(
        "[",
        "]",
        "{",
        "}",
        "&a",
        "*a",
        "!!int",
        "n",
        "seed",
        "blocks",
        "format",
        "dataset_file",
        "exclude",
        "when",
    ),
    *(
        "set",
        "why",
        "database",
        "arm",
        "1e999",
        ".nan",
        "-1",
        "true",
        "null",
        "0x1",
        "1_0",
        "1.5",
        "own.csv",
    ),
    *(
        "/dev",
        "é",
        ": ",
        "- ",
        "\n",
        "  ",
        "? ",
        "| ",
        '"',
        "'",
        "#",
        "\0",
        "\ufeff",
        "\x85",
        "\ud800",
    ),
    *("aa: [{n: 10}]", "9" * 50, "9" * 5000),
]
texts = st.lists(st.sampled_from(SCRAPS) | st.text(max_size=5), max_size=12).map("".join)
options = st.tuples(st.sampled_from(["--set", "--where"]), st.sampled_from(SCRAPS), texts).map(
    lambda parts: [parts[0], f"{parts[1]}={parts[2]}"]
)
SQL = [
    *(
        "SELECT",
        "FROM",
        "observations",
        "(",
        ")",
        ",",
        "*",
        "1",
        "'x'",
        "NULL",
        "AS",
        "a",
        "::INTERVAL",
    ),
    *(
        "::HUGEINT",
        "::BLOB",
        "::DOUBLE",
        "'nan'",
        "range(3)",
        "[1]",
        "DESCRIBE",
        "PRAGMA",
        "COPY",
        "ATTACH",
        ";",
    ),
    *(
        "--",
        "/*",
        "?",
        "$a",
        "UNION",
        "ALL",
        "{'a': 1}",
        "MAP {1: 2}",
        "VALUES (1)",
        "DROP VIEW observations",
    ),
    *("WITH RECURSIVE t AS ", "\0", "\ud800", '"'),
]
queries = st.lists(st.sampled_from(SQL) | st.text(max_size=3), max_size=10).map(" ".join)
PIECES = [
    *(
        b'{"a":1}',
        b'{"a":"x"}',
        b'{"a":1,"a":2}',
        b'"\\ud800"',
        b"{",
        b"}",
        b",",
        b"a,b",
        b"1",
        b"NaN",
        b"[",
    ),
    *(b"\n", b"\r", b"\xff", b"\0", b"\xef\xbb\xbf", b'"'),
]
records = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=12).map(b"".join)


@pytest.fixture(autouse=True)
def alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find no servers, in a folder of this test."""
    monkeypatch.setattr(
        launcher,
        "find_server",
        lambda product, topology="single": MissingServer(product, "not looked for"),
    )
    find_server.cache_clear()
    monkeypatch.chdir(home)


def works_or_says_why(capfd: pytest.CaptureFixture[str], *arguments: str) -> None:
    """Run the command; an exception, or more than one line, fails."""
    capfd.readouterr()
    status = cli.main(arguments)
    told = capfd.readouterr().err
    assert status in (0, 2) and (
        told == "" if status == 0 else told.count("\n") == 1 or "usage:" in told
    ), told


@few
@given(st.data())
def test_any_text_as_a_grid_is_read_or_refused(
    home: Path, capfd: pytest.CaptureFixture[str], data: st.DataObject
):
    at = data.draw(st.integers(0, len(GRID)))
    text = (
        GRID[:at] + data.draw(texts) + GRID[data.draw(st.integers(at, min(at + 10, len(GRID)))) :]
    )
    (home / "papermill_params" / "tcp.yaml").write_bytes(text.encode(errors="surrogatepass"))
    works_or_says_why(capfd, "plan", "tcp")


@few
@given(st.lists(options, min_size=1, max_size=3))
def test_any_option_is_read_or_refused(
    capfd: pytest.CaptureFixture[str], given_options: list[list[str]]
):
    words = chain.from_iterable(given_options)
    works_or_says_why(capfd, "plan", "tcp", "--profile", "smoke", *words)


@few
@given(records, st.sampled_from([".csv", ".jsonl"]))
def test_any_file_of_records_is_read_or_refused(
    home: Path, capfd: pytest.CaptureFixture[str], data: bytes, suffix: str
):
    path = home / f"own{suffix}"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    works_or_says_why(
        capfd,
        "plan",
        "tcp",
        "--profile",
        "smoke",
        "--where",
        "language=python",
        "--set",
        f"dataset_file={path}",
    )


@few
@given(queries, st.sampled_from(["text", "csv", "json", "parquet"]))
def test_any_query_is_answered_or_refused(capfd: pytest.CaptureFixture[str], sql: str, form: str):
    assert open_results().list_states("tcp") == {}
    works_or_says_why(capfd, "results", "--sql", sql, "--format", form)
