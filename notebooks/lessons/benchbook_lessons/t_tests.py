"""Lesson 4, t-tests: study tcp's printed samples, its five p-values, and a misprint in one."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from numbers import Real
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from benchbook.analysis.published import load_published_numbers
from benchbook.papers import tcp_samples
from benchbook.plots import style
from benchbook_lessons.feedback import (
    FormError,
    Part,
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
from benchbook_lessons.predictions import Predictions

predict = Predictions
MEASURES: Final = tuple(tcp_samples.MEASURES)
OBJECTS: Final = tuple(tcp_samples.TRIALS)
"""How many objects each of the five trials sent."""

SPREADS: Final = ("the clock", "the machine", "the sizes")
"""What the spread of a sample may come from."""

STATEMENTS: Final = {
    "A": ("With p = 0.47, JSON and XML use the same user CPU.", False),
    "B": (
        (
            "If there were no difference, about 47 % of such tests would give a t at least as far"
            " from 0 as this one, on either side."
        ),
        True,
    ),
    "C": ("The probability that there is no difference is 0.47.", False),
    "D": ("A p of 0.0033 means a larger difference than a p of 0.01.", False),
    "E": ("With five values per side, even a large true difference can give p > 0.05.", True),
}
"""What is said of p-values, and whether it follows."""

_WHERE: Final = {
    "A": (
        "What would p be for two values per side that differ by a factor of two? A large p does not"
        " show that two things are equal."
    ),
    "B": "Read the definition of a p-value in the glossary again, word by word.",
    "C": "p is computed as if there were no difference. Can it say how likely that is?",
    "D": "t has three parts: the difference, the spread and the number of values.",
    "E": "Look at User CPU of JSON: what does the first trial do to the spread?",
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
        figure, axes = plt.subplots(1, len(MEASURES), figsize=(8.4, 2.8), layout="constrained")
        figure.suptitle("Five trials per format: which samples are far apart?")
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


def list_splits(measure: str) -> NDArray[np.float64]:
    """Return XML's mean less JSON's for every split of the ten values into two fives.

    Returns
    -------
    numpy.ndarray
        Shape (252,), in the unit of the measure. The first is the split as it was measured.
    """
    json, xml = load_samples(measure)
    values = np.array([*json, *xml])
    differences = []
    for chosen in combinations(range(len(values)), len(json)):
        taken = values[list(chosen)]
        others = np.delete(values, chosen)
        differences.append(others.mean() - taken.mean())
    return np.array(differences)


def mark_far_splits(differences: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which differences are at least as far from 0 as the first, the measured one."""
    distances = np.abs(differences)
    # Rounding must not separate equal differences.
    far: NDArray[np.bool_] = distances >= distances[0] * (1 - 1e-9)
    return far


def compute_split_share(measure: str) -> float:
    """Return the share of splits whose difference is at least as far from 0 as the measured one."""
    return float(mark_far_splits(list_splits(measure)).mean())


def draw_splits(measures: tuple[str, ...] = ("User CPU", "System CPU")) -> Figure:
    """Draw what the difference of the means would be if the labels JSON and XML meant nothing."""
    with style.use_style():
        figure, panels = plt.subplots(
            1, len(measures), figsize=(8.4, 3.0), sharey=True, layout="constrained"
        )
        for axes, measure in zip(panels, measures, strict=True):
            differences = list_splits(measure)
            is_far = mark_far_splits(differences)
            axes.hist(
                [differences[~is_far], differences[is_far]],
                31,
                stacked=True,
                color=["#c9c9c9", style.VERMILION],
                label=["nearer to 0 than measured", "at least as far from 0"],
            )
            axes.axvline(differences[0], color=style.INK, lw=1.5, label="measured")
            axes.set(
                title=f"{measure}: {is_far.mean():.1%} of the splits are orange",
                xlabel="mean of XML - mean of JSON, percentage points",
            )
        panels[0].set_ylabel("number of splits")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
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
            hint = "The sign is wrong: t is positive when the first mean is larger."
        elif np.isclose(found, stats.ttest_ind(a, b, equal_var=False).statistic):
            hint = "That is Welch's t: it does not pool the variances."
        else:
            hint = "Divide each variance by n - 1 (ddof=1), weigh it by n - 1, then use 1/n + 1/m."
        well = f"{about}: t = {truth:.3f}."
        yield grade(np.isclose(found, truth), well, f"{about}: not {found:.3f}.", hint)

    pairs = (
        ("two samples of five", [5.0, 7, 6, 8, 9], [1.0, 3, 2, 5, 4]),
        ("samples of unequal size", [10.0, 12, 11], [9.0, 14, 10, 13, 12, 11]),
        ("System CPU as it is meant", *load_samples("System CPU")),
    )
    yield from grade_separately(check_case(*pair) for pair in pairs)


def _read_printed(measure: str) -> float:
    """Return the p-value that Table 8 prints, or the bound that it prints in its place."""
    return float(str(load_table_8()[measure]).lstrip("≤ "))


@check(6)
def check_2(p: Any, does_not_agree: Any) -> Iterator[Part]:
    """Check the five p-values, and which of them is not the printed one."""

    def numbers() -> Iterator[Part]:
        given = read_dictionary(p, MEASURES, "its p-value")
        for measure in MEASURES:
            samples = load_samples(measure)
            truth = float(stats.ttest_ind(*samples).pvalue)
            p_welch = float(stats.ttest_ind(*samples, equal_var=False).pvalue)
            welch = "that is Welch's test; the paper used Student's."
            p_paired = float(stats.ttest_rel(*samples).pvalue)
            paired = "that is the paired test; the paper used Student's."
            hints = {
                p_welch / truth: welch,
                p_paired / truth: paired,
                0.5: "two-sided is twice that.",
            }
            hints[_read_printed(measure) / truth] = "that is the printed one: compute it yourself."
            hints[round(truth, 4) / truth] = "do not round it."
            off = "stats.ttest_ind(json, xml).pvalue, of five values per side."
            well = f"{measure}: p = {truth:.2g}."
            yield grade_number(given[measure], truth, measure, well, hints, off)

    yield from grade_separately(
        [numbers()]
    )  # where p is not a dictionary, the other answer is still graded
    well = "does_not_agree: System CPU, the only one of the five."
    off = f"{does_not_agree!r}: round your p-values to the printed digits, and compare again."
    yield grade_choice(does_not_agree, "System CPU", "does_not_agree", MEASURES, well, off)


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
            "how many values are '2,25' in a comma-separated file?",
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
def check_4(smallest: Any, largest: Any, unlike: Any, what: Any) -> Iterator[Part]:
    """Check XML's total time over JSON's by size, the size unlike the others, and the spread."""
    json, xml = load_samples("Total Time")
    ratios = np.divide(xml, json)
    ends = np.exp(stats.ttest_rel(np.log(xml), np.log(json)).confidence_interval(0.99))
    off = "divide each XML time by the JSON time of the same size: xml[0] / json[0], and so on."
    interval = "that is an end of an interval that takes the sizes as repetitions of one ratio."
    given = (("smallest", smallest, min, max), ("largest", largest, max, min))
    for at, (name, value, choose, choose_other) in enumerate(given):
        truth, other = float(choose(ratios)), float(choose_other(ratios))
        hints: dict[float, str] = {
            1 / truth**2: "that is JSON over XML.",
            1 / other / truth: "that is JSON over XML.",
            other / truth: "that is the other end of the five ratios.",
            float(np.log(truth)) / truth: "that is still a logarithm: take exp.",
            float(ends[at]) / truth: interval,
        }
        yield grade_number(value, truth, name, f"{name}: {truth:.1f}.", hints, off, within=0.004)
    distances = np.abs(np.log(ratios) - np.median(np.log(ratios)))
    far = OBJECTS[int(distances.argmax())]
    yield grade_number(
        unlike,
        far,
        "unlike",
        f"unlike: at {far:,} objects the ratio is {ratios[distances.argmax()]:.1f}, elsewhere"
        " about 40.",
        {},
        "write a number of objects: at which size is the ratio far from the other four?",
    )
    well = "what: the authors chose the sizes, and the sizes make the spread."
    off = (
        f"{what!r}: print lesson.load_samples('Total Time') and lesson.OBJECTS. Why do the five"
        " values of one side differ so much?"
    )
    yield grade_choice(what, "the sizes", "what", SPREADS, well, off)


@check(5)
def check_5(follows: Any) -> Iterator[Part]:
    """Check which statements on p-values follow."""
    truth = {name: right for name, (_, right) in STATEMENTS.items()}
    yield from grade_sorting(follows, truth, (True, False), _WHERE)
