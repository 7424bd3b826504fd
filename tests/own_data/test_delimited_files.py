"""Delimited text as other systems write it, against pandas and against Python's csv."""

import io
import math
import random
import tempfile
from collections import namedtuple
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchbook.files.inputs import InputError
from benchbook.own_data import own_records
from tests.checkout import ROOT
from tests.user_files import make_odd_tables, write_rows

Loaded = namedtuple("Loaded", "records lines")

SETTINGS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(content, options=None, count=None):
    """Return the description and the records of a table, without their generated keys."""
    data = content.encode() if isinstance(content, str) else content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(data)
        words = "+".join(f"{name}={word}" for name, word in (options or {}).items())
        own = own_records.read_file(f"{path}#{words}" if words else path, count)
    records = own.records
    if not own.description.has_keys:
        records = [{k: v for k, v in record.items() if k != "_id"} for record in records]
    notes = tuple(note for note in own.description.notes if note != own_records.ONE_RECORD_NOTE)
    return replace(own.description, notes=notes), Loaded(records, own.lines)


def read_types(content, **options):
    return {field.name: field.type for field in read(content, options=options)[0].schema}


def expect_equal(records, frame):
    """Check that records have the values of a pandas frame, which reads texts as they are."""
    assert len(records) == len(frame)
    for record, row in zip(records, frame.itertuples(index=False), strict=True):
        for name, value in zip(frame.columns, row, strict=True):
            found = record.get(name)
            is_absent = value is None or value == "" or (value != value)
            if isinstance(found, date):
                found = found.isoformat()
            assert (found is None) if is_absent else found == value, (name, found, value)


@pytest.mark.parametrize("kind", make_odd_tables())
def test_an_odd_table_has_the_values_that_pandas_reads_from_it(kind):
    table = make_odd_tables()[kind]
    description, loaded = read(table.content)
    frame = pd.read_csv(io.BytesIO(table.content), float_precision="round_trip", **table.options)
    # In a column of texts, a text stays as it is.
    texts = pd.read_csv(
        io.BytesIO(table.content),
        dtype=str,
        keep_default_na=False,
        index_col=False,
        **table.options,
    )
    frame["text"] = texts["text"].array
    frame.columns = [name.replace(".1", "_2") for name in frame.columns]
    expect_equal(loaded.records, frame)
    expect_equal(read(table.content, count=7)[1].records, frame.head(7))
    assert description.records == table.rows == len(loaded.lines)
    assert table.notes in " ".join(description.notes)
    types = {field.name: field.type for field in description.schema}
    day = "number_2" if kind == "same-names" else "day"
    assert [types[name] for name in ("number", "share", "text", "flag", day)] == [
        *("integer", "float", "string", "boolean", "date")
    ]


@pytest.mark.parametrize("kind", make_odd_tables())
def test_a_line_of_a_record_is_where_it_ends_in_the_file(kind):
    table = make_odd_tables()[kind]
    encoding = table.options.get("encoding", "utf-8-sig")
    lines = io.StringIO(table.content.decode(encoding), newline=None).read().split("\n")
    for record, line in zip(*_records_and_lines(table.content), strict=True):
        assert record["text"][-3:].strip('"') in lines[line - 1]


def _records_and_lines(content):
    loaded = read(content)[1]
    return loaded.records, loaded.lines


OWN_TABLES = [
    *sorted((ROOT / "figures" / "reference").glob("*.csv")),
    *sorted((ROOT / "data" / "published").glob("*.csv")),
    ROOT / "data" / "dictionary.csv",
]
"""A figure without a point has a table of a header alone."""


@pytest.mark.parametrize(
    "path",
    [path for path in OWN_TABLES if path.read_bytes().count(b"\n") > 1],
    ids=lambda path: path.name,
)
def test_numbers_of_the_suites_own_tables_equal_those_of_pandas(path):
    own = own_records.read_file(path)
    description, records = own.description, own.records
    frame = pd.read_csv(path, float_precision="round_trip")
    assert len(records) == len(frame.dropna(how="all"))
    numbers = [field.name for field in description.schema if field.type in ("integer", "float")]
    finite = frame.select_dtypes("number").dropna(axis=1, how="all")
    finite = finite.loc[:, ~np.isinf(finite).any()]  # JSON does not have an infinite number
    assert {*finite} <= {*numbers}
    for name in numbers:
        found = [record.get(name, math.nan) for record in records]
        pd.testing.assert_series_equal(
            pd.Series(found, name=name, dtype=float), frame[name].astype(float), check_exact=True
        )


_NUMBER_TEXTS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?(0|[1-9][0-9]{0,25})\.[0-9]{0,25}", fullmatch=True),
    st.from_regex(r"[+-]?\.[0-9]{1,25}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"-?[1-9]\.[0-9]{15,20}[eE]-?(30[0-7]|2[0-9]{2})", fullmatch=True),
)


@SETTINGS
@given(st.lists(_NUMBER_TEXTS, min_size=1, max_size=200))
def test_each_number_is_the_nearest_double(texts):
    description, loaded = read("n,k\n0.5,x\n" + "".join(f"{text},x\n" for text in texts))
    assert description.schema[0].type == "float"
    found = [record["n"] for record in loaded.records]
    assert [*map(repr, found)] == [*map(repr, map(float, ["0.5", *texts]))]


_ODD_CHARACTERS = st.sampled_from("ab1 \",;\n\r\t'#\\é😀")
_CELLS = st.text(
    st.one_of(_ODD_CHARACTERS, st.characters(codec="utf-8", min_codepoint=32)),
    max_size=12,
).filter(lambda text: text != r"\N" and not text.startswith("#"))  # fmt: skip


@SETTINGS
@given(
    st.lists(st.lists(_CELLS, min_size=3, max_size=3), min_size=1, max_size=60),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_each_text_is_read_as_pythons_csv_reads_it(rows, delimiter, end):
    # In a dump with literal quotes, such a cell would be several rows.
    for cell in chain.from_iterable(rows):
        assume(delimiter != "\t" or not {"\t", "\n"} <= {*cell})
    cells = [["id", "one", "two", "three"]]
    cells += [[f"r{number}", *row] for number, row in enumerate(rows)]
    text = write_rows(cells, delimiter, end, quote=True)
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
    description, loaded = read(text, options={"delimiter": names[delimiter]})
    assert [record["id"] for record in loaded.records] == [row[0] for row in cells[1:]]
    types = {field.name: field.type for field in description.schema}
    blank = {
        name for name in types if all(row[1 + _place(name)][:1] in ("", " ") for row in cells[1:])
    }
    for record, row in zip(loaded.records, cells[1:], strict=True):
        for name in {"one", "two", "three"} & types.keys() - blank:
            if types[name] == "string":
                assert record.get(name, "") == row[1 + _place(name)]


def _place(name):
    return {"id": -1, "one": 0, "two": 1, "three": 2}[name]


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "NA", "+2", "-3"], "integer", [1, None, 2, -3]),
        ([".5", "5.", "nan", "1e3"], "float", [0.5, 5.0, None, 1000.0]),
        (["True", "FALSE", "NULL", "true"], "boolean", [True, False, None, True]),
        (["2024-02-29", "NaT", "0001-01-01"], "date", [date(2024, 2, 29), None, date(1, 1, 1)]),
        (
            ["2024-01-01T00:00:00Z", "None", "2024-01-01 02:30:00.5+02:00"],
            "datetime",
            [datetime(2024, 1, 1, tzinfo=UTC), None, datetime(2024, 1, 1, 0, 30, 0, 500_000, UTC)],
        ),
        (["1", "\t\\N ", " "], "integer", [1, None, None]),
        (["1", r"\N", "#N/A", "#NULL!", "<NA>"], "integer", [1, None, None, None, None]),
        (["Namibia", "NA", "None", "null"], "string", ["Namibia", "NA", "None", "null"]),
        (["x", r"\N"], "string", ["x", None]),
        (["007", "8"], "string", ["007", "8"]),
        (["9223372036854775807", "-9223372036854775808"], "integer", [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], "string", ["9223372036854775808", "1"]),
        (["9223372036854775808", "NA"], "string", ["9223372036854775808", None]),
        (["9007199254740993", "0.5"], "string", ["9007199254740993", "0.5"]),
        (["9007199254740992", "0.5"], "float", [2.0**53, 0.5]),
        (["1e400", "1"], "string", ["1e400", "1"]),
        (["inf", "1.5"], "string", ["inf", "1.5"]),
        (["1_000", "0x10"], "string", ["1_000", "0x10"]),
        (["2024-02-30", "2024-01-01"], "string", ["2024-02-30", "2024-01-01"]),
        (["0001-01-01T00:00:00+01:00"], "string", ["0001-01-01T00:00:00+01:00"]),
        (["yes", "no"], "string", ["yes", "no"]),
        ([" 5", "6 "], "integer", [5, 6]),
        ([" x", " y z"], "string", ["x", "y z"]),
    ],
)
def test_a_column_has_the_narrowest_type_and_its_values(texts, kind, values):
    description, loaded = read("k,v\n" + "".join(f"k,{text}\n" for text in texts))
    assert description.schema[1].type == kind
    assert [record.get("v") for record in loaded.records] == values
    assert description.schema[1].optional == (None in values)
    assert description.fields[1].absent == values.count(None)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a\n1\n2\n?\n", r"a holds numbers, except in 1 row \('\?'\), and is kept as text"),
        ("a\nTrue\nFalse\nmaybe\n", r"a holds true or false, except in 1 row \('maybe'\)"),
        ("a\n2024-01-01\n2024-01-02\nsoon\n", r"a holds days, except in 1 row \('soon'\)"),
        ("a\n2020-12-31 13:45:00\n", r"a looks like moments without a zone \('2020-12-31 13"),
        ("a,b\n12/31/2020,1\n", "a looks like days .*: a day is written as 2024-03-18"),
        ("a,b\n$1.50,1\n", "a looks like numbers .*: write 1234.5, without unit"),
        ('a,b\n"1,234",1\n', "a looks like numbers .*or state #decimal=comma"),
        ("a,b\n45%,1\n", "a looks like numbers"),
        ("a\n9223372036854775808\n", "a holds integers beyond 2.63"),
        ("a\n9007199254740993\n0.5\n", "a holds fractions, and integers that a double"),
        ("6,148,72\n1,85,66\n", r"The header \(6, 148, 72\) looks like a record"),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", "The header .* looks like a record"),
        ("a,b\n1,2\n# a comment\n3,4\n", "1 row beginning with #: left out"),
        ('a,b\n1,"say \\"hi\\" x"\n', "Quotes inside of texts are written as"),
        ("a,b\n1,t\n2,f\n3,t\n", r"b looks like true or false \('t'\), and is kept as text"),
        ("a,b\n1,Yes\n2,No\n", r"b looks like true or false \('Yes'\)"),
        ("a,b\n1,09:30:00\n", r"b looks like times \('09:30:00'\)"),
        ('a,b\n1,"1,00,000"\n', "b looks like numbers"),
        ("a,b\n1,٣\n2,٤\n", "b looks like numbers .*: write them with the digits 0 to 9"),
        ("1,Ann,\\N,Rome\n2,Bob,5,Oslo\n", "The header .* looks like a record"),
        ("a,b\n1,NA\n", "b is empty in every row, and left out"),
        ("My report\n\na,b\n1,x\n2,y\n", "The header is line 3. Lines before it are left out"),
        ("Report,,\na,b,c\nx,1,y\nz,2,w\n", "The header is line 2. Lines before it are left out"),
    ],
)
def test_what_a_user_may_not_expect_is_said(text, note):
    notes = " ".join(read(text)[0].notes)
    assert pd.Series([notes]).str.contains(note).all(), notes


@pytest.mark.parametrize(
    "text",
    [
        '"","mpg","ok"\n"1",21,TRUE\n"2",22,FALSE\n',
        "2019,2020,name\n1,2,Ada\n3,4,Bob\n",
        "#,Name,Type\n1,Bulbasaur,Grass\n",
        "version,address\n1.2.3,10.0.0.1\n",
        "code,time\n007,12:30\n008,13:45\n",
        "color,name\n#ff0000,red\n#0000ff,blue\n",
    ],
)
def test_an_ordinary_table_has_no_note(text):
    description, loaded = read(text)
    assert not description.notes
    assert len(loaded.records) == text.count("\n") - 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", r"a\.csv: holds no record"),
        ("a,b\n", r"a\.csv: holds no record below its header"),
        ("a,b,c\n1,2,3\n4,5,6,7\n", r"a\.csv:3: 4 values under 3 names: quote its texts"),
        ("id,comment\n1,hello, world\n2,ok\n", r"a\.csv:2: 3 values under 2 names"),
        ("a\n1,5\n2,5\n", r"a\.csv:2: 2 values under 1 name"),
        ('a,b\n1,"x"y\n2,z\n', r"a\.csv:2: not CSV: a quote is inside .*, state #quote=none$"),
        ('a,b\n"x\ny",2\n3,"open\n4,5\n', r"a\.csv:4: not CSV: a quote .* is never closed"),
        ("a,b\n1,x\0y\n", r"a\.csv:2: holds the character NUL"),
        ("_id,a\n1,2\n1,3\n", r"a\.csv:3: _id '1' comes twice"),
        ('_id,a\n"x\ny",2\n"x\ny",3\n', r"a\.csv:5: _id .* comes twice"),
        ("_id,a\n1,2\n,3\n", r"a\.csv:3: a record has no _id"),
        ("a,b\n" + "1,2\n" * 30_000 + "1,2,3,4\n", r"a\.csv:30002: 4 values under 2 names"),
    ],
)
def test_an_error_has_file_line_reason_and_remedy_in_one_line(text, error):
    with pytest.raises(InputError, match=f"/{error}") as raised:
        read(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", make_odd_tables())
def test_a_damaged_table_is_read_or_refused_in_one_line(kind):
    draw = random.Random(kind)
    content = make_odd_tables()[kind].content
    place = draw.randrange(len(content))
    for damage in (b'"', b"\n", b"\0", b"\xff", b",,", b""):
        damaged = content[:place] + damage + content[place + draw.randrange(40) :]
        try:
            read(damaged)
        except InputError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("id,name,\n1,Ann,x\n2,Bob,y\n", [(1, "Ann", "x"), (2, "Bob", "y")]),
        ("id,name,,\n1,Ann,x,y\n2,Bob,z,w\n", [(1, "Ann", "x", "y"), (2, "Bob", "z", "w")]),
        ("id,name,\n1,,x\n2,Bob,\n", [(1, "x"), (2, "Bob")]),
        ("id;name;\n1;Ann;x\n2;Bob;y\n", [(1, "Ann", "x"), (2, "Bob", "y")]),
        ("n\tc\t\nAnn\tRome\tx\nBob\tOslo\ty\n", [("Ann", "Rome", "x"), ("Bob", "Oslo", "y")]),
        (",name,city\n1,a,b\n", [(1, "a", "b")]),
        ("c,,\nAnn,a,b\nBob,a,c\n", [("Ann", "a", "b"), ("Bob", "a", "c")]),
    ],
)  # fmt: skip
def test_a_header_with_empty_names_is_the_header(text, records):
    description, loaded = read(text)
    assert [tuple(record.values()) for record in loaded.records] == records
    assert not description.notes


@pytest.mark.parametrize(
    "text",
    [
        "name\tcity\nAnn\tRome\tx\nBob\tOslo\ty\n",
        # R's names of rows.
        '"age","city"\n"Ann",5,"Rome"\n"Bob",6,"Oslo"\n',
    ],
)
def test_a_header_with_fewer_names_than_values_is_refused(text):
    with pytest.raises(InputError, match=r"a\.csv:2: 3 values under 2 names: .* the header"):
        read(text)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ('id\tn\n1\t"Rome", Open City\n2\tb\n', ['"Rome", Open City', "b"]),
        ('id\tn\n1\t"open\n2\tb\n', ['"open', "b"]),
        ('id\tn\n1\t"Rome\n2\tb"\n3\tc\n', ['"Rome', 'b"', "c"]),
        ('id\tn\n1\t"two\nlines"\n2\tb\n', ["two\nlines", "b"]),
        ("id,n,y\n1,'a,b',5\n2,'c',6\n", ["a,b", "c"]),
        ('id,n\n1,"say \\"a\\", b"\n2,\\N\n', ['say "a", b', None]),
    ],
)
def test_quotes_are_taken_as_the_table_has_them(text, texts):
    description, loaded = read(text)
    assert [record.get("n") for record in loaded.records] == texts
    assert len(description.notes) == ("two\n" not in text)


def test_quotes_can_be_stated():
    assert read('a\tb\n"x"\t1\n', options={"quote": "none"})[1].records == [{"a": '"x"', "b": 1}]
    assert read("a,b\n'x',1\n", options={"quote": "single"})[1].records == [{"a": "x", "b": 1}]


def test_a_row_whose_first_cells_are_empty_is_not_lost():
    with pytest.raises(InputError, match=r"a\.csv:3: 4 values under 2 names"):
        read("a,b\n1,2\n,,,4\n")


def test_an_open_quote_never_swallows_the_rest_of_a_file():
    text = 'a,b\n1,x\n2,"open\n' + "3,y\n" * 5_000
    with pytest.raises(InputError, match=r"a\.csv:3: not CSV"):
        read(text)


def test_encodings_are_guessed_with_a_note_or_stated():
    text = "name;price\nKöln €;1,5\n"
    description, loaded = read(text.encode("cp1252"))
    assert loaded.records == [{"name": "Köln €", "price": 1.5}]
    assert description.marks.startswith("cp1252, ")
    assert "line 2, byte 0xF6" in description.notes[0] and "#encoding" in description.notes[0]
    stated, loaded = read(text.encode("cp1252"), options={"encoding": "cp1252"})
    assert loaded.records == [{"name": "Köln €", "price": 1.5}] and not stated.notes
    latin = "name;price\nKöln\x81;1,5\n".encode("latin-1")
    assert "read as latin-1" in read(latin)[0].notes[0]
    wide = read("a\tb\né\t1\n".encode("utf-16-le"), options={"encoding": "utf-16"})
    assert wide[1].records == [{"a": "é", "b": 1}]


@pytest.mark.parametrize(
    ("data", "options", "error"),
    [
        ("é,ü\nö,ä\n".encode() + b"\xe9,1\n", {}, r"a\.csv:3: is not UTF-8 \(byte 0xE9\): save it"),
        ("a\né\n".encode("utf-16")[:-1], {}, r"a\.csv:1: is not UTF-16, as its first bytes say"),
        (b"a\n\x81\n", {"encoding": "cp1252"}, r"a\.csv:1: is not cp1252, which you stated"),
        ("é\n1\n".encode("latin-1"), {"encoding": "utf-8"}, r"a\.csv:1: is not UTF-8"),
    ],
)
def test_a_file_that_is_not_in_its_encoding_is_refused(data, options, error):
    with pytest.raises(InputError, match=error):
        read(data, options=options)


def test_decimal_commas_take_any_mark_between_thousands():
    text = "a;b\n1.234,5;1\n1\u00a0234,5;2\n1\u202f234,5;3\n1'234,5;4\n,5;5\n"
    description, loaded = read(text)
    assert description.marks.endswith("decimal comma")
    assert [record["a"] for record in loaded.records] == [1234.5] * 4 + [0.5]
    # Without a decimal comma in the column, a point could be one.
    assert read_types("a;b\n1.234;1,5\n", decimal="comma")["a"] == "string"


def test_a_delimiter_in_texts_is_not_taken_for_the_tables():
    text = "a|b\none, two, three, four|five, six, seven, eight\n1|x, y\n"
    description, loaded = read(text)
    assert "delimiter pipe" in description.marks and loaded.records[1] == {"a": "1", "b": "x, y"}
    quoted = '"a";"b"\n"1,5";"x, y"\n'
    assert read(quoted)[1].records == [{"a": 1.5, "b": "x, y"}]


def test_a_text_of_some_megabytes_is_read():
    text = "x" * 3_000_000
    assert read(f"a,b\n{text},1\ny,2\n")[1].records[0] == {"a": text, "b": 1}


def test_columns_of_aligned_blanks_are_read():
    description, loaded = read("a   b   c\n1   2   3\n40  5   6.5\n")
    assert "delimiter blank" in description.marks
    assert loaded.records[1] == {"a": 40, "b": 5, "c": 6.5} and loaded.lines == [2, 3]
    names = "name\nAda Lovelace\nGrace Hopper\n"
    assert read(names)[1].records == [{"name": "Ada Lovelace"}, {"name": "Grace Hopper"}]


def test_only_the_first_records_are_read_and_types_are_theirs():
    text = "_id,a\n\n" + "".join(f"k{number},{number}\n" for number in range(500)) + "z,0.5\n"
    description, loaded = read(text, count=3)
    assert description.has_keys and description.schema[0].type == "integer"
    assert loaded.records == [{"_id": f"k{number}", "a": number} for number in range(3)]
    assert loaded.lines == [3, 4, 5] and not description.is_whole
    assert read(text)[0].schema[0].type == "float"


def test_a_header_longer_than_the_beginning_that_is_peeked_at_is_whole():
    names = [f"name_of_column_{number}" for number in range(20_000)]
    rows = [names, ["1"] * len(names), ["2"] * len(names)]
    _, loaded = read("".join(f"{','.join(row)}\n" for row in rows))
    assert [[*record] for record in loaded.records] == [names, names]
    assert loaded.records[1][names[-1]] == 2


def test_a_wide_table_is_read():
    names = [f"c{number}" for number in range(3000)]
    description, loaded = read(write_rows([names, ["1"] * 3000, ["x"] * 3000]))
    assert len(description.schema) == 3000 and loaded.records[0]["c2999"] == "1"


def test_columns_that_are_read_together_have_the_types_and_notes_of_each():
    columns = [
        ["n/a", "5", "6"],
        ["1.5", "NA", "9007199254740993"],
        [" x", " y", r" \N"],
        ["1", "2", "?"],
        ["2024-01-01T00:00:00.1234Z", "", "2024-01-01T00:00:00Z"],
        ["12/31/2020", "12/30/2020", "12/29/2020"],
        ["2024-13-01T00:00:00Z", "2024-01-01T00:00:00Z", ""],
        ["", "", ""],
        [" 7", "8 ", "9"],
        ["$1", "$2", "3"],
    ]
    names = [f"c{place}" for place in range(len(columns))]
    description, loaded = read(write_rows([names, *zip(*columns, strict=True)]))
    single = {}
    notes = []
    for name, column in zip(names, columns, strict=True):
        rows = [["k", name], *(["k", cell] for cell in column)]
        found, _ = read(write_rows(rows))
        single |= {one.path: (one.type, one.absent) for one in found.fields if one.path != "k"}
        notes += [note for note in found.notes if not note.startswith("Taken as absent")]
    assert {one.path: (one.type, one.absent) for one in description.fields} == single
    assert {*description.notes} == {*notes, "Taken as absent: 'n/a' 1 time, in c0."}
    assert [record.get("c8") for record in loaded.records] == [7, 8, 9]


def test_a_column_of_absent_marks_is_left_out_with_both_notes():
    notes = read("a,b\n1,NA\n2,NA\n")[0].notes
    assert list(notes) == [
        "b is empty in every row, and left out.",
        "Taken as absent: 'NA' 2 times, in b.",
    ]
