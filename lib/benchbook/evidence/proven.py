"""What may speak for a product: the product itself, through an adapter that has met it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchbook.evidence.claim_sides import leads, needed, sides_of
from benchbook.evidence.claims import Rank, Settings, Tested, text
from benchbook.evidence.sides import Side
from benchbook.registry import untested


@dataclass(frozen=True)
class Stated:
    """The sides of a contrast that may be judged.

    Parameters
    ----------
    sides
        By name.
    missing
        Why there is nothing to judge; empty when there is.
    left_out
        Why each of those that a ranking goes without is missing.
    stand_in
        Whether a stand-in took some side's place.
    """

    sides: Mapping[str, Side]
    missing: str
    left_out: tuple[str, ...] = field(default=())
    stand_in: bool = False


def stated(claim: Tested, ran: Mapping[str, Side]) -> Stated:
    """Return the sides of a contrast without those that no real product ran."""
    lacking = {name: _lacking(side, ran.get(name)) for name, side in sides_of(claim).items()}
    sides = {name: side for name, side in ran.items() if not lacking[name]}
    why = [reason for reason in lacking.values() if reason]
    stand_in = any(side.stand_in for side in ran.values())
    if not ran:
        return Stated(sides, "did not run")
    if not needed(claim) <= set(sides) or not leads(claim, sides):
        return Stated(sides, "; ".join(dict.fromkeys(why)), stand_in=stand_in)
    return Stated(sides, "", tuple(why) if isinstance(claim, Rank) else (), stand_in)


def _lacking(wanted: Settings, side: Side | None) -> str:
    """Return why a side cannot be judged; empty when it can."""
    if side is None:
        return f"{described(wanted)} did not run" if wanted else "it did not run"
    engine = str(side.settings.get("engine") or "")
    if side.stand_in:
        return f"of {engine} only a stand-in ran"
    if why := untested(engine):
        return f"the adapter of {engine} is untested: {why}"
    return ""


def described(settings: Settings) -> str:
    """Return what tells a side apart, in words."""
    parts = []
    for name, value in settings.items():
        levels = value if isinstance(value, tuple) else (value,)
        parts.append(f"{name}={' or '.join(map(text, levels))}")
    return ", ".join(parts)
