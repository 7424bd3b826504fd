"""The batch: block after block, deployment after deployment, one cell at a time, whatever happens to each."""

import itertools
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from benchbook import paths, results, studies
from benchbook.deployment import Topology
from benchbook.grid import Cell, code, notebook
from benchbook.runner.cells import changed, columns, frame, measured_on, measured_s, missing, ran_out
from benchbook.runner.durations import Stopwatch
from benchbook.runner.failures import Failure
from benchbook.runner.kernels import Kernel
from benchbook.runner.notebook import execute
from benchbook.runner.progress import Progress
from benchbook.runner.run_lock import writing
from benchbook.runner.visit import Visit
from benchbook.scrubbing import scrubbed
from benchbook.servers import ServerError
from benchbook.studies.cell import RECORDS, RESULT

TIMEOUT_S: Final = 6 * 3600.0
"""Seconds until a cell is given up, unless told otherwise."""


@dataclass
class Summary:
    """What a run did.

    Attributes
    ----------
    done
        Cells finished in this run.
    failed, skipped
        Cells without values, and why.
    ran_out
        Finished cells in which a wait for the replica ran out: their times are censored.
    wall_s, measured_s
        How long the run took, and for how long of it a cell's clock ran.
    """

    done: int = 0
    failed: list[Failure] = field(default_factory=list)
    skipped: list[Failure] = field(default_factory=list)
    ran_out: list[Cell] = field(default_factory=list)
    wall_s: float = 0.0
    measured_s: float = 0.0


class Batch:
    """One run over a plan.

    Parameters
    ----------
    cells
        The plan; finished cells are left alone.
    progress
        Told of every cell.
    timeout_s
        Seconds until a cell is given up.
    """

    def __init__(self, cells: Sequence[Cell], progress: Progress, timeout_s: float = TIMEOUT_S) -> None:
        self._cells = [cell for cell in cells if cell.state != "done"]
        self._progress = progress
        self._timeout_s = timeout_s
        self._run_id = uuid.uuid4().hex[:12]
        self.summary = Summary()

    def run(self) -> Summary:
        """Run what is not done; an interrupt passes through once nothing runs any more.

        Raises
        ------
        UnwritableError
            When the results' folder takes nothing.
        """
        start = time.monotonic()
        try:
            self._skip(cell for cell in self._cells if cell.missing)
            runnable = [cell for cell in self._cells if not cell.missing]
            for (_, product, topology), cells in itertools.groupby(runnable, _visited):
                self._visit(list(cells), product, topology)
        finally:
            self.summary.wall_s = time.monotonic() - start
        return self.summary

    def _skip(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            reason = cell.missing or ""
            self._write(columns(cell, self._run_id, "skipped", reason))
            self.summary.skipped.append(Failure(cell, reason))
            self._progress.ended(cell, "skipped")

    def _visit(self, cells: Sequence[Cell], product: str, topology: Topology) -> None:
        modules = set[str]().union(*(code(cell.study, cell.parameters).modules for cell in cells))
        with Visit(product, topology, modules) as visit:
            for cell in cells:
                self._progress.begun(cell)
                try:
                    visit.ready()
                except ServerError as error:
                    self._fail(cell, str(error), {})
                else:
                    if not self._attempt(cell, visit):
                        visit.down()  # on servers that failed a cell, or lost their replica, the next would fail too
        self._progress.visited(cells)

    def _attempt(self, cell: Cell, visit: Visit) -> bool:
        """Run a cell; return whether its servers can be trusted with another."""
        target = visit.folder / "rows.parquet"
        target.unlink(missing_ok=True)
        watch = Stopwatch()
        why = self._execute(cell, visit, target)
        other = changed(cell)
        table, lacking = _delivered(cell, target)
        took = watch.stopped()
        known = measured_on(visit, took)
        if table is None or lacking or other:
            dead = visit.broken()
            self._fail(
                cell, dead or other or why or f"the notebook ended well but delivered too little: {lacking}", known
            )
            return False
        self._write({**columns(cell, self._run_id, "done"), **known}, table)
        self.summary.done += 1
        rows = frame(table)
        self.summary.measured_s += measured_s(rows)
        self._progress.ended(cell, "done", took.seconds)
        if late := ran_out(rows):
            self.summary.ran_out.append(cell)
        return not late

    def _execute(self, cell: Cell, visit: Visit, target: Path) -> str | None:
        kept = paths.results() / cell.study / "notebooks" / f"{cell.key}.ipynb"
        log = kept.with_suffix(".log")
        with writing():
            kept.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
        scrub = partial(scrubbed, urls=[node.url for node in visit.deployment.nodes])
        env = {**visit.env, RESULT: str(target), **({RECORDS: cell.records} if cell.records else {})}
        kernel = Kernel(visit.fork_server, visit.folder, paths.notebooks(), log, env)
        parameters = cell.parameters.model_dump()
        try:
            return execute(
                notebook(cell.study),
                parameters,
                kernel,
                kept,
                broken=visit.died,
                scrub=scrub,
                timeout_s=self._timeout_s,
            )
        finally:
            with writing(), suppress(FileNotFoundError):
                if said := log.read_text(errors="replace"):
                    log.write_text(scrub(said))
                else:
                    log.unlink()

    def _fail(self, cell: Cell, reason: str, known: dict[str, object]) -> None:
        reason = scrubbed(reason)
        self._write({**columns(cell, self._run_id, "failed", reason), **known})
        self.summary.failed.append(Failure(cell, reason))
        self._progress.ended(cell, "failed", reason=reason)

    @staticmethod
    def _write(cell: dict[str, object], values: pa.Table | None = None) -> None:
        with writing():
            results.write(cell, values)


def _visited(cell: Cell) -> tuple[int, str, Topology]:
    return cell.block, cell.product, cell.topology


def _delivered(cell: Cell, target: Path) -> tuple[pa.Table | None, str | None]:
    """Return the rows that a cell delivered, and what they lack."""
    try:
        table = results.delivered(target)
    except FileNotFoundError:
        return None, "nothing"
    except results.DamagedError as error:
        return None, f"what it delivered is damaged: {error}"
    asked = cell.parameters.model_dump()
    expected = studies.load(cell.study).expected(cell.parameters)
    return table, missing(frame(table), asked["repetitions"], expected, asked.get("format"))
