"""Which runs are to be doubted: those whose identical arms differed."""

import pandas as pd

from benchbook.evidence.comparisons import arms_apart


def untrusted(means: pd.DataFrame, controls: pd.DataFrame | None = None) -> frozenset[tuple[str, str]]:
    """Return the studies and hosts of which identical arms differ, Holm-corrected over all the host's A/A pairs.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.
    controls
        As `benchbook.evidence.controls` returns them of the same observations; None: they are made here.
    """
    table = arms_apart(means) if controls is None else controls
    doubted = table[table["untrusted"].astype(bool)]
    return frozenset(zip(doubted["study"], doubted["host"], strict=True))
