"""How a number is written wherever it is read: report, notebooks, explorer, terminal and manuscripts alike."""

import math
from typing import Final

NAN: Final = float("nan")
FINER: Final = 0.8
"""The last digit printed counts at most this share of half the interval."""

FAR: Final = 1_000
"""An end of a ratio's interval that is so many times the ratio, and more than that, is not written out."""

NOT_PRINTED: Final = "–"

_DIGITS: Final = 2
"""A value has at least so many significant digits; one without an interval one more."""


def number(value: float) -> str:
    """Return a number with three significant digits, thousands separated, never in powers of ten."""
    if math.isnan(value):
        return NOT_PRINTED
    if math.isinf(value):
        return "∞"
    digits = _DIGITS - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def detectable(ratio: float) -> str:
    """Return the smallest ratio that would have been seen; far out its digits say nothing, as with two blocks."""
    return f"> {FAR:,}" if ratio > FAR else number(ratio)


def estimate(value: float, low: float = NAN, high: float = NAN, unit: str = "") -> str:
    """Return a number with its interval, ``3.3 (3.2 to 3.5)``, and its unit; a ratio has none."""
    ends = interval(value, low, high, unit)
    return " ".join(filter(None, (rounded(value, low, high)[0], f"({ends})" if ends else "", unit)))


def interval(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a number's interval alone, ``3.2 to 3.5``; empty where there is none, or one that is a point.

    A wait that ran out leaves an end open: ``3.2 or more``. Far out a ratio's ends say only that they are.
    """
    _, below, above = rounded(value, low, high)
    if not unit and above and low == 0:
        return f"{above} or less"
    if not unit and 0 <= low < min(value, 1) / FAR:
        below = f"< {1 / FAR:g}"
        above = above or f"> {FAR:,}"  # no float is as large
    if not unit and above and high > FAR * max(value, 1):
        above = f"> {FAR:,}"
    return f"{below} to {above}" if above else f"{below} or more" if below else ""


def rounded(value: float, low: float = NAN, high: float = NAN) -> tuple[str, str, str]:
    """Return value, lower and upper end, all with the same decimals; an end that there is not is empty.

    The last place counts at most `FINER` of half the interval, so that rounding does not hide it; the value has two
    significant digits at least, and no end of some size is rounded to 0.
    """
    half = (high - low) / 2 if math.isfinite(high) else abs(value - low)
    if not abs(value) * 1e-4 < half < math.inf:  # no interval, or one that is a point
        return number(value), "", ""
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    decimals = max(_DIGITS - 1 - magnitude, math.ceil(-math.log10(FINER * half)))
    if low > abs(value) / FAR and round(low, decimals) == 0:
        decimals = -math.floor(math.log10(low))
    value_, low_, high_ = (
        f"{round(end, decimals):,.{max(0, decimals)}f}" if math.isfinite(end) else "" for end in (value, low, high)
    )
    return value_, low_, high_
