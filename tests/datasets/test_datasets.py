"""Generated data: its shape, its size, its stability; and a person's own records."""

import contextlib
import json
import os
import re
import subprocess
import sys
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from statistics import mean

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbook.datasets import blog, books, persons, phones, players
from benchbook.files.inputs import InputError
from benchbook.own_data import own_records
from benchbook.schema import Parent

SEED = 20150501
MAKE = {
    "smartphones": lambda n, seed: phones.generate_smartphones(n, seed),
    "wide-89": lambda n, seed: players.generate_players(n, seed),
    "wide-6": lambda n, seed: players.generate_players(n, seed, attributes=6),
    "comments-10": lambda n, seed: blog.generate_comments(n, seed),
    "comments-100": lambda n, seed: blog.generate_comments(n, seed, per_article=100),
    "comments-all": lambda n, seed: blog.generate_comments(n, seed, per_article="all"),
    "people-2": lambda n, seed: persons.generate_people(n, seed, fields=2),
    "people-12": lambda n, seed: persons.generate_people(n, seed, fields=12),
    "people-50": lambda n, seed: persons.generate_people(n, seed, fields=50),
}
GOLDEN = {
    "smartphones": "7d3168675bf35f76357ebbacc76be88ca649a2ecbe446bb6ae3ef4d95f04e3c3",
    "wide-89": "697df0ffd62fd587efe76037345a81fde1cabe7f24bd70e4318097afd8671204",
    "wide-6": "55592eaa133da59132b3c97ab6cb06e9399a0f3ce4eadd9c7ad19f271de65d82",
    "comments-10": "798f4048bed7222185c76fa0b002fe0722ca33120ecdc0b279c7e198b907d213",
    "comments-100": "5e692cbee4036d97b0237ae73cdf91c24d7fc7db309015f93e461ae5d1c04233",
    "comments-all": "21b70919072910e2aae5ac88a620e93a0ae00846b7d2b3802de828792f863223",
    "people-2": "dfca3a8bf3062adf5796c6a3d40e05690306f5794868b8bd278ec0044f62bc60",
    "people-12": "ca2092eeb9abeac751c7c41a0769fcf5fa4cbe489b1f5e2130f1cc6bd59a8eb3",
    "people-50": "921c4530f5d4ef0c8f3586ab299fccfe9dcda542325ed781cf39ea906fe405c2",
}
PYTHON_TYPES = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "date": date,
    "datetime": datetime,
}
INCOMPRESSIBLE = {
    "smartphones": 0.12,
    "wide-89": 0.12,
    "people-12": 0.2,
    "people-50": 0.2,
    "comments-10": 0.33,
}
every_set = pytest.mark.parametrize("name", MAKE)


def as_json(record):
    return json.dumps(
        record, ensure_ascii=False, separators=(",", ":"), default=lambda day: day.isoformat()
    ).encode()


@every_set
def test_a_set_never_changes(name):
    assert MAKE[name](500, SEED).sha256 == GOLDEN[name]


def test_the_set_does_not_depend_on_the_hash_seed():
    show = f"print(players.generate_players(50, {SEED}).sha256)"
    code = f"from benchbook.datasets import players; {show}"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert made.stdout.strip() == players.generate_players(50, SEED).sha256


@every_set
@settings(deadline=None, max_examples=15)
@given(n=st.integers(0, 60), seed=st.integers(0, 2**64))
def test_records_follow_their_schema_and_differ(name, n, seed):
    made = MAKE[name](n, seed)
    assert made.name == name and len(made.records) == n
    for record in made.records:
        assert list(record) == [field.name for field in made.schema.fields]
        assert all(
            type(record[field.name]) is PYTHON_TYPES[field.type] for field in made.schema.fields
        )
    assert len({record["_id"] for record in made.records}) == n
    assert all(len(record["_id"]) == 24 and int(record["_id"], 16) >= 0 for record in made.records)


@pytest.mark.parametrize("name", [name for name in MAKE if name != "comments-all"])
@settings(deadline=None, max_examples=10)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**64))
def test_the_first_records_do_not_depend_on_how_many_follow(name, n, seed):
    assert MAKE[name](n, seed).records == MAKE[name](200, seed).records[:n]


@every_set
def test_another_seed_gives_other_records(name):
    first, second = MAKE[name](100, 1), MAKE[name](100, 2)
    assert first.sha256 != second.sha256
    assert not {r["_id"] for r in first.records} & {r["_id"] for r in second.records}


@pytest.mark.parametrize(("name", "bound"), INCOMPRESSIBLE.items())
def test_text_is_not_trivially_compressible(name, bound):
    text = b"\n".join(as_json(record) for record in MAKE[name](2000, SEED).records)
    assert len(zlib.compress(text, 9)) / len(text) > bound


@pytest.mark.parametrize(("attributes", "kilobytes"), [(89, 1.37), (6, 0.13)])
def test_wide_records_have_the_papers_size(attributes, kilobytes):
    size = mean(
        len(as_json(record))
        for record in players.generate_players(18_000, SEED, attributes).records
    )
    assert size == pytest.approx(1000 * kilobytes, rel=0.02)
    assert size == pytest.approx(1024 * kilobytes, rel=0.02)


def test_wide_records_have_89_mostly_textual_attributes_and_six_of_the_same():
    everything, reduced = (
        players.generate_players(300, SEED),
        players.generate_players(300, SEED, attributes=6),
    )
    assert len(everything.schema.fields) == 89 + 1 and len(reduced.schema.fields) == 6 + 1
    textual = [field for field in everything.schema.fields if field.type == "string"]
    assert len(textual) > 89 / 2
    for full, few in zip(everything.records, reduced.records, strict=True):
        assert few.items() <= full.items()


def test_wide_records_repeat_beyond_18000_with_new_ids():
    records = players.generate_players(18_010, SEED, attributes=6).records
    assert len({record["_id"] for record in records}) == 18_010
    for first, again in zip(records[:10], records[18_000:], strict=True):
        assert {**first, "_id": None} == {**again, "_id": None}


def test_comments_are_1_kb_documents_of_existing_articles():
    made = blog.generate_comments(1000, SEED, per_article=10)
    assert mean(len(as_json(record)) for record in made.records) == pytest.approx(1012, rel=0.02)
    (articles,) = made.parents
    assert made.schema.parent == Parent(articles.schema, "article_id")
    assert len(articles.records) == 100
    assert [made.records[i]["article_id"] for i in range(1000)] == [
        articles.records[i // 10]["_id"] for i in range(1000)
    ]
    assert all(record["created_at"].tzinfo is UTC for record in made.records)
    assert all(record["created_at"].microsecond % 1000 == 0 for record in made.records)


def test_all_comments_can_share_one_article():
    made = blog.generate_comments(70, SEED, per_article="all")
    assert (
        len({record["article_id"] for record in made.records}) == len(made.parents[0].records) == 1
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: players.generate_players(1, 1, attributes=7),
        lambda: persons.generate_people(1, 1, fields=3),
        lambda: blog.generate_comments(1, 1, per_article=0),
        lambda: books.generate_bookstore(1, 1, 4),
        lambda: phones.generate_smartphones(-1, 1),
        lambda: phones.generate_smartphones(1, -1),
    ],
)
def test_unknown_variants_are_refused(wrong):
    with pytest.raises(ValueError, match="not"):
        wrong()


@pytest.mark.parametrize("case", [1, 2])
def test_each_call_builds_a_new_equal_bookstore(case):
    build = books.make_bookstore_builder(20, SEED, case)
    first, second = build(), build()
    assert first == second == books.generate_bookstore(20, SEED, case)
    assert first is not second and first.books[0] is not second.books[0]
    assert [book.id for book in first.books] == [str(number) for number in range(1, 21)]
    assert len({book.title for book in first.books}) == 20


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_columns_get_their_narrowest_type(tmp_path):
    text = (
        "_id,count,share,flag,day,at,code,note\n"
        "1,5,0.5,true,2024-02-29,2024-02-29T12:00:00.5+01:00,007,\n"
        "2,-6,1,false,2024-03-01,2024-03-01T00:00:00Z,8,Évora\n"
    )
    made = own_records.read_dataset(write(tmp_path, "mine.csv", text))
    kinds = {field.name: field.type for field in made.schema.fields}
    assert kinds == {
        "_id": "string",
        "count": "integer",
        "share": "float",
        "flag": "boolean",
        "day": "date",
        "at": "datetime",
        "code": "string",
        "note": "string",
    }
    assert made.records[0] == {
        "_id": "1",
        "count": 5,
        "share": 0.5,
        "flag": True,
        "day": date(2024, 2, 29),
        "at": datetime(2024, 2, 29, 11, 0, 0, 500_000, UTC),
        "code": "007",
    }
    assert made.records[1]["note"] == "Évora" and made.schema.fields[-1].optional


def test_json_lines_repeat_with_new_ids(tmp_path):
    path = write(tmp_path, "mine.jsonl", '{"a": 1, "b": true}\n\n{"a": 2.5, "b": false}\n')
    made = own_records.read_dataset(path, 5)
    assert [record["a"] for record in made.records] == [1.0, 2.5, 1.0, 2.5, 1.0]
    assert len({record["_id"] for record in made.records}) == 5
    assert (
        own_records.read_dataset(path).sha256
        == own_records.read_dataset(path).sha256
        != made.sha256
    )


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": }\n', r"a\.jsonl:2: not JSON: Expecting value, at column 7"),
        ("a.jsonl", '{"a": 1}\n{"a": ', r"a\.jsonl:2: ends in the middle of a record"),
        ("a.json", '[{"a": 1},\n{"a": 2}', r"a\.json:2: ends in the middle of a record"),
        ("a.json", '[{"a": 1}\n{"a": 2}]', r"a\.json:2: a comma or \] is expected"),
        ("a.json", '[{"a": 1}] {"a": 2}', r"a\.json: after the records is"),
        ("a.jsonl", '{"a": 1}\n5\n', r"a\.jsonl:2: a JSON object is expected, not a number"),
        ("a.json", "[1]\n", r"a\.json:1: a JSON object is expected, not a number"),
        ("a.jsonl", '{"a": NaN}\n', r"a\.jsonl:1: .*JSON does not have the number NaN: write null"),
        ("a.jsonl", '{"a": 1e999}\n', r"a\.jsonl:1: .*beyond what a double holds"),
        (
            "a.jsonl",
            '{"a": 1}\n{"a": {"$numberDouble": "NaN"}}\n',
            r"a\.jsonl:2: .* is not a value that MongoDB and JSON have: write null",
        ),
        (
            "a.jsonl",
            '{"a": {"$numberDouble": "-Infinity"}}\n',
            r"a\.jsonl:1: .* is not a value that MongoDB and JSON have: write null",
        ),
        (
            "a.jsonl",
            '{"a": {"$numberDecimal": "1E+6000"}}\n',
            r"a\.jsonl:1: .* is not a value that MongoDB and JSON have: write null",
        ),
        (
            "a.jsonl",
            '{"a": {"$numberLong": null}}\n',
            r"a\.jsonl:1: .* is not a value that MongoDB and JSON have: write null",
        ),
        (
            "a.jsonl",
            '{"a": 1}\n{"a": {"$date": null}}\n',
            r"a\.jsonl:2: .* is not a value that MongoDB and JSON have: write null",
        ),
        (
            "a.jsonl",
            '{"a": {"$date": {"$numberLong": "253402300800000"}}}\n',
            r"a\.jsonl:1: .* is not a value that MongoDB and JSON have: write null",
        ),
        (
            "a.jsonl",
            f'{{"a": {{"$date": {-(2**63)}}}}}\n',
            r"a\.jsonl:1: .* is not a value that MongoDB and JSON have: write null",
        ),
        ("a.jsonl", '{"_id": 1}\n{"_id": "1"}\n', r"a\.jsonl:2: _id '1' comes twice"),
        ("a.jsonl", '{"_id": 1}\n{"a": "1"}\n', r"a\.jsonl:2: a record has no _id"),
        ("a.jsonl", '{"a": 1}\n{"_id": "1"}\n', r"a\.jsonl:2: a record has an _id, others do not"),
        ("a.jsonl", "", r"a\.jsonl: holds no record"),
        ("a.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n', r"a\.jsonl:2: .*the name 'a' comes twice"),
        ("a.jsonl", '{"a": "\\ud800"}\n', r"a\.jsonl:1: a text holds .*, half of a surrogate pair"),
        ("a.jsonl", '{"a": [{"": 1}]}\n', r"a\.jsonl:1: a field has no name"),
        ("a.jsonl", "[" * 100_000, r"a\.jsonl:1: is nested too deep"),
        ("a.jsonl", '{"a":' * 101 + "1" + "}" * 101, r"a\.jsonl:1: is nested more than 100 deep"),
        ("a.jsonl", f'{{"a": {"1" * 5000}}}', r"a\.jsonl:1: Exceeds the limit"),
        ("a.csv", 'a,b\n"1,2\n', r"a\.csv:2: not CSV: a quote that opens in this row"),
        ("a.parquet", "PAR1 and no more", r"a\.parquet: not Parquet that can be read"),
        (
            "a.csv#delimiter=dot",
            "a\n",
            r"'delimiter=dot' is not a file option: delimiter=comma",
        ),
    ],
)
def test_errors_have_the_file_and_the_line(tmp_path, name, text, where):
    write(tmp_path, name.partition("#")[0], text)
    with pytest.raises(InputError, match=where):
        own_records.read_dataset(tmp_path / name)


def test_documents_and_arrays_are_kept_and_null_is_absent(tmp_path):
    lines = [
        {
            "_id": "1",
            "o": {"a": 1, "b": None},
            "l": [{"x": 1}, {"x": 2, "y": "z"}],
            "m": 5,
            "e": [],
            "n": [[1], []],
        },
        {"_id": "2", "o": {"a": 2.5}, "l": None, "m": "n/a", "big": 2**63, "i": 2**63 - 1},
    ]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    made = own_records.read_dataset(path)
    assert [[*field.as_json] for field in made.schema.fields] == [
        ["_id", "string", False, []],
        ["o", "document", False, [["a", "float", False, []]]],
        [
            "l",
            "array",
            True,
            [["item", "document", False, [["x", "integer", False, []], ["y", "string", True, []]]]],
        ],
        ["m", "json", False, []],
        ["e", "array", True, [["item", "json", False, []]]],
        ["n", "array", True, [["item", "array", False, [["item", "integer", False, []]]]]],
        ["big", "string", True, []],
        ["i", "integer", True, []],
    ]
    assert made.records == [
        {"_id": "1", "o": {"a": 1}, "l": lines[0]["l"], "m": 5, "e": [], "n": [[1], []]},
        {"_id": "2", "o": {"a": 2.5}, "m": "n/a", "big": str(2**63), "i": 2**63 - 1},
    ]
    known = own_records.describe_file(path)
    assert (known.format, known.records) == ("JSON Lines", 2)
    assert {(field.path, field.of, field.absent, field.null) for field in known.fields} >= {
        ("l", 2, 0, 1), ("l[].y", 2, 1, 0), ("big", 2, 1, 0), ("o.a", 2, 0, 0)
    }  # fmt: skip
    assert [note for note in known.notes if note.startswith(("o.b", "m", "big"))] == [
        "o.b is null or empty wherever it is, and left out.",
        "m differs in kind from place to place: it is kept as JSON has it.",
        "big holds integers beyond 2^63, which few stores hold: they are kept as text.",
    ]


@pytest.mark.parametrize(
    ("name", "text", "value", "said"),
    [
        ("a.csv", "a;b\n7216,49;1\n", 7216.49, "UTF-8, delimiter semicolon, decimal comma"),
        ("a.csv", "\ufeffa;b\r\n1.234,5;\r\n0;2\r\n", 1234.5,
         "UTF-8 with a byte order mark, delimiter semicolon, decimal comma"),
        ("a.csv", "a;b\n1.5;1\n", 1.5, "UTF-8, delimiter semicolon, decimal point"),
        ("a.csv", 'a,b\n"1,5",1\n', "1,5", "UTF-8, delimiter comma, decimal point"),
        ("a.csv#decimal=comma", 'a,b\n"1,5",1\n', 1.5, "UTF-8, delimiter comma, decimal comma"),
        ("a.csv#delimiter=comma+decimal=point", "a;b\n1,5;1\n", "1", None),
        ("a.csv", 'sep=|\na|b\n"one\r\ntwo"|1\n', "one\r\ntwo",
         "UTF-8, delimiter pipe, decimal point"),
        ("a.tsv", "a\tb\n1, 2; 3\t\n", "1, 2; 3", "UTF-8, delimiter tab, decimal point"),
        ("a.txt", "a\tb\n5\t\n\n\t\n6\t\n", 5, "UTF-8, delimiter tab, decimal point"),
        ("a.json", '[\n {"a":\n 5}\n, {"a": 6}]\n', 5, "UTF-8"),
        ("a.json", '{\n"a": 5\n}\n{"a": 6}', 5, "UTF-8"),
        ("a.jsonl", '\ufeff{"a": {"$date": {"$numberLong": "5"}}}',
         datetime(1970, 1, 1, 0, 0, 0, 5000, UTC),
         "UTF-8 with a byte order mark"),
    ],
)  # fmt: skip
def test_delimiter_and_decimal_mark_are_guessed_shown_and_can_be_given(
    tmp_path, name, text, value, said
):
    write(tmp_path, name.partition("#")[0], "").write_bytes(text.encode())
    if said is None:
        with pytest.raises(InputError, match="2 values under 1 name:"):
            own_records.read_dataset(tmp_path / name)
        return
    assert own_records.read_dataset(tmp_path / name).records[0]["a"] == value
    known = own_records.describe_file(tmp_path / name)
    assert known.marks == said


def test_parquet_keeps_its_types_and_notes_changes(tmp_path):
    rows = [
        {"i": 2**40, "day": date(2024, 1, 2),
         "at": datetime(2024, 1, 2, 3, tzinfo=UTC), "naive": datetime(2024, 1, 2),
         "price": Decimal("7216.49"), "lines": [{"sku": "a", "on": date(2024, 1, 2)}]},
        {"i": None, "lines": []},
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    made = own_records.read_dataset(tmp_path / "a.parquet")
    assert {field.name: field.type for field in made.schema.fields if field.optional} == {
        "i": "integer", "day": "date", "at": "datetime", "naive": "string", "price": "float"
    }  # fmt: skip
    assert {name: value for name, value in made.records[0].items() if name != "_id"} == {
        **rows[0], "naive": "2024-01-02T00:00:00", "price": 7216.49,
        "lines": [{"sku": "a", "on": "2024-01-02"}],
    }  # fmt: skip
    notes = own_records.describe_file(tmp_path / "a.parquet").notes
    assert [note.partition(":")[0] for note in notes] == [
        "price",
        "lines.on",
        "naive looks like moments without a zone ('2024-01-02T00",
    ]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_parquets_moments_in_nanoseconds_are_cut_with_a_note(tmp_path, zone):
    at = pa.array(
        [1_704_153_600_000_000_000, 1_704_153_600_000_000_001, None], pa.timestamp("ns", zone)
    )
    whole = at.cast(pa.timestamp("s", zone), safe=False).cast(at.type)
    for name, column in (("cut", at), ("whole", whole)):
        pq.write_table(pa.table({"at": column}), tmp_path / f"{name}.parquet")
        made = own_records.read_dataset(tmp_path / f"{name}.parquet")
        assert [record.get("at") for record in made.records] == [
            datetime(2024, 1, 2, tzinfo=UTC)
        ] * 2 + [None]
    assert own_records.describe_file(tmp_path / "whole.parquet").notes == ()
    assert own_records.describe_file(tmp_path / "cut.parquet").notes == (
        "at: moments are kept in milliseconds; what is finer is cut off.",
    )


def test_a_parquet_file_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "broken.parquet"
    pq.write_table(pa.table({"a": ["some text"] * 1000}), path, compression="none")
    whole = path.read_bytes()
    for at in range(4, len(whole) - 8, 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        # Any other exception is a traceback; some bytes do not matter.
        with contextlib.suppress(InputError):
            own_records.read_dataset(path)
    path.write_bytes(whole[:40] + b"PAR1" * 30)
    with pytest.raises(InputError, match=r"broken\.parquet: not Parquet that can be read: "):
        own_records.read_dataset(path)


LONG = "x" * 2**20


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), [LONG]),
        pa.ListArray.from_arrays(
            [0, 60_000], pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), [LONG])
        ),
        pa.StructArray.from_arrays(
            [pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), [LONG])], ["a"]
        ),
        pa.MapArray.from_arrays(
            [*range(60_001)],
            pa.array(["k"] * 60_000),
            pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), [LONG]),
        ),
    ],
    ids=["texts", "texts in an array", "texts in documents", "texts in maps"],
)
def test_a_small_parquet_file_of_one_long_text_is_not_unpacked(tmp_path, column):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": column}), path, compression="zstd")
    assert path.stat().st_size < 2**20
    run_bounded(
        f"""
from benchbook.own_data import own_records
try:
    own_records.read_dataset({str(path)!r})
except ValueError as error:
    print(error)
""",
        f"{path}: its values take more than 268,435,456 bytes:"
        " take some of its rows, or leave long texts out",
    )


def test_a_file_that_needs_too_much_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    for error in (MemoryError(), pa.ArrowMemoryError("malloc of size 60000000000 failed")):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr("benchbook.own_data.parquet_files.check_size", fail)
        with pytest.raises(
            InputError,
            match=f"a.parquet: not Parquet that can be read: {error or 'memory ran out'}",
        ):
            own_records.read_dataset(path)


def run_bounded(code, said):
    """Run code in a process that may take 3 GB of addresses, and compare what it prints."""
    limits = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))\n"
    ran = subprocess.run(
        [sys.executable, "-c", limits + code], capture_output=True, text=True, check=False
    )
    assert (ran.stderr, ran.stdout) == ("", f"{said}\n")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent.csv", "there is no such file"),
        ("fifo.csv", "is not a regular file"),
        ("folder.csv", "is a folder: give one of its files"),
        ("loop.csv", "cannot be read"),
        ("sparse.csv", "holds only zero bytes, as after a copy that failed: copy it again"),
        ("utf-16.csv", "utf-16.csv:1: is not UTF-16, as its first bytes say"),
        ("nul\0.csv", "cannot be read"),
    ],
)
def test_folders_and_fifos_are_refused_without_waiting(tmp_path, name, says):
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with (tmp_path / "sparse.csv").open("wb") as file:
        file.truncate(20 * 2**30)
    (tmp_path / "utf-16.csv").write_bytes("a,b\n1,2\n".encode("utf-16")[:-1])
    for read in (own_records.read_dataset, own_records.digest_file, own_records.describe_file):
        with pytest.raises(InputError, match=re.escape(says)):
            read(tmp_path / name)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"t": st.text(st.characters(codec="utf-8")), "i": st.integers(-(2**63), 2**63 - 1)}
        ),
        min_size=1,
    )
)
def test_json_lines_keep_their_values(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("own") / "mine.jsonl"
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    made = own_records.read_dataset(path)
    assert [record["i"] for record in made.records] == [record["i"] for record in records]
    if {field.name: field.type for field in made.schema.fields}["t"] == "string":
        assert [record["t"] for record in made.records] == [record["t"] for record in records]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("a.jsonl", '{"a": "5"}\n', "5"),
        ("a.jsonl", '{"a": "true"}\n', "true"),
        ("a.csv", "a\n5\n", 5),
        ("a.csv", "a\n123456789012345678901\n", "123456789012345678901"),
        ("a.csv", "a\n1e400\n", "1e400"),
        ("a.csv", 'a\n5\n""\n', 5),
    ],
)
def test_values_are_never_changed_by_their_type(tmp_path, name, text, value):
    assert own_records.read_dataset(write(tmp_path, name, text)).records[0]["a"] == value
