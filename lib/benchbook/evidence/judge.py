"""From an effect and a margin to a verdict, from the verdicts on contrasts to the one on their claim."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Final, Literal, TypeAlias, get_args

from benchbook.evidence.claims import Direction
from benchbook.evidence.effects import Effect

Verdict: TypeAlias = Literal[
    "reproduced",
    "reproduced in part",  # in most contrasts and contradicted in none, or of several products those that ran
    "direction only",
    "equivalent",
    "contradicted",
    "other way",  # the other direction, and whether by more than the margin is open
    "inconclusive",
    "not testable here",
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
IN_PART: Final = VERDICTS[1]
NOT_TESTABLE: Final = VERDICTS[-1]
DECIDED: Final = frozenset(VERDICTS[:5])
"""What a contrast or a claim is once it is no longer open."""
HOLDS: Final = frozenset({"reproduced", "direction only"})
AGAINST: Final = frozenset({"contradicted", "other way"})
"""What a contrast of several says that bears its claim out, or that speaks against it."""

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
    *contradicted* when U < 1/m: many contrasts inside the margin would soon have one whose interval excludes 1;
    *other way* when U < 1 alone; else *inconclusive*. Of ``equal``: *reproduced* when [L, U] lies in [1/m, m],
    *contradicted* when outside, else *inconclusive*. Of ``different``: as of ``more`` or of ``less``, whichever it is.
    Of differences likewise, with [-d, d] for [1/m, m] and 0 for 1; without a d nothing is *reproduced*, *equivalent* or
    *contradicted*.

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
    if isnan(effect.low):
        estimate, low, high = effect.difference
        # No number is beyond NaN, nor within it.
        upper = nan if margin_difference is None else margin_difference
        lower, neutral, mirrored, size = -upper, 0.0, (-high, -low), None
    else:
        estimate, low, high = effect.ratio, effect.low, effect.high
        lower, neutral, upper, mirrored = 1 / margin, 1.0, margin, (_inverse(high), _inverse(low))
    inside = lower <= low and high <= upper
    if claimed == "equal":
        if inside:
            return "reproduced"
        return "contradicted" if low > upper or high < lower else "inconclusive"
    if claimed == "less" or (claimed == "different" and estimate < neutral):
        low, high = mirrored
    if low > upper:
        return "reproduced" if size is None or met(effect, size) else "direction only"
    if inside:
        return "equivalent"
    if low > neutral:
        return "direction only"
    if high < lower:
        return "contradicted"
    return "other way" if high < neutral else "inconclusive"


def met(effect: Effect, size: tuple[float, float]) -> bool | None:
    """Return whether a ratio is as large as published: its whole interval, within `SIZE_TOLERANCE`; None while open."""
    low, high = size[0] / SIZE_TOLERANCE, size[1] * SIZE_TOLERANCE
    if low <= effect.low and effect.high <= high:
        return True
    return False if effect.high < low or effect.low > high else None


def together(verdicts: Iterable[Verdict], *, most: bool = False, in_most: Iterable[Verdict] | None = None) -> Verdict:
    """Return the verdict on a claim from those on its contrasts.

    A claim of every contrast is judged on those that are testable. One that contradicts it is enough: *contradicted*.
    All alike: that. All hold, reproduced or in direction: *direction only*. One goes the other way: *other way*. More
    than half reproduced (hold), as a test of so many together says: *reproduced in part* (*direction only*). Else
    *inconclusive*: what holds in one half and is nil in the other is neither true nor without an effect.

    Parameters
    ----------
    verdicts
        One a contrast.
    most
        True when the claim is of most contrasts only: more than half of all suffice to bear it out or to make it
        *equivalent*, and it is contradicted when so many contradict it that these cannot be left. One that cannot be
        tested here may have said either: it counts as open.
    in_most
        Of each contrast the verdict at the error that `errors` allows in a test of more than half; None: `verdicts`.
    """
    of_contrasts = list(verdicts)
    counts = Counter(verdict for verdict in of_contrasts if verdict != NOT_TESTABLE)
    if not counts:
        return NOT_TESTABLE
    n = len(of_contrasts) if most else counts.total()
    needed = n // 2 + 1 if most else n
    enough_against = n - needed + 1 if most else 1
    if counts["contradicted"] >= enough_against:
        return "contradicted"
    for verdict in ("reproduced", "equivalent"):
        if counts[verdict] >= needed:
            return verdict
    if _counted(counts, HOLDS) >= needed:
        return "direction only"
    if _counted(counts, AGAINST) >= enough_against:
        return "other way"
    tested = Counter(of_contrasts if in_most is None else in_most)
    if not most and _counted(tested, HOLDS) > n / 2:
        return IN_PART if tested["reproduced"] > n / 2 else "direction only"
    return "inconclusive"


def _counted(counts: Mapping[Verdict, int], of: Collection[str]) -> int:
    return sum(count for verdict, count in counts.items() if verdict in of)


@dataclass(frozen=True)
class Errors:
    """How often a contrast may be mistaken when it bears its claim out, and when it contradicts it."""

    bearing_out: float
    contradicting: float
    in_most: float  # when it is one of more than half that bear the claim out


def errors(contrasts: int, leads: int, *, most: bool = False) -> Errors:
    """Return how often each contrast of a claim may be mistaken, so that the claim's verdict is in 5 %.

    A claim of every contrast is borne out by all of them, each at 5 %: all are mistaken together more rarely than one
    is (an intersection-union test). One of them contradicts it, or one lead of a ranking, which among many one soon
    does by chance: that asks for Bonferroni's share. A claim of most is borne out by u = floor(n/2) + 1 of n and falls
    with the others: at least u of n hold when u do at 5 % / (n - u + 1), a test of the partial conjunction. That a
    claim of every contrast holds in more than half is said by the same test.

    Parameters
    ----------
    contrasts
        How many are judged, n; of a claim of most, how many there are.
    leads
        How many they have, of all contrasts together: one each, or those of a ranking.
    most
        As in `together`.

    References
    ----------
    Berger, Technometrics 24 (1982) 295-300; Benjamini & Heller, Biometrics 64 (2008) 1215-1222.
    """
    needed = contrasts // 2 + 1
    in_most = ALPHA / max(contrasts - needed + 1, 1)
    if not most:
        return Errors(ALPHA, ALPHA / max(leads, 1), in_most)
    return Errors(in_most, ALPHA * contrasts / max(needed * leads, 1), in_most)


def _inverse(value: float) -> float:
    return 1 / value if value else inf
