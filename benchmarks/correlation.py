"""Print how much blocks of one machine-day resemble each other: the ICC of docs/method.md.

``python benchmarks/correlation.py [--days 5]`` reads the reference run and takes every comparison
of a claim that has blocks on so many machine-days, two of them on at least one. The values of each
are divided by their standard deviation; then the sums of squares between and within machine-days
are added by study (one-way analysis of variance). The median is that of single comparisons. The
standard error is the jackknife's: each machine-day is left out once.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchbook.analysis.block_means import find_shared_blocks
from benchbook.analysis.claim_comparisons import choose_claim_means
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import MeasuredClaim
from benchbook.analysis.runs import load_reference_means
from benchbook.analysis.study_means import select_first_arms, split_by_study

Values = NDArray[np.float64]
Days = NDArray[np.object_]
Compared = tuple[Values, Days]
"""The logarithms of one comparison's blocks, and the machine-day of each."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=5)
    least = parser.parse_args().days
    by_study: dict[str, list[Compared]] = defaultdict(list)
    for study, values, days in list_comparisons():
        if len(set(days)) >= least and len(days) > len(set(days)):
            by_study[study].append((values, days))
            by_study["all"].append((values, days))
    for name, compared in by_study.items():
        pooled, error = pool(compared), estimate_error(compared)
        single = median(pool([one]) for one in compared)
        print(
            f"{name}: {len(compared)} comparisons, ICC {pooled:.2f} (standard error {error:.2f}),"
            f" median {single:.2f}"
        )


def list_comparisons() -> Iterator[tuple[str, Values, Days]]:
    """Yield the study of each comparison, its blocks' logarithms and their machine-days."""
    studies = split_by_study(select_first_arms(load_reference_means()))
    seen = set[tuple[str, tuple[float, ...]]]()
    for claim in load_claims():
        if not isinstance(claim, MeasuredClaim) or claim.fact or claim.study not in studies:
            continue
        study = studies[claim.study]
        for language in study.languages:
            for compared in choose_claim_means(claim, study, language):
                if compared.means.keys() != compared.wanted.keys():
                    continue
                blocks = find_shared_blocks(compared.means.values())
                terms = [
                    (sign, compared.means[name].select_blocks(blocks).values)
                    for sign, name in compared.terms
                ]
                if len(blocks) < 2 or any((values <= 0).any() for _, values in terms):
                    continue
                ratios = np.sum([sign * np.log(values) for sign, values in terms], axis=0)
                # Claims share comparisons; bytes do not vary.
                key = (claim.study, tuple(np.abs(ratios).round(12)))
                if key not in seen and np.ptp(ratios) > 1e-12:
                    seen.add(key)
                    yield claim.study, ratios, study.machine_days[blocks]


def estimate_error(compared: Sequence[Compared]) -> float:
    """Return the jackknife's standard error of `pool` over machine-days."""
    left_out = []
    all_days = set().union(*(days for _, days in compared))
    for day in all_days:
        rest = [(values[days != day], days[days != day]) for values, days in compared]
        # An ICC needs two machine-days, one of them with two blocks.
        usable = [one for one in rest if 1 < len(set(one[1])) < len(one[1])]
        left_out.append(pool(usable))
    return float(np.sqrt((len(all_days) - 1) * np.var(left_out)))


def pool(compared: Iterable[Compared]) -> float:
    """Return the intraclass correlation of comparisons, as if each had its own mean."""
    return correlate(np.sum([sum_squares(values, days) for values, days in compared], axis=0))


def sum_squares(values: Values, days: Days) -> NDArray[np.float64]:
    """Return of standardised values: squares between days, within, their degrees of freedom, n0.

    n0, the blocks of a usual day, counts once per degree of freedom between days.
    """
    y = (values - values.mean()) / values.std(ddof=1)
    _, day = np.unique(days, return_inverse=True)
    n = np.bincount(day)
    means = np.bincount(day, y) / n
    between, within = n @ means**2, ((y - means[day]) ** 2).sum()
    usual = n.sum() - n @ n / n.sum()  # (K - 1) n0
    return np.array([between, within, len(n) - 1, len(y) - len(n), usual])


def correlate(sums: NDArray[np.float64]) -> float:
    """Return the intraclass correlation of sums as `sum_squares` returns them."""
    between, within, days, blocks, usual = sums
    mean_between, mean_within = between / days, within / blocks
    variance = (mean_between - mean_within) / (usual / days)
    return float(variance / (variance + mean_within))


if __name__ == "__main__":
    main()
