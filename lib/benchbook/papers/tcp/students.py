"""Student's tests as study `tcp` made them, on its own printed numbers; the other papers made none."""

import warnings
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis.published import published
from benchbook.digits import p_value

MEASURES: Final = {
    "Total Time": ("server", "ms", "wall_time", 1e-6),
    "Average Time": ("server", "ms", "time_per_item", 1.0),
    "User CPU": ("machine", "%", "cpu_user_percent", 1.0),
    "System CPU": ("machine", "%", "cpu_system_percent", 1.0),
    "Memory": ("machine", "%", "memory_percent", 1.0),
}
"""The paper's measures and what they are here: role, the paper's unit, metric, and the metric's scale in that unit."""

TRIALS: Final = {20_000: 1, 40_000: 2, 60_000: 3, 80_000: 4, 100_000: 5}
"""Trials of scenario 2 by their numbers of objects; the paper took their five values for one sample."""

Values: TypeAlias = "Sequence[float] | NDArray[np.float64]"

AS_MEANT: Final = "as meant"
AS_PRINTED: Final = "commas as separators"


def as_published() -> pd.DataFrame:
    """Return the tests of Table 8, recomputed from Table 7.

    Returns
    -------
    pandas.DataFrame
        ``measure, reading, n_json, n_xml, t, df, p, p_welch, printed, agrees``. Where Table 7's decimal commas
        are misprinted there are two rows: the values meant, and the commas read as separators (so that "32,57" are two
        values), which alone gives the p-value that is printed.
    """
    table = published("tcp")
    rows = []
    for measure in MEASURES:
        tables = dict(list(table[table["row"] == measure].groupby("source")))
        printed, samples = tables["Table 8"]["printed"].item(), tables["Table 7"]
        json, xml = (samples[samples["column"].str.startswith(format)] for format in ("JSON", "XML"))
        rows.append(_test(measure, AS_MEANT, json["value"].tolist(), xml["value"].tolist(), printed))
        if xml["printed"].str.contains(",").any():
            split = [float(part) for text in xml["printed"] for part in text.split(",")]
            rows.append(_test(measure, AS_PRINTED, json["value"].tolist(), split, printed))
    return pd.DataFrame(rows)


def shown() -> pd.DataFrame:
    """Return `as_published` as texts, in the columns of a page."""
    tests = as_published()
    return pd.DataFrame({
        "Measure": tests["measure"],
        "Commas": tests["reading"],
        "Values, JSON": tests["n_json"],
        "Values, XML": tests["n_xml"],
        "t": tests["t"],
        "p (Student)": tests["p"].map(p_value),
        "p (Welch)": tests["p_welch"].map(p_value),
        "p printed": tests["printed"],
        "Result": tests["agrees"].map({True: "agrees", False: "differs"}),
    })  # fmt: skip


def _test(measure: str, reading: str, json: Sequence[float], xml: Sequence[float], printed: str) -> dict[str, object]:
    student, welch = t_test(json, xml), t_test(json, xml, equal_var=False)
    return {
        "measure": measure,
        "reading": reading,
        "n_json": len(json),
        "n_xml": len(xml),
        "t": float(student.statistic),
        "df": float(student.df),
        "p": float(student.pvalue),
        "p_welch": float(welch.pvalue),
        "printed": printed,
        "agrees": _agrees(float(student.pvalue), printed),
    }


def t_test(a: Values, b: Values, *, equal_var: bool = True) -> Any:
    """Return `scipy.stats.ttest_ind`: Student's unpaired test, or Welch's; NaN of fewer than two values."""
    from scipy import stats  # here: it takes half a second, and figures need none

    with warnings.catch_warnings(action="ignore"):
        return stats.ttest_ind(a, b, equal_var=equal_var)


def _agrees(p: float, printed: str) -> bool:
    """Return whether a p-value is the printed one, to the digits that are printed."""
    if printed.startswith("≤"):
        return p <= float(printed[1:])
    return bool(np.round(p, len(printed.partition(".")[2])) == float(printed))
