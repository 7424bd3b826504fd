"""Cells in another language: the processes of a harness, and the rows that they deliver."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbook.files.suite_files import TemporaryFolder
from benchbook.studies import harness
from benchbook.studies.cell import CellParameters, Columns, Rows


@dataclass(frozen=True)
class HarnessProcess:
    """A process in which a harness runs a cell's repetitions, or some of them."""

    repetitions: int
    first: int = 0
    """The number of the turn that begins."""
    heap: str = "default"
    """The largest heap of Node.js, as ``64m``."""


def plan_processes(
    parameters: CellParameters, other: int, heap: str = "default"
) -> list[HarnessProcess]:
    """Return the processes of a cell, each with its repetitions and the turn that begins.

    With ``process: together`` the first turn begins one and another begins the second, so that each
    side pays for warming up a process. A single repetition, or another process, has one that either
    may begin.

    Parameters
    ----------
    parameters
        The cell's.
    other
        The number of the turn that begins the second process.
    heap
        Of the processes.
    """
    count = parameters.repetitions
    if not parameters.shares_process or count == 1:
        return [HarnessProcess(count, secrets.choice([0, other]), heap)]
    half = count // 2
    return [HarnessProcess(count - half, 0, heap), HarnessProcess(half, other, heap)]


def run_in_language(
    parameters: CellParameters,
    study: str,
    columns: Columns,
    *,
    data: bytes,
    read_files: Callable[[Path], None] | None = None,
    processes: Sequence[HarnessProcess] = (),
    **addresses: Any,
) -> tuple[Rows, harness.Closing]:
    """Run a cell in its language, and return its rows and the last closing message of the harness.

    Raises `benchbook.studies.harness.LanguageError`.

    Parameters
    ----------
    parameters
        The cell's parameters, which the harness gets.
    study
        The study's name.
    columns
        Columns of every row.
    data
        The cell's data as JSON; the harness gets it in a file.
    read_files
        Called with the harness' folder before that is removed.
    processes
        The processes that share the cell's repetitions, in their order; by default a single one.
    addresses
        The servers' ``url`` and ``replica_url``, the ``database`` to work in, and the servers'
        processes on this machine, ``pids``.
    """
    rows = Rows()
    done = 0
    with TemporaryFolder("cell") as folder:
        file = folder / "data.json"
        file.write_bytes(data)
        for process in processes or [HarnessProcess(parameters.repetitions)]:
            asked = {**parameters.model_dump(mode="json"), "repetitions": process.repetitions}
            settings = {"first": process.first, "heap": process.heap, **addresses}
            answer, closing = harness.run_cell(
                parameters.language, study, asked, str(folder), data=str(file), **settings
            )
            # The numbers of the repetitions continue from process to process.
            rows.begin_process()
            _add_sections(rows, answer, done, closing, columns)
            done += process.repetitions
        if read_files:
            read_files(folder)
    return rows, closing


def _add_sections(
    rows: Rows,
    answer: Iterable[harness.Repetition],
    done: int,
    closing: harness.Closing,
    columns: Columns,
) -> None:
    program = {
        "driver_version": closing.driver,
        "runtime": closing.runtime,
        "heap_limit": closing.heap_limit,
    }
    for repetition in answer:
        for section in repetition.sections:
            stated = {**columns, **program, **section.arm}
            stated = {name: value for name, value in stated.items() if value is not None}
            # The harness lists the readings whose wait ran out apart from the others.
            for readings, timed_out in ((section.readings, False), (section.timed_out, True)):
                rows.add(
                    done + repetition.number,
                    section.operation,
                    readings,
                    section.count,
                    started_at=section.started_at,
                    timed_out=timed_out,
                    **stated,
                )
