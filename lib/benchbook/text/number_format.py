"""How numbers are written in the report, notebooks, explorer, terminal, figures and manuscripts."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Final

NAN: Final = float("nan")

NOT_PRINTED: Final = "–"
"""What is written where a number is missing."""

LAST_DIGIT_SHARE: Final = 0.8
"""The last printed digit counts at most this share of half the interval."""

MAX_END_FACTOR: Final = 1_000
"""An end of a ratio's interval beyond this many times the ratio is not written in digits."""

_DIGITS: Final = 3
"""Significant digits of a number without interval; with one, a number has at least one less."""

_SMALLEST_P: Final = 1e-4
"""The smallest p-value that is written in digits."""

Units = tuple[tuple[float, str], ...]
"""Units of one quantity, the largest first, each with its size in base units."""

_SECONDS: Final[Units] = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES: Final[Units] = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))
_BASE_UNITS: Final[dict[str, tuple[float, Units]]] = {
    "ns": (1e-9, _SECONDS),
    "us": (1e-6, _SECONDS),
    "ms": (1e-3, _SECONDS),
    "s": (1.0, _SECONDS),
    "B": (1.0, _BYTES),
    "KB": (1e3, _BYTES),
}
"""For each unit of times and sizes: how many base units it has, and the units to write it in.

An MB of `benchbook.analysis.quantities` has 1,048,576 bytes, so it stays as it is.
"""


PRINTED_UNITS: Final = {
    **{("us", "ns"): 1e3, ("ms", "ns"): 1e6, ("s", "ns"): 1e9},
    **{("KB", "B"): 1e3, ("MB", "B"): 1e6},
}
"""How many of our units a paper's unit has, where they differ."""


def format_number(value: float, digits: int = _DIGITS, sign: str = "") -> str:
    """Write a number with some significant digits and thousands separators, without exponent.

    Parameters
    ----------
    value
        Any float; NaN is a dash.
    digits
        How many digits are significant; a whole number keeps all of its digits.
    sign
        ``+`` puts a sign before positive numbers too, as differences have.
    """
    if math.isnan(value):
        return NOT_PRINTED
    if math.isinf(value):
        return "∞"
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:{sign},.{min(max(decimals, 0), 6)}f}"


def format_value(value: object) -> str:
    """Write a table's value: a float with few digits, and anything else as it is."""
    return format_number(value) if isinstance(value, float) else str(value)


def format_count(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 block``, ``3 blocks``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_estimate(
    value: float, low: float = NAN, high: float = NAN, unit: str = "", sign: str = ""
) -> str:
    """Write a number with its interval and its unit, ``3.3 (3.2 to 3.5)``; a ratio has no unit."""
    number, _, _ = format_parts(value, low, high, sign)
    ends = format_interval(value, low, high, unit, sign)
    parts = [number, f"({ends})" if ends else "", unit]
    return " ".join(filter(None, parts))


def format_comparison(
    kind: str, value: float, low: float = NAN, high: float = NAN, unit: str = ""
) -> str:
    """Write a comparison's ratio or, of the kind ``difference``, its difference with its sign.

    Times and sizes are in a unit with few digits.
    """
    if kind != "difference":
        return format_estimate(value, low, high)
    size, name = choose_unit((value, low, high), unit)
    return format_estimate(value / size, low / size, high / size, name, "+")


def format_interval(value: float, low: float, high: float, unit: str = "", sign: str = "") -> str:
    """Write a number's interval without the number, ``3.2 to 3.5``; empty without an interval.

    An interval with one infinite end is ``3.2 or more``. An end of a ratio beyond `MAX_END_FACTOR`
    is written as a bound.
    """
    _, below, above = format_parts(value, low, high, sign)
    if not unit:
        if above and low == 0:
            below = ""
        elif 0 <= low < min(value, 1) / MAX_END_FACTOR:
            below = f"< {1 / MAX_END_FACTOR:g}"
            # An empty upper end is an infinite one.
            above = above or f"> {MAX_END_FACTOR:,}"
        if below and above and high > MAX_END_FACTOR * max(value, 1):
            above = f"> {MAX_END_FACTOR:,}"
    if below and above:
        return f"{below} to {above}"
    if below:
        return f"{below} or more"
    return f"{above} or less" if above else ""


def format_bounds(low: float, high: float, write: Callable[[float], str] = format_number) -> str:
    """Write the bounds of a published positive number: ``3.2 to 3.5``, or ``3.5 or less``."""
    return f"{write(low)} to {write(high)}" if low > 0 else f"{write(high)} or less"


def format_parts(
    value: float, low: float = NAN, high: float = NAN, sign: str = ""
) -> tuple[str, str, str]:
    """Write value, lower and upper end with the same decimals; a missing end is empty.

    The last digit counts at most `LAST_DIGIT_SHARE` of half the interval, so that rounding does
    not hide it. The value has at least two significant digits, and an end above a thousandth of
    the value is not rounded to 0.
    """
    # Half the interval; with one infinite end, the distance to the other.
    ends = [end for end in (low, high) if math.isfinite(end)]
    half = max((abs(value - end) for end in ends), default=NAN)
    if len(ends) == 2:
        half = (high - low) / 2

    # There is no interval, or it is as narrow as a point.
    if not abs(value) * 1e-4 < half < math.inf:
        return format_number(value, sign=sign), "", ""

    magnitude = math.floor(math.log10(abs(value))) if value else 0
    decimals = max(_DIGITS - 2 - magnitude, math.ceil(-math.log10(LAST_DIGIT_SHARE * half)))
    if low > abs(value) / MAX_END_FACTOR and round(low, decimals) == 0:
        decimals = -math.floor(math.log10(low))

    def write(number: float) -> str:
        if not math.isfinite(number):
            return ""
        return f"{round(number, decimals):{sign},.{max(0, decimals)}f}"

    return write(value), write(low), write(high)


def split_interval(text: str) -> list[str]:
    """Split a text after a number and before its interval; a text without interval stays whole."""
    return re.split(r" (?=\([^()]+ (?:to [^()]+|or more|or less)\))", text, maxsplit=1)


def format_quantity(value: float, unit: str) -> str:
    """Write a measured value with its unit; times and sizes in a unit with few digits."""
    size, name = choose_unit([value], unit)
    return f"{format_number(value / size)} {name}".strip()


def choose_unit(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Return the unit in which times or sizes have few digits: the one that the largest fills.

    Returns
    -------
    tuple of float and str
        How many of the given units it has, and its name; other quantities keep their unit.
    """
    if unit not in _BASE_UNITS:
        return 1.0, unit
    base, units = _BASE_UNITS[unit]
    largest = base * max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    size, name = next((one for one in units if largest >= one[0]), units[-1])
    return size / base, name


def format_size(count: float) -> str:
    """Write a number of bytes in a unit with few digits: ``8.33 GB``."""
    return format_quantity(count, "B")


def format_duration(seconds: float) -> str:
    """Write the duration of a run or a wait: ``0.3 s``, ``40 s``, ``12 min``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{round(seconds, 1 if seconds < 1 else None):g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def format_p_value(p: float) -> str:
    """Write a p-value with two digits; one below a ten-thousandth as ``< 0.0001``."""
    if math.isnan(p):
        return NOT_PRINTED
    return f"< {_SMALLEST_P:.4f}" if p < _SMALLEST_P else f"{p:.2g}"


def format_tick(value: float, _position: object = None) -> str:
    """Write the number of a tick on a scale: 0.01, 10, 2k, 1M."""
    for scale, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:g}{letter}"
    return f"{value:g}"
