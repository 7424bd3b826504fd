"""Samples of large files: each record as it is in the file, and each as likely as any other."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchbook.files.inputs import InputError
from benchbook.own_data.own_records import read_file
from benchbook.own_data.samples import draw_sample

RECORDS: list[dict[str, Any]] = [
    {
        "place": place,
        "price": place + 0.25,
        "text": f'{place}; "quoted", naïve\nand a second line' if place % 3 else f"plain {place}",
        **({"seldom": "here"} if place % 50 == 0 else {}),
    }
    for place in range(20_000)
]
"""Records that are sorted by their place."""


def write_csv(delimiter: str = ",") -> bytes:
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, ["place", "price", "text", "seldom"], delimiter=delimiter)
    writer.writeheader()
    for record in RECORDS:
        price = str(record["price"])
        writer.writerow({
            **record,
            "price": price.replace(".", ",") if delimiter == ";" else price,
        })  # fmt: skip
    return written.getvalue().encode()


def write_parquet() -> bytes:
    written = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(RECORDS), written)
    return written.getvalue().to_pybytes()


FILES: dict[str, Callable[[], bytes]] = {
    "sorted.csv": write_csv,
    "sorted.csv#decimal=comma": lambda: write_csv(";"),
    "titled.csv": lambda: b"A title above the names\r\n" + write_csv(),
    "marked.csv": lambda: b"\xef\xbb\xbf" + write_csv(),
    "sorted.csv.gz": lambda: gzip.compress(write_csv()),
    "sorted.jsonl": lambda: b"".join(json.dumps(one).encode() + b"\n" for one in RECORDS),
    "sorted.json": lambda: json.dumps(RECORDS).encode(),
    "indented.json": lambda: json.dumps(RECORDS, indent=2).encode(),
    "sorted.json.gz": lambda: gzip.compress(json.dumps(RECORDS).encode()),
    "sorted.parquet": write_parquet,
}


def write_file(folder: Path, name: str) -> str:
    """Write one of the files, and return its path with its options."""
    file, mark, options = name.partition("#")
    (folder / file).write_bytes(FILES[name]())
    return f"{folder / file}{mark}{options}"


@pytest.mark.parametrize("name", FILES)
def test_records_are_drawn_from_the_whole_file_as_they_are_in_it(name: str, tmp_path: Path) -> None:
    sample = draw_sample(write_file(tmp_path, name), 400, tmp_path / "samples")
    records = read_file(sample).records
    places = [record["place"] for record in records]
    assert len(records) == 400 and len({*places}) == 400
    for record in records:
        record.pop("_id")
        assert record == RECORDS[record["place"]]
    # Their mean is within 4 standard errors of the middle; that of the first 400 is 200.
    assert sum(places) / 400 == pytest.approx(10_000, abs=4 * 5774 / 400**0.5)


def test_the_same_file_and_number_give_the_same_records(tmp_path: Path) -> None:
    file = write_file(tmp_path, "sorted.csv")
    first, again = (draw_sample(file, 50, tmp_path / folder) for folder in ("a", "b"))
    assert Path(first).name == "sorted-sample-50.csv"
    assert Path(first).read_bytes() == Path(again).read_bytes()
    assert draw_sample(file, 60, tmp_path / "a") != first


def test_a_smaller_file_is_drawn_whole(tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text('{"a": 1}\n{"a": 2}\n')
    sample = read_file(draw_sample(str(file), 200, tmp_path / "samples"))
    assert sorted(record["a"] for record in sample.records) == [1, 2]


def test_one_record_of_many_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "three.jsonl"
    file.write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\n')
    assert len(read_file(draw_sample(str(file), 1, tmp_path / "samples")).records) == 1


@pytest.mark.parametrize("text", ['"Rome" {}, Open City', '"say \\"hi\\", {}"'])
def test_quotes_of_a_sample_are_those_of_its_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("id\ttext\n" + "".join(f"{row}\t{text.format(row)}\n" for row in range(300)))
    texts = {record["id"]: record["text"] for record in read_file(file).records}
    sample = read_file(draw_sample(str(file), 20, tmp_path / "samples")).records
    assert len(sample) == 20
    assert all(record["text"] == texts[record["id"]] for record in sample)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.xml", b"<r><x><a>1</a></x><x><a>2</a></x></r>", "write the file as one of these"),
        ("a.csv", b"a;b\n1;caf\xe9\n", "is not UTF-8: .*: write the file as one of these"),
        ("a.csv", b"a;b\n" + b"1;x\n" * 300 + b"1;2;3\n", "Line: 302, Expected .* 2 Found: 3$"),
        ("a.csv", b"a title\n" + write_csv()[:1000], "a quote that opens in this row is never"),
        ("a.csv#encoding=latin-1", b"a;b\n1;caf\xe9\n", "write the file as one of these"),
        ("a.txt", b"a    b\n1    2\n3    4\n", "has blanks between its values"),
        ("a.json", b'{"type": "FeatureCollection", "features": []}', "is one object of JSON"),
        ("a.json#records=items", b'{"items": [{"a": 1}]}', "write the file as one of these"),
        ("a.jsonl", b'{"a": 1}\n{"a": 2', "no sample can be drawn"),
        ("missing.csv", None, "there is no such file"),
    ],
)
def test_a_file_that_has_no_sample_is_refused(
    name: str, content: bytes | None, says: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name.partition("#")[0]).write_bytes(content)
    with pytest.raises(InputError, match=says):
        draw_sample(str(tmp_path / name), 200, tmp_path / "samples")
    assert not (tmp_path / "samples").exists()
