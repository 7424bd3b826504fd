"""A driver's exceptions, told as ours: with the engine, its address and the verb."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ClassVar, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

from benchbook.engines.errors import EngineError


class Teller(Protocol):
    """Knows its driver's exceptions."""

    raises: ClassVar[tuple[type[Exception], ...]]

    def raised(self, error: Exception, what: str) -> EngineError:
        """Return what to raise for the driver's exception."""


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Teller)


def told(verb: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Raise an `EngineError` in place of the driver's exception; costs a call, some 0.1 us.

    Verbs of one or two arguments, which studies time one at a time, are called without packing them: by name they
    cannot be given then.
    """

    def failed(engine: T, error: Exception) -> NoReturn:
        said = engine.raised(error, verb.__name__)
        raise said from said.__cause__

    @wraps(verb)
    def call(engine: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(engine, *args, **kwargs)
        except engine.raises as error:
            failed(engine, error)

    @wraps(verb)
    def with_one(engine: T, one: Any, /) -> R:
        try:
            return plain(engine, one)
        except engine.raises as error:
            failed(engine, error)

    @wraps(verb)
    def with_two(engine: T, one: Any, two: Any, /) -> R:
        try:
            return plain(engine, one, two)
        except engine.raises as error:
            failed(engine, error)

    plain: Callable[..., R] = verb
    _, *parameters = signature(verb).parameters.values()
    if any(parameter.default is not Parameter.empty for parameter in parameters):
        return call
    special: dict[int, Callable[..., R]] = {1: with_one, 2: with_two}
    return special.get(len(parameters), call)
