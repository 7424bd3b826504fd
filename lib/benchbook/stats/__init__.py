"""Tests, effect sizes, intervals, corrections and changepoints: arrays in, numbers out."""

from benchbook.stats.corrections import holm
from benchbook.stats.effects import Effect, detectable_ratio, hedges_g
from benchbook.stats.intervals import Interval, difference_interval, mean_interval, ratio_interval, sum_interval
from benchbook.stats.outliers import outliers
from benchbook.stats.pairs import Ratio, ratios_each
from benchbook.stats.steadiness import Steadiness, steadiness
from benchbook.stats.tests import Test, paired, paired_each, student, welch

__all__ = [
    "Effect",
    "Interval",
    "Ratio",
    "Steadiness",
    "Test",
    "detectable_ratio",
    "difference_interval",
    "hedges_g",
    "holm",
    "mean_interval",
    "outliers",
    "paired",
    "paired_each",
    "ratio_interval",
    "ratios_each",
    "steadiness",
    "student",
    "sum_interval",
    "welch",
]
