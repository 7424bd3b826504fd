"""Why a verdict is what it is, in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from benchbook.evidence.claims import Rank, Tested, Untestable, text
from benchbook.evidence.effects import Effect
from benchbook.evidence.sides import Side
from benchbook.evidence.words import figures


def claimed(claim: Tested) -> str:
    """Return the direction or order that is claimed."""
    if isinstance(claim, Rank):
        order = claim.claimed
        if order.order:
            return " < ".join(map(text, order.order))
        return f"first: {text(order.first)}" if order.first is not None else f"last: {text(order.named[0])}"
    assert not isinstance(claim, Untestable)
    return str(claim.claimed)  # type: ignore[attr-defined]


def contrast(claim: Tested, found: Effect, held: float, size: float, left_out: Sequence[str]) -> str:
    """Return what one contrast found."""
    said = [_found(claim, found)]
    if held == held:
        said.append(f"the order holds in {held:.1%} of resamples of the blocks")
    if size == size:
        said.append(f"published {figures(size)}")
    return "; ".join([*said, *([f"without {', '.join(left_out)}"] if left_out else [])])


def stood(claim: Tested, sides: Mapping[str, Side]) -> str:
    """Return which of the alternatives that the claim allows stood on each side."""
    allowed: list[str] = [name for name, value in claim.at.items() if isinstance(value, tuple)]
    for settings in (getattr(claim, "a", {}), getattr(claim, "b", {})):
        allowed += [name for name, value in settings.items() if isinstance(value, tuple)]
    parts = []
    for name, side in sides.items():
        chosen = [f"{key}={text(side.settings[key])}" for key in dict.fromkeys(allowed) if key in side.settings]
        parts += [f"{name}: {', '.join(chosen)}"] if chosen else []
    return "; ".join(parts)


def overall(verdict: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return why a claim has its verdict: how many contrasts say so, and what each found."""
    if len(rows) == 1:
        return str(rows[0]["why"])
    able = [row for row in rows if row["verdict"] != "not testable here"]
    if not able:
        return "; ".join(dict.fromkeys(f"{row['contrast']}: {row['why']}" for row in rows))
    counts = Counter(row["verdict"] for row in able)
    told = ", ".join(f"{one} in {count} of {len(rows)}" for one, count in counts.items())
    listed = "; ".join(f"{row['contrast']}: {row['why']}" for row in rows)
    return f"{told} ({listed})"


def _found(claim: Tested, found: Effect) -> str:
    blocks = f"{found.blocks} block{'' if found.blocks == 1 else 's'}"
    if found.low == found.low:
        how = f"{blocks}, {found.test}" if found.test != "none" else blocks
        name = "smallest lead " if isinstance(claim, Rank) else ""
        bound = f"; {found.reason}" if found.reason else ""
        return f"{name}{figures(found.ratio)} ({_end(found.low)} to {_end(found.high)}) in {how}{bound}"
    if found.difference[0] == found.difference[0]:
        low, high = found.difference
        return f"the difference is {low:+.3g} to {high:+.3g} {found.unit} in {blocks}; {found.reason}"
    estimate = f"{figures(found.ratio)} in {blocks}; " if found.ratio == found.ratio else ""
    return f"{estimate}{found.reason}"


def _end(value: float) -> str:
    return "any more" if value == inf else "0" if value == 0 else figures(value)
