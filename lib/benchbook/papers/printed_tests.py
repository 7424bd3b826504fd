"""The tcp paper's printed numbers by trial, and its t-tests recomputed from them."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis.published import PublishedNumber, load_published_numbers
from benchbook.papers.recomputed import Values, get_number, get_values

MEASURES: Final = {
    "Total Time": ("server", "ms", "wall_time", 1e-6),
    "Average Time": ("server", "ms", "time_per_item", 1.0),
    "User CPU": ("machine", "%", "cpu_user_percent", 1.0),
    "System CPU": ("machine", "%", "cpu_system_percent", 1.0),
    "Memory": ("machine", "%", "memory_percent", 1.0),
}
"""The paper's measures: role, the paper's unit, our metric, and its scale in that unit."""

TRIALS: Final = {20_000: 1, 40_000: 2, 60_000: 3, 80_000: 4, 100_000: 5}
"""Trials of scenario 2 by their numbers of objects.

The paper took their five values for one sample.
"""

Sample: TypeAlias = "Sequence[float] | NDArray[np.float64]"

AS_MEANT: Final = "as meant"
AS_PRINTED: Final = "commas as separators"


FORMATS: Final = ("JSON", "XML")
SHARES: Final = ("User CPU", "System CPU")
RESOURCES: Final = (*SHARES, "Memory")
RESOURCE_TABLES: Final = {"JSON": "Table 4", "XML": "Table 5"}
"""The tables of the trials' resources."""


def get_total_time(trial: int, format: str) -> PublishedNumber:
    """Return a trial's total time in ms."""
    return get_number("tcp", "Table 3", f"Trial {trial} Total Time", format)


def get_average_time(trial: int, format: str) -> PublishedNumber:
    """Return a trial's average time in ms."""
    return get_number("tcp", "Table 3", f"Trial {trial} Average Time", format)


def get_objects(trial: int, format: str) -> PublishedNumber:
    """Return a trial's number of objects."""
    return get_number("tcp", "Table 3", f"Trial {trial} Number Of Objects", format)


def get_resource(trial: int, format: str, measure: str) -> PublishedNumber:
    """Return a trial's share of a resource in percent."""
    return get_number("tcp", RESOURCE_TABLES[format], f"Trial {trial}", measure)


def get_total_times(format: str) -> Values:
    """Return the total times of the trials."""
    return get_values(get_total_time(trial, format) for trial in TRIALS.values())


def get_resources(format: str, measure: str) -> Values:
    """Return the shares of the trials, of Tables 4 and 5."""
    return get_values(get_resource(trial, format, measure) for trial in TRIALS.values())


def get_tests() -> dict[str, dict[Hashable, Any]]:
    """Return Table 8's tests of the values that Table 7 means, by measure."""
    table = recompute_tests()
    meant = table[table["reading"] == AS_MEANT]
    return {str(row["measure"]): row for row in meant.to_dict("records")}


def recompute_tests() -> pd.DataFrame:
    """Return the tests of Table 8, recomputed from Table 7.

    Returns
    -------
    pandas.DataFrame
        ``measure, reading, n_json, n_xml, t, df, p, p_welch, printed, agrees``. A measure with
        misprinted decimal commas has two rows: `AS_MEANT`, and `AS_PRINTED`, where a comma
        separates two values. Only the second gives the p-value that is printed.
    """
    table = load_published_numbers("tcp")
    tests = []
    for measure in MEASURES:
        tables = dict(list(table[table["row"] == measure].groupby("source")))
        printed, samples = tables["Table 8"]["printed"].item(), tables["Table 7"]
        of_json = samples["column"].str.startswith("JSON")
        json, xml = samples[of_json]["value"].tolist(), samples[~of_json]["value"].tolist()
        tests.append(_compare_samples(measure, AS_MEANT, json, xml, printed))
        characters = ",".join(samples[~of_json]["printed"]).split(",")
        if len(characters) > len(xml):
            misread = [float(number) for number in characters]
            tests.append(_compare_samples(measure, AS_PRINTED, json, misread, printed))
    return pd.DataFrame(tests)


def _compare_samples(
    measure: str, reading: str, json: Sequence[float], xml: Sequence[float], printed: str
) -> dict[str, object]:
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
        "agrees": _matches_printed(float(student.pvalue), printed),
    }


def t_test(a: Sample, b: Sample, *, equal_var: bool = True) -> Any:
    """Return `scipy.stats.ttest_ind`: Student's test, or Welch's; NaN for fewer than two values."""
    # Importing it takes half a second, and figures do not need it.
    from scipy import stats

    with warnings.catch_warnings(action="ignore"):
        return stats.ttest_ind(a, b, equal_var=equal_var)


def _matches_printed(p: float, printed: str) -> bool:
    """Return whether a p-value is the printed one, to the digits that are printed."""
    if printed.startswith("≤"):
        return p <= float(printed[1:])
    return bool(np.round(p, len(printed.partition(".")[2])) == float(printed))
