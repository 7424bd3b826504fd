"""The reference run is an RO-Crate with every file, and every column's meaning."""

import hashlib
import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pyarrow.parquet as parquet
from rocrate.rocrate import ROCrate

from benchbook import paths
from benchbook.analysis.runs import MEANS_FILE, REPETITIONS_FILE
from benchbook.report import crate
from benchbook.results import schema
from benchbook.studies.catalogue import SLUGS, load_study


def test_each_column_and_metric_has_one_line_in_the_dictionary() -> None:
    lines = crate.load_dictionary()
    names = Counter(one.name for one in lines)
    assert not [name for name, count in names.items() if count > 1]
    assert {one.name: one.unit for one in lines if one.kind == "metric"} == schema.METRIC_UNITS
    assert [one.name for one in lines if one.kind == "value"] == schema.VALUES.names
    assert [one.name for one in lines if one.kind == "cell"] == schema.CELLS.names
    fields = [load_study(slug).Parameters.model_fields for slug in SLUGS]
    columns = {schema.name_parameter_column(name) for name in chain.from_iterable(fields)}
    assert {one.name for one in lines if one.kind == "parameter"} == columns - {*schema.CELLS.names}
    of_questions = {one.name for one in lines if one.kind == "question"}
    assert of_questions == {"question", "side", "smallest"}
    of_means = set(parquet.read_schema(paths.reference() / MEANS_FILE).names)
    assert of_means <= {one.name for one in lines if one.kind != "metric"}
    assert {one.name for one in lines if one.kind == "block mean"} <= of_means
    assert all(one.meaning for one in lines)


def test_the_committed_crate_names_each_file_as_it_is_and_each_column_of_its_tables() -> None:
    folder = paths.reference()
    read = ROCrate(folder)
    files = {path.name for path in folder.iterdir()} - {crate.METADATA}
    assert {file.id for file in read.get_by_type("File")} == files
    for name in files:
        assert read.get(name)["contentSize"] == str((folder / name).stat().st_size), name
        assert (
            read.get(name)["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
        ), name
    for name in (MEANS_FILE, REPETITIONS_FILE):
        columns = read.get(name)["variableMeasured"]
        assert [column["name"] for column in columns] == parquet.read_schema(folder / name).names
        assert all(column["description"] for column in columns)
    root = read.root_dataset
    assert root["license"] and root["author"] and root["datePublished"] and root["variableMeasured"]
    text = (folder / crate.METADATA).read_text(encoding="utf-8")
    assert str(Path.home()) not in text and json.loads(text)["@graph"]
