"""The t-tests of all papers' claims in one table: a row per comparison that has an interval."""

from typing import Final

import pandas as pd

from benchbook.analysis import Analysis

COLUMNS: Final = (
    *("claim", "study", "language", "operation", "role", "metric", "a", "b", "label", "kind", "unit"),
    *("estimate", "low", "high", "error", "t", "df", "p", "p_holm", "family", "hedges_g", "blocks", "machine_days"),
    *("than", "margin", "stands", "verdict", "published", "published_low", "published_high", "published_source"),
)


def t_tests(analysis: Analysis) -> pd.DataFrame:
    """Return the t-tests of a run: every claim's comparison that has an interval, so on five blocks or more.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`, most as in `benchbook.analysis.Comparison`. ``error`` is of the logarithm of a ratio, or in `unit`;
        ``t`` and ``p`` test the estimate against ``than`` (a ratio) or against no difference; where the blocks do not
        vary there is no p. ``p_holm`` is corrected over the ``family``: so many comparisons the claims of that paper
        make in that language, whatever ran. ``verdict`` is the claim's, in the paper's own language where that ran.
    """
    table = analysis.comparisons[analysis.comparisons["stands"] != ""]  # facts are not tested
    family = table.groupby(["study", "language"])["name"].transform("size")
    verdicts = analysis.verdicts.set_index("id")["verdict"]
    table = table.assign(claim=table["name"], family=family, verdict=table["name"].map(verdicts))
    return table.loc[table["low"].notna(), [*COLUMNS]].reset_index(drop=True)
