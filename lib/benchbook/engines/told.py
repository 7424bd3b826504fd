"""A driver's exceptions, told as ours: with the engine, its address and the verb."""

from collections.abc import Callable
from functools import wraps
from typing import ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

from benchbook.engines.errors import EngineError


class Teller(Protocol):
    """Knows its driver's exceptions."""

    raises: ClassVar[tuple[type[Exception], ...]]

    @property
    def where(self) -> str:
        """The engine and its primary's address."""

    def kind(self, error: Exception) -> type[EngineError]:
        """Return what the driver's exception is to be raised as."""

    def text(self, error: Exception) -> str:
        """Return the driver's exception in one line."""


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Teller)


def told(verb: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Raise an `EngineError` in place of the driver's exception; costs a call, some 0.1 us."""

    @wraps(verb)
    def call(engine: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(engine, *args, **kwargs)
        except engine.raises as error:
            kind = engine.kind(error)
            raise kind(f"{engine.where}: {verb.__name__}: {engine.text(error)}") from error

    return call
