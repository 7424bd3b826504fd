"""Why a verdict is what it is, in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Final

from benchbook.evidence.claims import Rank, Settings, Tested, Untestable, text
from benchbook.evidence.effects import UNPAIRED, Effect
from benchbook.evidence.sides import Side
from benchbook.evidence.words import figures

NOT_HERE: Final = "not testable here"


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
    parts = []
    for name, side in sides.items():
        own: Settings = getattr(claim, name.partition(" ")[0], {})
        open_ = [key for key, value in {**claim.at, **own}.items() if isinstance(value, tuple)]
        chosen = [f"{key}={text(side.settings[key])}" for key in open_ if key in side.settings]
        parts += [f"{name}: {', '.join(chosen)}"] if chosen else []
    return "; ".join(parts)


def overall(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return why a claim has its verdict: what each contrast found, those that say the same verdict counted."""
    if len(rows) == 1:
        return str(rows[0]["why"])
    able = [row for row in rows if row["verdict"] != NOT_HERE]
    counts = Counter(row["verdict"] for row in able)
    told = ", ".join(f"{one} in {count} of {len(able)} contrasts" for one, count in counts.items())
    listed = [f"{row['contrast']}: {row['why']}" for row in able]
    absent: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == NOT_HERE:
            absent.setdefault(row["why"], []).append(row["contrast"])
    missing = [f"{why}: {_listed(names, len(rows))}" for why, names in absent.items()]
    return "; ".join(([f"{told}: {listed[0]}", *listed[1:]] if able else []) + missing)


def _listed(names: Sequence[str], of: int) -> str:
    """Return the contrasts' names, or how many they are."""
    if len(names) == of:
        return f"all {of} contrasts"
    return " and ".join(names) if len(names) < 4 else f"{len(names)} of {of} contrasts, {names[0]} to {names[-1]}"


def _found(claim: Tested, found: Effect) -> str:
    blocks = f"{found.blocks} block{'' if found.blocks == 1 else 's'}"
    if found.low == found.low:
        how = f"{blocks}, unpaired" if found.test == UNPAIRED else blocks
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
