"""The results' folder, when it takes nothing: the one fault after which a run cannot go on."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchbook import paths
from benchbook.servers.errors import advised


class UnwritableError(RuntimeError):
    """What was measured cannot be kept."""


@contextmanager
def storing() -> Iterator[None]:
    """Write to the results' folder.

    Raises
    ------
    UnwritableError
        In place of what the system says when it refuses: with where, why and what to do.
    """
    try:
        yield
    except OSError as error:
        why = advised(str(error)).replace("TMPDIR", "BENCHBOOK_RESULTS")
        raise UnwritableError(f"{paths.results()} cannot be written: {why}") from error
