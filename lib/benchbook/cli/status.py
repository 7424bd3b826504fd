"""The command's exit statuses."""

from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOTHING_RUNS: Final = 3
INTERRUPTED: Final = 130
TERMINATED: Final = 143


class UsageError(Exception):
    """What was asked cannot be done as asked; nothing was started."""
