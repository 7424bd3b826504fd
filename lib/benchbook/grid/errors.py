"""What is wrong with a grid or with what was asked of it, where, and the nearest right name."""

import difflib
from collections.abc import Iterable


class GridError(ValueError):
    """A grid, or what was asked of it, is wrong: nothing was started.

    Parameters
    ----------
    where
        ``file:line``, or the option of the command.
    message
        What is wrong, and what would be right.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


def nearest(name: str, right: Iterable[str]) -> str:
    """Return the advice to a wrong name: the nearest right one, else all of them."""
    names = sorted(map(str, right))
    if close := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {close[0]!r}?"
    return f"there are {', '.join(names)}" if names else "there is none"
