"""Sentences: how a comparison, its interval, its size and a verdict are said, wherever they are.

Begin with `write_comparison`. `benchbook.plots.claim_lines.write_line` says a whole claim.
"""

from collections.abc import Sequence
from math import isnan
from typing import Final

from benchbook.text.names import name_metric, write_terms
from benchbook.text.number_format import format_count, format_interval, format_number

NEAR_PARITY: Final = "more blocks will hardly decide it: the estimate is too near no difference"
"""What is said of an undecided comparison whose estimate is within `PARITY_WITHIN` of 1."""

NOISY_NOTE: Final = "noisy: no verdict"
"""The note beside a ratio of noisy blocks."""

VERDICT_MEANINGS: Final = {
    "holds": "all comparisons that ran are for it",
    "mostly holds": "at least two thirds are for it",
    "does not hold": "at least two thirds are against it",
    "mixed": "at least two are for it, two against it, and each side has at least a quarter",
    "undecided": "none of these: too few blocks, or intervals too wide, to tell",
    "not comparable": "it ran, but not under the conditions of the paper",
    "not run": "none of its comparisons ran here",
}
"""The meaning of each verdict on a claim."""

TERMS: Final = (
    "A claim has one comparison or several: each is for it, against it or open. A block is one "
    "pass over all cells; a machine-day has the blocks of one machine on one date."
)
"""What a reader has to know before counts of comparisons, blocks and machine-days."""

SIZE_PHRASES: Final = {
    "as printed": "ours agrees",
    "larger": "ours is larger",
    "smaller": "ours is smaller",
}
"""How our ratio compares with the paper's."""

TIME_RATIO: Final = "{} times as long"
"""How a ratio of times is said."""

_TIME_PHRASE: Final = f"took {TIME_RATIO} as"
_RATIO_PHRASES: Final = {
    "wall_time": _TIME_PHRASE,
    "elapsed_time": _TIME_PHRASE,
    "catch_up_time": _TIME_PHRASE,
    "time_per_item": f"took {TIME_RATIO} per item as",
    "size": "takes {} times the bytes of",
    "markup_size": "takes {} times the bytes of markup of",
    "bytes_received": "sent {} times the bytes of",
    "bandwidth": "used {} times the bandwidth of",
    "card_bytes_sent": "put {} times the bytes on the network of",
    "card_bytes_received": "took {} times the bytes off the network of",
    "cpu_time": "used {} times the CPU time of",
    "memory_rss_mb": "held {} times the memory of",
}


def write_comparison(a: str, b: str, kind: str, metric: str, estimate: str) -> str:
    """Return a comparison in words: ``XML took 4.0 (3.9 to 4.1) times as long as JSON``.

    Parameters
    ----------
    estimate
        The ratio or difference, with its interval.
    """
    if kind == "difference":
        return f"{a} differed from {b} by {estimate}"
    phrase = _RATIO_PHRASES.get(metric, f"had {{}} times the {name_metric(metric)} of")
    return f"{a} {phrase.format(estimate)} {b}"


def write_ratio(a: str, b: str, kind: str = "ratio") -> str:
    """Return the ratio or difference of a claim from its terms: ``XML / JSON``."""
    return write_terms(f"{a} {'−' if kind == 'difference' else '/'} {b}")


def write_interval(value: float, low: float, high: float, unit: str = "", sign: str = "") -> str:
    """Return a number's interval with its level: ``99 % interval 3.9 to 4.1``."""
    ends = format_interval(value, low, high, unit, sign)
    return f"99 % interval {ends}" if ends else "no interval"


def write_published(published: float) -> str:
    """Return the ratio of a paper's numbers; empty without one."""
    return "" if isnan(published) else format_number(published)


def write_paper_ratio(published: float, metric: str = "") -> str:
    """Return the ratio of a paper's numbers: ``from the paper's times: 5.67``; empty without one.

    Papers print times, shares and bytes, and no ratio of them.
    """
    if isnan(published):
        return ""
    numbers = "times" if "time" in metric else "numbers"
    return f"from the paper's {numbers}: {write_published(published)}"


def count_blocks(blocks: int, machine_days: int) -> str:
    """Return how often something was measured: ``10 blocks of 2 machine-days``, ``1 block``."""
    counted = format_count(blocks, "block")
    days = format_count(machine_days, "machine-day")
    return counted if blocks < 2 else f"{counted} of {days}"


def mark_noisy_blocks(noisy: int, blocks: int) -> str:
    """Return in how many blocks other programs were busy; empty without such blocks."""
    return f"noisy: {noisy} of {format_count(blocks, 'block')}" if noisy else ""


def write_absence_remedy(study: str) -> str:
    """Return the commands that answer claims of a study that did not run, in Markdown."""
    return (
        "`benchbook doctor --missing` says how to add a database or a language. Then "
        f"`benchbook run {study} --profile decide --until-decided` measures what did not run."
    )


def phrase_verdict(verdict: str) -> str:
    """Return a verdict as what a claim does or is: ``holds``, ``is undecided``."""
    return verdict if verdict.endswith(("holds", "hold")) else f"is {verdict}"


def join_names(names: Sequence[str], last: str) -> str:
    """Return names as a list: ``a, b or c``."""
    *first, final = names
    return f"{', '.join(first)} {last} {final}" if first else final
