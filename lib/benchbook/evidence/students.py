"""Student's tests as study `tcp` made them, on its own printed numbers and on new data. The other papers made none."""

from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import stats
from benchbook.evidence.comparisons import comparisons
from benchbook.evidence.published import published

NO_TESTS: Final = "bookstore, drivers, crud and replication print no test"
MEASURES: Final = {
    "Total Time": ("server", "wall_time"),
    "Average Time": ("server", "time_per_item"),
    "User CPU": ("machine", "cpu_user_percent"),
    "System CPU": ("machine", "cpu_system_percent"),
    "Memory": ("machine", "memory_percent"),
}
"""The measures of Table 8, and what they are here."""

LEVELS: Final = (20_000, 40_000, 60_000, 80_000, 100_000)
"""Numbers of objects of scenario 2, whose five values the paper took for one sample."""

AS_MEANT: Final = "as meant"
AS_PRINTED: Final = "commas as separators"


def student_as_published() -> pd.DataFrame:
    """Return the tests of `tcp`'s Table 8, recomputed from Table 7.

    Returns
    -------
    pandas.DataFrame
        ``measure, reading, n_json, n_xml, t, df, p, p_welch, printed, agrees``. Where Table 7's decimal commas are
        misprinted there are two rows: the values meant, and the commas read as separators (so that "32,57" are two
        values), which alone gives the p-value that is printed.
    """
    table = published("tcp")
    rows = []
    for measure in MEASURES:
        printed = str(table.query("source == 'Table 8' and row == @measure")["printed"].iloc[0])
        values = table[(table["source"] == "Table 7") & (table["row"] == measure)]
        json, xml = (values[values["column"].str.startswith(side)] for side in ("JSON", "XML"))
        rows.append(_test(measure, AS_MEANT, json["value"].tolist(), xml["value"].tolist(), printed))
        if xml["printed"].str.contains(",").any():
            split = [float(part) for text in xml["printed"] for part in text.split(",")]
            rows.append(_test(measure, AS_PRINTED, json["value"].tolist(), split, printed))
    return pd.DataFrame(rows)


def student_here(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the same tests on new data: for each number of objects one value, the mean of its blocks.

    The test pools sizes that differ on purpose, so that its spread is not that of a measurement: it is repeated, not
    recommended. `benchbook.evidence.comparisons` holds the sound one.

    Returns
    -------
    pandas.DataFrame
        ``host, factors, measure, levels, n_json, n_xml, t, df, p, p_welch, reason, printed``, a row for each of the
        measures of Table 8 and combination of the other factors; none without observations of `tcp`.
    """
    printed = student_as_published().query("reading == @AS_MEANT").set_index("measure")["printed"].to_dict()
    sides = _sides(observations)
    rows = []
    for (host, factors, measure), group in sides.groupby(["host", "factors", "measure"], sort=False):
        found = _test(str(measure), "", group["json"].tolist(), group["xml"].tolist(), printed[measure])
        levels = ", ".join(f"{n:,}" for n in group["n"])
        rows.append({"host": host, "factors": factors, "levels": levels, **found})
    columns = [
        "host",
        "factors",
        "measure",
        "levels",
        "n_json",
        "n_xml",
        "t",
        "df",
        "p",
        "p_welch",
        "reason",
        "printed",
    ]
    return pd.DataFrame(rows, columns=columns)


def _sides(observations: pd.DataFrame) -> pd.DataFrame:
    """Return for each condition, measure and number of objects what JSON and XML took, mean of the blocks."""
    names = {place: measure for measure, place in MEASURES.items()}
    rows: list[dict[str, Any]] = []
    found = comparisons(observations)
    for row in found[found["study"] == "tcp"].to_dict("records"):
        measure = names.get((row["role"], row["metric"]))
        if measure is None or row["n"] not in LEVELS or not (row["n_a"] and row["n_b"]):
            continue
        others = [part for part in row["factors"].split(", ") if not part.startswith("n=")]
        factors = ", ".join([f"{row['side_a']} against {row['side_b']}", *others])
        about = {"host": row["host"], "factors": factors, "measure": measure, "n": row["n"]}
        rows.append({**about, "xml": row["mean_a"], "json": row["mean_b"]})
    table = pd.DataFrame(rows, columns=["host", "factors", "measure", "n", "xml", "json"])
    return table.sort_values("n", kind="stable")


def _test(measure: str, reading: str, json: list[float], xml: list[float], printed: str) -> dict[str, Any]:
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
