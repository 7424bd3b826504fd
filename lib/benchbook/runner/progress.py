"""Limits and progress of a run: which cell runs, which failed, what took the time, what is left.

A terminal shows one live line. Elsewhere a run prints one line per deployment, and one per cell
that fails.
"""

import json
import math
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, Self, TextIO, TypeAlias

from benchbook.files.suite_files import FolderError
from benchbook.grid import Cell
from benchbook.grid.cells import Combination
from benchbook.runner.errors import RunError
from benchbook.text.control_characters import escape_controls
from benchbook.text.number_format import format_duration

TIMEOUT_S: Final = 6 * 3600.0
"""Seconds until a cell is stopped, unless the user sets another time."""

TimePart: TypeAlias = Literal[
    "measured", "study", "servers", "kernels", "notebooks", "writing", "waiting", "report"
]
"""A part of the time that a run takes."""

TIME_PARTS: Final[Mapping[TimePart, str]] = {
    "measured": "measured work",
    "study": "preparing data, emptying and checking databases",
    "servers": "starting and stopping servers",
    "kernels": "starting kernels",
    "notebooks": "running notebooks around the study",
    "writing": "checking and writing results",
    "waiting": "waiting for a quiet machine",
    "report": "building the first report",
}

Durations = Mapping[Combination, float]
"""Seconds of finished cells, by their kind."""

Factors = Mapping[str, Sequence[str]]
"""The names of the parameters that differ among a study's cells, by study."""


@dataclass(frozen=True)
class Limits:
    """How long a run measures, and how it treats cells that other programs disturb."""

    timeout_s: float = TIMEOUT_S  # until a cell is stopped
    # To wait for a quiet machine. None: do not wait, and only mark noisy cells.
    patience_s: float | None = None
    repeats_noisy: bool = False  # whether finished cells that are noisy are measured again
    deadline_s: float = math.inf  # on this machine's monotonic clock: no cell begins later


@dataclass(frozen=True)
class Failure:
    """A cell that failed or was skipped, and why."""

    cell: Cell
    reason: str


@dataclass
class Summary:
    """What a run did: the cells that it finished, those without values and why, and its time."""

    # By combination and block, so that a cell that two hosts measured counts once.
    finished: set[tuple[Combination, int]] = field(default_factory=set)
    failed: list[Failure] = field(default_factory=list)
    skipped: list[Failure] = field(default_factory=list)
    timed_out: list[Cell] = field(default_factory=list)  # a wait for the replica timed out
    noisy: list[Cell] = field(default_factory=list)  # their values were measured under load
    beside_others: int = 0  # how many cells were noisy when they were first measured
    repeated: int = 0  # how many of these were measured again
    heaviest: tuple[float, str] = (0.0, "")  # as of `LoadMonitor`
    removed: int = 0  # finished cells that something else removed during the run
    ended_by: BaseException | None = None  # what ended it early: an interrupt, or an error
    wall_s: float = 0.0
    spent_s: dict[TimePart, float] = field(default_factory=lambda: dict.fromkeys(TIME_PARTS, 0.0))
    """Seconds by part; the rest of `wall_s` is the runner's own."""

    @property
    def done(self) -> int:
        """How many cells it finished."""
        return len(self.finished)

    @contextmanager
    def record_end(self) -> Iterator[None]:
        """Record an interrupt of the body, or an error after which no cell can run."""
        try:
            yield
        except (KeyboardInterrupt, RunError, FolderError) as error:
            self.ended_by = error

    @contextmanager
    def count_time(self, part: TimePart) -> Iterator[None]:
        """Count the time of the body to a part."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[part] += time.monotonic() - start

    def list_shares(self) -> list[tuple[str, float]]:
        """Return each part's name and share of the time: measured work, then the largest first."""
        names = [*TIME_PARTS.values(), "other work of the runner"]
        shares = []
        for name, seconds in zip(names, self._split_time().values(), strict=True):
            shares.append((name, seconds / (self.wall_s or 1.0)))
        first, *others = shares
        return [first, *sorted(others, key=lambda share: -share[1])]

    def to_json(self) -> str:
        """Return as JSON the seconds of each part, and how many cells ran."""
        parts = {part: round(seconds, 3) for part, seconds in self._split_time().items()}
        cells = {"done": self.done, "repeated": self.repeated, "failed": len(self.failed)}
        about = {"wall_s": round(self.wall_s, 3), "spent_s": parts, "cells": cells}
        return json.dumps(about, indent=1)

    def _split_time(self) -> dict[str, float]:
        parts: dict[str, float] = {part: self.spent_s[part] for part in TIME_PARTS}
        return {**parts, "rest": self.wall_s - sum(parts.values())}

    def add(self, other: "Summary") -> None:
        """Add another host's summary; times are those of all hosts together."""
        self.finished |= other.finished
        self.beside_others += other.beside_others
        self.repeated += other.repeated
        self.heaviest = max(self.heaviest, other.heaviest)
        self.wall_s += other.wall_s
        self.failed.extend(other.failed)
        self.skipped.extend(other.skipped)
        self.timed_out.extend(other.timed_out)
        self.noisy.extend(other.noisy)
        for part, seconds in other.spent_s.items():
            self.spent_s[part] += seconds

    def note_flags(self, cell: Cell, *, timed_out: bool, noisy: bool) -> None:
        """Note whether the values that a cell keeps are timed out or noisy."""
        for flagged, has_flag in ((self.timed_out, timed_out), (self.noisy, noisy)):
            if has_flag and cell not in flagged:
                flagged.append(cell)
            elif not has_flag and cell in flagged:
                flagged.remove(cell)


def find_factors(plan: Iterable[Cell]) -> Factors:
    """Return the names of the parameters that differ among a study's cells, by study."""
    values: dict[str, dict[str, set[str]]] = {}
    for cell in {cell.identity: cell for cell in plan}.values():
        for name, value in cell.parameters.model_dump().items():
            values.setdefault(cell.study, {}).setdefault(name, set()).add(repr(value))
    factors = {}
    for study, levels_of in values.items():
        factors[study] = [name for name, levels in levels_of.items() if len(levels) > 1]
    return factors


def write_rerun_command(cell: Cell, factors: Factors, options: Iterable[tuple[str, ...]]) -> str:
    """Return the command that measures a cell again.

    Parameters
    ----------
    factors
        Of the run: their levels select the cell.
    options
        Of the run, as a plan has them.
    """
    words = ["benchbook", "run", cell.study]
    levels = [("--where", level) for level in _format_levels(cell, factors)]
    for option in dict.fromkeys([*options, *levels]):
        words += option
    return shlex.join(words)


def describe_cell(cell: Cell, factors: Factors) -> str:
    """Return a cell's study, and the levels that distinguish it from the others, on one line."""
    return escape_controls(" ".join([cell.study, *_format_levels(cell, factors)]))


def _format_levels(cell: Cell, factors: Factors) -> list[str]:
    """Return a cell's levels of the factors, as ``n=1000``."""
    given = cell.parameters.model_dump()
    levels = []
    for name in factors.get(cell.study, ()):
        value = given[name]
        levels.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return levels


def estimate_time_left(cells: Sequence[tuple[str, str]], known: Durations) -> list[str]:
    """Return how long cells will take, as far as it is known; an empty list for no cells.

    Parameters
    ----------
    cells
        Their kinds.
    known
        The durations of finished cells.
    """
    seconds = [known[cell] for cell in cells if cell in known]
    if not seconds:
        return ["time left unknown"] if cells else []
    return [
        f"{'about' if len(seconds) == len(cells) else 'more than'} {format_duration(sum(seconds))}"
    ]


class Progress(AbstractContextManager["Progress"]):
    """Shows how far a run is and how long the rest will take.

    Parameters
    ----------
    plan
        All cells of the run.
    known
        The durations of finished cells: other cells of their kind will take as long.
    out
        Where it is shown; None: on standard output.
    """

    def __init__(self, plan: Sequence[Cell], known: Durations, out: TextIO | None = None) -> None:
        # Here, because it is slow to import and `benchbook plan` shows no progress.
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        self._count = len(plan)
        self._factors = find_factors(plan)
        self._states: Counter[str] = Counter(cell.state for cell in plan if cell.state == "done")
        self._left = {cell.key: cell.combination for cell in plan if cell.state != "done"}
        self._known = dict(known)
        self._console = Console(file=out, soft_wrap=True, highlight=False)
        self._is_live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._advised = False
        self._bar = Bar(
            # Rich's default is red until the last cell, which looks like a failure.
            BarColumn(bar_width=20, complete_style="blue", finished_style="green"),
            TextColumn("{task.fields[counts]}"),
            # On a narrow terminal only the cell is cut.
            TextColumn("[dim]{task.fields[cell]}", table_column=Column(ratio=1, no_wrap=True)),
            expand=True,
            console=self._console,
            auto_refresh=False,  # a thread that draws would disturb what is timed
            transient=True,
        )
        self._task = self._bar.add_task("", total=len(plan), counts="", cell="")

    def __enter__(self) -> Self:
        if self._is_live:
            self._bar.start()
            self._draw("")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._bar.stop()

    def begin_cell(self, cell: Cell) -> None:
        """Show that a cell, and its deployment if it does not run, is about to start."""
        self._advised = False
        self._draw(f"block {cell.block + 1}: {describe_cell(cell, self._factors)}")

    def show_wait(self, reason: str, advice: str = "") -> None:
        """Show that the cell waits and why, and after a long wait what to do.

        It is called again and again. The reason is printed once, with the advice; short waits are
        for the summary.
        """
        if advice and not self._advised:
            self.print_line(f"{reason}; {advice}")
        self._advised = self._advised or bool(advice)
        self._draw(reason)

    def end_cell(
        self, cell: Cell, state: str, seconds: float | None = None, reason: str = ""
    ) -> None:
        """Show that a cell has ended.

        Parameters
        ----------
        seconds
            How long it took; None if it did not run.
        reason
            Why it failed.
        """
        self._states[state] += 1
        self._left.pop(cell.key, None)
        if seconds is not None:
            self._known[cell.combination] = seconds
        if state == "failed":
            self.print_line(f"failed: {self._describe_failure(cell, reason)}")
        self._draw("")

    def report_refusal(self, cell: Cell, reason: str) -> None:
        """Print that a cell is skipped, because its servers refuse a user's records."""
        self.print_line(f"skipped: {describe_cell(cell, self._factors)}: {reason}")

    def report_kept_values(self, cell: Cell, reason: str) -> None:
        """Print that a cell failed when it was measured again, so its first values stay."""
        failure = self._describe_failure(cell, reason)
        self.print_line(f"failed when measured again, so its first values stay: {failure}")
        # It may have its values of another run.
        if cell.key in self._left:
            self.end_cell(cell, "done")

    def _describe_failure(self, cell: Cell, reason: str) -> str:
        name = f"{describe_cell(cell, self._factors)} (block {cell.block + 1})"
        return ": ".join([name, reason.partition("\n")[0]])

    def end_deployment(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Print that a deployment's cells in a block have ended; `again`: the noisy ones."""
        if self._is_live:
            return
        first = cells[0]
        where = "without servers"
        if first.product != "none":
            where = f"{first.product} {first.topology}"
        counts = f"{len(cells)} measured again" if again else self._count_cells()
        self.print_line(f"block {first.block + 1}, {where}: {counts}")

    def print_line(self, line: str) -> None:
        """Print a line above what is live."""
        self._console.print(escape_controls(line), markup=False)
        self._console.file.flush()

    def _count_cells(self) -> str:
        """Return how many cells are done, failed and left, and how long the rest will take."""
        parts = [f"{self._states['done']} done"]
        unmeasured = [state for state in ("failed", "skipped") if self._states[state]]
        parts += [f"{self._states[state]} {state}" for state in unmeasured]
        parts.append(f"{len(self._left)} left")
        return ", ".join([*parts, *estimate_time_left(list(self._left.values()), self._known)])

    def _draw(self, cell: str) -> None:
        """Redraw the live line."""
        if self._is_live:
            finished = self._count - len(self._left)
            shown = escape_controls(cell)
            self._bar.update(self._task, completed=finished, counts=self._count_cells(), cell=shown)
            self._bar.refresh()
