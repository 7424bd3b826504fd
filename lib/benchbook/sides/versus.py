"""`benchbook.versus`: measure any two sides and return the answer."""

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchbook.sides.answer import Answer, read_answer
from benchbook.sides.commands import TIMEOUT_S, CommandRunner, make_command_question
from benchbook.sides.functions import FunctionRunner, make_function_question
from benchbook.sides.measurement import BLOCKS, measure_blocks
from benchbook.sides.question import LETTERS, Question, Runner

SMALLEST: float = 0.05
"""The smallest difference that matters, unless another one is given."""


def compare_commands(
    commands: Sequence[str],
    *,
    name: str | None = None,
    setup: str | None = None,
    check: bool = False,
    blocks: int = BLOCKS,
    smallest: float = SMALLEST,
    timeout_s: float = TIMEOUT_S,
    waits: bool = True,
    environment: Mapping[str, str] | None = None,
    show: Callable[[str], None] = lambda _: None,
) -> Answer:
    """Measure commands and return the answer of all their blocks; see `benchbook.versus`.

    Parameters
    ----------
    timeout_s
        Seconds after which a run is given up.
    waits
        Whether to wait for a quiet machine.
    environment
        The commands' variables; None: those of this process.
    show
        Called with a line on what is done at present.
    """
    _check_options(len(commands), blocks, smallest)
    variables = dict(os.environ) if environment is None else environment
    question = make_command_question(commands, name, smallest, setup)
    runner = CommandRunner(commands, variables, setup=setup, check=check, timeout_s=timeout_s)
    return _answer(question, runner, blocks, waits=waits, show=show)


def compare_functions(
    functions: Sequence[Callable[..., object]],
    *,
    name: str | None = None,
    setup: Callable[[], object] | None = None,
    check: bool | Callable[[Any, Any], object] = False,
    blocks: int = BLOCKS,
    smallest: float = SMALLEST,
    waits: bool = True,
    show: Callable[[str], None] = lambda _: None,
) -> Answer:
    """Measure functions and return the answer of all their blocks; see `benchbook.versus`."""
    _check_options(len(functions), blocks, smallest)
    compare = operator.eq if check is True else check or None
    runner = FunctionRunner(functions, setup, compare)
    question = make_function_question(functions, name, smallest)
    return _answer(question, runner, blocks, waits=waits, show=show)


def _check_options(sides: int, blocks: int, smallest: float) -> None:
    """Raise `ValueError` when there are too few or too many sides, or a number is impossible."""
    if not 2 <= sides <= len(LETTERS):
        raise ValueError(f"2 to {len(LETTERS)} sides can be compared (got {sides})")
    if not 1 <= blocks <= 1000:
        raise ValueError(f"blocks must be 1 to 1000 (got {blocks})")
    if not 0 < smallest < 10:
        raise ValueError(f"the smallest difference must be above 0, such as 5% (got {smallest:g})")


def _answer(
    question: Question,
    runner: Runner,
    blocks: int,
    *,
    waits: bool,
    show: Callable[[str], None],
) -> Answer:
    measure_blocks(question, runner, blocks, show, waits=waits)
    return read_answer(question.name)
