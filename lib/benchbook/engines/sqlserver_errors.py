"""SQL Server's and FreeTDS's errors as ours, by their numbers."""

from typing import Final

import pymssql

from benchbook.engines.errors import DuplicateKeyError, EngineError, RefusedError, UnreachableError

_KINDS: Final[dict[type[EngineError], tuple[int, ...]]] = {
    DuplicateKeyError: (2601, 2627),
    RefusedError: (241, 515, 547, 2628, 8114, 8152),
    UnreachableError: (18456, 20002, 20003, 20004, 20006, 20009, 20047),
}


def kind(error: Exception) -> type[EngineError]:
    """Return what an exception is to be raised as."""
    number, _ = told(error)
    for known, numbers in _KINDS.items():
        if number in numbers:
            return known
    if isinstance(error, pymssql.InterfaceError):
        return UnreachableError
    return RefusedError if isinstance(error, pymssql.DataError) else EngineError


def told(error: Exception) -> tuple[int, str]:
    """Return an exception's number and text: its arguments, or the one that holds both."""
    arguments = error.args[0] if error.args and isinstance(error.args[0], tuple) else error.args
    number, text = arguments if len(arguments) == 2 else (0, str(error))
    return int(number), text.decode(errors="replace") if isinstance(text, bytes) else str(text)
