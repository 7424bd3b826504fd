"""Files of JSON: their layouts, records inside an object, and MongoDB's Extended JSON."""

import json
import re

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbook.files.inputs import InputError
from benchbook.own_data import json_files, opened_file, own_records

NAMES = st.sampled_from(["a", "b", 'q":', "é", "{", "a.b"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 2**53 + 1, 2**64, -(2**63) - 1, 10**30, 0.5, 1e300]),
    st.sampled_from(["", 'a":b', "},{", "\\", "é", "{[", "1234567890123456789012", 'x" :', "\n"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=6)

LAYOUTS = {
    "lines": lambda records: "\n".join(map(json.dumps, records)) + "\n",
    "lines with blank ones between": lambda records: "\r\n\r\n".join(map(json.dumps, records)),
    "indented objects": lambda records: "\n".join(
        json.dumps(record, indent=1) for record in records
    ),
    "array in a line": lambda records: json.dumps(records, separators=(",", ":")),
    "array": lambda records: json.dumps(records, ensure_ascii=False),
    "indented array": lambda records: json.dumps(records, indent=2),
    "array of lines": lambda records: "[\n" + ",\n".join(map(json.dumps, records)) + "\n]",
    "array with a comma first": lambda records: (
        "[\n " + "\n, ".join(map(json.dumps, records)) + "\n]\n"
    ),
}


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def find_lines(text, records):
    """Return the line of each record, found without the code that is tested."""
    decoder, position, lines = json.JSONDecoder(), 0, []
    for _ in records:
        position = text.index("{", position)
        lines.append(1 + text.count("\n", 0, position))
        position = decoder.raw_decode(text, position)[1]
    return lines


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=60)
@given(records=RECORDS)
def test_every_layout_has_the_records_and_their_lines(tmp_path_factory, layout, records):
    text = LAYOUTS[layout](records)
    path = write(tmp_path_factory.mktemp("own"), "x.json", text)
    sizes = opened_file._SIZES
    try:
        for beginnings in ((10, 60, *sizes), sizes):
            opened_file._SIZES = beginnings
            read = json_files.read(opened_file.open_file(path, {}), None)
            assert repr(read.records) == repr(records)
            assert read.lines == find_lines(text, records)
            first = json_files.read(opened_file.open_file(path, {}), 1)
            assert repr(first.records) == repr(records[:1])
            assert first.is_whole == (len(records) == 1)
    finally:
        opened_file._SIZES = sizes


def test_no_more_is_read_than_the_first_records_need(tmp_path):
    line = json.dumps({"a": 1, "b": "x" * 50})
    for name, text, place in [
        ("a.jsonl", f"{line}\n" * 100_000 + "{", ""),
        ("a.json", "[" + f"{line},\n" * 100_000 + "x", ""),
        ("b.json", '{"n": 1, "data": [' + f"{line}," * 100_000, "#records=data"),
    ]:
        path = write(tmp_path, name, text)
        own = own_records.read_file(f"{path}{place}", 200)
        assert len(own.records) == 200 and not own.description.is_whole
        assert own.description.words.count("the first 200 records of 2 fields") == 1


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": 1},\n{"a": 2},\n', "a.json:1: a comma is behind the record: delete it"),
        ('[{"a": 1},\n{"a": 2},\n]', "a.json:3: a comma is before the ]: delete it"),
        ('{"a": 1}\n{"a": [1, 2,]}\n', "a.json:2: not JSON: .*, at column 13: a comma is before"),
        ('{"a": 1}\n{"a": 1,}\n', "a.json:2: not JSON: .*: a comma is before the }: delete it"),
        ("{'a': 1}", "a.json:1: not JSON: .*, at column 2: names and texts are in double quotes"),
        ('{"a": 1, // one\n"b": 2}', "a.json:1: .*, at column 10: JSON has no comments"),
        ("[{a: 1}]", "a.json:1: .*, at column 3: names and texts are in double quotes in JSON"),
        ('{"a": True}', "a.json:1: .*, at column 7: JSON has true, in small letters"),
        ('{"a": .5}', "a.json:1: .*, at column 7: JSON has a digit before the point"),
        ('[1, "a"]\n[2, "b"]\n', "a.json:1: each line is an array, not an object: give its values"),
        ('[{"a": 1}]\n[{"a": 2}]', "a.json:1: each line is an array of its own: join them with jq"),
        ('{"_id": ObjectId("5f")}', "a.json:1: .*the shell of MongoDB wrote it: export"),
        ('{"a": "x\ty"}', "a.json:1: not JSON: Invalid control character, at column 9$"),
        ('{"": 1}', "a.json:1: a field has no name, at the top of the record"),
        ("[[1, 2], [3, 4]]", "a.json:1: a JSON object is expected, not an array: give its values"),
        ('{"a": 1}\n{"b": {"c": [{"": 1}]}}', r"a.json:2: a field has no name, in b.c\[\]"),
        ('{"a": 1}\n{"a":1,"\\u0061":2}', "a.json:2: .*the name 'a' comes twice"),
        ('{"a": 1}\n{"b": "\\u0022:", "a" :1,"a":2}', "a.json:2: .*the name 'a' comes twice"),
        ('[{"a":{"b":1,"b":2}}]', "a.json:1: .*the name 'b' comes twice"),
        ('{"a": 1}\n{"a": "\\udc00"}', r"a.json:2: a text holds \\udc00, half of a surrogate pair"),
        ("null\n", "a.json:1: a JSON object is expected, not null$"),
        ('{"a": 1}\ntrue\n', "a.json:2: a JSON object is expected, not true or false$"),
        ('[{"a": 1}, "b"]', "a.json:1: a JSON object is expected, not a text$"),
        ('{"a": NaN}', "a.json:1: JSON does not have the number NaN: write null$"),
        ('{"a": 1}\n{"a":' + "[" * 9999 + "]" * 9999 + "}", "a.json:2: is nested too deep"),
        ('{"a": [{"b": 1}\n', "a.json:1: ends in the middle of a record: the file is cut off"),
        ('[{"a": 1},', "a.json:1: ends in the middle of a record: the file is cut off"),
        ("[", "a.json:1: ends in the middle of a record: the file is cut off"),
        (
            '{"a":{"x": 1}, "b": [{"c": 1}, 5]}#b',
            "a.json:1: a JSON object is expected, not a number",
        ),
        ('{"a": 1, "b": 2}#c', "a.json: records=c: there is no 'c', but 'a', 'b'"),
        ('{"a": {"b": 2}}#a.c', "a.json: records=a.c: there is no 'c', but 'b'"),
        ('{"a": 1}#a', "a.json: records=a: neither a list of objects nor an object of objects"),
        ('{"a": {}}#a', "a.json: holds no record"),
    ],
)
def test_errors_say_where_and_what_to_do(tmp_path, text, where):
    text, _, place = text.partition("#")
    path = write(tmp_path, "a.json", text)
    with pytest.raises(InputError, match=where):
        own_records.read_dataset(f"{path}#records={place}" if place else path)


def read(folder, text, place=""):
    path = write(folder, "a.json", text)
    name = f"{path}#records={place}" if place else path
    made = own_records.read_dataset(name)
    return made.records, own_records.describe_file(name)


def test_a_record_below_its_name_is_refused_with_its_own_line(tmp_path):
    with pytest.raises(InputError, match=r"a\.json:3: a JSON object is expected, not a number"):
        read(tmp_path, '{"users": {"x": {"a": 1},\n"y":\n2}}', "users")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("place", ["data", "page.items", "a.b"])
def test_records_can_be_a_list_inside_an_object(tmp_path, indent, place):
    rows = [{"a": number, "t": "x"} for number in range(5)]
    whole = {
        "next": None,
        "data": rows,
        "page": {"count": 2, "items": rows[1:]},
        "a.b": rows[2:],
        "after": [{"a": "}, {"}],
    }
    text = json.dumps(whole, indent=indent)
    records, known = read(tmp_path, text, place)
    expected = {"data": rows, "page.items": rows[1:], "a.b": rows[2:]}[place]
    assert [{"a": record["a"], "t": record["t"]} for record in records] == expected
    assert known.format == f"JSON (records={place})" and known.records == len(expected)


def test_records_can_be_the_values_of_an_object_with_their_names_as_keys(tmp_path):
    users = {f"user{number}": {"age": number} for number in range(4)}
    expected = [{"_id": f"user{number}", "age": number} for number in range(4)]
    for text, place in [
        (json.dumps({"users": users, "n": 1}), "users"),
        (json.dumps(users, indent=1), "."),
    ]:
        records, known = read(tmp_path, text, place)
        assert records == expected
        assert any("records' _id" in note for note in known.notes)
    path = write(tmp_path, "b.json", '{"users": {\n"x": {"a": 1},\n"y": {"a": 1, "a": 2}}}')
    with pytest.raises(InputError, match=r"b\.json:3: .*the name 'a' comes twice"):
        own_records.read_dataset(f"{path}#records=users")


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_feature_collection_is_its_features(tmp_path, is_first, indent):
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1.5, number]}}
        for number in range(3)
    ]
    whole = {"type": "FeatureCollection", "bbox": [1, 2], "features": features}
    if is_first:
        whole = {"features": features, "type": "FeatureCollection"}
    records, known = read(tmp_path, json.dumps(whole, indent=indent))
    assert len(records) == 3 and records[2]["geometry"]["coordinates"] == [1.5, 2]
    assert known.format == "GeoJSON" and "features are the records" in known.notes[0]
    deeper, known = read(tmp_path, json.dumps({"answer": whole}))
    assert len(deeper) == 1 and "#records=answer.features (3 objects)" in known.notes[1]
    lines = "\n".join([json.dumps(whole)] * 2)
    assert len(read(tmp_path, lines)[0]) == 2
    with pytest.raises(InputError, match=r"a\.json: holds no record"):
        read(tmp_path, '{"type": "FeatureCollection", "features": []}')


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        ({"data": [{"a": 1}, {"a": 2}], "next": None}, r"#records=data (2 objects)."),
        (
            {"results": [{"a": 1}] * 3, "facets": [{"b": 1}] * 2, "bbox": [1, 2]},
            "#records=results (3 objects), #records=facets (2 objects).",
        ),
        ({"d": {"results": [{"a": 1}]}}, "#records=d.results (1 object)."),
        ({"u1": {"age": 1}, "u2": {"age": 2}}, "#records=. (2 objects)."),
        ({"users": {"u1": {"age": 1}, "u2": {"age": 2}}}, "#records=users (2 objects)."),
        ({"columns": ["a"], "index": [0], "data": [[1]]}, "It looks like pandas' JSON"),
        ({"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}}, "It looks like pandas' JSON"),
        ({"log": {"entries": [{"a": 1}] * 2}}, "#records=log.entries (2 objects)."),
        ({"meta": {"x": 1}, "data": [[1], [2]]}, "data holds arrays, whose values have no names"),
        (
            {"data": {"repository": {"issues": {"edges": [{"node": {"a": 1}}]}}}},
            "#records=data.repository.issues.edges (1 object).",
        ),
        ({"a": 1}, ""),
        ({"bbox": [1, 2], "names": ["x", "y"]}, ""),
    ],
)
def test_one_record_is_said_and_where_its_records_may_be(tmp_path, whole, said):
    note, *others = read(tmp_path, json.dumps(whole))[1].notes
    assert note == "It is one record."
    hints = [note for note in others if re.search("inside|pandas|holds arrays", note)]
    assert said in "".join(others) and bool(said) == bool(hints)
    path = write(tmp_path, "one.csv", "a,b\n1,2\n")
    assert own_records.describe_file(path).notes[0] == note
    assert "one record" not in "".join(read(tmp_path, json.dumps([whole, whole]))[1].notes)


EXTENDED = [
    ({"$oid": "57e193d7a9cc81b4027498b5"}, "57e193d7a9cc81b4027498b5"),
    ({"$numberInt": "-5"}, -5),
    ({"$numberLong": "9223372036854775807"}, 2**63 - 1),
    ({"$numberDouble": "-0.5"}, -0.5),
    ({"$numberDecimal": "7216.49"}, 7216.49),
    ({"$date": "1960-12-24T12:15:30.501Z"}, "1960-12-24T12:15:30.501Z"),
    ({"$date": {"$numberLong": "-1"}}, "1969-12-31T23:59:59.999000+00:00"),
    ({"$date": 1356351330501}, "2012-12-24T12:15:30.501000+00:00"),
    ({"$binary": {"base64": "//8=", "subType": "00"}}, "//8="),
    ({"$binary": "//8=", "$type": "80"}, "//8="),
    (
        {"$binary": {"base64": "c//SZESzTGmQ6OfR38A11A==", "subType": "04"}},
        "73ffd264-44b3-4c69-90e8-e7d1dfc035d4",
    ),
    ({"$uuid": "73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}, "73ffd264-44b3-4c69-90e8-e7d1dfc035d4"),
    ({"$timestamp": {"t": 1565545664, "i": 1}}, "2019-08-11T17:47:44+00:00"),
    ({"$regularExpression": {"pattern": "^a/b", "options": "i"}}, "/^a/b/i"),
    ({"$regex": "^a", "$options": "m"}, "/^a/m"),
    ({"$regex": "^a"}, "/^a/"),
    ({"$minKey": 1}, "MinKey"),
    ({"$maxKey": 1}, "MaxKey"),
    ({"$symbol": "s"}, "s"),
    ({"$code": "f()"}, "f()"),
    ({"$code": "f()", "$scope": {"x": {"$numberInt": "1"}}}, {"code": "f()", "scope": {"x": 1}}),
    (
        {"$dbPointer": {"$ref": "db.c", "$id": {"$oid": "56e1fc72e0c917e9c4714161"}}},
        {"ref": "db.c", "id": "56e1fc72e0c917e9c4714161"},
    ),
    ({"$undefined": True}, None),
    ({"$ref": "c", "$id": {"$oid": "56e1fc72e0c917e9c4714161"}}, {
        "$ref": "c", "$id": "56e1fc72e0c917e9c4714161"
    }),
    ({"$top": 1}, {"$top": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("written", "value"), EXTENDED, ids=lambda value: str(value)[:40])
def test_extended_json_has_its_meaning_at_any_depth(tmp_path, written, value):
    line = {"a": {"in": written}, "b": [written], "c": "x"}
    records, known = read(tmp_path, json.dumps(line) + "\n" + json.dumps({"c": "y"}))
    if value is None:
        assert records[0]["b"] == [None] and "in" not in records[0].get("a", {})
    else:
        assert records[0]["a"] == {"in": value} and records[0]["b"] == [value]
    if value != written and "$ref" not in written:
        assert any("Extended JSON" in note for note in known.notes)


def test_a_date_is_a_moment_and_decimals_are_noted(tmp_path):
    line = '{"at": {"$date": {"$numberLong": "-1"}}, "d": {"$numberDecimal": "1.10"}}'
    _, known = read(tmp_path, line + "\n" + line)
    assert {field.path: field.type for field in known.fields} == {"at": "datetime", "d": "float"}
    assert (
        "MongoDB's Extended JSON: decimal numbers are taken as the nearest double." in known.notes
    )


@pytest.mark.parametrize(
    "value",
    [
        {"$date": None},
        {"$date": True},
        {"$date": 253402300800000},
        {"$date": -(2**63)},
        {"$numberDouble": "NaN"},
        {"$numberDecimal": "Infinity"},
        {"$numberLong": "x"},
        {"$numberLong": True},
        {"$numberInt": 1.5},
        {"$oid": 5},
        {"$binary": {"base64": "%", "subType": "00"}},
        {"$timestamp": {"t": 10**30, "i": 1}},
        {"$dbPointer": 1},
    ],
)
def test_extended_json_without_a_value_is_refused_with_its_line(tmp_path, value):
    text = '{"a": 1}\n' + json.dumps({"a": value})
    shown = json.dumps(value)[:30]
    with pytest.raises(InputError, match=re.escape(f"a.json:2: {shown}")) as caught:
        read(tmp_path, text)
    assert "is not a value that MongoDB and JSON have: write null" in str(caught.value)


TAGS = st.sampled_from(sorted(set().union(*(written for written, _ in EXTENDED))))
EXTENDED_VALUES = st.recursive(
    SCALARS | st.sampled_from(["04", "//8=", "NaN", "5", "-1", "1E+6000", "2024-01-02"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(TAGS, inner, min_size=1, max_size=2),
        st.fixed_dictionaries({"t": inner, "i": inner}),
        st.fixed_dictionaries({"base64": inner, "subType": inner}),
        st.fixed_dictionaries({"pattern": inner, "options": inner}),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.dictionaries(st.sampled_from("ab"), EXTENDED_VALUES), min_size=1, max_size=3))
def test_nothing_of_extended_json_ends_in_a_traceback(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("own") / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    try:
        made = own_records.read_dataset(path)
    except InputError as error:
        assert str(path) in str(error)
        return
    orjson.dumps(list(made.records))
