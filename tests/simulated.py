"""Runs whose truth is known: cells in blocks under slow drift, thousands of machines in one frame."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from benchbook.results import OBSERVATIONS, typed

Side = tuple[str, int, str]
"""An engine, a number of comments and an arm."""


@dataclass(frozen=True)
class Machine:
    """How measurements vary, in logarithms.

    Parameters
    ----------
    drift
        Standard deviation of the machine's slow mood, an AR(1) of `memory` from cell to cell: what blocks take out.
    noise
        Standard deviation of a cell's own mean, normal or by Student's t of 3 degrees of freedom (`tails`).
    days
        Standard deviation of what a campaign adds to each cell.
    lingers
        Correlation of a cell's own noise in a block with that in the block before, an AR(1).
    bad
        What the first cell's values are multiplied by in one block, another on each machine.
    """

    drift: float = 0.1
    memory: float = 0.95
    noise: float = 0.05
    tails: bool = False
    days: float = 0.0
    lingers: float = 0.0
    bad: float = 1.0


def observations(
    times: Mapping[Side, float],
    *,
    machines: int = 1000,
    blocks: int = 5,
    machine: Machine = Machine(),
    campaigns: Sequence[int] = (),
    operations: Sequence[str] = ("insert",),
    seed: int = 1,
) -> pd.DataFrame:
    """Return what so many machines measure of cells with these true times (ns), two repetitions each.

    In each block every machine visits its cells in a random order of its own. The `campaigns` are the first blocks of
    the second and later ones.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    sides, cells = list(times), len(times)
    mood = _mood(random, machine, (machines, blocks * cells))
    order = np.argsort(random.random((machines, blocks, cells)), axis=2)
    moment = np.arange(blocks)[None, :, None] * cells + order
    shape = (machines, blocks, cells, len(operations), 2)
    standard = random.standard_t(3, shape[:-1]) / np.sqrt(3) if machine.tails else random.standard_normal(shape[:-1])
    for block in range(1, blocks if machine.lingers else 0):
        standard[:, block] *= np.sqrt(1 - machine.lingers**2)
        standard[:, block] += machine.lingers * standard[:, block - 1]
    own = machine.noise * standard[..., None] + 0.01 * random.standard_normal(shape)
    day = np.searchsorted(np.asarray(campaigns), np.arange(blocks), side="right")
    own += machine.days * random.standard_normal((machines, len(campaigns) + 1, cells))[:, day, :, None, None]
    own[np.arange(machines), random.integers(blocks, size=machines), 0] += np.log(machine.bad)
    slow = np.take_along_axis(mood, moment.reshape(machines, -1), axis=1).reshape(machines, blocks, cells, 1, 1)
    values = np.array([times[side] for side in sides])[None, None, :, None, None] * np.exp(slow + own)
    host, block, cell, operation, repetition = (axis.ravel() for axis in np.indices(shape))
    about = pd.DataFrame([_cell(side) for side in sides]).iloc[cell].reset_index(drop=True)
    frame = about.assign(
        host=np.array([f"machine-{number:05}" for number in range(machines)])[host],
        campaign=np.array([f"2026-11-{1 + one:02}T00:00:00Z" for one in day])[block],
        block=block, repetition=repetition, operation=np.asarray(operations)[operation], value=values.ravel(),
        study="crud", lane="python", topology="single", state="done", censored=False,
        role="client", metric="wall_time", unit="ns", source="simulated", resolution=1.0,
        started_at=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    frame["cell_id"] = frame["host"] + "-" + frame["cell_id"]
    table: pd.DataFrame = typed(frame, OBSERVATIONS).to_pandas()
    return table


def _cell(side: Side) -> dict[str, Any]:
    engine, n, arm = side
    parameters = {"engine": engine, "topology": "single", "n": n, "arm": arm, "lane": "python"}
    about = {"cell_id": f"{engine}-{n}-{arm}", "engine": engine, "n": n, "count": n, "arm": arm}
    return {**about, "parameters": json.dumps(parameters)}


def _mood(random: np.random.Generator, machine: Machine, shape: tuple[int, int]) -> np.ndarray:
    steps = random.standard_normal(shape)
    mood = np.empty(shape)
    mood[:, 0] = steps[:, 0]
    for moment in range(1, shape[1]):
        mood[:, moment] = machine.memory * mood[:, moment - 1] + np.sqrt(1 - machine.memory**2) * steps[:, moment]
    return machine.drift * mood
