"""Files of Parquet."""

import gzip
import uuid
from datetime import UTC, datetime

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchbook.datasets.dataset import hash_records
from benchbook.files.inputs import InputError
from benchbook.own_data import own_records, parquet_files

NANOSECONDS = 1_704_153_600_000_000_001


def write(folder, table, name="a.parquet"):
    pq.write_table(table, folder / name)
    return folder / name


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_nanoseconds_with_a_zone_are_cut_at_any_depth(tmp_path, zone):
    at = pa.array([NANOSECONDS], pa.timestamp("ns", zone))
    table = pa.table(
        {
            "at": at,
            "o": pa.StructArray.from_arrays([at], ["at"]),
            "l": pa.ListArray.from_arrays([0, 1], at),
        }
    )
    path = write(tmp_path, table)
    (record,) = own_records.read_dataset(path).records
    assert record["at"] == datetime(2024, 1, 2, tzinfo=UTC)
    assert datetime.fromisoformat(record["o"]["at"]) == datetime(2024, 1, 2, tzinfo=UTC)
    assert [*map(datetime.fromisoformat, record["l"])] == [datetime(2024, 1, 2, tzinfo=UTC)]
    assert hash_records([record])
    notes = own_records.describe_file(path).notes
    assert [f"{name}: moments are kept in milliseconds; what is finer is cut off." in notes
            for name in ("at", "o.at", "l")] == [True] * 3  # fmt: skip
    assert "o.at: moments inside documents and lists are taken as ISO 8601 text." in notes
    assert "without a zone" not in "".join(notes)


def test_maps_are_documents(tmp_path):
    kind = pa.map_(pa.string(), pa.int64())
    by_number = pa.map_(pa.int32(), pa.string())
    table = pa.table(
        {
            "m": pa.array([[("a", 1), ("b", 2)], [], None], kind),
            "n": pa.array([[(1, "x")], [(2, "y")], [(2, "z")]], by_number),
            "l": pa.array([[[("a", 1)]], [], None], pa.list_(kind)),
        }
    )
    made = own_records.read_dataset(write(tmp_path, table))
    records = [{name: record.get(name) for name in "mnl"} for record in made.records]
    assert records == [
        {"m": {"a": 1, "b": 2}, "n": {"1": "x"}, "l": [{"a": 1}]},
        {"m": {}, "n": {"2": "y"}, "l": []},
        {"m": None, "n": {"2": "z"}, "l": None},
    ]
    assert {field.name: field.type for field in made.schema.fields} == {
        "_id": "string", "m": "document", "n": "document", "l": "array"
    }  # fmt: skip


def test_bytes_are_text_where_all_of_a_column_are_printable_else_base64(tmp_path):
    table = pa.table({"a": ["é".encode(), b"x y"], "b": [b"a", b"\xff"], "c": [b"\1", b"a"]})
    path = write(tmp_path, table)
    first, second = own_records.read_dataset(path).records
    assert (first["a"], first["b"], first["c"]) == ("é", "YQ==", "AQ==")
    assert (second["a"], second["b"], second["c"]) == ("x y", "/w==", "YQ==")
    assert {*own_records.describe_file(path).notes} == {
        "a: bytes are taken as the UTF-8 text that they are.",
        "b: bytes are taken as base64 text.",
        "c: bytes are taken as base64 text.",
    }


def test_only_the_first_rows_are_read(tmp_path):
    path = write(tmp_path, pa.table({"a": [1, 2, 3, float("nan")], "b": [1, 2, 3, 4]}))
    own = own_records.read_file(path, 2)
    assert [record["b"] for record in own.records] == [1, 2] and own.lines == [1, 2]
    assert not own.description.is_whole and own.description.words.startswith(
        "Parquet: the first 2 records of 2 fields, "
    )
    with pytest.raises(InputError, match=r"a\.parquet:4: a: JSON does not have the number nan"):
        own_records.read_file(path, 4)


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_nested_texts_are_read_across_row_groups(tmp_path, kind):
    texts = [["a", "b"], ["c"], [], ["d"], ["e"]]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array(texts, pa.list_(kind))}), path, row_group_size=2)
    for count in (None, 1, 3, 4, 5):
        own = own_records.read_file(path, count)
        assert [record["a"] for record in own.records] == texts[:count]
        assert own.description.is_whole == (count in (None, 5))


def test_half_floats_and_uuids_are_read(tmp_path):
    given = uuid.UUID(int=5)
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([given.bytes], pa.binary(16)))
    path = write(tmp_path, pa.table({"h": pa.array([0.5], pa.float16()), "u": ids}))
    (record,) = own_records.read_dataset(path).records
    assert (record["h"], record["u"]) == (0.5, str(given))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table([[1], [2]], ["a", "a"]), "2 columns with the name 'a': rename each"),
        (pa.table([[1]], [""]), "1 column with the name '': rename each"),
        (pa.table({"a": [{"b": [{"": 1}]}]}), r"1: a field has no name, in a\.b\[\]"),
        (pa.table({"a": [1.0, float("nan")]}), "2: a: JSON does not have the number nan"),
        (pa.table({"a": pa.array([], pa.int64())}), "holds no record"),
        (
            pa.table({"a": pa.array([[("x", 1), ("x", 2)]], pa.map_(pa.string(), pa.int64()))}),
            r"1: a: a value that Python does not have \(.*key was 'x'",
        ),
        (
            pa.table({"a": ["x", "y"], "at": pa.array([0, 2**48], pa.timestamp("ms", "UTC"))}),
            r"2: at: a value that Python does not have \(.*\): leave the column out",
        ),
        (
            pa.table({"o": pa.array([{"day": -(2**20)}], pa.struct({"day": pa.date32()}))}),
            r"1: o: a value that Python does not have \(.*\): leave the column out",
        ),
    ],
)
def test_a_table_that_has_no_records_of_json_is_refused_by_name(tmp_path, table, reason):
    path = write(tmp_path, table)
    with pytest.raises(InputError, match=rf"a\.parquet:? ?{reason}"):
        own_records.read_dataset(path)


def test_a_moment_behind_the_records_does_not_matter(tmp_path):
    path = tmp_path / "a.parquet"
    at = pa.array([*[0] * 1500, 2**48], pa.timestamp("ms", "UTC"))
    pq.write_table(pa.table({"at": at}), path)
    assert len(own_records.read_file(path, 1500).records) == 1500
    with pytest.raises(InputError, match=r"a\.parquet:1501: at: a value that Python does not have"):
        own_records.read_file(path)


def test_a_packed_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path, pa.table({"a": [1]}))
    path.write_bytes(gzip.compress(path.read_bytes()))
    monkeypatch.setattr(parquet_files, "MAX_BYTES", len(gzip.decompress(path.read_bytes())))
    with pytest.raises(InputError, match=r"a\.parquet: unpacked, it takes [0-9,]+ bytes or more: "):
        own_records.read_dataset(path)


def test_a_cut_off_file_is_named(tmp_path):
    path = write(tmp_path, pa.table({"a": [*range(10_000)]}))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + whole[-200:])
    with pytest.raises(InputError, match=r"a\.parquet: not Parquet that can be read: "):
        own_records.describe_file(path)


def test_fields_found_by_columns_are_those_of_the_same_records_in_json(tmp_path):
    rows = [
        {
            "_id": number,
            "i": number,
            "f": number / 4,
            "t": "x",
            "b": number > 3,
            "day": f"2024-01-{number:02}",
            "at": f"2024-01-{number:02}T00:00:00.{number}+01:00",
            "digits": f"{number}",
            "some": None if number % 2 else "5",
            "none": None,
            "large": 2**63 + number,
            "o": {"l": [number], "t": "2024-01-01"},
        }
        for number in range(1, 10)
    ]
    table = pa.Table.from_pylist([{**row, "large": 0} for row in rows])
    large = pa.array([row["large"] for row in rows], pa.uint64())
    table = table.set_column(table.column_names.index("large"), "large", large)
    known = own_records.describe_file(write(tmp_path, table))
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    expected = own_records.describe_file(path)
    assert (known.fields, known.schema) == (expected.fields, expected.schema)
    assert (known.notes, known.has_keys) == (expected.notes, expected.has_keys)
    same = own_records.read_dataset(tmp_path / "a.parquet").records
    assert same == own_records.read_dataset(path).records
