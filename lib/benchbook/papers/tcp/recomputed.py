"""`tcp` recomputed: the tests of Tables 7 and 8, which no formula of ``data/findings/tcp.yaml`` says."""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from benchbook import stats
from benchbook.papers.check import Check
from benchbook.papers.formulas import Value
from benchbook.papers.recomputed import printed
from benchbook.papers.tcp import students


def tested() -> dict[str, dict[Hashable, Any]]:
    """Return Table 8's tests of the values that Table 7 means, by measure."""
    table = students.as_published().query("reading == @students.AS_MEANT")
    return {str(row["measure"]): row for row in table.to_dict("records")}


def table_8() -> Iterator[Check]:
    """Check the p-values of Table 8 by Student's test of Table 7, and the three that are called significant."""
    alpha = printed("tcp", "Table 8", "level of significance", "alpha")
    for measure, test in tested().items():
        claim, p = printed("tcp", "Table 8", measure, "p"), test["p"]
        yield Check(
            study="tcp",
            kind="bound" if claim.printed.startswith("≤") else "number",
            says=f"p of {measure}, Student's test of Table 7",
            where="Table 8",
            of="Table 7",
            printed=claim.printed,
            recomputed=p,
            tolerance=claim.rounding,
            agrees=test["agrees"],
            key=claim.key,
        )
        below = measure in ("Total Time", "Average Time", "System CPU")
        says = f"{measure} is {'' if below else 'not '}called significant"
        bounds = f"{'below' if below else 'above'} {alpha.printed}"
        yield Check("tcp", "bound", says, "Section 5.3", "Table 7", bounds, p, 0.0, (p < alpha.value) == below)


def pooled_sizes() -> dict[str, Value]:
    """Return tests of the five total times: pooled, as the paper made them, and paired by size."""
    json, xml = (
        np.array([printed("tcp", "Table 3", f"Trial {trial} Total Time", format).value for trial in range(1, 6)])
        for format in ("JSON", "XML")
    )
    test, spread = tested()["Total Time"], np.var(xml, ddof=1) / np.var(json, ddof=1)
    ratio, paired = stats.ratio_interval(xml, json, pairs=True), stats.paired(np.log(xml), np.log(json))
    pooled = {"printed": test["printed"], "student": test["p"], "welch": test["p_welch"], "spread": spread}
    return {**pooled, "ratio": ratio.estimate, "low": ratio.low, "high": ratio.high, "paired": paired.p}


def two_of_five() -> dict[str, Value]:
    """Return which tests do not reject the null hypothesis, and what still does when corrected for five."""
    p = {measure: test["p"] for measure, test in tested().items()}
    kept = [measure for measure in p if p[measure] >= 0.05]
    still = [corrected for corrected in stats.holm([*p.values()]) if corrected < 0.05]
    return {"kept": " and ".join(kept), "still": len(still), "weakest": max(still)}


def system_cpu_p() -> dict[str, Value]:
    """Return the test of system CPU with the values meant, and with Table 7's commas read as separators."""
    table = students.as_published().query("measure == 'System CPU'").to_dict("records")
    meant, misread = (
        next(row for row in table if row["reading"] == reading) for reading in (students.AS_MEANT, students.AS_PRINTED)
    )
    as_meant: dict[str, Value] = {"printed": meant["printed"], "student": meant["p"], "welch": meant["p_welch"]}
    return {**as_meant, "values": misread["n_xml"], "misread": misread["p"]}
