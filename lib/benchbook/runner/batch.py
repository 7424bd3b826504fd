"""The batch: block after block, deployment after deployment, one cell at a time, whatever happens to each."""

import itertools
import json
import math
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from benchbook import paths, results, studies
from benchbook.datasets import own_records
from benchbook.grid import Cell, cell_modules, code_hash
from benchbook.inputs import InputError
from benchbook.measure.machine import Load, host
from benchbook.runner import quiet
from benchbook.runner.fork_server import ForkServer
from benchbook.runner.notebook import Ended, Kernel, execute
from benchbook.runner.progress import Failure, Part, Progress, Summary
from benchbook.runner.run_folder import writing
from benchbook.runner.visit import Visit
from benchbook.scrubbing import scrubbed
from benchbook.servers import ServerError
from benchbook.studies.cell import RECORDS, RESULT
from benchbook.suite import suite

TIMEOUT_S: Final = 6 * 3600.0
"""Seconds until a cell is given up, unless told otherwise."""

ROWS: Final = "rows.parquet"
"""What a cell delivers, in its visit's folder."""

_STEP_S: Final = 0.1
"""Seconds by which the two clocks may part before it is a jump: more than passes between two readings of them."""


class Batch:
    """One run over a plan, whose finished cells are left alone; a cell is given up after `timeout_s` seconds.

    It goes on from the `summary` of the blocks before; no cell is begun once `over` says that time is up, or before the
    machine is quiet: for `patience_s` seconds it waits. A cell that other processes disturb is measured once more at
    its block's end. With a patience of None the run does neither, and only marks such cells.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        progress: Progress,
        timeout_s: float = TIMEOUT_S,
        summary: Summary | None = None,
        over: Callable[[], bool] = lambda: False,
        patience_s: float | None = quiet.PATIENCE_S,
    ) -> None:
        self._cells = [cell for cell in cells if cell.state != "done"]
        self._progress = progress
        self._timeout_s = timeout_s
        self._over = over
        self._run: dict[str, object] = {"run_id": uuid.uuid4().hex[:12]}
        self.summary = summary or Summary()
        self._quiet = quiet.Watch(progress.waiting, patience_s)
        self._repeats = patience_s is not None
        self._noisy: dict[str, tuple[Cell, float]] = {}
        """The block's cells that others disturbed, and how many processors they used."""

    def run(self) -> None:
        """Run what is not done; lets an interrupt through once nothing runs any more.

        Raises `UnwritableError`, `benchbook.runner.quiet.NotQuietError`, and `benchbook.folders.FolderError` when no
        temporary folder can be made.
        """
        start = time.monotonic()
        try:
            for cell in self._cells:
                if cell.missing:
                    self._write(cell, _columns(cell, "skipped", cell.missing))
                    self.summary.skipped.append(Failure(cell, cell.missing))
                    self._progress.ended(cell, "skipped")
            runnable = [cell for cell in self._cells if not cell.missing]
            for _, cells in itertools.groupby(runnable, lambda cell: cell.block):
                self._noisy.clear()
                block = list(cells)
                modules = set[str]().union(*(cell_modules(cell.study, cell.parameters) for cell in block))
                with ForkServer(modules) as fork_server:
                    self._visit(block, fork_server)
                    if self._repeats:
                        self._visit([cell for cell, _ in self._noisy.values()], fork_server, again=True)
        finally:
            self.summary.spent_s["waiting"] += self._quiet.waited_s
            self.summary.wall_s += time.monotonic() - start

    def _visit(self, block: Iterable[Cell], fork_server: ForkServer, *, again: bool = False) -> None:
        """Visit one deployment after another and run its cells there; `again` for those that others disturbed."""
        for place, cells in itertools.groupby(block, lambda cell: cell.place):
            if self._over():
                break
            with Visit(place, fork_server) as visit:
                visited = list(cells)
                for cell in visited:
                    if self._over():
                        break
                    self._progress.begun(cell)
                    self._measure(cell, visit)
                with self.summary.spends("servers"):
                    visit.down()
                self._progress.visited(visited, again=again)

    def _measure(self, cell: Cell, visit: Visit) -> None:
        """Measure a cell, on servers that run."""
        try:
            with self.summary.spends("servers"):
                visit.ready()
        except ServerError as error:
            self._fail(cell, str(error), {})
            return
        self._quiet.begin(visit.own)
        (visit.folder / ROWS).unlink(missing_ok=True)
        watch = Stopwatch()
        ended = self._execute(cell, visit)
        with self.summary.spends("writing"):
            trusted = self._judge(cell, visit, watch, ended)
        # On servers that failed a cell, or lost their replica, and in a folder that it filled, the next would fail.
        if not trusted:
            visit.down()

    def _judge(self, cell: Cell, visit: Visit, watch: "Stopwatch", ended: Ended) -> bool:
        """Write what a cell delivered, or why it failed; return whether its servers can be trusted with another."""
        load = self._quiet.end(visit.own)
        changed = _changed(cell)
        table, values, fault = _delivered(cell, visit.folder / ROWS)
        watch.stop()
        failed = table is None or fault or changed
        # Given servers may have got a replica meanwhile.
        dead = visit.broken() if failed or visit.deployment.given else None
        if table is None or failed or dead:
            reason = dead or changed or ended.why or f"the notebook ended well but {fault}"
            self._fail(cell, reason, _measured_on(visit, watch, load))
            return False
        late = ran_out(values)
        _, least = self._noisy.get(cell.key, (cell, math.inf))
        # Of two measurements the less noisy stands.
        if load.foreign < least:
            self._write(cell, {**_columns(cell, "done"), **_measured_on(visit, watch, load)}, table)
            self.summary.stands(cell, late=late, noisy=not load.quiet)
        # Of a cell that ended well, its study is the notebook cell that took longest.
        measured = measured_s(values)
        parts: dict[Part, float] = {"measured": measured, "study": ended.longest_s - measured}
        parts |= {"kernels": ended.kernel_s, "notebooks": ended.rest_s}
        for part, seconds in parts.items():
            self.summary.spent_s[part] += seconds
        if cell.key in self._noisy:
            self.summary.repeated += 1
            return not late
        self.summary.done += 1
        self._progress.ended(cell, "done", watch.seconds)
        if not load.quiet:
            self.summary.beside_others += 1
            self._noisy[cell.key] = cell, load.foreign
        return not late

    def _execute(self, cell: Cell, visit: Visit) -> Ended:
        log = cell.notebook.with_suffix(".log")
        with writing():
            log.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
        scrub = partial(scrubbed, urls=[node.url for node in visit.deployment.nodes])
        env = {**visit.env, RESULT: str(visit.folder / ROWS), **({RECORDS: cell.records} if cell.records else {})}
        kernel = Kernel(visit.fork_server, visit.folder, paths.notebooks(), log, env)
        try:
            return execute(
                studies.notebook(cell.study),
                cell.parameters.model_dump(),
                kernel,
                cell.notebook,
                broken=visit.died,
                scrub=scrub,
                timeout_s=self._timeout_s,
            )
        finally:
            with writing(), suppress(FileNotFoundError):
                if printed := log.read_text(errors="replace"):
                    log.write_text(scrub(printed))
                else:
                    log.unlink()

    def _fail(self, cell: Cell, reason: str, columns: dict[str, object]) -> None:
        reason = scrubbed(reason)
        if cell.key in self._noisy:
            self._progress.kept(cell, reason)
            return
        self._write(cell, {**_columns(cell, "failed", reason), **columns})
        self.summary.failed.append(Failure(cell, reason))
        self._progress.ended(cell, "failed", reason=reason)

    def _write(self, cell: Cell, columns: dict[str, object], values: pa.Table | None = None) -> None:
        with writing():
            results.write({**self._run, **columns}, values, cell.kind[1])


class Stopwatch:
    """Runs from when it is made until it is stopped: so many `seconds` by the monotonic clock, which nobody sets.

    By `step_s` more the machine's time went on: it was set, or the machine slept.
    """

    def __init__(self) -> None:
        self.started_at, self._begun = datetime.now(UTC), time.monotonic()
        self.seconds = self.step_s = 0.0

    def stop(self) -> None:
        """Read both clocks."""
        self.seconds = time.monotonic() - self._begun
        self.step_s = (datetime.now(UTC) - self.started_at).total_seconds() - self.seconds


def _columns(cell: Cell, state: results.State, reason: str | None = None) -> dict[str, object]:
    """Return a cell's columns that are known without running it."""
    levels = cell.parameters.model_dump()
    return {
        **{name: levels[name] for name in results.OF_AN_ARM if name in levels},
        **cell.parameters.as_columns(),
        "cell_id": cell.identity,
        "block": cell.block,
        "position": cell.position,
        "host": host(),
        "study": cell.study,
        "topology": cell.topology,
        "dataset": studies.load(cell.study).dataset(cell.parameters),
        "code_hash": code_hash(cell.study, cell.parameters),
        "state": state,
        "reason": reason,
    }


def _measured_on(visit: Visit, watch: Stopwatch, load: Load) -> dict[str, object]:
    """Return a cell's columns that its deployment knows, when it ran, and beside what.

    It ends as long after its start as the monotonic clock says; how far the machine's time jumped meanwhile, and how
    often its processors were slowed down for heat, stands with its environment.
    """
    nodes = visit.deployment.nodes
    jumped = {"clock_step_s": round(watch.step_s, 3)} if abs(watch.step_s) >= _STEP_S else {}
    slowed = {"slowed_for_heat": load.slowed} if load.slowed else {}
    return {
        "database_version": nodes[0].version if nodes else None,
        **{name: visit.deployment.settings.get(name) for name in ("image", "image_digest")},
        "environment": json.dumps(
            {"suite": suite()} | visit.environment | jumped | slowed, sort_keys=True, default=str
        ),
        "background_load": load.foreign,
        "noisy": not load.quiet,
        "cell_started_at": watch.started_at,
        "cell_ended_at": watch.started_at + timedelta(seconds=watch.seconds),
    }


def _changed(cell: Cell) -> str | None:
    """Return that the file of records which a cell was given is another now than when it was planned; else None."""
    if cell.records is None:
        return None
    file = cell.parameters.model_dump()["dataset_file"]
    try:
        return None if own_records.checked(file) == cell.records else f"{file}: {own_records.CHANGED}"
    except InputError as error:
        return f"{error}: it {own_records.CHANGED}"


class Value(NamedTuple):
    """What completeness and time are judged by, of a row that a cell delivered."""

    repetition: int
    operation: str
    role: str
    metric: str
    value: float | None  # None: it was not measured
    timed_out: bool
    started_at: int  # microseconds since 1970
    arm: tuple[str | None, ...]  # by `benchbook.results.OF_AN_ARM`


def _delivered(cell: Cell, target: Path) -> tuple[pa.Table | None, list[Value], str | None]:
    """Return the rows that a cell delivered, what of them it is judged by, and why they cannot count."""
    try:
        table = results.delivered(target)
    except FileNotFoundError:
        return None, [], "delivered too little: nothing"
    except results.DamagedError as error:
        return None, [], f"delivered too little: what it delivered is damaged: {error}"
    values = judged(table)
    parameters = cell.parameters
    expected = studies.load(cell.study).expected(parameters)
    turns = parameters.turns()
    fault = (
        compare_parameters(table, parameters.as_columns())
        or missing(values, parameters.repetitions, expected, turns)
        or find_excess(values, parameters.repetitions, turns)
    )
    return table, values, fault


def compare_parameters(table: pa.Table, asked: Mapping[str, object]) -> str | None:
    """Return where the parameters that rows state are not those of their cell, by columns; None when they are."""
    stated = {name: table[name].unique().to_pylist() for name in asked if name in table.column_names}
    if len(stated) < len(asked) or [None] in stated.values():
        return (
            "delivered values without the parameters that they were measured with: "
            "put @state_parameters above the study's run, and deliver the rows that it returns"
        )
    others = [f"{name}={stated[name][0]}, not {level}" for name, level in asked.items() if stated[name] != [level]]
    if others:
        return (
            f"measured other parameters than the cell's: {'; '.join(others)}: "
            "no notebook cell may change a parameter after the one tagged parameters"
        )
    unknown = sorted({*table.column_names} - {*results.OBSERVATIONS.names} - asked.keys())
    return f"delivered columns that are no parameters: {', '.join(unknown)}" if unknown else None


def judged(table: pa.Table) -> list[Value]:
    """Return what a cell is judged by, of the rows that it delivered."""
    outputs = [table[name].to_pylist() for name in ("repetition", "operation", "role", "metric")]
    numbers = [None if value is None or math.isnan(value) else value for value in table["value"].to_pylist()]
    timed_out, started_at = table["timed_out"].to_pylist(), table["started_at"].cast(pa.int64()).to_pylist()
    arms = zip(*(table[name].to_pylist() for name in results.OF_AN_ARM), strict=True)
    return [Value(*row) for row in zip(*outputs, numbers, timed_out, started_at, arms, strict=True)]


def missing(
    values: Sequence[Value],
    repetitions: int,
    expected: Iterable[tuple[str, str, str]],
    turns: Iterable[Mapping[str, str]] = (),
) -> str | None:
    """Return what lacks in a cell's rows; None when they are complete.

    Every repetition holds every expected operation, role and metric, in each arm that the cell takes in turn; a value
    may be missing only where a wait ran out.
    """
    arms: dict[tuple[str | None, ...], set[tuple[int, str, str, str]]] = {}
    for value in values:
        if value.value is not None or value.timed_out:
            arms.setdefault(value.arm, set()).add(value[:4])
    for arm in turns:
        if not any(arm.items() <= dict(zip(results.OF_AN_ARM, stated, strict=True)).items() for stated in arms):
            return f"delivered too little: all values of {' '.join(arm.values())}".strip()
    wanted = {(repetition, *output) for repetition in range(repetitions) for output in expected}
    for measured in arms.values():
        if lacking := sorted(wanted - measured):
            repetition, operation, role, metric = lacking[0]
            first = f"{metric} of the {role} in {operation} {repetition}"
            return f"delivered too little: {len(lacking)} of {len(wanted)} values, first {first}"
    return None if arms else "delivered too little: all values"


def find_excess(values: Iterable[Value], repetitions: int, turns: Sequence[Mapping[str, str]]) -> str | None:
    """Return which rows are of a repetition or an arm that the cell does not have; None when there are none."""
    arms = set()
    for value in values:
        if value.repetition not in range(repetitions):
            return f"delivered too much: values of repetition {value.repetition}"
        arms.add(value.arm)
    for arm in arms:
        stated = dict(zip(results.OF_AN_ARM, arm, strict=True))
        if not any(turn.items() <= stated.items() for turn in turns):
            return f"delivered too much: values of {' '.join(filter(None, arm))}"
    if len(arms) > len(turns):
        return f"delivered too much: values of {len(arms)} arms, not {len(turns)}"
    return None


def ran_out(values: Iterable[Value]) -> bool:
    """Return whether a wait for the replica ran out: a time that is timed out, not one that was never taken."""
    return any(value.timed_out and value.value is not None for value in values)


def measured_s(values: Iterable[Value]) -> float:
    """Return for how many seconds a cell's clocks ran, each moment once."""
    total, until = 0.0, -math.inf
    for row in sorted(values, key=attrgetter("started_at")):
        if row.value is None or row.metric not in results.TIMES:
            continue
        start = row.started_at / 1e6
        end = start + row.value / 1e9
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
