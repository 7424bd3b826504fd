"""What a check answers: what is right, what is off and where to look; and predictions, set beside what came out."""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from html import escape
from math import isclose, isfinite
from numbers import Real
from threading import current_thread, main_thread
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

_GREEN, _RED, _GREY = "#2e7d32", "#c62828", "#757575"
_MARKS: Final = {True: ("✓", _GREEN), False: ("✗", _RED), None: ("○", _GREY)}

CALL_LIMIT_S: Final = 5
"""How long a check waits for a student's function."""


@dataclass(frozen=True)
class Part:
    """One thing that a check looks at: whether it is right (None: not answered yet), and what there is to say."""

    right: bool | None
    says: str


class Off(Exception):  # noqa: N818
    """An answer that has not the form that was asked for, so that nothing else of it can be looked at."""


class Open(Exception):  # noqa: N818
    """A task that has no answer yet."""


class Feedback:
    """What a check says of one task.

    A notebook shows it as text. Its plain form is the number of parts that are right: nbgrader takes the number that a
    cell returns for its points.
    """

    def __init__(self, task: str, parts: Iterable[Part], points: int) -> None:
        self.task, self.parts, self.points = task, tuple(parts), points

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
        return "\n".join([self._head, *(f"  {_MARKS[part.right][0]} {part.says}" for part in self.parts)])

    @property
    def _head(self) -> str:
        return f"{self.task}: {self.earned} of {self.points}" + (". All right." if self.passed else "")

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<div style="margin:2px 0 2px 1.6em;text-indent:-1.6em"><span style="display:inline-block;width:1.6em;'
            f'text-indent:0;color:{colour};font-weight:bold">{mark}</span>{escape(part.says)}</div>'
            for part in self.parts
            for mark, colour in [_MARKS[part.right]]
        )
        colour = _GREEN if self.passed else _RED if any(part.right is False for part in self.parts) else _GREY
        head = f'<div style="font-weight:bold;margin-bottom:4px">{escape(self._head)}</div>'
        return f'<div style="border-left:4px solid {colour};padding:4px 12px;max-width:46em">{head}{rows}</div>'


class Check(Protocol):
    """A check of a task: takes the answer, says what is right in it."""

    points: int
    """How many parts it looks at."""

    def __call__(self, *answer: Any) -> Feedback:
        """Look at an answer; never raises."""


def check(points: int) -> Callable[[Callable[..., Iterator[Part]]], Check]:
    """Return a decorator that makes a `Check` named ``check_3`` of what yields the parts of task 3's answer.

    An answer of which all is still ``...`` is open. What the student's own code raises is said, not raised; parts after
    that are not looked at, unless they are looked at `apart`.
    """

    def decorate(parts: Callable[..., Iterator[Part]]) -> Check:
        task = f"Task {parts.__name__.rpartition('_')[2]}"

        @wraps(parts)
        def checked(*answer: Any) -> Feedback:
            found: list[Part] = []
            try:
                if all(value is ... for value in _values(answer)):
                    raise Open("no answer yet: replace each ... in the cell above, run it, then this cell again.")
                found.extend(parts(*answer))
            except Exception as reason:
                found.append(_refused(reason))
            return Feedback(task, found, points)

        checked.points = points  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


def _values(answer: Any) -> Iterator[Any]:
    """Yield the single values of an answer; a table of what was measured, which checks get beside it, is none."""
    if isinstance(answer, Mapping | list | tuple):
        for value in answer.values() if isinstance(answer, Mapping) else answer:
            yield from _values(value)
    elif not isinstance(answer, pd.DataFrame):
        yield answer


def _open(guess: Any) -> bool:
    return any(value is ... for value in _values(guess))


def _refused(reason: Exception) -> Part:
    """Return what is said of a part, or of a task, that could not be looked at."""
    if isinstance(reason, Open | Off):
        return Part(None if isinstance(reason, Open) else False, str(reason))
    where = f"{type(reason).__name__}: {reason}"
    return Part(False, f"could not be looked at to the end. It stopped with {where}")


def apart(looks: Iterable[Iterator[Part]]) -> Iterator[Part]:
    """Yield the parts of several looks at an answer: where one is refused it is said why, and the next is taken."""
    already: set[Part] = set()
    for look in looks:
        try:
            yield from look
        except Exception as reason:
            refused = _refused(reason)
            if refused not in already:  # of a function without a body each look says the same
                yield refused
            already.add(refused)


def unanswered(name: str) -> Part:
    """Return the part of a value that is still ``...``, or that a dictionary has not."""
    return Part(None, f"{name}: no answer yet by this name.")


def part(right: Any, well: str, off: str) -> Part:
    """Return a part that says `well` when it is right, else `off`: where to look, not what the answer is."""
    return Part(bool(right), well if right else off)


def chosen(value: Any, right: str, name: str, well: str, off: str) -> Part:
    """Return a part for a text that was to be chosen among a few, as `part` does."""
    return unanswered(name) if value is ... else part(isinstance(value, str) and value == right, well, off)


class _TooLong(BaseException):
    """A student's function did not end in time. It is no `Exception`, so that her own `except` does not catch it."""


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise `_TooLong` in the block when it takes longer than `CALL_LIMIT_S`."""
    if current_thread() is not main_thread():  # which alone can be interrupted; notebook cells run in it
        yield
        return

    def interrupt(*_: object) -> None:
        raise _TooLong

    handler = signal.signal(signal.SIGALRM, interrupt)
    timer = signal.setitimer(signal.ITIMER_REAL, CALL_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def called(function: Any, *arguments: Any) -> Any:
    """Return what a student's function returns.

    Raises `Open` for nothing or ``...``, `Off` for what it raises and when it takes longer than `CALL_LIMIT_S`.
    """
    if not callable(function):
        raise Off(f"a function is wanted, and this is {type(function).__name__}: hand over its name without brackets.")
    try:
        with _time_limit():
            found = function(*arguments)
    except _TooLong:
        raise Off(
            f"{function.__name__} did not end within {CALL_LIMIT_S} seconds and was stopped: "
            "does each of its loops come to an end?"
        ) from None
    except Exception as error:
        given = ", ".join(map(_short, arguments))
        raise Off(f"{function.__name__}({given}) stopped with {type(error).__name__}: {error}") from error
    if found is None or found is ...:
        raise Open(f"{function.__name__} returns nothing yet: write its body, and return the result.")
    return found


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def number(value: Any, name: str) -> float:
    """Return an answer as a number; raises `Off` when it is none."""
    if not _is_number(value):
        raise Off(f"{name} should be a number, and is {_short(value)}.")
    return float(value)


def share(value: Any, name: str) -> float:
    """Return an answer as a share; raises `Off` when it is none: a count, or percent."""
    found = number(value, name)
    if not 0 <= found <= 1:
        raise Off(f"{name} should lie between 0 and 1, and is {found:g}: divide a count by how many there are.")
    return found


def close(
    value: Any, truth: float, name: str, well: str, hints: Mapping[float, str], off: str, within: float = 0.01
) -> Part:
    """Return a part for a number that should be `truth` within that share of it; what is none is a wrong part.

    Parameters
    ----------
    hints
        What to say of well-known mistakes, by the factor on the truth that each comes out at (1000: a wrong unit).
    off
        What to say of any other number, after whether it is too large or too small.
    """
    if value is ...:
        return unanswered(name)
    try:
        found = number(value, name)
    except Off as reason:
        return _refused(reason)
    if isclose(found, truth, rel_tol=within):
        return Part(True, well)
    for factor, hint in hints.items():
        if isclose(found, truth * factor, rel_tol=within):
            return Part(False, f"{name}: {hint}")
    return Part(False, f"{name} is too {'large' if found > truth else 'small'}: {off}")


def named(answer: Any, names: Iterable[str], wanted: str) -> dict[str, Any]:
    """Return what an answer has by each name, ``...`` where it has nothing; raises `Off` when it is no dictionary."""
    if not isinstance(answer, Mapping):
        raise Off(f"a dictionary is wanted, from each of {', '.join(names)} to {wanted}.")
    return {name: answer.get(name, ...) for name in names}


def sorted_into(
    answer: Any, truth: Mapping[str, Any], kinds: Iterable[Any], where: Mapping[str, str]
) -> Iterator[Part]:
    """Yield a part for each name that was to be sorted into one of a few kinds; of a wrong one, where to look."""
    allowed = list(kinds)
    for name, given in named(answer, truth, f"one of {', '.join(map(repr, allowed))}").items():
        right = truth[name]
        given = given.item() if isinstance(given, np.generic) else given  # who computed it may have numpy's True
        if given is ...:
            yield unanswered(name)
        elif not any(type(given) is type(kind) and given == kind for kind in allowed):
            yield Part(False, f"{name}: {_short(given)} is none of {', '.join(map(repr, allowed))}.")
        else:
            yield part(given == right, f"{name}: right, {right}.", f"{name}: not {given!r}. {where[name]}")


class Predictions:
    """What a student expected, written down before anything ran."""

    def __init__(self, **guesses: Any) -> None:
        self.guesses = guesses

    def _repr_html_(self) -> str:
        left = [name.replace("_", " ") for name, guess in self.guesses.items() if _open(guess)]
        if left:
            return (
                "<b>Before you run on</b>, write a number in place of each <code>...</code> "
                f"({escape(', '.join(left))}). A guess made afterwards teaches nothing; "
                "a wrong one made before teaches most."
            )
        try:
            guesses = {name.replace("_", " "): guess for name, guess in self.guesses.items()}
            written = [f"{name} {number(guess, name):g}" for name, guess in guesses.items()]
        except Off as reason:
            return f"<b>Before you run on</b>: {escape(str(reason))} Leave out units and quotation marks."
        return f"Written down: {escape(', '.join(written))}."

    def beside(self, **found: float) -> "Beside":
        """Return the guesses beside what came out, under the same names."""
        return Beside(self.guesses, found)


class Beside:
    """Predictions beside what came out."""

    def __init__(self, guesses: Mapping[str, Any], found: Mapping[str, float]) -> None:
        self.rows = [(name.replace("_", " "), guesses.get(name, ...), value) for name, value in found.items()]

    def __repr__(self) -> str:
        return "\n".join(
            f"{name}: predicted {self._guess(guess)}, found {value:.3g}" for name, guess, value in self.rows
        )

    @staticmethod
    def _guess(guess: Any) -> str:
        if _open(guess):
            return "nothing"
        return f"{float(guess):g}" if _is_number(guess) else _short(guess)

    @staticmethod
    def _verdict(guess: Any, value: float) -> str:
        if _open(guess):
            return "write it down first, next time"
        if not _is_number(guess):
            return "a number was wanted"
        if not (guess > 0 and value > 0):
            return ""
        factor = max(float(guess) / value, value / float(guess))
        return "very near" if factor < 1.25 else f"off by a factor of {factor:.3g}: what did you leave out?"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{escape(self._guess(guess))}</td>"
            f"<td><b>{value:.3g}</b></td>"
            f"<td style='text-align:left'>{escape(self._verdict(guess, value))}</td></tr>"
            for name, guess, value in self.rows
        )
        return f"<table><tr><th></th><th>you predicted</th><th>it came out</th><th></th></tr>{rows}</table>"
