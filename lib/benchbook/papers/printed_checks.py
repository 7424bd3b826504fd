"""How one number that a paper prints is checked against its others.

`check_number` and its neighbours make a check of `get_number`'s numbers. The checks themselves are
in `benchbook.papers.checks`, a module per paper; `benchbook.papers.recomputed` runs them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import truediv
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchbook.analysis.claim_files import suggest_published_key
from benchbook.analysis.published import PublishedNumber, find_published_number

Values: TypeAlias = NDArray[np.float64]
"""Values of several printed numbers, or what is computed from them."""

FindingNumbers: TypeAlias = dict[str, Mapping[str, object]]
"""The numbers in the texts of findings, by the finding's name and their own."""

SIMILAR: Final = 1.25
"""The factor within which two times are "close", "very similar" or "slightly" apart.

The papers give none. This one is lenient, so that what fails it fails beyond doubt.
"""

_ROUNDED: Final = 1 + 1e-9
"""Leeway for the computer's own rounding, besides that of print."""

Compute: TypeAlias = Callable[..., float]
BoundSide: TypeAlias = Literal["above", "below"]
CheckKind: TypeAlias = Literal["number", "bound", "order", "likeness"]
"""What is checked:

- ``number``: a printed value
- ``bound``: a limit that a value must keep
- ``order``: which of two is larger
- ``likeness``: that two are about the same
"""


@dataclass(frozen=True)
class PrintedCheck:
    """The result of one recomputation."""

    study: str
    kind: CheckKind
    says: str
    where: str  # the source that prints it
    of: str  # the sources that it is recomputed from
    printed: str  # the characters; for orders and likeness the claim about the ratio
    # In the printed number's unit; for orders and likeness the ratio, first over second.
    recomputed: float
    # Half the last printed digit's unit and what the sources' rounding adds; for likeness the
    # factor.
    tolerance: float
    agrees: bool
    # The published number that is recomputed; None for orders.
    key: tuple[str, str, str, str] | None = None
    used: tuple[tuple[str, str, str, str], ...] = ()  # those that it was computed from


def propagate(compute: Compute, *of: PublishedNumber) -> tuple[float, float]:
    """Compute from printed values; return the result and how far their rounding may move it.

    The rounding of one input at a time is added and subtracted, and the largest moves are summed.
    """
    values = [number.value for number in of]
    result = compute(*values)
    reach = 0.0
    for rank, number in enumerate(of):
        moves = []
        for value in (number.value - number.rounding, number.value + number.rounding):
            moved = [*values[:rank], value, *values[rank + 1 :]]
            moves.append(abs(compute(*moved) - result))
        reach += max(moves)
    return result, reach


def check_number(
    claim: PublishedNumber,
    compute: Compute,
    *of: PublishedNumber,
    says: str,
    rounding: float | None = None,
) -> PrintedCheck:
    """Check that a printed number is computed from the others, to its printed digits.

    Parameters
    ----------
    claim
        The printed number.
    compute, of
        The function, and the printed numbers that are its arguments.
    says
        What is checked, in words.
    rounding
        Half a unit of the last digit, where the printed characters leave zeros out.
    """
    value, reach = propagate(compute, *of)
    tolerance = (claim.rounding if rounding is None else rounding) + reach
    agrees = abs(claim.value - value) <= tolerance * _ROUNDED
    return _make_check("number", says, claim, of, value, tolerance, agrees)


def check_bound(
    claim: PublishedNumber, side: BoundSide, compute: Compute, *of: PublishedNumber, says: str
) -> PrintedCheck:
    """Check that a value keeps a printed bound, up to the rounding of its inputs."""
    value, reach = propagate(compute, *of)
    excess = claim.value - value if side == "above" else value - claim.value
    return _make_check("bound", says, claim, of, value, reach, excess <= reach * _ROUNDED)


def check_limit(most: float, compute: Compute, *of: PublishedNumber, says: str) -> PrintedCheck:
    """Check that a value keeps a limit that is not printed, such as 100 % for a sum of shares."""
    value, reach = propagate(compute, *of)
    agrees = value - most <= reach * _ROUNDED
    claim = (of[0].source, f"at most {most:g}")
    return _make_check("bound", says, claim, of, value, reach, agrees)


def check_order(
    where: str, *of: PublishedNumber, says: str, compute: Compute = truediv
) -> PrintedCheck:
    """Check that the first of two numbers is smaller, by more than their rounding.

    `compute` makes their ratio; it can make it of more than two numbers.
    """
    value, reach = propagate(compute, *of)
    agrees = value + reach < 1
    return _make_check("order", says, (where, "less than 1"), of, value, reach, agrees)


def check_likeness(
    where: str, first: PublishedNumber, second: PublishedNumber, *, says: str
) -> PrintedCheck:
    """Check that two numbers that a sentence calls close are within the factor `SIMILAR`."""
    ratio = first.value / second.value
    agrees = 1 / SIMILAR <= ratio <= SIMILAR
    claim = (where, "about 1")
    return _make_check("likeness", says, claim, (first, second), ratio, SIMILAR, agrees)


def _make_check(
    kind: CheckKind,
    says: str,
    claim: PublishedNumber | tuple[str, str],
    of: tuple[PublishedNumber, ...],
    recomputed: float,
    tolerance: float,
    agrees: bool,
) -> PrintedCheck:
    """Return a check of a printed number, or of a sentence: its source and its claim."""
    if isinstance(claim, PublishedNumber):
        where, printed, key = claim.source, claim.printed, claim.key
    else:
        (where, printed), key = claim, None
    used = tuple(number.key for number in of)
    sources = ", ".join(dict.fromkeys(source for _, source, _, _ in used)) or "itself"
    study = key[0] if key else used[0][0]
    return PrintedCheck(
        study, kind, says, where, sources, printed, recomputed, tolerance, agrees, key, used
    )


def get_number(study: str, source: str, row: str | int, column: str | int) -> PublishedNumber:
    """Return one number as a paper prints it.

    Raises
    ------
    ValueError
        When the paper does not print it; the message has the nearest name.
    """
    number = find_published_number(study, source, str(row), str(column))
    if number is None:
        nearest = suggest_published_key(study, (source, str(row), str(column)))
        raise ValueError(f"data/published/{study}.csv: {nearest}")
    return number


def get_values(numbers: Iterable[PublishedNumber]) -> Values:
    """Return the values of printed numbers."""
    return np.array([number.value for number in numbers])
