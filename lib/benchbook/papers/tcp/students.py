"""Student's tests as study `tcp` made them, on its own printed numbers and on new data.

The other papers made none.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from benchbook import stats
from benchbook.digits import p_value
from benchbook.evidence.comparisons import comparisons
from benchbook.evidence.published import published

MEASURES: Final = {
    "Total Time": ("server", "ms", "wall_time", 1e-6),
    "Average Time": ("server", "ms", "time_per_item", 1.0),
    "User CPU": ("machine", "%", "cpu_user_percent", 1.0),
    "System CPU": ("machine", "%", "cpu_system_percent", 1.0),
    "Memory": ("machine", "%", "memory_percent", 1.0),
}
"""The paper's measures and what they are here: role, the paper's unit, metric, and the metric's scale in that unit."""

_NAMES: Final = {(role, metric): measure for measure, (role, _, metric, _) in MEASURES.items()}

TRIALS: Final = {20_000: 1, 40_000: 2, 60_000: 3, 80_000: 4, 100_000: 5}
"""Trials of scenario 2 by their numbers of objects; the paper took their five values for one sample."""

AS_MEANT: Final = "as meant"
AS_PRINTED: Final = "commas as separators"
_HERE: Final = [
    *("host", "factors", "measure", "levels"),
    *("n_json", "n_xml", "t", "df", "p", "p_welch", "reason", "printed"),
]


def as_published() -> pd.DataFrame:
    """Return the tests of Table 8, recomputed from Table 7.

    Returns
    -------
    pandas.DataFrame
        ``measure, reading, n_json, n_xml, t, df, p, p_welch, reason, printed, agrees``. Where Table 7's decimal commas
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


def here(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the same tests on new data: for each number of objects one value, the mean of its blocks.

    The test pools sizes that differ on purpose, so that its spread is not that of a measurement: it is repeated, not
    recommended. `benchbook.evidence.comparisons` holds the sound one.

    Returns
    -------
    pandas.DataFrame
        ``host, factors, measure, levels, n_json, n_xml, t, df, p, p_welch, reason, printed``, a row for each of the
        measures of Table 8 and combination of the other factors; none without observations of `tcp`.
    """
    printed = as_published().drop_duplicates("measure").set_index("measure")["printed"]
    compared = comparisons(observations[observations["study"] == "tcp"]).sort_values("n", kind="stable")
    compared = compared[compared["n"].isin(list(TRIALS)) & (compared["operation"] == "receive")]
    compared = compared.dropna(subset=["mean_a", "mean_b"])
    samples = defaultdict(list)
    for row in compared.to_dict("records"):
        if measure := _NAMES.get((row["role"], row["metric"])):
            others = [part for part in row["factors"].split(", ") if not part.startswith("n=")]
            factors = ", ".join([f"{row['side_a']} against {row['side_b']}", *others])
            samples[row["host"], factors, measure].append((f"{row['n']:,}", row["mean_b"], row["mean_a"]))
    rows = []
    for (host, factors, measure), sample in samples.items():
        levels, json, xml = zip(*sample, strict=True)
        test = _test(measure, "", json, xml, printed[measure])
        rows.append({"host": host, "factors": factors, "levels": ", ".join(levels), **test})
    return pd.DataFrame(rows, columns=_HERE)


def _test(measure: str, reading: str, json: Sequence[float], xml: Sequence[float], printed: str) -> dict[str, object]:
    student, welch = stats.student(json, xml), stats.welch(json, xml)
    return {
        "measure": measure,
        "reading": reading,
        "n_json": len(json),
        "n_xml": len(xml),
        "t": student.statistic,
        "df": student.df,
        "p": student.p,
        "p_welch": welch.p,
        "reason": student.reason,
        "printed": printed,
        "agrees": _agrees(student.p, printed),
    }


def _agrees(p: float, printed: str) -> bool:
    """Return whether a p-value is the printed one, to the digits that are printed."""
    if printed.startswith("≤"):
        return p <= float(printed[1:])
    return bool(np.round(p, len(printed.partition(".")[2])) == float(printed))
