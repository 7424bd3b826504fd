"""Tests, sizes of effects, intervals, corrections and changepoints: arrays in, numbers out."""

from benchbook.stats import campaigns
from benchbook.stats.hosts import over_hosts, spread
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
