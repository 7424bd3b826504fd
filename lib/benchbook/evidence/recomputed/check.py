"""One printed number, bound or ordering, held against what other printed numbers make it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from benchbook.evidence.recomputed.printed import Printed, derive

SIMILAR: Final = 1.25
"""Two times within this factor count as "close", "very similar" or "slightly" apart: lenient, so that what fails it
fails beyond doubt. The papers give no factor."""

Kind = Literal["number", "bound", "order", "likeness"]


@dataclass(frozen=True)
class Check:
    """What one recomputation came to.

    Parameters
    ----------
    study
        Its slug.
    kind
        ``number``: a printed value; ``bound``: a limit that a value must keep; ``order``: which of two is larger;
        ``likeness``: that two are about the same.
    says
        What is checked, in own words.
    where, of
        Where it is printed, and the sources that it is recomputed from.
    printed
        The printed characters; for orders and likeness the claim about the ratio.
    recomputed
        In the printed number's unit; for orders and likeness the ratio, first over second.
    tolerance
        Half a unit of the last printed digit and what the rounding of the sources adds; for likeness the factor.
    agrees
        Whether the two agree within the tolerance.
    key
        The published number that is recomputed; None for orders.
    used
        The published numbers that it was computed from.
    """

    study: str
    kind: Kind
    says: str
    where: str
    of: str
    printed: str
    recomputed: float
    tolerance: float
    agrees: bool
    key: tuple[str, str, str, str] | None = None
    used: tuple[tuple[str, str, str, str], ...] = field(default=())


def number(claim: Printed, compute: Callable[..., float], *of: Printed, says: str, half: float | None = None) -> Check:
    """Return whether a printed number is what the others make it, to its printed digits.

    Parameters
    ----------
    claim
        The printed number.
    compute
        From the values of ``of`` to what it should be.
    says
        What is checked.
    half
        Half a unit of the last digit, where the printed characters leave zeros out.
    """
    found = derive(compute, *of)
    tolerance = (claim.half if half is None else half) + found.reach
    agrees = abs(claim.value - found.value) <= tolerance * (1 + 1e-9)
    used = tuple(one.key for one in of)
    return Check(
        claim.study,
        "number",
        says,
        claim.source,
        _sources(of),
        claim.text,
        found.value,
        tolerance,
        agrees,
        claim.key,
        used,
    )


def same(claim: Printed, of: Printed, says: str) -> Check:
    """Return whether a number that is printed twice is the same both times."""
    return number(claim, lambda value: value, of, says=says)


def bound(
    claim: Printed, side: Literal["above", "below"], compute: Callable[..., float], *of: Printed, says: str
) -> Check:
    """Return whether a value keeps a printed bound, up to the rounding of what it is computed from."""
    found = derive(compute, *of)
    excess = claim.value - found.value if side == "above" else found.value - claim.value
    used = tuple(one.key for one in of)
    return Check(
        claim.study,
        "bound",
        says,
        claim.source,
        _sources(of),
        claim.text,
        found.value,
        found.reach,
        excess <= found.reach * (1 + 1e-9),
        claim.key,
        used,
    )


def limit(study: str, where: str, most: float, compute: Callable[..., float], *of: Printed, says: str) -> Check:
    """Return whether a value keeps a limit that nobody prints, such as 100 % for shares that add up."""
    found = derive(compute, *of)
    agrees = found.value - most <= found.reach * (1 + 1e-9)
    used = tuple(one.key for one in of)
    return Check(
        study, "bound", says, where, _sources(of), f"at most {most:g}", found.value, found.reach, agrees, None, used
    )


def less(where: str, says: str, a: Printed, b: Printed) -> Check:
    """Return whether a is less than b by more than their rounding, as a sentence of the paper has it."""
    return below_one(where, says, lambda left, right: left / right, a, b)


def below_one(where: str, says: str, compute: Callable[..., float], *of: Printed) -> Check:
    """Return whether a ratio is less than 1 by more than the rounding of what it is computed from."""
    found = derive(compute, *of)
    agrees = found.value + found.reach < 1
    return Check(
        of[0].study,
        "order",
        says,
        where,
        _sources(of),
        "less than 1",
        found.value,
        found.reach,
        agrees,
        used=tuple(one.key for one in of),
    )


def alike(where: str, says: str, a: Printed, b: Printed) -> Check:
    """Return whether two numbers that a sentence calls close lie within the factor `SIMILAR`."""
    ratio = a.value / b.value
    agrees = 1 / SIMILAR <= ratio <= SIMILAR
    return Check(
        a.study, "likeness", says, where, _sources((a, b)), "about 1", ratio, SIMILAR, agrees, None, (a.key, b.key)
    )


def _sources(of: tuple[Printed, ...]) -> str:
    return ", ".join(dict.fromkeys(one.source for one in of)) or "itself"
