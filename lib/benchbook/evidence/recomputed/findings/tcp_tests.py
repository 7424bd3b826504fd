"""`tcp`'s tests beside sound ones, and what its conclusion makes of them."""

from typing import Any, Final

import numpy as np

from benchbook import stats
from benchbook.evidence.recomputed.checks.tcp import FORMATS, SHARES, TRIALS, as_meant, tcp, trial
from benchbook.evidence.recomputed.finding import Finding


def _row(measure: str) -> Any:
    return as_meant().loc[measure]


def pooled_sizes() -> Finding:
    """Five sizes that differ on purpose are taken for one sample."""
    json, xml = ([trial(one, "Total Time", format).value for one in TRIALS] for format in FORMATS)
    row = _row("Total Time")
    ratio, paired = stats.ratio_interval(xml, json, pairs=True), stats.paired(np.log(xml), np.log(json))
    centre = np.exp(np.mean(np.log(np.array(xml) / np.array(json))))
    return Finding(
        "tcp.pooled-sizes",
        "A t-test over five sizes",
        "unsupported",
        "Section 5.3, Tables 7 and 8",
        f"The total times of 20,000 to 100,000 objects are one sample a format; p = {row['printed']}.",
        f"Student's test gives {row['p']:.4f}; without equal variances (XML's is "
        f"{np.var(xml, ddof=1) / np.var(json, ddof=1):,.0f} times JSON's) Welch's gives {row['p_welch']:.3f}. "
        f"Paired by size, on logarithms, XML takes {centre:.1f} times as long ({ratio.low:.1f} to "
        f"{ratio.high:.1f}), p = {paired.p:.1e}.",
        "Its spread is the design's, not the measurement's: with more sizes the same machine would look less sure. "
        "Every trial ran once, so that the paired test has sizes for repetitions and is no better than that.",
    )


def fewer_resources() -> Finding:
    """JSON does not use fewer resources by the measures tested."""
    higher = [tcp("Table 2", "JSON", "User CPU").value > tcp("Table 2", "XML", "User CPU").value]
    higher += [trial(one, "User CPU", "JSON").value > trial(one, "User CPU", "XML").value for one in TRIALS]
    seconds = {
        format: tcp("Table 1", "Total Time", format).value
        / 1e3
        * sum(tcp("Table 2", format, share).value for share in SHARES)
        / 100
        for format in FORMATS
    }
    return Finding(
        "tcp.fewer-resources",
        "Fewer resources",
        "unsupported",
        "Section 7 against Tables 2, 4, 5 and 8",
        "JSON is faster and uses fewer resources, which refutes the null hypothesis.",
        f"User CPU (p = {_row('User CPU')['p']:.2f}) and memory (p = {_row('Memory')['p']:.2f}) do not differ; "
        f"JSON's user CPU is the higher one in {sum(higher)} of {len(higher)} runs. Only its system CPU is lower.",
        f"Shares hide it: the CPU is busy for {seconds['JSON']:.0f} s in JSON and {seconds['XML']:,.0f} s in XML in "
        f"scenario 1, {seconds['XML'] / seconds['JSON']:.0f} times as long. The conclusion is right for a quantity "
        "that is not in the paper.",
    )


def two_of_five() -> Finding:
    """The null hypothesis of all measures is called refuted, and two of five tests do not reject it."""
    rows = as_meant()
    corrected = stats.holm(rows["p"].to_numpy())
    kept = [str(measure) for measure in rows.index[rows["p"] >= 0.05]]
    return Finding(
        "tcp.two-of-five",
        "One null hypothesis, five tests",
        "unsupported",
        "Section 4 against Table 8",
        "There is significant evidence against equal times and equal use of resources.",
        f"Two of five tests do not reject it: {' and '.join(kept)}. Corrected for five tests by Holm, "
        f"{int((corrected < 0.05).sum())} still do, the weakest with p = {max(corrected[corrected < 0.05]):.3f}.",
        "Time and system CPU differ, by any correction. Of the rest nothing is shown: neither a difference nor that "
        "there is none, for which a test of equivalence would be needed.",
    )


FINDINGS: Final = (pooled_sizes, fewer_resources, two_of_five)
