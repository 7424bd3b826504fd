"""A/A checks: the same cell measured twice under two names, arm a and arm b, should not differ.

Begin with `compare_arms`.
"""

from collections import defaultdict
from math import nan
from typing import Final

import numpy as np
import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.block_means import BlockMeans, find_shared_blocks
from benchbook.analysis.comparisons import Comparison, compare_means
from benchbook.analysis.study_means import StudyMeans, select_aa_cells, split_by_study
from benchbook.results.schema import TIME_METRICS
from benchbook.studies.catalogue import SLUGS

METRICS_OF_KIND: Final = {
    "time": TIME_METRICS,
    "processor time": ("cpu_time",),
    "memory": ("memory_rss_mb",),
    "bytes": ("size", "bytes_received", "card_bytes_sent", "card_bytes_received"),
}
"""Kinds of quantities, each with its metrics; metrics derived from these would count twice."""


def compare_arms(means: pd.DataFrame) -> list[Comparison]:
    """Return one comparison of arm b over arm a for each study, language and kind of quantity.

    A machine or a harness that favours an arm does so in many quantities at once. A block's value
    is therefore the mean of log(b/a) over all quantities of a kind. The interval is that of all
    comparisons. A/A checks change no verdict.

    Parameters
    ----------
    means
        As `benchbook.analysis.block_means.compute_block_means` returns them, with both arms.

    Returns
    -------
    list of Comparison
        ``metric`` is the kind, ``label`` has the number of quantities.
    """
    rows: list[Comparison] = []
    for slug, study in split_by_study(select_aa_cells(means)).items():
        if slug not in SLUGS:
            continue
        for (language, kind), pairs in _pair_arms(study).items():
            sides = {name: [arms[name] for arms in pairs] for name in ("a", "b")}
            terms = {name: _average_quantities(parts) for name, parts in sides.items()}
            numbers = compare_means(((1, "b"), (-1, "a")), terms, study.machine_days)
            numbers |= {"unit": "", "mean_a": nan, "mean_b": nan}
            rows.append(
                Comparison(
                    study=slug,
                    name="A/A",
                    language=language,
                    operation="",
                    role="",
                    metric=kind,
                    a="arm b",
                    b="arm a",
                    label=f"{len(pairs)} quantities",
                    settings={},
                    n=None,
                    **numbers,
                )
            )
    return rows


def select_differing(checks: list[Comparison]) -> list[Comparison]:
    """Return the checks whose interval excludes 1."""
    return [check for check in checks if check.low > 1 or check.high < 1]


def _pair_arms(study: StudyMeans) -> dict[tuple[str, str], list[dict[str, BlockMeans]]]:
    """Return the two arms of every quantity that has a ratio, by language and kind."""
    kinds: dict[str, str] = {}
    for kind, metrics in METRICS_OF_KIND.items():
        kinds |= dict.fromkeys(metrics, kind)

    # What the paper's tables compare, as far as it is of one of the kinds.
    quantities: dict[tuple[str, str, str], None] = {}
    for comparisons in claim_files.load_paper_comparisons(study.study):
        quantities |= dict.fromkeys(comparisons.list_quantities())
    chosen = [quantity for quantity in quantities if quantity[2] in kinds]

    # Both arms of every quantity, in the blocks that both have.
    paired: dict[tuple[str, str], list[dict[str, BlockMeans]]] = defaultdict(list)
    for match in study.match_levels("arm", (), chosen, min_levels=2):
        blocks = find_shared_blocks(match.by_level.values())
        arms = {name: arm.select_blocks(blocks) for name, arm in match.by_level.items()}
        has_ratio = all((arm.values > 0).all() for arm in arms.values())
        if len(blocks) and has_ratio and not any(arm.timed_out.any() for arm in arms.values()):
            paired[match.language, kinds[match.quantity[2]]].append(arms)
    return paired


def _average_quantities(parts: list[BlockMeans]) -> BlockMeans:
    """Return the geometric means, by block, of several quantities."""
    numbers = np.concatenate([part.blocks for part in parts])
    logs = np.concatenate([np.log(part.values) for part in parts])
    blocks, which = np.unique(numbers, return_inverse=True)
    values = np.exp(np.bincount(which, logs) / np.bincount(which))
    noisy = max(part.noisy for part in parts)
    return BlockMeans({}, blocks, values, np.zeros(len(blocks), bool), "", noisy)
