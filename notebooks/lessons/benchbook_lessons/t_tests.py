"""Lesson 4, t-tests: study tcp's printed samples, its five p-values, and a misprint in one."""

from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from benchbook.analysis.published import load_published_numbers
from benchbook.papers import tcp_samples
from benchbook.plots import style
from benchbook.plots.points import iterate_rows
from benchbook_lessons.feedback import (
    FormError,
    Part,
    Predictions,
    call_function,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_separately,
    grade_sorting,
    read_dictionary,
    read_number,
)

predict = Predictions
MEASURES: Final = tuple(tcp_samples.MEASURES)
OBJECTS: Final = tuple(tcp_samples.TRIALS)
"""How many objects each of the five trials sent."""

STATEMENTS: Final = {
    "A": ("With p = 0.47, JSON and XML use the same user CPU.", False),
    "B": (
        (
            "If there were no difference, a t as large as this or larger would come up in about 47"
            " % of such tests."
        ),
        True,
    ),
    "C": ("The probability that there is no difference is 0.47.", False),
    "D": ("A p of 0.0033 means a larger difference than one of 0.01.", False),
    "E": ("With five values a side, a large true difference may well give p > 0.05.", True),
}
"""What is said of p-values, and whether it follows."""

_WHERE: Final = {
    "A": (
        "what would p be for two values a side that differ by a factor of two? Absence of evidence"
        " is something else."
    ),
    "B": "read the definition of a p-value in the glossary again, word by word.",
    "C": "is p computed by taking 'no difference' for granted, or does it say how likely that is?",
    "D": "t has three ingredients: the difference, the spread and the number of values.",
    "E": "look at User CPU of JSON: what does the first trial do to the spread?",
}


def load_printed(measure: str) -> pd.DataFrame:
    """Return a measure's samples of Table 7 as printed texts, one row per trial."""
    table = load_published_numbers("tcp").query(
        "source == 'Table 7' and row == @measure", local_dict={"measure": measure}
    )
    columns = {
        format: [
            table.loc[table["column"] == f"{format} {trial}", "printed"].item()
            for trial in range(1, 6)
        ]
        for format in ("JSON", "XML")
    }
    return pd.DataFrame(columns, index=pd.Index(OBJECTS, name="objects"))


def load_samples(measure: str) -> tuple[list[float], list[float]]:
    """Return the JSON and the XML values of a measure as they are meant, five each."""
    found = load_printed(measure)
    json, xml = (
        [float(text.replace(",", ".")) for text in found[name]] for name in ("JSON", "XML")
    )
    return json, xml


def load_table_8() -> "pd.Series[Any]":
    """Return the p-values that Table 8 prints, as texts."""
    table = load_published_numbers("tcp").query("source == 'Table 8' and column == 'p'")
    return table.set_index("row")["printed"].rename("p, printed")


def draw_samples() -> Figure:
    """Draw the two samples of each measure of Table 7."""
    with style.use_style():
        figure, axes = plt.subplots(1, len(MEASURES), figsize=(8.4, 2.6), layout="constrained")
        for panel, measure in zip(axes, MEASURES, strict=True):
            for at, (name, values) in enumerate(
                zip(("JSON", "XML"), load_samples(measure), strict=True)
            ):
                look = style.get_series_style(name)
                panel.plot([at] * 5, values, look.marker, color=look.colour, ms=5, alpha=0.7)
            panel.set(title=measure, xticks=[0, 1], xticklabels=["JSON", "XML"], xlim=(-0.5, 1.5))
            panel.set_ylabel({"Total Time": "ms", "Average Time": "ms"}.get(measure, "%"))
    plt.close(figure)
    return figure


@check(3)
def check_1(t: Any) -> Iterator[Part]:
    """Check a function that computes Student's t with pooled variance."""

    def check_case(about: str, a: list[float], b: list[float]) -> Iterator[Part]:
        truth, found = (
            stats.ttest_ind(a, b).statistic,
            read_number(call_function(t, a, b), "t(a, b)"),
        )
        if np.isclose(found, -truth):
            hint = "the sign is the other way round: positive when the first mean is larger."
        elif np.isclose(found, stats.ttest_ind(a, b, equal_var=False).statistic):
            hint = "that is Welch's: it does not pool the variances."
        else:
            hint = (
                "the variances divide by n - 1; pooled they are weighted by n - 1; then come 1/n of"
                " both sides."
            )
        yield grade(
            np.isclose(found, truth),
            f"{about}: t = {truth:.3f}.",
            f"{about}: {found:.3f}, and {hint}",
        )

    pairs = (
        ("two samples of five", [5.0, 7, 6, 8, 9], [1.0, 3, 2, 5, 4]),
        ("samples of unequal size", [10.0, 12, 11], [9.0, 14, 10, 13, 12, 11]),
        ("System CPU as it is meant", *load_samples("System CPU")),
    )
    yield from grade_separately(check_case(*pair) for pair in pairs)


@check(6)
def check_2(p: Any, does_not_agree: Any) -> Iterator[Part]:
    """Check the five p-values, and which of them is not the printed one."""
    meant = tcp_samples.recompute_tests().query(
        "reading != @reading", local_dict={"reading": tcp_samples.AS_PRINTED}
    )

    def numbers() -> Iterator[Part]:
        given = read_dictionary(p, MEASURES, "its p-value")
        for row in iterate_rows(meant):
            welch = "that is Welch's test; the paper made Student's."
            hints = {row.p_welch / row.p: welch, 0.5: "two-sided is twice that."}
            off = "stats.ttest_ind(json, xml).pvalue of the five values a side."
            yield grade_number(
                given[row.measure],
                row.p,
                row.measure,
                f"{row.measure}: p = {row.p:.2g}.",
                hints,
                off,
            )

    yield from grade_separately(
        [numbers()]
    )  # where p is not a dictionary, the other answer is still graded
    well = "one of five does not agree: System CPU."
    off = f"{does_not_agree!r}: round your p-values as far as the printed ones, and compare again."
    yield grade_choice(does_not_agree, "System CPU", "does_not_agree", well, off)


def _read_numbers(read: Any, texts: list[str]) -> list[float]:
    """Return the numbers that a student's function reads; raises `FormError` for anything else."""
    found = call_function(read, texts)
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise FormError(f"return a list of numbers: {found!r} came back.")
    values = list(found)
    for value in values:
        if not isinstance(value, Real):
            kind = {"str": "a text", "list": "a list"}.get(
                type(value).__name__, f"a {type(value).__name__}"
            )
            raise FormError(
                f"of {texts} it returns {values}: {value!r} is {kind}, and should be a number."
            )
    return [float(value) for value in values]


@check(3)
def check_3(read: Any) -> Iterator[Part]:
    """Check a function that reads printed texts and takes each comma as the end of a number."""

    def three() -> Iterator[Part]:
        found, asked = (
            _read_numbers(read, ["1.5", "2,25", "3"]),
            "how many values does a comma-separated file have at '2,25'?",
        )
        off = f"of '1.5', '2,25' and '3' it returns {found}: {asked}"
        yield grade(found == [1.5, 2.0, 25.0, 3.0], "'2,25' becomes two values.", off)

    def printed_ones() -> Iterator[Part]:
        xml = _read_numbers(read, list(load_printed("System CPU")["XML"]))
        off = f"XML's five trials become {len(xml)} values."
        yield grade(len(xml) == 8, "XML's five trials become eight values.", off)
        p, wanted = (
            stats.ttest_ind(load_samples("System CPU")[0], xml).pvalue,
            float(load_table_8()["System CPU"]),
        )
        off = f"p is then {p:.2g}, and {wanted} is printed."
        yield grade(round(p, 4) == wanted, f"p = {p:.4f}: the printed one.", off)

    yield from grade_separately((three(), printed_ones()))


@check(4)
def check_4(ratio: Any, low: Any, high: Any, what: Any) -> Iterator[Part]:
    """Check XML's total time over JSON's by size, its interval, and the source of the spread."""
    json, xml = load_samples("Total Time")
    logs = np.log(xml), np.log(json)
    test, welch = stats.ttest_rel(*logs), stats.ttest_ind(*logs, equal_var=False)
    paired, unpaired = (np.exp(one.confidence_interval(0.99)) for one in (test, welch))
    narrow = np.exp(test.confidence_interval(0.95))
    truth = float(stats.gmean(xml) / stats.gmean(json))
    plain = float(np.mean(xml) / np.mean(json)) / truth
    hints: dict[float, str] = {
        1 / truth**2: "that is JSON over XML.",
        plain: "that is the ratio of the arithmetic means: the largest size rules it.",
    }
    off = (
        "stats.ttest_rel of the logarithms, trial by trial: each sent the same number of objects;"
        " then np.exp."
    )
    yield grade_number(ratio, truth, "ratio", f"ratio: {truth:.1f}.", hints, off, within=0.002)
    for at, (name, given) in enumerate((("low", low), ("high", high))):
        end = paired[at]
        hints = {
            unpaired[at] / end: "that is of unpaired samples: what belongs together here?",
            narrow[at] / end: "that is of a 95 % interval; a 99 % one is wanted.",
        }
        yield grade_number(given, end, name, f"{name}: {end:.1f}.", hints, off, within=0.005)
    says = (
        "the spread in that test is mostly the sizes that the authors chose, not an error of"
        " measurement."
    )
    off = (
        f"{what!r}: print samples('Total Time') beside OBJECTS. Why do the five values of one side"
        " differ so much?"
    )
    yield grade_choice(what, "the sizes", "what", says, off)


@check(5)
def check_5(follows: Any) -> Iterator[Part]:
    """Check which statements on p-values follow."""
    truth = {name: right for name, (_, right) in STATEMENTS.items()}
    yield from grade_sorting(follows, truth, (True, False), _WHERE)
