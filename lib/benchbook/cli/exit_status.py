"""Exit statuses of commands, and the errors that lead to two of them."""

from typing import Final

DONE: Final = 0
"""All is done."""

FAILED: Final = 1
"""A cell failed, or a file could not be written."""

USAGE: Final = 2
"""The usage, a parameter, a grid or SQL is wrong; nothing was started."""

NOTHING_RUNS: Final = 3
"""Nothing can run here, or nothing ran yet of what is to be shown."""

INTERRUPTED: Final = 130
"""Ctrl-C stopped it."""

TERMINATED: Final = 143
"""SIGTERM stopped it."""


class UsageError(Exception):
    """The request is wrong; nothing was started."""


class NoResultsError(Exception):
    """No cell ran here of what a report or a figure shows."""
