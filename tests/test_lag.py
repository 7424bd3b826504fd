"""Replication lag: probes on a schedule, stalls at their true length, quantiles of them by block."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from benchbook.databases import Engine
from benchbook.evidence import Evidence
from benchbook.evidence.lags import quantiles
from benchbook.papers.replication import lag as figure
from benchbook.studies import lag, replication
from standing import Announce, outputs

MS = 1e6


@pytest.mark.parametrize("engine", ["mongodb", "postgresql+jsonb", "mariadb+json"])
def test_every_probe_has_a_lag_and_its_record_arrives(engine: Any, announce: Announce):
    parameters = replication.Parameters(
        engine=engine, process="apart", model="document", n=1, probe_rate=200.0, repetitions=40
    )
    announce(*replication.deployment(parameters))
    frame = replication.run(parameters)
    for probe in range(40):
        assert outputs(frame, probe) == replication.expected(parameters)
    assert not frame["censored"].any() and (frame["value"] > 0).all() and (frame["resolution"] > 0).all()


class Stalled:
    """An engine whose replica has every write at once, but the 10th, which takes 100 ms."""

    wait_proof_ns = 0
    wait_resolution_ns = 1.0

    def __init__(self) -> None:
        self.written = 0

    def insert(self, record: dict[str, Any]) -> None:
        self.written += 1

    def position(self) -> int:
        return self.written

    def wait_for(self, position: int, deadline_s: float) -> bool:
        if position == 10:
            time.sleep(0.1)
        return True


def test_a_stall_is_seen_at_its_true_length_by_all_that_was_due_meanwhile():
    engine: Any = Stalled()
    assert isinstance(engine, Stalled) and Engine is not None
    before = datetime.now(UTC)
    probes = [*lag.probes(engine, [{}] * 30, 100.0, 5.0)]
    sent_s = [(probe.started_at - before).total_seconds() for probe in probes]
    assert all(sent >= number / 100 - 0.001 for number, sent in enumerate(sent_s)), "none is sent before it is due"
    lags = [probe.readings()[0].value / MS for probe in probes]
    assert lags[9] >= 100
    # The stall is ten intervals of 10 ms long: each of the ten that were due in it waited for the rest of it.
    late = [probe.late / MS for probe in probes]
    assert all(late[10 + step] == pytest.approx(90 - 10 * step, abs=30) for step in range(8))
    assert sum(value > 5 for value in lags) >= 8, "one slow probe alone would hide what a client would have seen"
    assert max(lags[:9]) < 90 and late[0] == 0


def test_probes_are_one_record_each_in_a_process_of_their_own():
    for wrong in ({"n": 2000, "process": "apart", "model": "document"}, {"n": 1}):
        with pytest.raises(ValidationError, match="probe_rate"):
            replication.Parameters(probe_rate=10.0, **wrong)


def test_quantiles_of_blocks_that_differ_are_less_certain_than_of_blocks_alike():
    random = np.random.default_rng(3)
    block = np.repeat(np.arange(8), 200)
    alike = random.lognormal(size=1600)
    apart = alike * np.exp(random.normal(size=8))[block]
    narrow, wide = (quantiles(values, block, [0.5, 0.9, 0.99]) for values in (alike, apart))
    assert np.allclose(narrow["value"], np.quantile(alike, [0.5, 0.9, 0.99]))
    assert (narrow["low"] <= narrow["value"]).all() and (narrow["value"] <= narrow["high"]).all()
    assert (wide["high"] / wide["low"] > 2 * narrow["high"] / narrow["low"]).all()
    few = quantiles(alike[:800], block[:800], [0.5])
    assert few["blocks"].item() == 4 and np.isnan(few["low"].item()), "four blocks tell no spread"


def test_intervals_of_a_median_cover_the_true_one_where_blocks_differ():
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(60):
        block = np.repeat(np.arange(20), 30)
        lags = np.exp(random.normal(scale=0.3, size=20)[block] + random.normal(size=600))
        row = quantiles(lags, block, [0.5]).iloc[0]
        covered += row["low"] <= 1 <= row["high"]
    # 95 % of 60 are 57; three standard deviations below are 52, and a bootstrap of 20 clusters is a little short.
    assert covered >= 50


def test_a_figure_shows_each_room_and_durability():
    parameters = replication.Parameters(n=1, process="apart", model="document", probe_rate=20.0)
    rows = pd.DataFrame(
        [
            {
                "engine": "mongodb",
                "parameters": json.dumps({**parameters.model_dump(mode="json"), "room": room}),
                "block": block,
                "value": (1 + block + number) * MS,
                "censored": False,
                "stand_in": False,
                "resolution": 5e5,
            }
            for room in ("none", "lan-100m")
            for block in range(5)
            for number in range(20)
        ]
    )
    evidence = Evidence(pd.DataFrame())
    evidence.lags = rows
    points = figure(evidence).frame
    assert {*points["panel"]} == {"loopback, durability default", "lan-100m, durability default"}
    assert [*points["series"][:3]] == ["median", "90 %", "99 %"] and points["low"].notna().all()
    assert points["value"].iloc[0] == pytest.approx(np.median(rows["value"]) / MS)
