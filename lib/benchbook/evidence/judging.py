"""From an effect's interval and the margin to a verdict, and from the contrasts' verdicts to the claim's."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, get_args

from benchbook.evidence.claims import Direction
from benchbook.evidence.effects import Effect

Verdict: TypeAlias = Literal[
    "reproduced", "direction only", "equivalent", "contradicted", "inconclusive", "not testable here"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

SIZE_TOLERANCE: Final = 1.25
"""A published ratio is met when it lies within this factor of the interval: versions and machines move ratios, too."""


def judge(effect: Effect, claimed: Direction, margin: float, size: tuple[float, float] | None = None) -> Verdict:
    """Return what an effect says of a claim, from its interval [L, U] and the margin m alone.

    Of ``more`` (``less`` is its mirror image): *reproduced* when L > m, and the claimed size lies in the interval
    widened by `SIZE_TOLERANCE` or none is claimed; *direction only* when L > 1, but m or the size is missed;
    *equivalent* when [L, U] lies in [1/m, m]; *contradicted* when U < 1/m, or U < 1 and the estimate is below 1/m; else
    *inconclusive*. Of ``equal``: *reproduced* when [L, U] lies in [1/m, m], *contradicted* when outside, else
    *inconclusive*. Where only a difference can be had, no margin applies: *direction only* when its interval lies on
    the claimed side of zero, *contradicted* when on the other; values that are the same in every block are *equal*.

    Parameters
    ----------
    effect
        With its interval, as wide as the claim's number of contrasts asks.
    claimed
        ``more``, ``less`` or ``equal``.
    margin
        Above 1.
    size
        The claimed or published ratio, from and to what its rounding allows; None when there is none to meet.
    """
    if effect.low != effect.low:
        return _by_difference(effect, claimed)
    inside = 1 / margin <= effect.low and effect.high <= margin
    if claimed == "equal":
        outside = effect.low > margin or effect.high < 1 / margin
        return "reproduced" if inside else "contradicted" if outside else "inconclusive"
    ratio, low, high = effect.ratio, effect.low, effect.high
    if claimed == "less":
        ratio, low, high = 1 / ratio, _inverse(high), _inverse(low)
        size = size and (1 / size[1], 1 / size[0])
    if low > margin:
        met = size is None or (low <= size[1] * SIZE_TOLERANCE and size[0] <= high * SIZE_TOLERANCE)
        return "reproduced" if met else "direction only"
    if inside:
        return "equivalent"
    if low > 1:
        return "direction only"
    return "contradicted" if high < 1 and ratio < 1 / margin else "inconclusive"


def together(verdicts: Iterable[Verdict], *, most: bool = False) -> Verdict:
    """Return the verdict on a claim from those on its contrasts; those not testable here are left out.

    All alike: that. Reproduced in part and in direction elsewhere: *direction only*. Contradicted somewhere and
    reproduced nowhere: *contradicted*. Anything else is mixed: *inconclusive*.

    Parameters
    ----------
    verdicts
        One a contrast.
    most
        True when the claim is of most contrasts only: then more than half of them suffice.
    """
    counts = Counter(verdict for verdict in verdicts if verdict != "not testable here")
    if not counts:
        return "not testable here"
    if len(counts) == 1:
        return next(iter(counts))
    half = counts.total() / 2
    if most and counts["reproduced"] > half:
        return "reproduced"
    holds = counts["reproduced"] + counts["direction only"]
    if holds == counts.total() or (most and holds > half):
        return "direction only"
    return "contradicted" if counts["contradicted"] and not counts["reproduced"] else "inconclusive"


def _by_difference(effect: Effect, claimed: Direction) -> Verdict:
    low, high = effect.difference if claimed != "less" else (-effect.difference[1], -effect.difference[0])
    if claimed == "equal":
        return "reproduced" if low == high == 0 else "inconclusive"
    if not (low > 0 or high < 0):
        return "inconclusive"
    return "direction only" if low > 0 else "contradicted"


def _inverse(value: float) -> float:
    return 1 / value if value else float("inf")
