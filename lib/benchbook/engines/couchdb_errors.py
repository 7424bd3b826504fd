"""CouchDB's answers, urllib3's exceptions and orjson's as ours."""

from typing import Final

import orjson
from urllib3.exceptions import HTTPError

from benchbook.engines.couchdb_http import AnswerError
from benchbook.engines.errors import DuplicateKeyError, EngineError, MissingRecordError, RefusedError, UnreachableError

RAISES: Final = (AnswerError, HTTPError, orjson.JSONEncodeError)

_KINDS: Final[dict[int, type[EngineError]]] = {
    400: RefusedError,
    401: UnreachableError,
    403: UnreachableError,
    409: DuplicateKeyError,
    413: RefusedError,
}


def kind(error: Exception) -> type[EngineError]:
    """Tell unreachable servers, refused, missing and duplicate documents apart."""
    if isinstance(error, AnswerError):
        missing = error.status == 404 and error.reason in ("missing", "deleted")  # else it is the database
        return MissingRecordError if missing else _KINDS.get(error.status, EngineError)
    return RefusedError if isinstance(error, orjson.JSONEncodeError) else UnreachableError
