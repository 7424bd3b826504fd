"""Study `drivers` on a real MongoDB."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchbook.databases import Engine
from benchbook.studies import drivers
from benchbook.studies.store import WrongContentsError
from standing import Announce, outputs, tamper

SMALL: dict[str, Any] = {"n": 40, "repetitions": 2}


@pytest.mark.parametrize("calls", ["bulk", "single"])
@pytest.mark.parametrize("attributes", [89, 6])
@pytest.mark.parametrize("driver", drivers.ENGINES)
def test_every_repetition_delivers_what_is_declared(driver: Any, attributes: Any, calls: Any, announce: Announce):
    announce("mongodb", "single")
    parameters = drivers.Parameters(driver=driver, attributes=attributes, calls=calls, **SMALL)
    frame = drivers.run(parameters)
    for repetition in range(2):
        assert outputs(frame, repetition) == drivers.expected(parameters)
    assert set(frame["count"]) == {40}
    assert (frame.loc[frame["metric"] == "wall_time", "value"] > 0).all()
    assert not frame["censored"].any()
    assert set(frame["dataset"]) == {drivers.dataset(parameters)} == {f"wide-{attributes}"}
    assert frame["driver"].str.match(rf"{driver.removesuffix('_async')} \d").all()
    assert set(frame["topology"]) == {"single"}
    assert frame["engine_version"].str.match(r"\d").all()


def leaves_one_out_of_what_it_finds(engine: Engine) -> None:
    read_all = engine.read_all
    engine.read_all = lambda *role: read_all(*role)[:-1]  # type: ignore[method-assign]


def drops_a_record(engine: Engine) -> None:
    insert_many = engine.insert_many
    engine.insert_many = lambda records: insert_many(records[1:])  # type: ignore[method-assign]


def updates_nothing(engine: Engine) -> None:
    engine.update_all = lambda changes: 40  # type: ignore[method-assign]


def deletes_nothing(engine: Engine) -> None:
    engine.delete_all = lambda: 40  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (leaves_one_out_of_what_it_finds, "mongodb, find: 1 of 40 records are missing"),
        (drops_a_record, "mongodb, find: 1 of 40 records are missing"),
        (updates_nothing, "mongodb, primary after update: record '.*' differs: Name is .*, should be 'new Name'"),
        (deletes_nothing, "mongodb, primary after delete: record '.*' is there, and should not be"),
    ],
)
def test_an_engine_that_lies_fails_the_cell(lie: Any, error: str, announce: Announce, monkeypatch: pytest.MonkeyPatch):
    announce("mongodb", "single")
    tamper(monkeypatch, lie)
    with pytest.raises(WrongContentsError, match=error):
        drivers.run(drivers.Parameters(**SMALL))


@pytest.mark.parametrize("driver", drivers.ENGINES)
def test_own_records_take_the_place_of_the_generated_ones(driver: Any, tmp_path: Path, announce: Announce):
    announce("mongodb", "single")
    own = tmp_path / "towns.jsonl"
    own.write_text("\n".join(json.dumps({"_id": f"t{i}", "people": i, "name": f"Town {i}"}) for i in range(3)))
    parameters = drivers.Parameters(driver=driver, dataset_file=str(own), n=5, repetitions=1)
    frame = drivers.run(parameters)
    assert outputs(frame, 0) == drivers.expected(parameters)
    assert set(frame["dataset"]) == {"own-towns"} == {drivers.dataset(parameters)}


@pytest.mark.parametrize(
    "wrong", [{"driver": "mongoose"}, {"attributes": 7}, {"n": 0}, {"calls": "many"}, {"repetitons": 3}, {"n": "10"}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        drivers.Parameters(**wrong)
