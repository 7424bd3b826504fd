"""One live line on a terminal; elsewhere a line a deployment, and one for each cell that fails."""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from typing_extensions import override

from benchbook.grid import Cell, Kind
from benchbook.runner.summary import Durations, described, telling, time_left


class Listener(Protocol):
    """Hears from a batch how its cells fare: `Progress` shows it, a worker passes it on."""

    def begun(self, cell: Cell) -> None:
        """Note that a cell, and before it perhaps its deployment, is about to start."""

    def waiting(self, why: str, advice: str = "") -> None:
        """Note that the cell that has begun waits, for what, and once it waits long what can be done."""

    def ended(self, cell: Cell, state: str, seconds: float | None = None, reason: str = "") -> None:
        """Note that a cell has ended, in what state, how long it took, and why it failed."""

    def kept(self, cell: Cell, reason: str) -> None:
        """Note that a cell failed when it was measured again, so that what was measured first stands."""

    def visited(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Note that a deployment's cells in a block have ended, or those that were measured again."""


class Progress(AbstractContextManager["Progress"], Listener):
    """How far a run over a plan is.

    Parameters
    ----------
    plan
        Its cells.
    known
        How long cells of the same study and parameters took before.
    name
        What tells its cells apart: their keys, which other hosts' cells do not share.
    """

    def __init__(
        self, plan: Sequence[Cell], known: Durations, name: Callable[[Cell], Hashable] = attrgetter("key")
    ) -> None:
        self.plan: list[Cell] = []
        """All cells that are expected."""
        self._name = name
        self._states: Counter[str] = Counter()
        self._left: dict[Hashable, Kind] = {}
        self._ended: dict[Hashable, str] = {}
        self._known = dict(known)
        self._console = Console(stderr=False, soft_wrap=True, highlight=False)
        self._live = self._console.is_terminal
        self._waits = self._advised = False
        self._bar = Bar(
            BarColumn(bar_width=20),
            TextColumn("{task.fields[counts]}"),
            TextColumn("[dim]{task.fields[cell]}"),
            console=self._console,
            auto_refresh=False,  # a thread that draws would disturb what is timed
            transient=True,
        )
        self._task: TaskID = self._bar.add_task("", total=0, counts="", cell="")
        self.expect(plan)

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
            self._draw("")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._bar.stop()

    def expect(self, cells: Sequence[Cell]) -> None:
        """Note that these cells are of the plan, too."""
        self.plan.extend(cells)
        self._apart = telling(self.plan)
        self._states["done"] += sum(cell.state == "done" for cell in cells)
        self._left |= {self._name(cell): cell.kind for cell in cells if cell.state != "done"}
        self._bar.update(self._task, total=len(self.plan))

    @override
    def begun(self, cell: Cell) -> None:
        self._waits = self._advised = False
        self._draw(f"block {cell.block + 1}: {described(cell, self._apart)}")

    @override
    def waiting(self, why: str, advice: str = "") -> None:
        """Note that the cell that has begun waits, for what, and once it waits long what can be done.

        Asked again and again, a log says it once, and once more with the advice, which a terminal has room for on no
        live line either.
        """
        if advice and not self._advised:
            self.say(f"{why}; {advice}")
        elif not self._live and not self._waits:
            self.say(why)
        self._waits, self._advised = True, self._advised or bool(advice)
        self._draw(why)

    @override
    def ended(self, cell: Cell, state: str, seconds: float | None = None, reason: str = "") -> None:
        self._states[state] += 1
        self._ended[self._name(cell)] = state
        self._left.pop(self._name(cell), None)
        if seconds is not None:
            self._known[cell.kind] = seconds
        if state == "failed":
            first = reason.partition("\n")[0]
            self.say(f"failed: {described(cell, self._apart)} (block {cell.block + 1}): {first}")
        self._draw("")

    def lost(self, cells: Sequence[Cell]) -> None:
        """Note that what these cells gave was lost with its host: they are left again."""
        for cell in cells:
            self._states[self._ended.pop(self._name(cell))] -= 1
            self._left[self._name(cell)] = cell.kind

    @override
    def kept(self, cell: Cell, reason: str) -> None:
        name = f"{described(cell, self._apart)} (block {cell.block + 1})"
        self.say(f"failed when measured again, its first values stand: {name}: {reason.partition(chr(10))[0]}")

    @override
    def visited(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        if not self._live:
            where = f"{cells[0].product} {cells[0].topology}" if cells[0].product != "none" else "without servers"
            what = f"{len(cells)} measured again" if again else self._counts()
            self.say(f"block {cells[0].block + 1}, {where}: {what}")

    def _counts(self) -> str:
        """Return how many cells are done, failed and left, and for how long the rest will take."""
        parts = [f"{self._states['done']} done"]
        parts += [f"{self._states[state]} {state}" for state in ("failed", "skipped") if self._states[state]]
        return ", ".join([*parts, f"{len(self._left)} left", *time_left(list(self._left.values()), self._known)])

    def _draw(self, cell: str) -> None:
        if self._live:
            finished = len(self.plan) - len(self._left)
            self._bar.update(self._task, completed=finished, counts=self._counts(), cell=cell)
            self._bar.refresh()

    def say(self, line: str) -> None:
        """Print a line above what is live."""
        self._console.print(line, markup=False)
        sys.stdout.flush()
