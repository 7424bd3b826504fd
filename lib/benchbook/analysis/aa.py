"""A/A checks: the same cell measured twice under two names, arm a and arm b, which should not differ."""

from collections import defaultdict
from typing import Final

import numpy as np
import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.comparisons import Comparison, compare
from benchbook.analysis.sides import Measured, Side, both_arms, by_study, shared
from benchbook.results import TIMES
from benchbook.studies import SLUGS

KINDS: Final = {
    "time": TIMES,
    "processor time": ("cpu_time",),
    "memory": ("memory_rss_mb",),
    "bytes": ("size", "bytes_received", "card_bytes_sent", "card_bytes_received"),
}
"""Kinds of what is measured, each with the metrics that are put together; what follows from them would count twice."""


def aa_checks(means: pd.DataFrame) -> pd.DataFrame:
    """Return one comparison of arm b over arm a for each study, language and kind of what is measured.

    A machine or a harness that favours an arm does so in many quantities at once. So a block's value is the mean of the
    logarithms b/a over all quantities of a kind. Its interval is that of all comparisons. Checks change no verdict.

    Parameters
    ----------
    means
        As `benchbook.analysis.measures` returns them, of both arms.

    Returns
    -------
    pandas.DataFrame
        The fields of `benchbook.analysis.comparisons.Comparison`: ``metric`` is the kind, ``label`` says how many
        quantities there are.
    """
    rows = []
    for study, measured in by_study(both_arms(means)).items():
        if study in SLUGS:
            rows += _of_study(study, measured)
    return Comparison.frame(rows)


def differ(checks: pd.DataFrame) -> pd.DataFrame:
    """Return the checks whose interval excludes 1."""
    return checks[(checks["low"] > 1) | (checks["high"] < 1)]


def _of_study(study: str, measured: Measured) -> list[Comparison]:
    """Return a study's checks."""
    metrics = {metric: kind for kind, of_kind in KINDS.items() for metric in of_kind}
    compared = dict.fromkeys(quantity for pairs in claim_files.pairs(study) for quantity in pairs.every_quantity())
    quantities = [quantity for quantity in compared if quantity[2] in metrics]
    together: dict[tuple[str, str], list[dict[str, Side]]] = defaultdict(list)
    for (_, _, metric), language, _, arms in measured.alike("arm", (), quantities):
        if len(arms) < 2:
            continue
        blocks = shared(arms.values())
        both = {name: arm.only(blocks) for name, arm in arms.items()}
        if len(blocks) and all((arm.values > 0).all() and not arm.timed_out.any() for arm in both.values()):
            together[language, metrics[metric]].append(both)
    rows = []
    for (language, kind), of_kind in together.items():
        sides = {arm: _geometric_mean([arms[arm] for arms in of_kind]) for arm in ("a", "b")}
        numbers = compare(((1, "b"), (-1, "a")), sides, measured.machine_days)
        rows.append(
            Comparison(
                study=study,
                name="A/A",
                language=language,
                operation="",
                role="",
                metric=kind,
                a="arm b",
                b="arm a",
                label=f"{len(of_kind)} quantities",
                settings={},
                n=None,
                **{**numbers, "unit": "", "mean_a": np.nan, "mean_b": np.nan},
            )
        )
    return rows


def _geometric_mean(sides: list[Side]) -> Side:
    """Return the side whose value in a block is the geometric mean of all that were measured in it."""
    number = np.concatenate([side.blocks for side in sides])
    logs = np.concatenate([np.log(side.values) for side in sides])
    blocks, which = np.unique(number, return_inverse=True)
    values = np.exp(np.bincount(which, logs) / np.bincount(which))
    noisy = max(side.noisy for side in sides)
    return Side({}, blocks, values, np.zeros(len(blocks), bool), "", noisy)
