"""What an adapter raises, in place of its driver's exceptions (which are the cause)."""

from benchbook.scrubbing import scrubbed


class EngineError(RuntimeError):
    """An engine could not do what was asked; the message names engine, address and verb, and holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(scrubbed(message))


class UnreachableError(EngineError):
    """The server does not answer, went away, or refuses the user."""


class RefusedError(EngineError):
    """The server or the mapper refuses the data: a constraint, a type, a size, a character."""


class DuplicateKeyError(RefusedError):
    """A record of that key is there already."""


class MissingRecordError(EngineError):
    """There is no record of that key."""


class GapError(EngineError):
    """The engine cannot do that, and its `gaps` say why."""


class OccupiedError(EngineError):
    """Something is in the way that the suite did not make: it is not touched."""
