"""Advice on a wrong name: which right name is nearest."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

FORMER_NAMES: Final[dict[str, str]] = {"lane": "language", "room": "network", "engine": "database"}
"""Parameters and columns that were renamed, by their names up to version 0.2."""


def suggest_name(name: str, right_names: Iterable[object]) -> str:
    """Return the advice on a wrong name: the nearest right name, else all right names.

    A former name of a right name leads to its name of today.
    """
    names = sorted(map(str, right_names))
    renamed = {old: new for old, new in FORMER_NAMES.items() if new in names}
    close = get_close_matches(name, [*names, *renamed], n=1)
    if close:
        return f"did you mean {renamed.get(close[0], close[0])!r}?"
    return f"there are {', '.join(names)}" if names else "there is none"


def suggest_from_many(name: str, right_names: Iterable[str], otherwise: str) -> str:
    """Return the advice on a wrong name where hundreds are right: the nearest and `otherwise`.

    The wrong name may be the beginning of longer names, also with a slip in it.
    """
    names = list(right_names)
    near = [right for right in names if right.startswith(name)][:3]
    if not near:
        near = get_close_matches(name, names, n=1)
    if not near:
        # The first name of each beginning that is as long as the wrong name, or one longer.
        beginnings = {right[: len(name) + 1]: right for right in reversed(names)}
        matches = get_close_matches(name, beginnings, n=1, cutoff=0.8)
        near = [beginnings[match] for match in matches]
    suggested = " or ".join(map(repr, near))
    return f"did you mean {suggested}? {otherwise}" if near else otherwise
