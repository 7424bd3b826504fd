"""How a number is written wherever it is read: report, notebooks, explorer, terminal, figures and manuscripts alike."""

import math
import re
from collections.abc import Callable
from typing import Final

NAN: Final = float("nan")
FINER: Final = 0.8
"""The last digit printed counts at most this share of half the interval."""

FAR: Final = 1_000
"""An end of a ratio's interval that is so many times the ratio, and more than that, is not written out."""

NOT_PRINTED: Final = "–"

_DIGITS: Final = 3
"""Significant digits of a number without an interval; one with an interval has one less at least."""

_SMALLEST_P: Final = 1e-4
"""The smallest p-value that is written out."""

_SECONDS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))
_IN_BASE_UNITS: Final = {
    **{"ns": (1e-9, _SECONDS), "us": (1e-6, _SECONDS), "ms": (1e-3, _SECONDS), "s": (1.0, _SECONDS)},
    **{"B": (1.0, _BYTES), "KB": (1e3, _BYTES), "MB": (1e6, _BYTES)},
}
_SHORT: Final = ((1e6, "M"), (1e3, "k"))

_INTERVAL: Final = re.compile(r" (?=\([^()]+ (?:to [^()]+|or more|or less)\))")


def number(value: float, digits: int = _DIGITS, sign: str = "") -> str:
    """Return a number with so many significant digits, thousands separated, never in powers of ten.

    Parameters
    ----------
    value
        Any float; NaN is a dash.
    digits
        How many of them are significant; whole numbers keep all of theirs.
    sign
        ``+`` for one that is above 0 too, as a difference has.
    """
    if math.isnan(value):
        return NOT_PRINTED
    if math.isinf(value):
        return "∞"
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:{sign},.{min(max(decimals, 0), 6)}f}"


def plural(count: int, what: str) -> str:
    """Return how many there are: ``1 block``, ``3 blocks``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def estimate(value: float, low: float = NAN, high: float = NAN, unit: str = "", sign: str = "") -> str:
    """Return a number with its interval, ``3.3 (3.2 to 3.5)``, and its unit; a ratio has none."""
    ends = interval(value, low, high, unit, sign)
    return " ".join(filter(None, (rounded(value, low, high, sign)[0], f"({ends})" if ends else "", unit)))


def difference(value: float, low: float, high: float, unit: str) -> str:
    """Return a difference with its sign and interval, times and sizes in the unit in which they have few digits."""
    if unit not in _IN_BASE_UNITS:
        return estimate(value, low, high, unit, "+")
    base, units = _IN_BASE_UNITS[unit]
    largest = max((base * abs(end) for end in (value, low, high) if math.isfinite(end)), default=0.0)
    scale, name = next((known for known in units if largest >= known[0]), units[-1])
    factor = base / scale
    return estimate(factor * value, factor * low, factor * high, name, "+")


def interval(value: float, low: float, high: float, unit: str = "", sign: str = "") -> str:
    """Return a number's interval alone, ``3.2 to 3.5``; empty where there is none, or one that is a point.

    A wait that ran out leaves an end open: ``3.2 or more``. Far out a ratio's ends say only that they are.
    """
    _, below, above = rounded(value, low, high, sign)
    if not unit:
        if above and low == 0:
            below = ""
        elif 0 <= low < min(value, 1) / FAR:
            below = f"< {1 / FAR:g}"
            above = above or f"> {FAR:,}"  # no float is as large
        if below and above and high > FAR * max(value, 1):
            above = f"> {FAR:,}"
    if below and above:
        return f"{below} to {above}"
    if below:
        return f"{below} or more"
    return f"{above} or less" if above else ""


def between(low: float, high: float, written: Callable[[float], str] = number) -> str:
    """Return between which positive numbers a published one lies: ``3.2 to 3.5``, or ``3.5 or less``."""
    return f"{written(low)} to {written(high)}" if low > 0 else f"{written(high)} or less"


def apart(text: str) -> list[str]:
    """Return a number and its interval, which may stand below it; of other texts the whole."""
    return _INTERVAL.split(text, maxsplit=1)


def rounded(value: float, low: float = NAN, high: float = NAN, sign: str = "") -> tuple[str, str, str]:
    """Return value, lower and upper end, all with the same decimals; an end that there is not is empty.

    The last place counts at most `FINER` of half the interval, so that rounding does not hide it; the value has two
    significant digits at least, and no end of some size is rounded to 0.
    """
    ends = [end for end in (low, high) if math.isfinite(end)]
    half = (high - low) / 2 if len(ends) == 2 else max((abs(value - end) for end in ends), default=NAN)
    if not abs(value) * 1e-4 < half < math.inf:  # no interval, or one that is a point
        return number(value, sign=sign), "", ""
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    decimals = max(_DIGITS - 2 - magnitude, math.ceil(-math.log10(FINER * half)))
    if low > abs(value) / FAR and round(low, decimals) == 0:
        decimals = -math.floor(math.log10(low))
    value_, low_, high_ = (
        f"{round(end, decimals):{sign},.{max(0, decimals)}f}" if math.isfinite(end) else ""
        for end in (value, low, high)
    )
    return value_, low_, high_


def quantity(value: float, unit: str) -> str:
    """Return a measured value with its unit: times and sizes in the unit in which they have few digits."""
    if unit in ("ns", "s"):
        return _scaled(value / 1e9 if unit == "ns" else value, _SECONDS)
    return size(value) if unit == "B" else f"{number(value)} {unit}".strip()


def size(count: float) -> str:
    """Return so many bytes in the unit in which they have few digits: ``8.33 GB``."""
    return _scaled(count, _BYTES)


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    scale, name = next((unit for unit in units if abs(value) >= unit[0]), units[-1])
    return f"{number(value / scale)} {name}"


def duration(seconds: float) -> str:
    """Return how long a run or a wait takes, as people say it: ``0.3 s``, ``40 s``, ``12 min``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{round(seconds, 1 if seconds < 1 else None):g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def p_value(p: float) -> str:
    """Return a p-value with two digits; how far one lies below a ten-thousandth says nothing."""
    if math.isnan(p):
        return NOT_PRINTED
    return f"< {_SMALLEST_P:.4f}" if p < _SMALLEST_P else f"{p:.2g}"


def short(value: float, _position: object = None) -> str:
    """Return a scale's number as people write it, short: 0.01, 10, 2k, 1M."""
    for scale, letter in _SHORT:
        if abs(value) >= scale:
            return f"{value / scale:g}{letter}"
    return f"{value:g}"
