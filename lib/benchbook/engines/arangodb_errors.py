"""ArangoDB's errors as ours, by their numbers."""

from typing import Final

import orjson
from arango.exceptions import ArangoError, ArangoServerError
from requests.exceptions import RequestException

from benchbook.engines.errors import DuplicateKeyError, EngineError, MissingRecordError, RefusedError, UnreachableError

RAISES: Final = (ArangoError, RequestException, orjson.JSONEncodeError, OSError)

_KINDS: Final[dict[type[EngineError], tuple[int, ...]]] = {
    DuplicateKeyError: (1210,),
    MissingRecordError: (1202,),
    RefusedError: (400, 413, 600, 1221, 1227, 1233),
    UnreachableError: (11, 401, 403, 503),
}


def kind(error: Exception) -> type[EngineError]:
    """Return what an exception is to be raised as."""
    if isinstance(error, ArangoServerError):
        return next((known for known, numbers in _KINDS.items() if error.error_code in numbers), EngineError)
    return RefusedError if isinstance(error, orjson.JSONEncodeError) else UnreachableError
