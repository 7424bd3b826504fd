"""From an effect and a margin to a verdict, from the verdicts on contrasts to the one on their claim."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, TypeAlias, get_args

from benchbook.evidence.claims import Direction
from benchbook.evidence.effects import Effect

Verdict: TypeAlias = Literal[
    "reproduced",
    "reproduced in part",  # in most contrasts and contradicted in none, or of several products those that ran
    "direction only",
    "equivalent",
    "contradicted",
    "inconclusive",
    "not testable here",
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
IN_PART: Final = VERDICTS[1]
NOT_TESTABLE: Final = VERDICTS[-1]
DECIDED: Final = frozenset(VERDICTS[:5])
"""What a contrast or a claim is once it is no longer open."""

ALPHA: Final = 0.05
SIZE_TOLERANCE: Final = 1.25
"""An effect is as large as published within this factor: versions and machines move ratios, too."""


def judge(
    effect: Effect,
    claimed: Direction,
    margin: float,
    size: tuple[float, float] | None = None,
    margin_difference: float | None = None,
) -> Verdict:
    """Return what an effect says of a claim, from its interval [L, U] and the margin m alone.

    Of ``more`` (``less`` is its mirror image): *reproduced* when L > m and the size is met, or none is claimed;
    *direction only* when L > 1, but m or the size is not met; *equivalent* when [L, U] lies in [1/m, m];
    *contradicted* when U < 1/m, or U < 1 and the estimate is below 1/m; else *inconclusive*. Of ``equal``: *reproduced*
    when [L, U] lies in [1/m, m], *contradicted* when outside, else *inconclusive*. Of ``different``: as of ``more`` or
    of ``less``, whichever it is. Of differences likewise, with [-d, d] for [1/m, m] and 0 for 1; without a d nothing is
    *reproduced*, nor *equivalent*.

    Parameters
    ----------
    effect
        With its interval, as wide as the claim's number of contrasts asks.
    claimed
        ``more``, ``less``, ``equal`` or ``different``.
    margin
        Above 1.
    size
        The claimed or published ratio, from and to what its rounding allows; None when there is none to meet.
    margin_difference
        d, positive, in the effect's unit, where its claim has one.
    """
    if effect.low != effect.low:
        return _by_difference(effect, claimed, margin_difference)
    if claimed == "different":
        claimed = "more" if effect.ratio >= 1 else "less"
    inside = 1 / margin <= effect.low and effect.high <= margin
    if claimed == "equal":
        outside = effect.low > margin or effect.high < 1 / margin
        return "reproduced" if inside else "contradicted" if outside else "inconclusive"
    ratio, low, high = effect.ratio, effect.low, effect.high
    if claimed == "less":
        ratio, low, high = 1 / ratio, _inverse(high), _inverse(low)
    if low > margin:
        return "reproduced" if size is None or met(effect, size) else "direction only"
    if inside:
        return "equivalent"
    if low > 1:
        return "direction only"
    return "contradicted" if high < 1 and ratio < 1 / margin else "inconclusive"


def met(effect: Effect, size: tuple[float, float]) -> bool | None:
    """Return whether a ratio is as large as published: its whole interval, within `SIZE_TOLERANCE`; None while open."""
    low, high = size[0] / SIZE_TOLERANCE, size[1] * SIZE_TOLERANCE
    if low <= effect.low and effect.high <= high:
        return True
    return False if effect.high < low or effect.low > high else None


def together(verdicts: Iterable[Verdict], *, most: bool = False) -> Verdict:
    """Return the verdict on a claim from those on its contrasts; those not testable here are left out.

    Of a claim of every contrast one that contradicts it is enough: *contradicted*. All alike: that. All hold,
    reproduced or in direction: *direction only*. More than half reproduced, the others equivalent or open: *reproduced
    in part*. More than half hold: *direction only*. None open, or more than half equivalent: *equivalent*. Else
    *inconclusive*.

    Parameters
    ----------
    verdicts
        One a contrast.
    most
        True when the claim is of most contrasts only: then more than half of them suffice to bear it out, and it is
        contradicted when so many contradict it that these cannot be left.
    """
    counts = Counter(verdict for verdict in verdicts if verdict != NOT_TESTABLE)
    if not counts:
        return NOT_TESTABLE
    n, holds = counts.total(), counts["reproduced"] + counts["direction only"]
    needed = n // 2 + 1 if most else n
    if counts["contradicted"] > n - needed:
        return "contradicted"
    if counts["reproduced"] >= needed:
        return "reproduced"
    if holds >= needed:
        return "direction only"
    if counts["equivalent"] == n:
        return "equivalent"
    if not most and holds > n / 2:
        return IN_PART if counts["reproduced"] > n / 2 else "direction only"
    return "equivalent" if counts["equivalent"] > n / 2 or not counts["inconclusive"] else "inconclusive"


@dataclass(frozen=True)
class Errors:
    """How often a contrast may be mistaken when it bears its claim out, and when it contradicts it."""

    bearing_out: float
    contradicting: float


def errors(contrasts: int, leads: int, *, most: bool = False) -> Errors:
    """Return how often each contrast of a claim may be mistaken, so that the claim's verdict is in 5 %.

    A claim of every contrast is borne out by all of them, each at 5 %: all are mistaken together more rarely than one
    is (an intersection-union test). One of them contradicts it, or one lead of a ranking, which among many one soon
    does by chance: that asks for Bonferroni's share. A claim of most is borne out by u = floor(n/2) + 1 of n and falls
    with the others: at least u of n hold when u do at 5 % / (n - u + 1), a test of the partial conjunction.

    Parameters
    ----------
    contrasts
        How many are judged, n.
    leads
        How many they have, of all contrasts together: one each, or those of a ranking.
    most
        As in `together`.

    References
    ----------
    Berger, Technometrics 24 (1982) 295-300; Benjamini & Heller, Biometrics 64 (2008) 1215-1222.
    """
    if not most:
        return Errors(ALPHA, ALPHA / max(leads, 1))
    needed = contrasts // 2 + 1
    return Errors(ALPHA / max(contrasts - needed + 1, 1), ALPHA * contrasts / max(needed * leads, 1))


def _by_difference(effect: Effect, claimed: Direction, margin: float | None) -> Verdict:
    estimate, low, high = effect.difference
    if claimed == "less" or (claimed == "different" and estimate < 0):
        low, high = -high, -low
    if margin is None:
        if claimed == "equal" or not (low > 0 or high < 0):
            return "inconclusive"
        return "direction only" if low > 0 else "contradicted"
    inside = -margin <= low and high <= margin
    if claimed == "equal":
        return "reproduced" if inside else "contradicted" if low > margin or high < -margin else "inconclusive"
    if low > margin:
        return "reproduced"
    if inside:
        return "equivalent"
    if low > 0:
        return "direction only"
    return "contradicted" if high < 0 and low + high < -2 * margin else "inconclusive"


def _inverse(value: float) -> float:
    return 1 / value if value else inf
