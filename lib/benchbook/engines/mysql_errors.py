"""What PyMySQL's exceptions stand for: told by the server's error numbers, for its classes do not part them."""

from typing import Final

import orjson
import pymysql

from benchbook.engines.errors import DuplicateKeyError, EngineError, RefusedError, UnreachableError

_DUPLICATE: Final = 1062
_UNREACHABLE: Final = {1040, 1044, 1045, 1053, 1129, 1130, 1142, 1227, 1927, 2003, 2006, 2013}
"""No room, no rights, no server."""
_REFUSED: Final = {139, 1118, 1153, 1292, 1366, 3140, 4025}
"""Too large, or not of its column's type."""


def kind(error: Exception) -> type[EngineError]:
    """Tell unreachable servers and refused rows apart."""
    code = error.args[0] if error.args else None
    if code == _DUPLICATE:
        return DuplicateKeyError
    if code in _REFUSED or isinstance(error, pymysql.DataError | pymysql.IntegrityError | orjson.JSONEncodeError):
        return RefusedError
    unreachable = code in _UNREACHABLE or isinstance(error, pymysql.InterfaceError)
    return UnreachableError if unreachable else EngineError


def text(error: Exception) -> str:
    """Return what the server said, with the error's number, in one line."""
    code, *said = error.args or ("",)
    return " ".join(f"{' '.join(map(str, said)) or 'the connection is closed'} ({code})".split())
