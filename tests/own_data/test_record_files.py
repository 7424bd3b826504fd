"""Which format a file is recognised as, whatever its name, and what is unpacked from it."""

import gzip
import io
import json
import pickle
import re
import resource
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import bson
import orjson
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from benchbook.files.inputs import InputError
from benchbook.own_data import own_records
from benchbook.own_data.opened_file import MAX_BYTES
from benchbook.own_data.record_files import OPTIONS
from tests.user_files import FILES

TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})


def write_parquet():
    sink = io.BytesIO()
    pq.write_table(TABLE, sink)
    return sink.getvalue()


CONTENTS = {
    "delimited text": b"a,b\n1,x\n2,y\n",
    "JSON Lines": b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
    "JSON array": b'[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
    "Parquet": write_parquet(),
}
SUFFIXES = {
    "delimited text": (".csv", ".tsv", ".txt", ".dat", ".data", "", ".export"),
    "JSON Lines": (".jsonl", ".ndjson", ".ndjson.txt", ".json", ".dat", "", ".log"),
    "JSON array": (".json", ".geojson", ".txt", ".data", ""),
    "Parquet": (".parquet", ".pq", ".dat", "", ".snappy"),
}


def pack_zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


def read_values(path):
    return [(record["a"], record["b"]) for record in own_records.read_dataset(path).records]


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_file_is_recognised_by_its_content_whatever_its_suffix(tmp_path, kind):
    for suffix in SUFFIXES[kind]:
        path = tmp_path / f"records{suffix}"
        path.write_bytes(CONTENTS[kind])
        assert own_records.describe_file(path).format == kind, suffix
        assert read_values(path) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize(
    ("name", "suffix", "pack"), [("gzip", ".gz", gzip.compress), ("zstd", ".zst", pack_zstd)]
)
def test_every_format_is_read_from_gzip_and_zstd(tmp_path, kind, name, suffix, pack):
    for path in (tmp_path / f"records{SUFFIXES[kind][0]}{suffix}", tmp_path / "records"):
        path.write_bytes(pack(CONTENTS[kind]))
        known = own_records.describe_file(path)
        assert (known.format, known.size) == (f"{kind} in {name}", path.stat().st_size)
        assert read_values(path) == [(1, "x"), (2, "y")]


def test_parts_that_were_packed_one_after_another_are_all_read(tmp_path):
    for pack in (gzip.compress, pack_zstd):
        path = tmp_path / "records"
        path.write_bytes(pack(CONTENTS["JSON Lines"]) + pack(CONTENTS["JSON Lines"]))
        assert len(own_records.read_dataset(path).records) == 4


def test_zeros_after_a_gzip_file_are_ignored(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(gzip.compress(CONTENTS["JSON Lines"]) + bytes(512))
    assert read_values(path) == [(1, "x"), (2, "y")]


def test_a_damaged_or_cut_off_packed_file_is_named(tmp_path):
    path = tmp_path / "records.csv.gz"
    for pack in (gzip.compress, pack_zstd):
        whole = pack(bytes(range(256)) * 100)
        for damaged in (whole[:-6], whole[:4]):
            path.write_bytes(damaged)
            with pytest.raises(InputError, match=r"records\.csv\.gz: is damaged or cut off: as "):
                own_records.describe_file(path)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_only_the_beginning_of_a_packed_file_is_unpacked(tmp_path, suffix):
    path = tmp_path / f"bomb.csv.{suffix}"
    part = b"a\n" * 2**19
    pack = gzip.compress if suffix == "gz" else pack_zstd
    path.write_bytes(pack(part) * 2000)
    own = own_records.read_file(path, 200)
    assert own.records[199]["a"] == "a" and not own.description.is_whole


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_what_is_unpacked_is_limited_and_takes_little_memory(tmp_path, suffix):
    path = tmp_path / f"bomb.json.{suffix}"
    pack = gzip.compress if suffix == "gz" else pack_zstd
    path.write_bytes(pack(b'{"a": "') + pack(b"a" * 2**20) * 2000)
    assert path.stat().st_size < 2**25
    limit = 3 * 10**9
    code = (
        "from benchbook.own_data import own_records\n"
        "try:\n"
        f"    own_records.describe_file({str(path)!r}, 200)\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    reason = f"more than {MAX_BYTES:,} bytes are read for its first records: measure fewer"
    assert ran.stderr == "" and ran.stdout.startswith(f"{path}: {reason}")


def zip_files(*names):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return sink.getvalue()


def zip_sheet():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    return sink.getvalue()


def tar_file():
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.csv"))
    return sink.getvalue()


def write_with(write):
    sink = io.BytesIO()
    write(TABLE, sink)
    return sink.getvalue()


def write_sqlite(folder):
    path = folder / "made.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    return path.read_bytes()


OTHERS = {
    "workbook.xlsx": (
        lambda folder: zip_files("[Content_Types].xml", "xl/workbook.xml"),
        r"is an Excel workbook \(\.xlsx\): open it, and save the sheet as CSV UTF-8",
    ),
    "sheet.ods": (lambda folder: zip_sheet(), r"is an OpenDocument sheet \(\.ods\): open it"),
    "old.xls": (
        lambda folder: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
        r"is an old or protected Excel file \(\.xls\): open it, and save",
    ),
    "records.zip": (lambda folder: zip_files("a.csv"), "is an archive: unpack it"),
    "records.tar": (lambda folder: tar_file(), "is an archive: unpack it"),
    "records.tar.gz": (lambda folder: gzip.compress(tar_file()), "is an archive: unpack it"),
    "records.arrow": (
        lambda folder: write_with(feather.write_feather),
        r"is an Arrow \(Feather\) file: write it as Parquet, as with pandas",
    ),
    "records.orc": (lambda folder: write_with(orc.write_table), "is an ORC file: write it as"),
    "records.avro": (lambda folder: b"Obj\x01\x04\x14avro.codec", "is an Avro file: convert it"),
    "dump.bson": (
        lambda folder: bson.encode({"a": 1}) * 3,
        "is BSON: convert it with bsondump --outFile=FILE.jsonl FILE",
    ),
    "records.db": (write_sqlite, "is an SQLite database: export a table with sqlite3"),
    "records.pdf": (lambda folder: b"%PDF-1.7\n%\xe2\xe3", "is a PDF: export its table as CSV"),
    "records.pkl": (lambda folder: pickle.dumps([1]), "is a Python pickle: write it as Parquet"),
    "records.rds": (lambda folder: gzip.compress(b"X\n\0\0\0\3"), "is R's data: write it in R"),
    "records.rda": (lambda folder: gzip.compress(b"RDX3\nX\n"), "is R's data: write it in R"),
    "records.bz2": (lambda folder: b"BZh91AY&SY\0", "is packed with bzip2: unpack it"),
    "records.csv.xz": (lambda folder: b"\xfd7zXZ\0\0", "is packed with xz: unpack it"),
    "page.csv": (
        lambda folder: b"\n<!DOCTYPE html>\n<html>",
        r"is a web page \(HTML\): download the file itself",
    ),
    "pointer.csv": (
        lambda folder: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "is a pointer of Git LFS, not the file: get it with git lfs pull",
    ),
    "settings.ini": (lambda folder: b"[s]\na = 1\n", "holds settings, and no records"),
    "list.yaml": (lambda folder: b"- a: 1\n- a: 2\n", "is YAML: write it as JSON, as with yq"),
    "table.toml": (lambda folder: b"[s]\na = 1\n", "is TOML: write it as JSON, as with yq"),
    "iris.arff": (lambda folder: b"@relation a\n@data\n1\n", "is ARFF: put a line with the names"),
    "README.md": (lambda folder: b"# A\n\nIt is, so.\n", "is a text to read, and no records"),
    "a.py": (lambda folder: b"import os\n\na = [1, 2]\n", "is a program, and no records"),
    "dump.sql": (lambda folder: b"INSERT INTO a VALUES (1);", "is SQL: load it into a database"),
    "dump": (lambda folder: b"-- a\nCREATE TABLE a (b int);", "is SQL: load it into a database"),
    "tweets.js": (
        lambda folder: b'window.YTD.tweets.part0 = [ {"a": 1} ]',
        "is a script around JSON: delete what is before the first bracket and behind the last",
    ),
    "app.log": (lambda folder: b"2024-01-01 10:00:00,5 INFO a\n" * 2, "is a log: write its"),
    "syslog": (lambda folder: b"Jan  1 10:00:00 host a: b\n" * 2, "is a log: write its records"),
    "access.log": (
        lambda folder: b'::1 - - [01/Jan/2024:10:00:00 +0000] "GET /" 200\n' * 2,
        "is a log: write its records as JSON Lines or CSV, or state a delimiter",
    ),
    "bulk.ndjson": (
        lambda folder: b'{"index":{"_id":"1"}}\n{"a":1}\n' * 2,
        r"is Elasticsearch's bulk format: delete the lines of actions, as with grep -v "
        r"'\^{\"index\"' FILE > FILE\.jsonl",
    ),
    "dump.archive": (
        lambda folder: b"m\xe2\x99\x81\x10\0\0\0abc",
        "is an archive of mongodump: load it with mongorestore",
    ),
    "zero.json": (lambda folder: bytes(100), "holds only zero bytes, as after a copy that failed"),
    "small.bson": (
        lambda folder: bson.encode({"a": 1}),
        "is BSON: convert it with bsondump",
    ),
    "wide.xml": (lambda folder: "<a><b/></a>".encode("utf-32"), "is UTF-32: save it as UTF-8"),
    "wide-be.xml": (lambda folder: "<a/>".encode("utf-32-be"), "is UTF-32: save it as UTF-8"),
    "pointer.parquet": (
        lambda folder: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "is a pointer of Git LFS, not the file: get it with git lfs pull",
    ),
    "page.parquet": (lambda folder: b"<!DOCTYPE html>\n<html>", r"is a web page \(HTML\)"),
    "Apache.log": (lambda folder: b"[Sun Dec 04 04:47:44 2005] [notice] a\n", "is a log: write"),
    "Proxifier.log": (lambda folder: b"[10.30 16:49:06] chrome.exe - a, b\n", "is a log: write"),
    "HDFS.log": (lambda folder: b"081109 203615 148 INFO a\n" * 3, "is a log: write its records"),
    "guarded.json": (lambda folder: b")]}',\n[{}]", r"has \)\]\}' before its JSON"),
    "image.csv": (
        lambda folder: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "is neither text nor Parquet: export its records as JSON, CSV, XML or Parquet, or state",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_formats_are_named_with_what_to_do_in_one_line(tmp_path, name):
    make, reason = OTHERS[name]
    path = tmp_path / name
    path.write_bytes(make(tmp_path))
    with pytest.raises(InputError, match=rf"{name}: {reason}") as refused:
        own_records.describe_file(path)
    assert "\n" not in str(refused.value)


WITHOUT_MARK = {
    "delimited text": 'a,b\n1,"x"\n2,"y"\n',
    "JSON Lines": '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
    "JSON array": '[\n{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
    "XML": "<?xml version='1.0' encoding='utf-8'?><r><x a='1' b='x'/><x a='2' b='y'/></r>",
}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("kind", WITHOUT_MARK)
def test_utf_16_without_a_mark_is_refused_with_the_option_by_which_it_is_read(
    tmp_path, kind, encoding
):
    path = tmp_path / "records"
    path.write_bytes(WITHOUT_MARK[kind].encode(encoding))
    why = "is UTF-16 without a byte order mark: .*, or state its encoding: FILE#encoding=utf-16"
    with pytest.raises(InputError, match=why):
        own_records.describe_file(path)
    known = own_records.describe_file(f"{path}#encoding=utf-16")
    assert (known.format, known.marks.split(",")[0]) == (kind, "UTF-16")
    assert read_values(f"{path}#encoding=utf-16") == [(1, "x"), (2, "y")]


AS_NAMED_WRONG = {
    "array.csv": (b'[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]', "JSON array"),
    "lines.csv": (b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', "JSON Lines"),
    "lines.md": (b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', "JSON Lines"),
    "sequence.csv": (b'\x1e{"a": 1, "b": "x"}\n\x1e{"a": 2, "b": "y"}\n', "JSON Lines"),
    "joined.txt": (b'{"a": 1, "b": "x"}{"a": 2, "b": "y"}', "JSON Lines"),
    "elements.csv": (b"<?xml version='1.0'?><r><x a='1' b='x'/><x a='2' b='y'/></r>", "XML"),
    "table.json": (b"a,b\n1,x\n2,y\n", "delimited text"),
    "quoted.json": (b'"a";"b"\n1;"x"\n2;"y"\n', "delimited text"),
    "a#b=c d.csv": (b"a,b\n1,x\n2,y\n", "delimited text"),
}


@pytest.mark.parametrize("name", AS_NAMED_WRONG)
def test_a_file_with_the_name_of_another_format_is_read_by_its_content(tmp_path, name):
    data, kind = AS_NAMED_WRONG[name]
    path = tmp_path / name
    path.write_bytes(data)
    assert own_records.describe_file(path).format == kind
    assert read_values(path) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("text", ["[a],b\n1,2\n", "{a},b\n1,2\n", "<a>,b\n1,2\n"])
def test_a_table_whose_names_are_in_brackets_is_a_table(tmp_path, text):
    path = tmp_path / "records.csv"
    path.write_text(text)
    assert own_records.describe_file(path).format == "delimited text"


def test_a_stated_delimiter_makes_a_table_of_any_text(tmp_path):
    path = tmp_path / "app.log"
    path.write_text("2024-01-01 10:00|a\n2024-01-01 11:00|b\n")
    assert own_records.describe_file(f"{path}#delimiter=pipe").records == 1


FORMATS = {
    **CONTENTS,
    "JSON Lines": b'{"x": [{"a": 1}, {"a": 2}]}\n{"x": []}',
    "XML": b"<r><x a='1' b='x'/><x a='2' b='y'/></r>",
}
USED = {
    "delimited text": {"delimiter": "comma", "quote": "none", "decimal": "comma"},
    "JSON Lines": {"records": "x"},
    "JSON array": {"records": "."},
    "XML": {"decimal": "comma", "records": "x"},
    "Parquet": {},
}
"""By format: its options with a word. All texts have an encoding, too."""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("kind", FORMATS)
def test_an_option_that_a_format_does_not_have_is_refused_with_those_that_it_has(
    tmp_path, kind, pack
):
    path = tmp_path / "records"
    path.write_bytes(pack(FORMATS[kind]))
    used = dict(USED[kind])
    if kind != "Parquet":
        used["encoding"] = "utf-8"
    for option, known in OPTIONS.items():
        # A stated delimiter makes a table of any text.
        if option == "delimiter" and kind != "Parquet":
            continue
        word = used.get(option) or next(iter(known.words), "a")
        if option in used:
            assert own_records.describe_file(f"{path}#{option}={word}").records
            continue
        with pytest.raises(InputError, match=f"records: #{option}= has no effect on ") as refused:
            own_records.describe_file(f"{path}#{option}={word}")
        remedy = refused.value.message.partition(": ")[2]
        others = re.findall("([a-z]+)=", remedy)
        assert sorted(others) == sorted(used) if used else remedy == "leave it out"


def test_the_page_on_own_data_lists_each_option_with_its_words_and_formats():
    page = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text()
    rows = re.findall(r"^\| `#([a-z]+)=(.*?)` (.*?)\| (.*?) \|", page, re.MULTILINE)
    listed = {}
    for option, place, words, formats in rows:
        assert bool(place) == (not OPTIONS[option].words)
        listed[option] = re.findall("`([^`]+)`", words), formats.split(", ")
    assert listed == {
        name: ([*option.words], [*option.formats]) for name, option in OPTIONS.items()
    }


def test_a_text_of_one_column_is_noted_and_a_folder_is_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a line\nanother line\n")
    assert "It has one column: if it has others" in own_records.describe_file(path).notes[-1]
    with pytest.raises(InputError, match="is a folder: give one of its files"):
        own_records.describe_file(tmp_path)


@pytest.mark.parametrize("text", ["ORC,b\n1,2\n", "RDX2,b\n1,2\n", "BZh9,b\n1,2\n", "X\n1\n2\n"])
def test_text_that_begins_like_another_format_is_read(tmp_path, text):
    path = tmp_path / "records.csv"
    path.write_text(text)
    assert own_records.describe_file(path).records


def test_a_file_is_read_once_until_its_state_changes(tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(orjson.dumps({"a": n, "at": "x"}) + b"\n" for n in range(8_000)))
    known = own_records.describe_file(path, 5)

    def fail(*_, **__):
        raise AssertionError("read again")

    monkeypatch.setattr("benchbook.own_data.inference.Inference.infer_fields", fail)
    assert own_records.describe_file(path, 5) == known
    with pytest.raises(AssertionError, match="read again"):
        own_records.describe_file(path, 6)
    path.write_bytes(b'{"a": 0}')
    with pytest.raises(AssertionError, match="read again"):
        own_records.describe_file(path, 5)


def test_only_the_needed_records_are_read_and_keep_their_keys(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(orjson.dumps({"a": n}) + b"\n" for n in range(3000)))
    everything = own_records.read_dataset(path).records
    assert own_records.read_dataset(path, 5).records == everything[:5]
    assert len(own_records.read_file(path, 5).records) == 5
    assert own_records.read_file(path, 5).find_line(4) == 5


def test_the_digest_is_that_of_the_records_that_are_read(tmp_path):
    for name, content in [
        ("a.csv", b"a,b\n1,x\n2,y\n3,z\n"),
        ("b.csv.gz", gzip.compress(b"a,b\n1,x\n2,y\n5,z\n")),
        ("c.jsonl", b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'),
    ]:
        (tmp_path / name).write_bytes(content)
    first, second, third = (own_records.digest_file(path, 2) for path in sorted(tmp_path.iterdir()))
    assert first == second == third
    assert own_records.digest_file(tmp_path / "a.csv", 3) not in (
        first,
        own_records.digest_file(tmp_path / "b.csv.gz", 3),
    )


ODD_RECORDS = [
    {"i": 1, "f": 2.0, "t": "x", "b": True, "day": "2024-01-02", "o": {"l": [1.5, 2]}},
    {"i": -(2**63), "at": "2024-01-02T03:04:05.678+01:00", "m": [1, "a"], "large": 2**70},
]


@pytest.mark.parametrize("name", [*FILES, "odd"])
def test_a_kernel_gets_the_records_that_the_runner_read(tmp_path, name):
    if name == "odd":
        path = tmp_path / "odd.jsonl"
        path.write_text("\n".join(map(json.dumps, ODD_RECORDS)))
    else:
        path = FILES[name](tmp_path)
    stored = tmp_path / "records.json"
    for n in (1, 30, 100):
        assert own_records.store_records(path, n, stored) == own_records.digest_file(path, n)
        for keyed in (True, False):
            read = own_records.read_dataset(path, n, keyed=keyed)
            assert repr(own_records.load_dataset(stored, n, keyed=keyed)) == repr(read)
            assert len(read.records) == n


def test_a_generated_key_is_left_out_where_none_is_needed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    data = own_records.read_dataset(path, 3, keyed=False)
    assert data.records == [{"a": 1}, {"a": 2}, {"a": 1}]
    assert [field.name for field in data.schema.fields] == ["a"]
    path.write_text('{"_id": "x", "a": 1}\n')
    data = own_records.read_dataset(path, 2, keyed=False)
    assert data.records == [{"_id": "x", "a": 1}, {"_id": "x-1", "a": 1}]
