"""Tests, effect sizes, intervals and corrections: arrays in, numbers out."""

from benchbook.stats.corrections import holm
from benchbook.stats.effects import Effect, detectable_ratio, hedges_g
from benchbook.stats.fences import outlier_share, outliers
from benchbook.stats.intervals import Interval, difference_interval, mean_interval, ratio_interval, sum_interval
from benchbook.stats.tests import Test, paired, student, welch

__all__ = [
    "Effect",
    "Interval",
    "Test",
    "detectable_ratio",
    "difference_interval",
    "hedges_g",
    "holm",
    "mean_interval",
    "outlier_share",
    "outliers",
    "paired",
    "ratio_interval",
    "student",
    "sum_interval",
    "welch",
]
