"""How long cells take, as far as it is known."""

from collections.abc import Mapping, Sequence

Durations = Mapping[tuple[str, str], float]
"""Seconds of a finished cell, by its kind: study and parameters."""


def time_left(cells: Sequence[tuple[str, str]], known: Durations) -> list[str]:
    """Return how long cells will take, as far as cells of the same study and parameters tell; nothing for none."""
    if not cells:
        return []
    told = [known[cell] for cell in cells if cell in known]
    if not told:
        return ["time left unknown"]
    return [f"{'about' if len(told) == len(cells) else 'more than'} {span(sum(told))}"]


def span(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
