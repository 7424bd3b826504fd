"""What more blocks would decide, if the estimate stays where it is and only the interval shrinks."""

from collections.abc import Iterable
from math import inf, sqrt
from typing import Final

import pandas as pd

from benchbook.evidence.claims import Claim, Tested
from benchbook.evidence.contrasts import Contrast, verdict_on
from benchbook.evidence.effects import Effect
from benchbook.evidence.judge import DECIDED, Verdict
from benchbook.evidence.published import PublishedRatio
from benchbook.stats.campaigns import MOST
from benchbook.stats.sequential import LOOKS, REACH

HOPE: Final = 0.8
"""Who stays undecided even with this share of the half-width that is forecast for the last look is not worth it."""


def at_look(contrast: Contrast, claim: Tested, units: int, share: float = 1.0) -> Verdict | None:
    """Return the verdict that a contrast would get after so many units; None when its interval foretells nothing.

    Parameters
    ----------
    contrast
        With its interval of its last look.
    claim
        Whose contrast it is.
    units
        Blocks or campaigns, as its look has: one of `benchbook.stats.sequential.LOOKS`.
    share
        How much of the half-width that is to be expected then.
    """
    if not contrast.look:
        return None
    shrunk = share * _reach(units) / _reach(LOOKS[contrast.look - 1])
    if 0 < contrast.low <= contrast.high < inf:
        ratio = contrast.ratio
        low, high = (ratio * (end / ratio) ** shrunk for end in (contrast.low, contrast.high))
        expected = Effect(ratio, low, high)
    elif contrast.difference_low <= contrast.difference_high:
        middle = contrast.difference
        low, high = (middle + shrunk * (end - middle) for end in (contrast.difference_low, contrast.difference_high))
        expected = Effect(difference=(middle, low, high))
    else:
        return None
    return verdict_on(claim, expected, PublishedRatio())[0]


def look_that_decides(contrast: Contrast, claim: Tested) -> int | None:
    """Return after how many units a contrast would be decided, if its estimate stays; None when never, or unknown."""
    later = LOOKS[contrast.look :] if contrast.look else ()
    return next((units for units in later if at_look(contrast, claim, units) in DECIDED), None)


def at_best(contrast: Contrast, claim: Tested) -> Verdict | None:
    """Return the verdict of an open contrast at the last look with `HOPE` of the half-width that is forecast for it.

    Of campaigns that is the look after `benchbook.stats.campaigns.MOST`. After it nothing is hoped for.
    """
    last = MOST if contrast.by_campaign else LOOKS[-1]
    ended = contrast.look and LOOKS[contrast.look - 1] >= last
    return contrast.verdict if ended else at_look(contrast, claim, last, HOPE)


def all_at_best(contrasts: pd.DataFrame, claims: Iterable[Claim]) -> pd.DataFrame:
    """Return the contrasts with the verdicts of `at_best` for those that are open.

    Parameters
    ----------
    contrasts
        As `benchbook.evidence.judged` returns them of the same claims. One whose interval foretells nothing stays.
    claims
        What is judged.
    """
    tested = {claim.id: claim for claim in claims if isinstance(claim, Tested)}
    foretold = [
        (at_best(contrast, tested[contrast.id]) if contrast.open else None) or contrast.verdict
        for contrast in Contrast.of(contrasts)
    ]
    verdicts = pd.Series(foretold, index=contrasts.index, dtype=object)
    return contrasts.assign(verdict=verdicts, in_most=contrasts["in_most"].mask(contrasts["open"], verdicts))


def _reach(units: int) -> float:
    """Return the half-width of the repeated interval in standard deviations of a unit."""
    return REACH[LOOKS.index(units)] / sqrt(units)
