"""Couchbase's exceptions as ours."""

from typing import Final

import orjson
from couchbase.exceptions import (
    AmbiguousTimeoutException,
    AuthenticationException,
    CouchbaseException,
    DocumentExistsException,
    DocumentNotFoundException,
    RequestCanceledException,
    UnAmbiguousTimeoutException,
)

from benchbook.engines.errors import DuplicateKeyError, EngineError, MissingRecordError, RefusedError, UnreachableError

RAISES: Final = (CouchbaseException, orjson.JSONEncodeError)

_KINDS: Final[dict[type[Exception], type[EngineError]]] = {
    DocumentExistsException: DuplicateKeyError,
    DocumentNotFoundException: MissingRecordError,
    orjson.JSONEncodeError: RefusedError,
    AuthenticationException: UnreachableError,
    AmbiguousTimeoutException: UnreachableError,
    UnAmbiguousTimeoutException: UnreachableError,
    RequestCanceledException: UnreachableError,
}
_TOLD: Final = {"<ec=104,": RefusedError, "category=couchbase.network": UnreachableError}
"""Exceptions that only their text tells apart: a value that is too large, and what the network did."""


def kind(error: Exception) -> type[EngineError]:
    """Return what an exception is to be raised as."""
    known = [kind for type_, kind in _KINDS.items() if isinstance(error, type_)]
    known += [kind for text, kind in _TOLD.items() if text in str(error)]
    return known[0] if known else EngineError
