"""One table of all t-tests: which rows it has, and what they say."""

import numpy as np
import pandas as pd
import pytest

from benchbook.analysis.intervals import MIN_BLOCKS, adjust_holm
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import T_TEST_COLUMNS


@pytest.fixture(scope="module")
def table(committed: Analysis) -> pd.DataFrame:
    """Return the t-tests of the reference run."""
    return committed.t_tests


def test_every_comparison_with_an_interval_is_a_row_and_no_other(
    committed: Analysis, table: pd.DataFrame
) -> None:
    judged = [row for row in committed.comparisons if row.stands]
    assert list(table) == [*T_TEST_COLUMNS]
    assert len(table) == sum(not np.isnan(row.low) for row in judged) > 500
    assert table["blocks"].min() >= MIN_BLOCKS


def test_a_row_recomputes_to_its_own_p_and_interval(table: pd.DataFrame) -> None:
    from scipy import stats

    rows = table[(table["kind"] == "ratio") & table["p"].notna()]
    t = np.log(rows["estimate"] / rows["than"]) / rows["error"]
    assert np.allclose(t, rows["t"])
    assert np.allclose(2 * stats.t.sf(abs(t), rows["df"]), rows["p"])
    reach = np.exp(stats.t.ppf(0.995, rows["df"]) * rows["error"])
    assert np.allclose(rows["estimate"] * reach, rows["high"])


def test_holm_corrects_over_the_family_whatever_ran(table: pd.DataFrame) -> None:
    for _, rows in table.groupby(["study", "language"]):
        (family,) = rows["family"].unique()
        absent = np.full(family - len(rows), np.nan)
        assert np.allclose(
            adjust_holm([*rows["p"], *absent])[: len(rows)], rows["p_holm"], equal_nan=True
        )
