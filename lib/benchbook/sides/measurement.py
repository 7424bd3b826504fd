"""Measuring blocks in which sides take turns.

A block runs in fresh processes on a quiet machine. Its rounds run every side twice, under two
names. So each side follows itself as often as the others do, and the first side over itself is an
A/A check of the same length. Chance draws the order of a round, and the next round has it reversed,
so that each side goes first as often as last.
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import Final

from benchbook.files import suite_files
from benchbook.measure.load import Load
from benchbook.measure.machine import (
    describe_environment,
    digest_boot_id,
    digest_machine_id,
    name_host,
)
from benchbook.measure.timing import CLOCK_RESOLUTION
from benchbook.results.folder import open_results
from benchbook.results.schema import METRIC_UNITS
from benchbook.runner.load_monitor import LoadMonitor, NotQuietError
from benchbook.sides.question import LETTERS, VERSION, SideRun, SideRunner, SidesQuestion
from benchbook.studies.cell import iterate_repetitions
from benchbook.version import describe_version

STUDY: Final = "versus"
"""The study's name in results."""

BLOCKS: Final = 9
"""The blocks of one call, unless another number is asked for."""

BLOCK_S: Final = 2.0
"""Seconds of measured work that a block has, unless its first two rounds take longer."""

MAX_ROUNDS: Final = 200
"""The most rounds of a block: very short commands take less than `BLOCK_S`."""

BLOCK_PATIENCE_S: Final = 60.0
"""Seconds that each block waits for a quiet machine, before it is measured and marked as noisy."""


@dataclass(frozen=True)
class _Turn:
    """A side's run with its place: the arm, the round, and the turn in it."""

    run: SideRun
    arm: str
    round: int
    turn: int


def measure_blocks(
    question: SidesQuestion,
    runner: SideRunner,
    blocks: int,
    show: Callable[[str], None],
    *,
    waits: bool = True,
) -> None:
    """Measure blocks and write each to the results.

    Parameters
    ----------
    blocks
        How many more.
    show
        Called with a line on what is done at present.
    waits
        Whether to wait for a quiet machine, and to measure a noisy block once more.

    Raises
    ------
    benchbook.sides.question.SidesError
        When a side fails; blocks before it are kept.
    """
    written = open_results().list_files(STUDY)
    known = [file.facts.block for file in written if file.facts.cell_id == question.cell_id]
    first = max(known, default=0) + 1
    monitor = LoadMonitor(lambda reason, _: show(reason), BLOCK_PATIENCE_S if waits else None)
    rounds = 0
    for place in iterate_repetitions(blocks, "block"):
        block = first + place
        for _ in range(2 if waits else 1):
            show(f"block {place + 1} of {blocks}")
            # A side that fails says so here, before the machine is quiet.
            with runner.start_block() as run_side:
                began = time.time()
                try:
                    monitor.begin_cell({os.getpid()})
                except NotQuietError:  # it is measured all the same, and marked
                    began = time.time()
                turns = _measure_block(run_side, len(question.sides), rounds)
                load = monitor.end_cell({os.getpid()})
            rounds = turns[-1].round + 1
            if load.is_quiet:
                break
        _write_block(question, runner.operation, block, turns, load, began)


def _measure_block(run_side: Callable[[int], SideRun], sides: int, rounds: int) -> list[_Turn]:
    """Return the runs of one block.

    Parameters
    ----------
    rounds
        The even number of rounds; 0 for as many as take `BLOCK_S`, by the time of the first two.
    """
    arms = [*product(range(sides), "ab")]
    turns: list[_Turn] = []
    begin, number = time.monotonic(), 0
    most = rounds or MAX_ROUNDS
    while number < most:
        # Every second round has the order of the one before, reversed.
        if number % 2:
            arms.reverse()
        else:
            random.shuffle(arms)
        for turn, (side, arm) in enumerate(arms, 1):
            turns.append(_Turn(run_side(side), arm, number, turn))
        number += 1
        if number == 2 and not rounds:
            pairs = max(1, round(BLOCK_S / (time.monotonic() - begin)))
            most = min(2 * pairs, MAX_ROUNDS)
    return turns


def _write_block(
    question: SidesQuestion,
    operation: str,
    block: int,
    turns: Sequence[_Turn],
    load: Load,
    began: float,
) -> None:
    """Write one block: a row per run and metric."""
    started_at = datetime.fromtimestamp(began, UTC)
    cell = {
        "study": STUDY,
        "cell_id": question.cell_id,
        "block": block,
        "state": "done",
        "question": question.name,
        "smallest": question.smallest,
        "host": name_host(),
        "machine": digest_machine_id(),
        "boot": digest_boot_id(),
        "code_hash": question.digest,
        "versions": json.dumps({STUDY: VERSION}),
        "environment": _describe_environment(),
        "repetitions": len({turn.round for turn in turns}),
        "background_load": load.foreign,
        "noisy": not load.is_quiet,
        "cell_started_at": started_at,
        "cell_ended_at": started_at + timedelta(seconds=load.seconds),
    }
    # Here, because it is slow to import, and a side that fails needs none of it.
    import pandas as pd

    open_results().write_cell(cell, pd.DataFrame(_list_rows(question, operation, turns)))


@cache
def _describe_environment() -> str:
    """Return the suite and the machine in JSON; only once, because it takes as long as a file."""
    machine = describe_environment(suite_files.find_temporary_folder())
    return json.dumps({"suite": describe_version(), **machine})


def _list_rows(
    question: SidesQuestion, operation: str, turns: Iterable[_Turn]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for turn in turns:
        for metric, value in turn.run.values.items():
            rows.append({
                "own_level": LETTERS[turn.run.side],
                "side": question.sides[turn.run.side],
                "arm": turn.arm,
                "repetition": turn.round,
                "turn": turn.turn,
                "operation": operation,
                "role": "client",
                "metric": metric,
                "value": value,
                "unit": METRIC_UNITS[metric],
                "count": turn.run.count,
                "timed_out": False,
                "source": "perf_counter_ns" if metric == "wall_time" else "getrusage",
                "resolution": CLOCK_RESOLUTION if metric == "wall_time" else 1e3,
                "started_at": datetime.fromtimestamp(turn.run.began_at / 1e9, UTC),
            })  # fmt: skip
    return rows
