"""What a run says of its cells: which one, why it failed, the one command that runs it again, and the time left."""

import json
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from benchbook.digits import duration
from benchbook.grid import Cell, Kind

Part: TypeAlias = Literal["measured", "study", "servers", "kernels", "notebooks", "writing", "waiting"]
"""What a run spends its time on."""

PARTS: Final[Mapping[Part, str]] = {
    "measured": "measured work",
    "study": "preparing data, emptying and checking stores",
    "servers": "starting and stopping servers",
    "kernels": "starting kernels",
    "notebooks": "notebooks around the study",
    "writing": "checking and writing results",
    "waiting": "waiting for a quiet machine",
}

Durations = Mapping[Kind, float]
"""Seconds of a finished cell, by its kind."""

Telling = Mapping[str, Sequence[str]]
"""By study, the names of the parameters that tell its cells apart."""


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
    """Finished cells in which a wait for the replica ran out: their times are censored."""
    disturbed: list[Cell] = field(default_factory=list)
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
        words = [*PARTS.values(), "the runner's own"]
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
        for listed in ("failed", "skipped", "ran_out", "disturbed"):
            getattr(self, listed).extend(getattr(other, listed))
        for part, seconds in other.spent_s.items():
            self.spent_s[part] += seconds

    def stands(self, cell: Cell, *, late: bool, disturbed: bool) -> None:
        """Note of a cell whose values now stand whether a wait ran out in it, and whether others disturbed it."""
        for noted, is_so in ((self.ran_out, late), (self.disturbed, disturbed)):
            if is_so and cell not in noted:
                noted.append(cell)
            elif not is_so and cell in noted:
                noted.remove(cell)


def telling(plan: Iterable[Cell]) -> Telling:
    """Return by study which parameters tell its cells apart."""
    values: dict[str, dict[str, set[str]]] = {}
    for cell in {cell.identity: cell for cell in plan}.values():
        for name, value in cell.parameters.model_dump().items():
            values.setdefault(cell.study, {}).setdefault(name, set()).add(repr(value))
    return {study: [name for name, levels in named.items() if len(levels) > 1] for study, named in values.items()}


def again(cell: Cell, apart: Telling, profile: str, where: Sequence[str], changes: Sequence[str]) -> str:
    """Return the command that runs a cell again: the options of this run, and what tells the cell from the others."""
    words = ["benchbook", "run", cell.study]
    words += [] if profile == "quick" else ["--profile", profile]
    for option, texts in (("--set", changes), ("--where", (*where, *_settings(cell, apart)))):
        for text in dict.fromkeys(texts):
            words += [option, text]
    return shlex.join(words)


def described(cell: Cell, apart: Telling) -> str:
    """Return a cell in a line: its study, and the parameters that tell it from the others."""
    return " ".join([cell.study, *_settings(cell, apart)])


def _settings(cell: Cell, apart: Telling) -> list[str]:
    values = [(name, cell.parameters.model_dump()[name]) for name in apart.get(cell.study, ())]
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values]


def time_left(cells: Sequence[tuple[str, str]], known: Durations) -> list[str]:
    """Return how long cells will take, as far as cells of the same study and parameters tell; nothing for none."""
    seconds = [known[cell] for cell in cells if cell in known]
    if not seconds:
        return ["time left unknown"] if cells else []
    return [f"{'about' if len(seconds) == len(cells) else 'more than'} {duration(sum(seconds))}"]
