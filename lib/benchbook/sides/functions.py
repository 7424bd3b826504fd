"""Functions of Python as sides: each block calls them in a process of its own.

The process is a new Python with the caller's ``sys.path``. It gets the functions by cloudpickle, so
that they may stand in a notebook. A call that is too short for the clock is repeated.
"""

import gc
import inspect
import os
import re
import reprlib
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pickle import PicklingError
from time import time_ns
from typing import Any, Final

from benchbook.files.suite_files import TemporaryFolder
from benchbook.measure import make_client_meters, time_action
from benchbook.measure.timing import CLOCK_RESOLUTION, clock
from benchbook.servers import processes
from benchbook.sides.question import (
    LETTERS,
    TIMEOUT_S,
    SideRun,
    SidesError,
    SidesQuestion,
    digest_values,
)

FUNCTION_METRICS: Final = ("wall_time", "cpu_user", "cpu_system")
"""What calls of a function have; the memory of their process belongs to all sides."""

MIN_RUN_NS: Final = max(1000 * CLOCK_RESOLUTION, 5e6)
"""A run is repeated until it is this long, in ns: then the clock's step is below 0.1 % of it."""

DATA_TYPES: Final = (int, float, str, list, tuple, dict)
"""Types of global values that tell a question from others: they are written as in Python."""

_ADDRESS: Final = re.compile(" at 0x[0-9a-fA-F]+")
"""The address in the words of an object, which differs in each process."""


class FunctionRunner:
    """Runs functions.

    Parameters
    ----------
    functions
        One per side. Each takes what the setup returns; without a setup it takes nothing.
    setup
        Called once per block and side, untimed.
    check
        Takes the answers of the first side and of another one, and returns whether they agree.
    timeout_s
        Seconds after which a run is given up, or the setup with the first calls.
    """

    operation = "call"

    def __init__(
        self,
        functions: Sequence[Callable[..., object]],
        setup: Callable[[], object] | None = None,
        check: Callable[[Any, Any], object] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        # Here, because only functions need it.
        import cloudpickle

        try:
            self._pickled: bytes = cloudpickle.dumps((functions, setup, check))
        except (TypeError, PicklingError) as error:
            remedy = "make what cannot be copied in the setup"
            raise ValueError(
                f"a function cannot be sent to a process: {error}: {remedy}"
            ) from error
        self._timeout_s = timeout_s

    @contextmanager
    def start_block(self) -> Iterator[Callable[[int], SideRun]]:
        """Start a process and give it the functions."""
        ours, theirs = Pipe()
        with TemporaryFolder("cell") as folder, ours, (folder / "printed").open("w+b") as log:
            with theirs:
                process = processes.spawn(
                    [*processes.PYTHON, "-m", __name__],
                    env=dict(os.environ),
                    stdin=theirs.fileno(),
                    stdout=log,
                    stderr=log,
                    death_signal=signal.SIGTERM,
                )
            try:
                ask = partial(_ask, ours, self._timeout_s)
                ask("paths", sys.path)
                ask("functions", self._pickled)
                yield partial(ask, "run")
            finally:
                # With SIGKILL the processes that the functions started end, too.
                processes.stop(process, signal.SIGKILL)


def _ask(channel: "Connection[Any, Any]", timeout_s: float, request: str, value: Any) -> Any:
    """Return the answer of the process that calls functions, or raise `SidesError`."""
    try:
        channel.send((request, value))
        if not channel.poll(timeout_s):
            name = LETTERS[value] if request == "run" else "a first call"
            raise SidesError(f"{name} did not end within {timeout_s:g} s: it was killed")
        answer, failure = channel.recv()
    except (EOFError, OSError) as error:
        raise SidesError("the process that called the functions was killed") from error
    if failure:
        raise SidesError(failure)
    return answer


class _Caller:
    """Calls the functions, in the process of a block."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []
        self._counts: list[int] = []

    def answer(self, request: str, value: Any) -> SideRun | None:
        """Answer one request of `_ask`."""
        if request == "run":
            with _name_failure(LETTERS[value]):
                return self._run_side(value)
        if request == "paths":
            sys.path[:] = value
            return None
        import cloudpickle

        functions, setup, check = cloudpickle.loads(value)
        # Each side has what a setup of its own returned, which it may change.
        with _name_failure("the setup"):
            self._calls = [partial(call, setup()) if setup else call for call in functions]
        # The first calls check the answers, and are the warm-up.
        answers = []
        for side, call in enumerate(self._calls):
            with _name_failure(LETTERS[side]):
                answers.append(call())
        _check_answers(answers, check)
        for side, call in enumerate(self._calls):
            with _name_failure(LETTERS[side]):
                self._counts.append(_count_calls(call))
        return None

    def _run_side(self, side: int) -> SideRun:
        call, count = self._calls[side], self._counts[side]

        def repeat() -> None:
            for _ in range(count):
                call()

        gc.collect()
        began_at = time_ns()
        _, readings = time_action(repeat, make_client_meters(FUNCTION_METRICS))
        return SideRun(side, began_at, {read.metric: read.value for read in readings}, count)


def _count_calls(call: Callable[[], object]) -> int:
    """Return how often a function is called, so that one run takes `MIN_RUN_NS` or more."""
    count = 1
    while True:
        begin = clock()
        for _ in range(count):
            call()
        spent = clock() - begin
        if spent >= MIN_RUN_NS:
            return count
        count = max(2 * count, int(1.2 * count * MIN_RUN_NS / max(spent, 1)))


@contextmanager
def _name_failure(name: str) -> Iterator[None]:
    """Raise an exception of the user's code, or its `sys.exit`, as a `SidesError`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise SidesError(f"{name} raised {_describe_error(error)}") from error


def _check_answers(answers: Sequence[object], check: Callable[[Any, Any], object] | None) -> None:
    """Raise `SidesError` when a call did no work, or when a check says that answers differ."""
    for side, answer in enumerate(answers):
        letter = LETTERS[side]
        if inspect.iscoroutine(answer):
            raise SidesError(f"{letter} is async, so its call does nothing: use asyncio.run in it")
        if inspect.isgenerator(answer):
            raise SidesError(f"{letter} is a generator, so its call does nothing: use list() in it")
        if not side or check is None:
            continue
        try:
            is_same = bool(check(answers[0], answer))
        except Exception as error:
            remedy = "give check a function of both answers, such as numpy.array_equal"
            raise SidesError(f"check raised {_describe_error(error)}: {remedy}") from error
        if not is_same:
            returned, wanted = reprlib.repr(answer), reprlib.repr(answers[0])
            same = f"the same as {LETTERS[0]}"
            raise SidesError(f"{letter} does not return {same}: {returned}, not {wanted}")


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def main() -> None:
    """Answer the requests at the socket on standard input until it is closed.

    SIGTERM, which comes when its owner was killed, ends the processes of the functions, too.
    """
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    channel: Connection[Any, Any] = Connection(os.dup(0))
    # A function that reads standard input finds it empty.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    caller = _Caller()
    while True:
        try:
            request, value = channel.recv()
        except EOFError:
            return
        try:
            answer, failure = caller.answer(request, value), ""
        except SidesError as error:
            answer, failure = None, str(error)
        except Exception as error:
            answer, failure = None, f"the functions cannot be called: {_describe_error(error)}"
        channel.send((answer, failure))


def describe_functions(
    functions: Sequence[Callable[..., object]], setup: Callable[[], object] | None = None
) -> SidesQuestion:
    """Return functions as a question, which is named by them.

    Its digest is of Python's version and of their source and the setup's, with the functions, the
    data and the versions of the modules that they name.
    """
    sides = [getattr(function, "__name__", type(function).__name__) for function in functions]
    called = [*functions, *([setup] if setup else [])]
    digest = digest_values(sys.version, *map(_describe_code, called))
    return SidesQuestion(" ".join(sides), sides, digest)


def _describe_code(function: Callable[..., object]) -> list[str]:
    """Return a function's source, and that of what it names one level below."""
    code = getattr(function, "__code__", None)
    if isinstance(function, partial):
        given = map(_describe_value, (function.args, function.keywords))
        return [*given, *_describe_code(function.func)]
    if hasattr(type(function).__call__, "__code__"):  # an object of a class of Python
        attributes = _describe_value(getattr(function, "__dict__", None))
        return [attributes, *_describe_code(type(function).__call__)]
    if code is None:  # of C
        return [_describe_value(function)]
    parts = [_read_source(function), _describe_value(getattr(function, "__defaults__", None))]
    for cell in getattr(function, "__closure__", None) or ():
        parts.append(_describe_value(cell.cell_contents))
    for name in code.co_names:
        value = getattr(function, "__globals__", {}).get(name)
        if inspect.ismodule(value):
            parts.append(f"{name} {getattr(value, '__version__', '')}")
        elif inspect.isfunction(value) or isinstance(value, DATA_TYPES):
            parts.append(f"{name} {_describe_value(value)}")
    return parts


def _describe_value(value: object) -> str:
    """Return a value in words that are the same in each process, with a function's source."""
    # The texts of a set have another order in each process.
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    parts: Iterable[object] = [value]
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    words = repr(value)
    for part in parts:
        if inspect.isfunction(part):
            words += _read_source(part)
        # These words are an object's class and address.
        elif type(part).__repr__ is object.__repr__:
            words += repr(getattr(part, "__dict__", None))
    return _ADDRESS.sub("", words)


def _read_source(function: Callable[..., object]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a plain Python
        return str(getattr(function, "__qualname__", ""))


if __name__ == "__main__":
    main()
