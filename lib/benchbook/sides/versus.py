"""Measuring any two sides, for `benchbook.versus` and the command of that name."""

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchbook.results.folder import open_results
from benchbook.sides.answer import SidesAnswer, read_answer
from benchbook.sides.commands import CommandRunner, describe_commands
from benchbook.sides.functions import FunctionRunner, describe_functions
from benchbook.sides.measurement import measure_blocks
from benchbook.sides.question import (
    LETTERS,
    MAX_TIMEOUT_S,
    TIMEOUT_S,
    SideRunner,
    SidesQuestion,
)

MAX_NAME: Final = 100
"""Characters of a question's name."""


def compare_sides(
    sides: Sequence[str | Callable[..., object]],
    *,
    name: str | None,
    setup: Any,
    prepare: str | None = None,
    check: bool | Callable[[Any, Any], object],
    blocks: int,
    smallest: float,
    waits: bool,
    timeout_s: float = TIMEOUT_S,
    show: Callable[[str], None] = lambda _: None,
) -> SidesAnswer:
    """Measure blocks and return the answer of all blocks of the question.

    The other parameters are those of `benchbook.versus`.

    Parameters
    ----------
    show
        Called with a line on what is done at present.
    """
    if not 2 <= len(sides) <= len(LETTERS):
        raise ValueError(f"2 to {len(LETTERS)} sides can be compared (got {len(sides)})")
    # Keys and files are named by it.
    if name is not None and (len(name) > MAX_NAME or not re.search("[0-9A-Za-z]", name)):
        rule = f"a letter of A to Z or a digit, and at most {MAX_NAME} characters"
        raise ValueError(f"name must have {rule} (got {name!r})")
    if not 1 <= blocks <= 1000:
        raise ValueError(f"blocks must be 1 to 1000 (got {blocks})")
    if not 0 < smallest < 1:
        raise ValueError(f"smallest must be between 0 and 1, such as 0.05 (got {smallest:g})")
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ValueError(f"timeout must be above 0 and at most a day (got {timeout_s:g})")
    commands = [side for side in sides if isinstance(side, str)]
    functions = [side for side in sides if not isinstance(side, str)]
    if commands and functions:
        raise ValueError("a command and a function cannot be compared")
    for side in functions:
        if not callable(side):
            raise ValueError(f"a side is a command in a text, or a function (got {side!r})")
    if setup and isinstance(setup, str) != bool(commands):
        raise ValueError("setup must be a command for commands, and a function for functions")
    if commands and not isinstance(check, bool):
        raise ValueError("check must be True or False for commands: they must print the same")
    if commands:
        content = describe_commands(commands, setup, prepare)
        runner: SideRunner = CommandRunner(
            commands, setup=setup, prepare=prepare, check=bool(check), timeout_s=timeout_s
        )
    elif prepare:
        raise ValueError("prepare is for commands: functions have a setup")
    else:
        content = describe_functions(functions, setup)
        agree = operator.eq if check is True else check or None
        runner = FunctionRunner(functions, setup, agree, timeout_s)
    question = SidesQuestion(name or content.name, content.sides, content.digest, smallest)
    # Nothing else is measured meanwhile.
    with open_results().lock():
        measure_blocks(question, runner, blocks, show, waits=waits)
    return read_answer(question.name, question.digest)
