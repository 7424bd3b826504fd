"""Checks of answers: what is right, what is wrong and where to look, never the solution."""

import _thread
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from math import isclose, isfinite
from numbers import Real
from threading import Timer, current_thread, main_thread
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

_GREEN, _RED, _GREY = "#2e7d32", "#c62828", "#757575"
_MARKS: Final = {True: ("✓", _GREEN), False: ("✗", _RED), None: ("○", _GREY)}

CALL_LIMIT_S: Final = 5
"""How long a check waits for a student's function."""


@dataclass(frozen=True)
class Part:
    """One graded part of an answer, with a message; `right` is None while it is unanswered."""

    right: bool | None
    says: str
    hint: str = ""  # shown once per task, however many parts have it


class FormError(Exception):
    """An answer does not have the form that was asked for, so its contents cannot be graded.

    `cause` is the same for all errors that one mistake makes; a check shows the first of them.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause or message


class OpenTaskError(Exception):
    """A task has no answer yet."""


class Feedback:
    """The graded parts of one task's answer.

    A notebook shows it as text. Its plain form is the number of right parts: nbgrader takes the
    number that a cell returns as its points.
    """

    def __init__(self, task: str, parts: Iterable[Part], points: int) -> None:
        self.task, self.parts, self.points = task, tuple(_show_hints_once(parts)), points

    @property
    def earned(self) -> int:
        """How many parts are right."""
        return sum(part.right is True for part in self.parts)

    @property
    def passed(self) -> bool:
        """Whether every part is right."""
        return self.earned == self.points

    def __repr__(self) -> str:
        return f"{self.earned}"

    def __str__(self) -> str:
        return "\n".join(
            [self._head, *(f"  {_MARKS[part.right][0]} {part.says}" for part in self.parts)]
        )

    @property
    def _head(self) -> str:
        return f"{self.task}: {self.earned} of {self.points}" + (
            ". All right." if self.passed else ""
        )

    def _repr_html_(self) -> str:
        head = f'<div style="font-weight:bold;margin-bottom:4px">{escape(self._head)}</div>'
        rows = "".join(map(_render_part, self.parts))
        style = f"border-left:4px solid {self._colour};padding:4px 12px;max-width:46em"
        return f'<div style="{style}">{head}{rows}</div>'

    @property
    def _colour(self) -> str:
        if self.passed:
            return _GREEN
        wrong = any(part.right is False for part in self.parts)
        return _RED if wrong else _GREY


def _show_hints_once(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts with their hint in the message, or a reference to the same hint above."""
    shown: set[str] = set()
    for part in parts:
        if not part.hint:
            yield part
            continue
        hint = "(The hint is the same.)" if part.hint in shown else part.hint
        shown.add(part.hint)
        yield replace(part, says=f"{part.says} {hint}", hint="")


def _render_part(part: Part) -> str:
    mark, colour = _MARKS[part.right]
    row = "margin:2px 0 2px 1.6em;text-indent:-1.6em"
    sign = f"display:inline-block;width:1.6em;text-indent:0;color:{colour};font-weight:bold"
    return f'<div style="{row}"><span style="{sign}">{mark}</span>{escape(part.says)}</div>'


class Check(Protocol):
    """A check of one task's answer."""

    points: int
    """How many parts it grades."""

    def __call__(self, *answer: Any) -> Feedback:
        """Grade an answer; never raises."""


def check(points: int) -> Callable[[Callable[..., Iterator[Part]]], Check]:
    """Make a `Check` of a function that yields the parts of an answer; ``check_3`` is task 3's.

    An answer that is still ``...`` everywhere is open. An error of the student's code becomes a
    wrong part; the parts after it are not graded, unless by `grade_separately`.
    """

    def decorate(parts: Callable[..., Iterator[Part]]) -> Check:
        task = f"Task {parts.__name__.rpartition('_')[2]}"

        @wraps(parts)
        def grade_answer(*answer: Any) -> Feedback:
            found: list[Part] = []
            try:
                if all(value is ... for value in _iterate_values(answer)):
                    raise OpenTaskError(
                        "no answer yet: replace each ... in the cell above, run it, then this cell"
                        " again."
                    )
                found.extend(parts(*answer))
            except Exception as reason:
                found.append(_describe_error(reason))
            return Feedback(task, found, points)

        grade_answer.points = points  # type: ignore[attr-defined]
        return grade_answer  # type: ignore[return-value]

    return decorate


def _iterate_values(answer: Any) -> Iterator[Any]:
    """Yield the single values of an answer, without the tables of measurements in it."""
    if isinstance(answer, Mapping | list | tuple):
        for value in answer.values() if isinstance(answer, Mapping) else answer:
            yield from _iterate_values(value)
    elif not isinstance(answer, pd.DataFrame | np.ndarray):
        yield answer


def is_open(guess: Any) -> bool:
    """Return whether an answer or a prediction is still ``...``, wholly or in part."""
    return any(value is ... for value in _iterate_values(guess))


def _describe_error(reason: Exception) -> Part:
    """Return the part for an answer that could not be graded."""
    if isinstance(reason, OpenTaskError | FormError):
        return Part(None if isinstance(reason, OpenTaskError) else False, str(reason))
    where = f"{type(reason).__name__}: {reason}"
    return Part(False, f"could not be graded to the end. It stopped with {where}")


def grade_separately(gradings: Iterable[Iterator[Part]]) -> Iterator[Part]:
    """Yield the parts of several gradings; an error in one of them does not stop the others."""
    shown: set[str] = set()
    for grading in gradings:
        try:
            yield from grading
        except Exception as reason:
            cause = reason.cause if isinstance(reason, FormError) else str(reason)
            # One mistake in a function stops each grading alike: one message is enough.
            if cause not in shown:
                yield _describe_error(reason)
            shown.add(cause)


def mark_open(name: str) -> Part:
    """Return the part of a value that is still ``...``, or missing in a dictionary."""
    return Part(None, f"{name}: no answer yet by this name.")


def grade(right: Any, well: str, off: str, hint: str = "") -> Part:
    """Return a part with the message `well` when right; else `off`, and where to look."""
    return Part(True, well) if right else Part(False, off, hint)


def grade_choice(
    value: Any, right: str, name: str, choices: Sequence[str], well: str, off: str
) -> Part:
    """Return a part for a text that was to be chosen among a few, in any case of letters."""
    allowed = {choice.lower() for choice in choices}
    if value is ...:
        return mark_open(name)
    given = value.strip().lower() if isinstance(value, str) else ""
    if given not in allowed:
        return Part(False, f"{name}: {shorten(value)} is not one of {', '.join(choices)}.")
    return grade(given == right.lower(), well, off)


class _TimeLimitExceeded(BaseException):
    """A student's function did not end in time.

    It is not an `Exception`, so that the function's own `except` does not catch it.
    """


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise `_TimeLimitExceeded` in the block when it takes longer than `CALL_LIMIT_S`."""
    # Only the main thread can be interrupted; notebook cells run in it.
    if current_thread() is not main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise _TimeLimitExceeded

    # Windows has no alarm. A simulated Ctrl-C ends a loop there, but not a long sleep.
    has_alarm = hasattr(signal, "setitimer")
    number = signal.SIGALRM if has_alarm else signal.SIGINT
    handler = signal.signal(number, interrupt)
    if has_alarm:
        timer = signal.setitimer(signal.ITIMER_REAL, CALL_LIMIT_S)
    else:
        thread = Timer(CALL_LIMIT_S, _thread.interrupt_main)
        thread.start()
    try:
        yield
    finally:
        if has_alarm:
            signal.setitimer(signal.ITIMER_REAL, *timer)
        else:
            thread.cancel()
        signal.signal(number, handler)


def call_function(function: Any, *arguments: Any) -> Any:
    """Call a student's function and return its result.

    Raises `OpenTaskError` for None or ``...``, and `FormError` when it raises or takes longer than
    `CALL_LIMIT_S`.
    """
    if not callable(function):
        raise FormError(
            f"this should be a function, and is {type(function).__name__}: write its name without"
            " brackets."
        )
    name = getattr(function, "__name__", "the function")
    try:
        with _time_limit():
            found = function(*arguments)
    except _TimeLimitExceeded:
        raise FormError(
            f"{name} did not end within {CALL_LIMIT_S} seconds and was stopped: does each of its"
            " loops come to an end?"
        ) from None
    except Exception as error:
        given = ", ".join(map(shorten, arguments))
        why = f"{type(error).__name__}: {error}"
        message = f"{name}({given}) stopped{_find_line(function, error)} with {why}"
        raise FormError(message, cause=f"{name}: {why}") from error
    if found is None or found is ...:
        raise OpenTaskError(
            f"{name} returns nothing yet: write its body, and return the result (None is no"
            " result)."
        )
    return found


def _find_line(function: Any, error: Exception) -> str:
    """Return the line of a student's notebook cell that raised an error, as words."""
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if code and frame.filename == code.co_filename]
    return f" in line {lines[-1]} of its cell" if lines else ""


def shorten(value: Any) -> str:
    """Return a value as Python writes it, in at most 60 characters.

    A number of numpy is written as Python's own: 1.5, not ``np.float64(1.5)``.
    """
    text = repr(value.item() if isinstance(value, np.generic) else value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, of any numeric type."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def read_number(value: Any, name: str) -> float:
    """Return an answer as a number; raises `FormError` when it is not one."""
    # A table with one value, as pandas selects it, is that value.
    if isinstance(value, np.ndarray | pd.Series) and value.size == 1:
        value = value.item()
    if not is_number(value):
        raise FormError(f"{name} should be a number, and is {shorten(value)}.")
    return float(value)


def read_share(value: Any, name: str) -> float:
    """Return an answer as a share; raises `FormError` for a count or percent."""
    found = read_number(value, name)
    if not 0 <= found <= 1:
        raise FormError(
            f"{name} should lie between 0 and 1, and is {found:g}: divide a count by how many there"
            " are."
        )
    return found


def grade_number(
    value: Any,
    truth: float,
    name: str,
    well: str,
    hints: Mapping[float, str],
    off: str,
    within: float = 0.01,
) -> Part:
    """Return a part for a number that should be `truth`, within a share of it.

    Parameters
    ----------
    hints
        Messages for well-known mistakes, by the factor on the truth that each leads to (1000: a
        wrong unit).
    off
        The hint for any other number, after "too large" or "too small".
    """
    if value is ...:
        return mark_open(name)
    try:
        found = read_number(value, name)
    except FormError as reason:
        return _describe_error(reason)
    if isclose(found, truth, rel_tol=within):
        return Part(True, well)
    for factor, hint in hints.items():
        if isclose(found, truth * factor, rel_tol=within):
            return Part(False, f"{name}: {hint}")
    side = "large" if found > truth else "small"
    return Part(False, f"{name} is too {side}:", off)


def read_dictionary(answer: Any, names: Iterable[str], wanted: str) -> dict[str, Any]:
    """Return an answer's values by name, ``...`` where missing; raises `FormError` otherwise."""
    if not isinstance(answer, Mapping):
        raise FormError(f"write a dictionary, from each of {', '.join(names)} to {wanted}.")
    return {name: answer.get(name, ...) for name in names}


def grade_sorting(
    answer: Any, truth: Mapping[str, Any], kinds: Iterable[Any], where: Mapping[str, str]
) -> Iterator[Part]:
    """Yield a part for each name that was to be sorted into one of a few kinds."""
    allowed = list(kinds)
    in_quotes = "" if isinstance(allowed[0], str) else "Write it without quotation marks."
    for name, given in read_dictionary(
        answer, truth, f"one of {', '.join(map(repr, allowed))}"
    ).items():
        right = truth[name]
        # A computed answer may be numpy's True.
        given = given.item() if isinstance(given, np.generic) else given
        written = shorten(given)
        given = given.strip().lower() if isinstance(given, str) else given
        if given is ...:
            yield mark_open(name)
        elif not any(type(given) is type(kind) and given == kind for kind in allowed):
            off = f"{name}: {written} is not one of {', '.join(map(repr, allowed))}."
            yield Part(False, off, in_quotes)
        else:
            off = f"{name}: not {given!r}."
            yield grade(given == right, f"{name}: right, {right}.", off, where[name])
