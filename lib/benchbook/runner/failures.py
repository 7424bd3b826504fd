"""What went wrong, in words, and the one command that runs it again."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.grid import Cell


@dataclass(frozen=True)
class Failure:
    """A cell that failed or was skipped, and why."""

    cell: Cell
    reason: str


@dataclass(frozen=True)
class Asked:
    """What the run was asked for: the options that its cells depend on."""

    profile: str = "quick"
    where: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


def again(cell: Cell, plan: Sequence[Cell], asked: Asked) -> str:
    """Return the command that runs a cell again: the options as asked, and what tells the cell from the others."""
    words = ["benchbook", "run", cell.study]
    words += [] if asked.profile == "quick" else ["--profile", asked.profile]
    for option, texts in (("--set", asked.changes), ("--where", (*asked.where, *_telling(cell, plan)))):
        for text in dict.fromkeys(texts):
            words += [option, text]
    return shlex.join(words)


def described(cell: Cell, plan: Sequence[Cell]) -> str:
    """Return a cell in a line: its study, and the parameters that tell it from the others."""
    return " ".join([cell.study, *_telling(cell, plan)])


def _telling(cell: Cell, plan: Sequence[Cell]) -> list[str]:
    others = [other.parameters.model_dump() for other in plan if other.study == cell.study]
    own = cell.parameters.model_dump()
    return [f"{name}={_text(value)}" for name, value in own.items() if any(other[name] != value for other in others)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
