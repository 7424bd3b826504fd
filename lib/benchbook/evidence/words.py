"""What came out, in a sentence."""

from collections.abc import Mapping
from typing import Any, Final

ALPHA: Final = 0.05
MARGIN: Final = 1.1
"""The ratio up to which two sides are called equivalent, where no claim fixes another."""

CONSTANT: Final = "cannot test: the values do not vary"

_TIME: Final = "took {} times as long as"
_PHRASES: Final = {
    "wall_time": _TIME,
    "elapsed_time": _TIME,
    "catch_up_time": _TIME,
    "time_per_item": "took {} times as long an object as",
    "size": "takes {} times the bytes of",
    "bytes_received": "sent {} times the bytes of",
    "bandwidth": "used {} times the bandwidth of",
    "cpu_time": "used {} times the CPU time of",
    "cpu_percent": "had {} times the CPU share of",
    "cpu_user_percent": "had {} times the user CPU share of",
    "cpu_system_percent": "had {} times the system CPU share of",
    "memory_percent": "had {} times the memory share of",
    "memory_rss_mb": "held {} times the memory of",
    "memory_change_kb": "took {} times as much new memory as",
}
_NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def sentence(row: Mapping[str, Any]) -> str:
    """Return what a comparison found.

    Parameters
    ----------
    row
        A row of `benchbook.evidence.comparisons`, with ``tests``: how many of its study were corrected for.
    """
    said = _finding(row)
    if row["published_ratio"] == row["published_ratio"]:
        said += f"; the paper's ratio is {figures(row['published_ratio'])} ({row['published_source']})"
    if row["stand_in"]:
        said += "; a stand-in ran, not the product itself"
    return said + "."


def figures(value: float) -> str:
    """Return a ratio as it is read: three digits, two decimals at most."""
    return f"{value:.2f}" if 0.1 <= value < 10 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _finding(row: Mapping[str, Any]) -> str:
    if row["reason"] == CONSTANT and row["ratio"] == row["ratio"]:
        return f"{_compared(row)}, exactly, in each of {_blocks(row)}"
    if row["reason"] and row["ratio"] == row["ratio"]:
        return f"{_compared(row)}; {_blocks(row)}, so no test"
    if row["reason"]:
        return f"{row['a']} against {row['b']}: {row['reason']}"
    if equivalent(row["low"], row["high"]):
        return f"equivalent within ±{MARGIN - 1:.0%}: {_compared(row)}; {_power(row)}"
    if not row["p"] < ALPHA:
        return f"no difference shown, nor that there is none: {_compared(row)}; {_power(row)}"
    if not row["p_holm"] < ALPHA:
        return f"{_compared(row)}, which does not stand when corrected for {row['tests']} tests; {_power(row)}"
    return f"{_compared(row)}; {_power(row)}"


def equivalent(low: float, high: float, margin: float = MARGIN) -> bool:
    """Return whether an interval of a ratio lies inside the margin: the only ground to say that nothing differs."""
    return 1 / margin <= low and high <= margin


def _compared(row: Mapping[str, Any]) -> str:
    if row["ratio"] != row["ratio"]:
        interval = f"({row['difference_low']:+.3g} to {row['difference_high']:+.3g}) {row['unit']}"
        return f"{row['a']} differed from {row['b']} by {row['difference']:+.3g} {interval}"
    times = figures(row["ratio"])
    if row["low"] == row["low"]:
        times += f" ({figures(row['low'])} to {figures(row['high'])})"
    return f"{row['a']} {_PHRASES[row['metric']].format(times)} {row['b']}"


def _power(row: Mapping[str, Any]) -> str:
    if row["detectable_ratio"] != row["detectable_ratio"]:
        return _blocks(row)
    return f"{_blocks(row)} could have shown {figures(row['detectable_ratio'])}"


def _blocks(row: Mapping[str, Any]) -> str:
    counts = sorted({int(row["n_a"]), int(row["n_b"])})
    named = " and ".join(_NUMBERS[count] if count < len(_NUMBERS) else str(count) for count in counts)
    return f"{named} block{'' if counts == [1] else 's'}"
