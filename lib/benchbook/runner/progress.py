"""How a run and a plan describe their cells: which cell it is, why it failed, and the time left.

A terminal shows one live line. Elsewhere a run prints one line per deployment, and one per cell that fails.
"""

import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, Self, TypeAlias

from benchbook.digits import duration
from benchbook.grid import Cell, Kind

Part: TypeAlias = Literal["measured", "study", "servers", "kernels", "notebooks", "writing", "waiting"]
"""What a run spends its time on."""

PARTS: Final[Mapping[Part, str]] = {
    "measured": "measured work",
    "study": "preparing data, emptying and checking databases",
    "servers": "starting and stopping servers",
    "kernels": "starting kernels",
    "notebooks": "running notebooks around the study",
    "writing": "checking and writing results",
    "waiting": "waiting for a quiet machine",
}

Durations = Mapping[Kind, float]
"""Seconds of a finished cell, by its kind."""

Factors = Mapping[str, Sequence[str]]
"""By study, the names of the parameters that differ among its cells."""


@dataclass(frozen=True)
class Failure:
    """A cell that failed or was skipped, and why."""

    cell: Cell
    reason: str


@dataclass
class Summary:
    """What a run did: how many cells it finished, which have no values and why, how long it took."""

    done: int = 0
    failed: list[Failure] = field(default_factory=list)
    skipped: list[Failure] = field(default_factory=list)
    ran_out: list[Cell] = field(default_factory=list)
    """Finished cells in which a wait for the replica ran out: their times are timed out."""
    noisy: list[Cell] = field(default_factory=list)
    """Finished cells whose values stand and were measured while other processes used more than a quiet machine's."""
    beside_others: int = 0
    """How many cells were so when they were first measured."""
    repeated: int = 0
    """How many of those were measured again."""
    wall_s: float = 0.0
    spent_s: dict[Part, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    """What of it went where; what is left is the runner's own."""

    @contextmanager
    def spends(self, part: Part) -> Iterator[None]:
        """Count the time until its end to a part."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[part] += time.monotonic() - start

    def shares(self) -> list[tuple[str, float]]:
        """Return what share of the run each part took, in words: measured work first, then the largest first."""
        seconds = self._parts()
        words = [*PARTS.values(), "other work of the runner"]
        first, *others = [
            (word, took / (self.wall_s or 1.0)) for word, took in zip(words, seconds.values(), strict=True)
        ]
        return [first, *sorted(others, key=lambda share: -share[1])]

    def spent_as_json(self) -> str:
        """Return what the run spent its time on, in seconds, and how many cells it ran."""
        parts = {part: round(seconds, 3) for part, seconds in self._parts().items()}
        cells = {"done": self.done, "repeated": self.repeated, "failed": len(self.failed)}
        return json.dumps({"wall_s": round(self.wall_s, 3), "spent_s": parts, "cells": cells}, indent=1)

    def _parts(self) -> dict[str, float]:
        parts: dict[str, float] = {part: self.spent_s[part] for part in PARTS}
        return {**parts, "rest": self.wall_s - sum(parts.values())}

    def add(self, other: "Summary") -> None:
        """Add what another did, on another host at the same time: times are of all hosts together."""
        for counted in ("done", "beside_others", "repeated", "wall_s"):
            setattr(self, counted, getattr(self, counted) + getattr(other, counted))
        for listed in ("failed", "skipped", "ran_out", "noisy"):
            getattr(self, listed).extend(getattr(other, listed))
        for part, seconds in other.spent_s.items():
            self.spent_s[part] += seconds

    def stands(self, cell: Cell, *, late: bool, noisy: bool) -> None:
        """Note of a cell whose values now stand whether a wait ran out in it, and whether others disturbed it."""
        for noted, is_so in ((self.ran_out, late), (self.noisy, noisy)):
            if is_so and cell not in noted:
                noted.append(cell)
            elif not is_so and cell in noted:
                noted.remove(cell)


def factors_of(plan: Iterable[Cell]) -> Factors:
    """Return by study which parameters differ among its cells."""
    values: dict[str, dict[str, set[str]]] = {}
    for cell in {cell.identity: cell for cell in plan}.values():
        for name, value in cell.parameters.model_dump().items():
            values.setdefault(cell.study, {}).setdefault(name, set()).add(repr(value))
    return {study: [name for name, levels in named.items() if len(levels) > 1] for study, named in values.items()}


def rerun_command(cell: Cell, factors: Factors, profile: str, where: Sequence[str], changes: Sequence[str]) -> str:
    """Return the command that runs a cell again: the options of this run, and what tells the cell from the others."""
    words = ["benchbook", "run", cell.study]
    words += [] if profile == "quick" else ["--profile", profile]
    for option, texts in (("--set", changes), ("--where", (*where, *_settings(cell, factors)))):
        for text in dict.fromkeys(texts):
            words += [option, text]
    return shlex.join(words)


def described(cell: Cell, factors: Factors) -> str:
    """Return a cell in a line: its study, and the parameters that tell it from the others."""
    return " ".join([cell.study, *_settings(cell, factors)])


def _settings(cell: Cell, factors: Factors) -> list[str]:
    values = [(name, cell.parameters.model_dump()[name]) for name in factors.get(cell.study, ())]
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values]


def time_left(cells: Sequence[tuple[str, str]], known: Durations) -> list[str]:
    """Return how long cells will take, as far as cells of the same study and parameters tell; nothing for none."""
    seconds = [known[cell] for cell in cells if cell in known]
    if not seconds:
        return ["time left unknown"] if cells else []
    return [f"{'about' if len(seconds) == len(cells) else 'more than'} {duration(sum(seconds))}"]


class Progress(AbstractContextManager["Progress"]):
    """How far a run over a plan is, and how long the rest will take, by what like cells took before."""

    def __init__(self, plan: Sequence[Cell], known: Durations) -> None:
        # Only now: it is slow to import, and a plan shows no progress.
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        self._count = len(plan)
        self._factors = factors_of(plan)
        self._states: Counter[str] = Counter(cell.state for cell in plan if cell.state == "done")
        self._left = {cell.key: cell.kind for cell in plan if cell.state != "done"}
        self._known = dict(known)
        self._console = Console(stderr=False, soft_wrap=True, highlight=False)
        self._live = self._console.is_terminal
        self._waits = self._advised = False
        self._bar = Bar(
            # Rich's own is red until the last cell, which reads as a failure.
            BarColumn(bar_width=20, complete_style="blue", finished_style="green"),
            TextColumn("{task.fields[counts]}"),
            # The cell alone is cut where the terminal is narrow.
            TextColumn("[dim]{task.fields[cell]}", table_column=Column(ratio=1, no_wrap=True)),
            expand=True,
            console=self._console,
            auto_refresh=False,  # a thread that draws would disturb what is timed
            transient=True,
        )
        self._task = self._bar.add_task("", total=len(plan), counts="", cell="")

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
        self._waits = self._advised = False
        self._draw(f"block {cell.block + 1}: {described(cell, self._factors)}")

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

    def ended(self, cell: Cell, state: str, seconds: float | None = None, reason: str = "") -> None:
        """Note that a cell has ended, in what state, how long it took, and why it failed."""
        self._states[state] += 1
        self._left.pop(cell.key, None)
        if seconds is not None:
            self._known[cell.kind] = seconds
        if state == "failed":
            first = reason.partition("\n")[0]
            self.say(f"failed: {described(cell, self._factors)} (block {cell.block + 1}): {first}")
        self._draw("")

    def kept(self, cell: Cell, reason: str) -> None:
        """Note that a cell failed when it was measured again, so that its first values stay."""
        name = f"{described(cell, self._factors)} (block {cell.block + 1})"
        self.say(f"failed when measured again, so its first values stay: {name}: {reason.partition(chr(10))[0]}")

    def visited(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Note that a deployment's cells in a block have ended, or those that were measured again."""
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
            finished = self._count - len(self._left)
            self._bar.update(self._task, completed=finished, counts=self._counts(), cell=cell)
            self._bar.refresh()

    def say(self, line: str) -> None:
        """Print a line above what is live."""
        self._console.print(line, markup=False)
        sys.stdout.flush()
