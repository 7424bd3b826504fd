"""One live line on a terminal; elsewhere a line a deployment, and one for each cell that fails."""

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from benchbook.grid import Cell
from benchbook.runner.summary import Durations, described, time_left


class Progress(AbstractContextManager["Progress"]):
    """How far a run over a plan is; `known` is how long cells of the same study and parameters took before."""

    def __init__(self, plan: Sequence[Cell], known: Durations) -> None:
        self._plan = plan
        self._states = Counter({"done": sum(cell.state == "done" for cell in plan)})
        self._left = {cell.key: cell.kind for cell in plan if cell.state != "done"}
        self._known = dict(known)
        self._console = Console(stderr=False, soft_wrap=True, highlight=False)
        self._live = self._console.is_terminal
        self._waits = False
        self._bar = Bar(
            BarColumn(bar_width=20),
            TextColumn("{task.fields[counts]}"),
            TextColumn("[dim]{task.fields[cell]}"),
            console=self._console,
            auto_refresh=False,  # a thread that draws would disturb what is timed
            transient=True,
        )
        self._task: TaskID = self._bar.add_task("", total=len(plan), counts="", cell="")

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
            self._draw("")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._bar.stop()

    def begun(self, cell: Cell) -> None:
        """Note that a cell, and before it perhaps its deployment, is about to start."""
        self._waits = False
        self._draw(f"block {cell.block + 1}: {described(cell, self._plan)}")

    def waiting(self, why: str) -> None:
        """Note that the cell that has begun waits, and for what; asked again and again, it is said once in a log."""
        if not self._live and not self._waits:
            self._say(why)
        self._waits = True
        self._draw(why)

    def ended(self, cell: Cell, state: str, seconds: float | None = None, reason: str = "") -> None:
        """Note that a cell has ended, in what state, how long it took, and why it failed."""
        self._states[state] += 1
        kind = self._left.pop(cell.key)
        if seconds is not None:
            self._known[kind] = seconds
        if state == "failed":
            first = reason.partition("\n")[0]
            self._say(f"failed: {described(cell, self._plan)} (block {cell.block + 1}): {first}")
        self._draw("")

    def kept(self, cell: Cell, reason: str) -> None:
        """Note that a cell failed when it was measured again, so that what was measured first stands."""
        name = f"{described(cell, self._plan)} (block {cell.block + 1})"
        self._say(f"failed when measured again, its first values stand: {name}: {reason.partition(chr(10))[0]}")

    def visited(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Note that a deployment's cells in a block have ended, or those that were measured again."""
        if not self._live:
            where = f"{cells[0].product} {cells[0].topology}" if cells[0].product != "none" else "without servers"
            what = f"{len(cells)} measured again" if again else self._counts()
            self._say(f"block {cells[0].block + 1}, {where}: {what}")

    def _counts(self) -> str:
        """Return how many cells are done, failed and left, and for how long the rest will take."""
        parts = [f"{self._states['done']} done"]
        parts += [f"{self._states[state]} {state}" for state in ("failed", "skipped") if self._states[state]]
        return ", ".join([*parts, f"{len(self._left)} left", *time_left(list(self._left.values()), self._known)])

    def _draw(self, cell: str) -> None:
        if self._live:
            finished = len(self._plan) - len(self._left)
            self._bar.update(self._task, completed=finished, counts=self._counts(), cell=cell)
            self._bar.refresh()

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False)
        sys.stdout.flush()
