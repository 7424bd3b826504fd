"""RethinkDB's exceptions, and its refusals, which are counts in an answer, as ours."""

from typing import Final

from rethinkdb.errors import ReqlAuthError, ReqlDriverError, ReqlError, ReqlTimeoutError

from benchbook.engines.errors import DuplicateKeyError, EngineError, RefusedError, UnreachableError

RAISES: Final = (ReqlError, OSError, OverflowError)


def kind(error: Exception) -> type[EngineError]:
    """Return what an exception is to be raised as."""
    if isinstance(error, ReqlDriverError | ReqlTimeoutError | OSError):
        return UnreachableError
    return RefusedError if isinstance(error, OverflowError) else EngineError


def text(error: Exception) -> str:
    """Return an exception in one line, without the query that it repeats."""
    told = str(getattr(error, "message", "") or error)
    return " ".join(f"{'authentication failed: ' * isinstance(error, ReqlAuthError)}{told}".split())


def refusal(first_error: str, where: str) -> EngineError:
    """Return the first of the refusals that a write counted."""
    told = " ".join(first_error.split())
    return (DuplicateKeyError if told.startswith("Duplicate primary key") else RefusedError)(f"{where}: {told}")
