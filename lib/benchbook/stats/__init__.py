"""Tests, effect sizes, intervals, corrections and changepoints: arrays in, numbers out."""

from benchbook.stats.corrections import holm
from benchbook.stats.effects import Effect, detectable_ratio, hedges_g
from benchbook.stats.equivalences import equivalence
from benchbook.stats.fences import outlier_share, outliers
from benchbook.stats.intervals import Interval, difference_interval, mean_interval, ratio_interval, sum_interval
from benchbook.stats.pairs import Ratio, ratios_each
from benchbook.stats.ranks import bootstrap_ratio, mann_whitney, permutation
from benchbook.stats.steadiness import Steadiness, steadiness
from benchbook.stats.tests import Test, paired, paired_each, student, welch

__all__ = [
    "Effect",
    "Interval",
    "Ratio",
    "Steadiness",
    "Test",
    "bootstrap_ratio",
    "detectable_ratio",
    "difference_interval",
    "equivalence",
    "hedges_g",
    "holm",
    "mann_whitney",
    "mean_interval",
    "outlier_share",
    "outliers",
    "paired",
    "paired_each",
    "permutation",
    "ratio_interval",
    "ratios_each",
    "steadiness",
    "student",
    "sum_interval",
    "welch",
]
