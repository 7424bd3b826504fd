"""Intervals for looks at a growing number of blocks: together they err no more often than one look would.

Whoever looks after every block and stops when a plain 95 % interval decides errs in a fifth of all cases, not in a
twentieth. Repeated confidence intervals (Jennison & Turnbull) are wider, so that all of them hold the true value at
once in 95 % of cases. A verdict may then be given at any look, and the rule that gives it need not know which it was.
"""

from functools import cache
from typing import Final

LOOKS: Final = (5, 8, 12, 20, 30)
"""After how many blocks the evidence is looked at: whoever has more blocks than a look has waits for the next."""

REACH: Final = (3.72, 3.58, 3.16, 2.75, 2.59)
"""How many standard errors a repeated 95 % interval reaches from its mean at each look; of paths of Student's t.

An error of 5 % is spent as its share sqrt(k / 30) by look k; ``tests/test_sequential.py`` finds these anew.

References
----------
Jennison & Turnbull, Group Sequential Methods (2000), ch. 9; Lan & DeMets, Biometrika 70 (1983) 659-663.
"""

ALPHA: Final = 0.05


def look(blocks: int) -> int:
    """Return the last look that so many blocks allow, as a number of blocks; 0 before the first."""
    return max((look for look in LOOKS if look <= blocks), default=0)


@cache
def confidence(blocks: int, alpha: float = ALPHA) -> float:
    """Return the confidence of the plain interval over `blocks` that is a repeated one of 1 - `alpha` at that look.

    Below 5 % an error is spread over the looks as 5 % is, and their sum, not their union, is held to it: the paths were
    simulated for 5 %, and the sum is larger by a third.

    Raises
    ------
    ValueError
        When there is no look after so many blocks, or `alpha` is above 5 %.
    """
    if blocks not in LOOKS or not 0 < alpha <= ALPHA:
        raise ValueError(f"no look after {blocks} blocks at {alpha:g}")
    spent = _nominal()
    share = 1.0 if alpha == ALPHA else alpha / sum(spent.values())
    return 1 - share * spent[blocks]


@cache
def _nominal() -> dict[int, float]:
    """Return by look how often a t as large as `REACH` is met at that look alone."""
    from scipy.special import stdtr  # importing `scipy.stats` takes three times as long

    return {blocks: 2 * float(stdtr(blocks - 1, -reach)) for blocks, reach in zip(LOOKS, REACH, strict=True)}
