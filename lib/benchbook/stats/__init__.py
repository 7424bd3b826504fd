"""Tests, sizes of effects, intervals, corrections and changepoints: arrays in, numbers out, nothing read or written.

In come blocks' means, as arrays of one unit; out go an `Interval`, a `Test` or a number, NaN with the reason where one
cannot be had. Begin with `ratio_interval` in `inference`; `sequential` has the looks at a growing number of blocks,
`campaigns` the levels above them, of days and of hosts.
"""

from benchbook.stats import campaigns
from benchbook.stats.campaigns import over_hosts, spread
from benchbook.stats.inference import (
    Interval,
    Scale,
    Test,
    detectable_ratio,
    hedges_g,
    holm,
    mean_interval,
    paired,
    ratio_interval,
    student,
    sum_interval,
    welch,
)
from benchbook.stats.steadiness import Steadiness, steadiness

__all__ = [
    "Interval",
    "Scale",
    "Steadiness",
    "Test",
    "campaigns",
    "detectable_ratio",
    "hedges_g",
    "holm",
    "mean_interval",
    "over_hosts",
    "paired",
    "ratio_interval",
    "spread",
    "steadiness",
    "student",
    "sum_interval",
    "welch",
]
