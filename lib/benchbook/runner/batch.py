"""The batch: block after block, deployment after deployment, one cell at a time."""

import itertools
import json
import math
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from errno import EACCES, EDQUOT, EEXIST, ENOENT, ENOSPC, ENOTDIR, EPERM, EROFS
from functools import partial
from pathlib import Path
from typing import Final, TextIO

import pyarrow as pa

from benchbook import paths
from benchbook.files.inputs import InputError
from benchbook.grid import Cell
from benchbook.grid.cell_id import digest_versions
from benchbook.grid.units import list_modules, read_versions
from benchbook.measure.load import Load
from benchbook.measure.machine import digest_boot_id, digest_machine_id, name_host
from benchbook.own_data import own_records
from benchbook.results import files, server_checks
from benchbook.results.folder import ResultsFolder, open_results
from benchbook.results.schema import ALTERNATING_COLUMNS
from benchbook.runner import load_monitor
from benchbook.runner.block_deployment import BlockDeployment
from benchbook.runner.delivery import check_delivery, count_measured_seconds, has_timed_out
from benchbook.runner.errors import RunError
from benchbook.runner.interrupts import record_interrupts
from benchbook.runner.kernel import ForkServer
from benchbook.runner.notebook import Kernel, NotebookOutcome, execute_notebook
from benchbook.runner.progress import Failure, Limits, Progress, Summary, TimePart
from benchbook.servers.errors import ServerError, scrub_passwords
from benchbook.servers.own_processors import count_deployment_processors
from benchbook.studies.catalogue import find_notebook, load_study
from benchbook.studies.cell import RECORDS_VARIABLE, RESULT_VARIABLE
from benchbook.version import describe_version

ROWS_FILE: Final = "rows.parquet"
"""The file of the rows that a cell delivers, in its deployment's folder."""

RECORDS_FILE: Final = "records.json"
"""The file of the user's records that a cell's kernel reads, in the same folder."""

_FULL: Final = "the disk is full: free some of it"
_NO_PERMISSION: Final = "you may not write there: change its permissions or owner"
_REMEDIES: Final = {
    ENOSPC: _FULL,
    EDQUOT: _FULL,
    EACCES: _NO_PERMISSION,
    EPERM: _NO_PERMISSION,
    EROFS: "it is read-only: remount it",
    EEXIST: "a file has the folder's name: move it away",
    ENOTDIR: "a file has a folder's name: move it away",
    ENOENT: "its parent folder does not exist and cannot be made",
}


class UnwritableError(RunError):
    """Results cannot be written."""


@contextmanager
def lock_results() -> Iterator[ResultsFolder]:
    """Lock the results' folder for one run; the system unlocks it however the run ends.

    Raises `benchbook.results.folder.BusyError`, which names the process that has it, or
    `UnwritableError`.
    """
    with ExitStack() as stack:
        with report_unwritable():
            # A command that sets a damaged file aside holds the lock for less than a second.
            file = stack.enter_context(open_results().lock(patience_s=1.0))
            file.truncate(0)
            file.write(f"process {os.getpid()}, running since {datetime.now():%H:%M},")
            file.flush()
        yield open_results()
        file.truncate(0)


@contextmanager
def report_unwritable() -> Iterator[None]:
    """Raise an `OSError` of the body, which writes results, as `UnwritableError` with a remedy."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "")
        advice = f": {remedy}, or point BENCHBOOK_RESULTS elsewhere" if remedy else ""
        raise UnwritableError(f"{paths.results()} cannot be written: {error}{advice}") from error


def run_cells(
    cells: Sequence[Cell],
    limits: Limits,
    summary: Summary,
    *,
    out: TextIO | None = None,
    noisy: Mapping[str, float] | None = None,
    show_first_block: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Run the cells that are not done on this machine, while `lock_results` holds its results.

    Raises the errors of `Batch.run`.

    Parameters
    ----------
    cells
        A plan's, or some of them, in the order in which they run.
    limits
        How long it measures, and how it treats noisy cells.
    summary
        Counts what was done, also when an error ends it.
    out
        Where the progress is shown; None: on standard output.
    noisy
        Cells whose noisy values another results' folder has, by their key, with the processors
        that others used meanwhile; None: no cells.
    show_first_block
        Called after the first block, if others follow.
    """
    with Progress(cells, open_results().list_durations(), out) as progress:
        Batch(cells, limits, summary, progress, noisy or {}, show_first_block).run()


class Batch:
    """One run over a plan; finished cells are left as they are.

    A cell that ran while other processes were busy is measured again at the end of its block. Of a
    cell that was noisy before this run, that is the first measurement. The less noisy one is kept.

    Parameters
    ----------
    cells
        The plan, in the order in which it runs.
    limits, summary, noisy, show_first_block
        As `run_cells` takes them.
    progress
        Shows how far the run is.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        limits: Limits,
        summary: Summary,
        progress: Progress,
        noisy: Mapping[str, float],
        show_first_block: Callable[[Progress], None],
    ) -> None:
        self._cells = [cell for cell in cells if cell.state != "done"]
        self._limits = limits
        self._progress = progress
        self._show_first_block = show_first_block
        self._run: dict[str, object] = {"run_id": uuid.uuid4().hex[:12]}
        self.summary = summary
        self._monitor = load_monitor.LoadMonitor(progress.show_wait, limits.patience_s)
        self._refusals: dict[str, str] = {}
        for study in {cell.study for cell in self._cells}:
            self._refusals |= open_results().list_refusals(study)
        """Why servers refuse a user's records, by the identity of a cell that tried."""
        self._noisy = {**noisy, **open_results().list_noisy_cells(cell.key for cell in self._cells)}
        """The processors that others used while a cell ran whose values are noisy, by its key."""
        self._repeats: dict[str, Cell] = {}
        """The block's cells that are measured again at its end, by their key."""

    def run(self) -> None:
        """Run the cells that are not done; an interrupt is raised once nothing runs any more.

        Raises `UnwritableError`, `benchbook.runner.load_monitor.NotQuietError`, and
        `benchbook.files.suite_files.FolderError` when no temporary folder can be made.
        """
        start = time.monotonic()
        with record_interrupts() as self._raise_interrupt:
            try:
                self._run_blocks()
            finally:
                self.summary.spent_s["waiting"] += self._monitor.waited_s
                self.summary.heaviest = max(self.summary.heaviest, self._monitor.heaviest)
                self.summary.wall_s += time.monotonic() - start

    def _run_blocks(self) -> None:
        """Run one block after another, each with freshly started servers."""
        # Cells that cannot run here get a row with the reason.
        for cell in self._cells:
            if cell.missing:
                self._skip(cell, cell.missing, {})

        # Each block has a fork server that has imported what its cells import.
        runnable = [cell for cell in self._cells if not cell.missing]
        by_block = itertools.groupby(runnable, lambda cell: cell.block)
        for number, block in enumerate([list(cells) for _, cells in by_block]):
            if number == 1:
                with self.summary.count_time("report"):
                    self._show_first_block(self._progress)
            self._repeats.clear()
            modules = set[str]()
            for cell in block:
                modules |= list_modules(cell.study, cell.parameters)
            with ForkServer(modules) as fork_server:
                self._run_deployments(block, fork_server)
                self._run_deployments([*self._repeats.values()], fork_server, again=True)
            self._raise_interrupt()

    def _run_deployments(
        self, block: Iterable[Cell], fork_server: ForkServer, *, again: bool = False
    ) -> None:
        """Start one deployment after another and run its cells; `again`: noisy ones."""
        for place, cells in itertools.groupby(block, lambda cell: cell.deployment):
            if time.monotonic() >= self._limits.deadline_s:
                break
            with BlockDeployment(place, fork_server) as deployment:
                of_deployment = list(cells)
                for cell in of_deployment:
                    self._raise_interrupt()
                    if time.monotonic() >= self._limits.deadline_s:
                        break
                    if cell.identity in self._refusals:
                        self._skip(cell, self._refusals[cell.identity], {})
                        continue
                    self._progress.begin_cell(cell)
                    self._measure(cell, deployment)
                with self.summary.count_time("servers"):
                    deployment.stop()
                self._progress.end_deployment(of_deployment, again=again)

    def _measure(self, cell: Cell, deployment: BlockDeployment) -> None:
        """Start the cell's servers if they do not run, and measure it."""
        try:
            with self.summary.count_time("servers"):
                deployment.start()
        except ServerError as error:
            self._fail(cell, str(error), {})
            return
        with report_unwritable():
            changed = _store_records(cell, deployment.folder / RECORDS_FILE)
        if changed:
            self._fail(cell, changed, {})
            return
        self._monitor.begin_cell(deployment.own_pids)
        (deployment.folder / ROWS_FILE).unlink(missing_ok=True)
        stopwatch = Stopwatch()
        outcome = self._execute(cell, deployment)
        with self.summary.count_time("writing"):
            is_reusable = self._keep_delivery(cell, deployment, stopwatch, outcome)
        # If servers failed a cell or lost their replica, or the cell filled its folder, the next
        # cell would fail.
        if not is_reusable:
            deployment.stop()

    def _execute(self, cell: Cell, deployment: BlockDeployment) -> NotebookOutcome:
        """Execute the cell's notebook, and remove passwords from what it printed."""
        log = cell.notebook.with_suffix(".log")
        with report_unwritable():
            log.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
        # A notebook may print an address, and some have a password.
        scrub = partial(scrub_passwords, urls=[node.url for node in deployment.deployment.nodes])
        env = {**deployment.kernel_variables, RESULT_VARIABLE: str(deployment.folder / ROWS_FILE)}
        if cell.records:
            env[RECORDS_VARIABLE] = str(deployment.folder / RECORDS_FILE)
        kernel = Kernel(deployment.fork_server, deployment.folder, paths.notebooks(), log, env)
        try:
            return execute_notebook(
                find_notebook(cell.study),
                cell.parameters.model_dump(),
                kernel,
                cell.notebook,
                find_failure=deployment.find_local_failure,
                scrub=scrub,
                timeout_s=self._limits.timeout_s,
            )
        finally:
            with report_unwritable(), suppress(FileNotFoundError):
                printed = log.read_text(errors="replace")
                if printed:
                    log.write_text(scrub(printed))
                else:
                    log.unlink()

    def _keep_delivery(
        self,
        cell: Cell,
        deployment: BlockDeployment,
        stopwatch: "Stopwatch",
        outcome: NotebookOutcome,
    ) -> bool:
        """Write a cell's rows, or why it failed; return whether its servers can be used again."""
        # Was it delivered whole, and did its servers stay as they were?
        load = self._monitor.end_cell(deployment.own_pids)
        table, values, fault = check_delivery(cell, deployment.folder / ROWS_FILE)
        stopwatch.stop()
        failed = table is None or fault
        # A user's servers may have got a replica meanwhile.
        is_asked = failed or deployment.deployment.is_given
        dead = deployment.find_failure() if is_asked else None
        measured_on = _describe_run(deployment, stopwatch, load)
        if outcome.is_refusal and not dead:
            reason = scrub_passwords(str(outcome.failure))
            self._progress.report_refusal(cell, reason)
            self.summary.spent_s["study"] += stopwatch.seconds
            self._skip(cell, reason, measured_on)
            self._refusals[cell.identity] = reason
            return True
        if table is None or failed or dead:
            reason = dead or outcome.failure or str(fault)
            self._fail(cell, reason, measured_on)
            return False

        # Of two measurements, keep the one with less background load.
        timed_out = has_timed_out(values)
        was_noisy = cell.key in self._noisy
        least = self._noisy.get(cell.key, math.inf)
        if load.is_quiet or load.foreign < least:
            self._write(cell, {**_describe_cell(cell, "done"), **measured_on}, table)
            self.summary.note_flags(cell, timed_out=timed_out, noisy=not load.is_quiet)
        elif cell not in self.summary.noisy:
            self.summary.noisy.append(cell)
        if load.is_quiet:
            self._noisy.pop(cell.key, None)
        else:
            self._noisy[cell.key] = min(load.foreign, least)

        # Count the cell; one that is noisy for the first time is measured once more.
        if cell.key in self._repeats:
            self.summary.repeated += 1
        else:
            self.summary.finished.add((cell.combination, cell.block))
            self._progress.end_cell(cell, "done", stopwatch.seconds)
            if not load.is_quiet:
                self.summary.beside_others += 1
                if self._limits.patience_s is not None and not was_noisy:
                    self._repeats[cell.key] = cell
        self._count_seconds(outcome, count_measured_seconds(values))
        return not timed_out

    def _count_seconds(self, outcome: NotebookOutcome, measured_s: float) -> None:
        """Count what a cell's time was spent on; its study is the longest notebook cell."""
        parts: dict[TimePart, float] = {
            "measured": measured_s,
            "study": outcome.longest_s - measured_s,
            "kernels": outcome.kernel_s,
            "notebooks": outcome.rest_s,
        }
        for part, seconds in parts.items():
            self.summary.spent_s[part] += seconds

    def _skip(self, cell: Cell, reason: str, columns: Mapping[str, object]) -> None:
        """Write why a cell is skipped; `columns` say on what it was tried, if it was.

        One that has noisy values keeps them.
        """
        if cell.key in self._noisy:
            self._progress.report_kept_values(cell, reason)
            return
        # A refusal stays as it is, with the servers on which the cell was tried.
        if cell.state != "skipped" or cell.identity not in self._refusals:
            self._write(cell, {**_describe_cell(cell, "skipped", reason), **columns})
        self.summary.skipped.append(Failure(cell, reason))
        self._progress.end_cell(cell, "skipped")

    def _fail(self, cell: Cell, reason: str, columns: dict[str, object]) -> None:
        """Write why a cell failed; one that has noisy values keeps them."""
        reason = scrub_passwords(reason)
        if cell.key in self._noisy:
            self._progress.report_kept_values(cell, reason)
            return
        self._write(cell, {**_describe_cell(cell, "failed", reason), **columns})
        self.summary.failed.append(Failure(cell, reason))
        self._progress.end_cell(cell, "failed", reason=reason)

    def _write(
        self, cell: Cell, columns: dict[str, object], values: pa.Table | None = None
    ) -> None:
        with report_unwritable():
            open_results().write_cell({**self._run, **columns}, values, cell.combination[1])


class Stopwatch:
    """A stopwatch on the monotonic clock, which nothing sets; it runs until it is stopped."""

    def __init__(self) -> None:
        self.started_at = datetime.now(UTC)
        self._begun = time.monotonic()
        self.seconds = 0.0
        self.step_s = 0.0
        """Seconds that the machine's time went on more: it was set, or the machine slept."""

    def stop(self) -> None:
        """Read both clocks."""
        self.seconds = time.monotonic() - self._begun
        self.step_s = (datetime.now(UTC) - self.started_at).total_seconds() - self.seconds


def _describe_cell(
    cell: Cell, state: files.CellState, reason: str | None = None
) -> dict[str, object]:
    """Return the columns of a cell that are known without running it."""
    levels = cell.parameters.model_dump()
    versions = read_versions(cell.study, cell.parameters)
    return {
        **{name: levels[name] for name in ALTERNATING_COLUMNS if name in levels},
        **cell.parameters.as_columns(),
        "cell_id": cell.identity,
        "block": cell.block,
        "position": cell.position,
        "host": name_host(),
        "study": cell.study,
        "topology": cell.topology,
        "dataset": load_study(cell.study).dataset(cell.parameters),
        "code_hash": digest_versions(versions),
        "versions": json.dumps(versions, sort_keys=True),
        "machine": digest_machine_id(),
        "boot": digest_boot_id(),
        "state": state,
        "reason": reason,
    }


def _describe_run(
    deployment: BlockDeployment, stopwatch: Stopwatch, load: Load
) -> dict[str, object]:
    """Return the columns of a cell that say on which servers and when it ran, and the load.

    Its end is its start plus the seconds of the monotonic clock. The environment says how far the
    machine's time jumped, how often its processors were slowed down for heat, and in how many
    periods a CPU quota stopped the run.
    """
    environment: dict[str, object] = {"suite": describe_version()} | deployment.environment
    # More than passes between two readings of a clock.
    if abs(stopwatch.step_s) >= 0.1:
        environment["clock_step_s"] = round(stopwatch.step_s, 3)
    if load.slowed:
        environment["slowed_for_heat"] = load.slowed
    if load.throttled:
        environment["throttled_periods"] = load.throttled
    nodes = deployment.deployment.nodes
    settings = deployment.deployment.settings
    version = nodes[0].version if nodes else ""
    key = (deployment.deployment.product, version, deployment.deployment.topology)
    return {
        "database_version": version if nodes else None,
        "checked": server_checks.list_check_dates(open_results()).get(key),
        "image": settings.get("image"),
        "image_digest": settings.get("image_digest"),
        "environment": json.dumps(environment, sort_keys=True, default=str),
        "background_load": load.foreign,
        "noisy": not load.is_quiet,
        "own_processors": count_deployment_processors(deployment.deployment),
        "cell_started_at": stopwatch.started_at,
        "cell_ended_at": stopwatch.started_at + timedelta(seconds=stopwatch.seconds),
    }


def _store_records(cell: Cell, target: Path) -> str | None:
    """Write the user's records for the cell's kernel; return that they changed since the plan."""
    file = cell.parameters.dataset_file
    if file is None:
        return None
    try:
        stored = own_records.store_records(file, cell.parameters.record_count, target)
    except InputError as error:
        return f"{error}: it {own_records.CHANGED_REASON}"
    return None if stored == cell.records else f"{file}: {own_records.CHANGED_REASON}"
