"""What one recomputation comes to: a printed number, bound or ordering against what other printed numbers make it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from benchbook.evidence.published import Number

SIMILAR: Final = 1.25
"""Two times within this factor count as "close", "very similar" or "slightly" apart: lenient, so that what fails it
fails beyond doubt. The papers give no factor."""

_ROUNDED: Final = 1 + 1e-9
"""Leeway for the computer's own rounding, beside that of print."""

Compute: TypeAlias = Callable[..., float]
CheckKind: TypeAlias = Literal["number", "bound", "order", "likeness"]
"""``number``: a printed value; ``bound``: a limit that a value must keep; ``order``: which of two is larger;
``likeness``: that two are about the same."""


@dataclass(frozen=True)
class Check:
    """What one recomputation came to.

    Parameters
    ----------
    where, of
        Where it is printed, and the sources that it is recomputed from.
    printed
        The printed characters; for orders and likeness the claim about the ratio.
    recomputed
        In the printed number's unit; for orders and likeness the ratio, first over second.
    tolerance
        Half a unit of the last printed digit and what the rounding of the sources adds; for likeness the factor.
    key, used
        The published number that is recomputed, None for orders, and those that it was computed from.
    """

    study: str
    kind: CheckKind
    says: str
    where: str
    of: str
    printed: str
    recomputed: float
    tolerance: float
    agrees: bool
    key: tuple[str, str, str, str] | None = None
    used: tuple[tuple[str, str, str, str], ...] = ()


def propagate(compute: Compute, *of: Number) -> tuple[float, float]:
    """Compute from printed values; return the result, and how far their rounding, one input at a time, may move it."""
    values = [number.value for number in of]
    middle = compute(*values)
    reach = 0.0
    for rank, number in enumerate(of):
        moved = ([*values[:rank], number.value + side * number.rounding, *values[rank + 1 :]] for side in (-1, 1))
        reach += max(abs(compute(*inputs) - middle) for inputs in moved)
    return middle, reach


def follows(claim: Number, compute: Compute, *of: Number, says: str, rounding: float | None = None) -> Check:
    """Return whether a printed number is what ``compute`` makes of the others, to its printed digits.

    ``rounding`` is half a unit of the last digit where the printed characters leave zeros out.
    """
    value, reach = propagate(compute, *of)
    tolerance = (claim.rounding if rounding is None else rounding) + reach
    agrees = abs(claim.value - value) <= tolerance * _ROUNDED
    return _check("number", says, claim, of, value, tolerance, agrees)


def bound(claim: Number, side: Literal["above", "below"], compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a printed bound, up to the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    excess = claim.value - value if side == "above" else value - claim.value
    return _check("bound", says, claim, of, value, reach, excess <= reach * _ROUNDED)


def limit(where: str, most: float, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a limit that nobody prints, such as 100 % for shares that add up."""
    value, reach = propagate(compute, *of)
    return _check("bound", says, (where, f"at most {most:g}"), of, value, reach, value - most <= reach * _ROUNDED)


def less(where: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a ratio is less than 1 by more than the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    return _check("order", says, (where, "less than 1"), of, value, reach, value + reach < 1)


def alike(where: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a ratio that a sentence calls close to 1 lies within the factor `SIMILAR`."""
    ratio = compute(*(number.value for number in of))
    return _check("likeness", says, (where, "about 1"), of, ratio, SIMILAR, 1 / SIMILAR <= ratio <= SIMILAR)


def _check(
    kind: CheckKind,
    says: str,
    claim: Number | tuple[str, str],
    of: tuple[Number, ...],
    recomputed: float,
    tolerance: float,
    agrees: bool,
) -> Check:
    """Return a check of a printed number, or of what a sentence claims: where, and of the ratio what."""
    where, printed, key = (claim.source, claim.printed, claim.key) if isinstance(claim, Number) else (*claim, None)
    used = tuple(number.key for number in of)
    sources = ", ".join(dict.fromkeys(source for _, source, _, _ in used)) or "itself"
    study = key[0] if key else used[0][0]
    return Check(study, kind, says, where, sources, printed, recomputed, tolerance, agrees, key, used)
