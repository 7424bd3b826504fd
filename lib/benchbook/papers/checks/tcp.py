"""Checks on the TCP paper's own numbers, and the numbers of its findings.

Its runs are ``scenario 1``, of a million objects, and ``trial 1`` to ``trial 5`` of scenario 2:
`get_printed` returns a number of one.
"""

from collections.abc import Hashable, Iterator
from functools import partial
from itertools import pairwise, product
from operator import add, truediv
from statistics import fmean
from typing import Any

import numpy as np

from benchbook.analysis.intervals import CONFIDENCE, adjust_holm
from benchbook.analysis.published import PublishedNumber
from benchbook.papers import tcp_samples
from benchbook.papers.printed_checks import (
    FindingNumbers,
    PrintedCheck,
    Values,
    check_bound,
    check_limit,
    check_number,
    check_order,
    get_number,
    get_values,
)
from benchbook.papers.tcp_samples import FORMATS, MEASURES, MILLION, RESOURCE_TABLES

SCENARIO_1 = "scenario 1"
TRIALS = tuple(f"trial {trial}" for trial in tcp_samples.TRIALS.values())
SHARES = ("User CPU", "System CPU")
RESOURCES = (*SHARES, "Memory")

number = partial(get_number, "tcp")


def get_printed(run: str, format: str, measure: str) -> PublishedNumber:
    """Return a run's number of objects, its total or average time in ms, or a share in percent."""
    trial = run.capitalize()
    if measure not in RESOURCES:
        if run == SCENARIO_1:
            return number("Table 1", measure, format)
        return number("Table 3", f"{trial} {measure}", format)
    if run == SCENARIO_1:
        return number("Table 2", format, measure)
    return number(RESOURCE_TABLES[format], trial, measure)


def get_trials(format: str, measure: str) -> Values:
    """Return the values of the five trials."""
    return get_values(get_printed(trial, format, measure) for trial in TRIALS)


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks, in the order of the paper's tables, then of its sentences."""
    yield from _check_objects()
    yield from _check_average_times()
    yield from _check_shares_together()
    yield from _check_samples()
    yield from _check_p_values()
    yield from _check_sentences()
    yield from _check_trials()
    yield from _check_overview_of_scenario_1()
    yield from _check_overview_of_scenario_2()


def _check_objects() -> Iterator[PrintedCheck]:
    """Check the numbers of objects against the design of Section 4.4."""
    for trial, format in product(TRIALS, FORMATS):
        yield check_number(
            get_printed(trial, format, "Number Of Objects"),
            float,
            number("Section 4.4", "Scenario 2", f"{trial.capitalize()} objects"),
            says=f"objects of {trial}, {format}",
        )
    for format in FORMATS:
        yield check_number(
            get_printed(SCENARIO_1, format, "Number Of Objects"),
            float,
            number("Section 4.4", "Scenario 1", "objects"),
            says=f"objects of scenario 1, {format}",
        )
    for fewer, more in pairwise(trial.capitalize() for trial in TRIALS):
        yield check_number(
            number("Section 4.4", "Scenario 2", f"{more} objects"),
            add,
            number("Section 4.4", "Scenario 2", f"{fewer} objects"),
            number("Section 4.4", "Scenario 2", "Trial 1 objects"),
            says=f"{fewer} objects and a step more",
        )


def _check_average_times() -> Iterator[PrintedCheck]:
    """Check that average times are total times over objects."""
    for run, format in product((SCENARIO_1, *TRIALS), FORMATS):
        yield check_number(
            get_printed(run, format, "Average Time"),
            truediv,
            get_printed(run, format, "Total Time"),
            get_printed(run, format, "Number Of Objects"),
            says=f"average time of {run}, {format}: total time over objects",
        )


def _check_shares_together() -> Iterator[PrintedCheck]:
    """Check that user and system CPU are at most the whole CPU."""
    for format, run in (*product(FORMATS, (SCENARIO_1,)), *product(FORMATS, TRIALS)):
        user, system = (get_printed(run, format, share) for share in SHARES)
        says = f"user and system CPU together, {run}, {format}, in percent"
        yield check_limit(100, add, user, system, says=says)


def _check_samples() -> Iterator[PrintedCheck]:
    """Check that the samples of the t-tests are what the tables before have."""
    for measure, format, trial in product(MEASURES, FORMATS, TRIALS):
        sample = number("Table 7", measure, trial.replace("trial", format))
        again = get_printed(trial, format, measure)
        yield check_number(sample, float, again, says=f"{measure}, {trial}, {format}")


def _check_p_values() -> Iterator[PrintedCheck]:
    """Check the p-values of Table 8, and which of them are called significant."""
    alpha = number("Table 8", "level of significance", "alpha")
    for measure, test in get_tests().items():
        claim = number("Table 8", measure, "p")
        yield PrintedCheck(
            study="tcp",
            kind="bound" if claim.printed.startswith("≤") else "number",
            says=f"p of {measure}, Student's test of Table 7",
            where="Table 8",
            of="Table 7",
            printed=claim.printed,
            recomputed=test["p"],
            tolerance=claim.rounding,
            agrees=test["agrees"],
            key=claim.key,
        )
        significant = measure in ("Total Time", "Average Time", "System CPU")
        yield PrintedCheck(
            study="tcp",
            kind="bound",
            says=f"{measure} is {'' if significant else 'not '}called significant",
            where="Section 5.3",
            of="Table 7",
            printed=f"{'below' if significant else 'above'} {alpha.printed}",
            recomputed=test["p"],
            tolerance=0.0,
            agrees=(test["p"] < alpha.value) == significant,
        )


def _check_sentences() -> Iterator[PrintedCheck]:
    """Check what Sections 5 and 7 say of JSON against XML."""
    for run in (*TRIALS, SCENARIO_1):
        json, xml = (get_printed(run, format, "Total Time") for format in FORMATS)
        says = f"JSON's total time below XML's, {run}"
        yield check_order("Section 5.3", json, xml, says=says)
    for run in (*TRIALS, SCENARIO_1):
        json, xml = (get_printed(run, format, "User CPU") for format in FORMATS)
        where = "Section 5.3" if run == SCENARIO_1 else "Section 5.2"
        yield check_order(where, xml, json, says=f"XML's user CPU below JSON's, {run}")
    for measure, run in (*product(RESOURCES, (SCENARIO_1,)), *product(RESOURCES, TRIALS)):
        json, xml = (get_printed(run, format, measure) for format in FORMATS)
        yield check_order("Section 7", json, xml, says=f"JSON's {measure} below XML's, {run}")


def _check_trials() -> Iterator[PrintedCheck]:
    """Check what Section 5.3 says of the trials."""
    for trial in TRIALS:
        of_trial, of_scenario = (
            get_printed(run, "XML", "Average Time") for run in (trial, SCENARIO_1)
        )
        says = f"XML's average time of {trial} below scenario 1's"
        yield check_order("Section 5.3", of_trial, of_scenario, says=says)
    for trial in TRIALS:
        of_trial, of_scenario = (
            get_printed(run, "JSON", "Average Time") for run in (trial, SCENARIO_1)
        )
        says = f"JSON's average time of {trial} as in scenario 1"
        yield check_number(of_trial, float, of_scenario, says=says)

    first, *larger = (get_printed(trial, "JSON", "User CPU") for trial in TRIALS)
    says = "JSON's user CPU of trial 1 not below that of the larger trials"
    yield check_bound(first, "below", min, *larger, says=says)


def _check_overview_of_scenario_1() -> Iterator[PrintedCheck]:
    """Check the part of Table 6 on scenario 1."""
    for format, unit, convert in (
        ("JSON", "seconds", lambda milliseconds: milliseconds / 1000),
        ("XML", "minutes", lambda milliseconds: milliseconds / 60_000),
    ):
        yield check_number(
            number("Table 6", "Scenario 1 Total Time", format),
            convert,
            get_printed(SCENARIO_1, format, "Total Time"),
            says=f"total time of scenario 1, {format}, in {unit}",
        )
    for format in FORMATS:
        yield check_number(
            number("Table 6", "Scenario 1 Average Time", format),
            float,
            get_printed(SCENARIO_1, format, "Average Time"),
            says=f"average time of scenario 1, {format}",
        )
    for measure, format in product(RESOURCES, FORMATS):
        yield check_number(
            number("Table 6", f"Scenario 1 {measure}", format),
            float,
            get_printed(SCENARIO_1, format, measure),
            says=f"{measure} of scenario 1, {format}, in whole percent",
        )


def _check_overview_of_scenario_2() -> Iterator[PrintedCheck]:
    """Check the part of Table 6 on scenario 2."""
    for format in FORMATS:
        yield check_number(
            number("Table 6", "Scenario 2 Total Time for 100,000 Objects", format),
            lambda milliseconds: milliseconds / 1000,
            get_printed(TRIALS[-1], format, "Total Time"),
            says=f"total time for 100,000 objects, {format}, in seconds",
        )
        for measure in ("Average Time", "Memory"):
            yield check_number(
                number("Table 6", f"Scenario 2 {measure}", format),
                lambda *values: fmean(values),
                *(get_printed(trial, format, measure) for trial in TRIALS),
                says=f"{measure} of scenario 2, {format}: mean of the trials",
            )
    for measure, format in product(SHARES, FORMATS):
        of_trials = [get_printed(trial, format, measure) for trial in TRIALS]
        row = f"Scenario 2 {measure}"
        says = f"smallest {measure} of scenario 2, {format}, in whole percent"
        yield check_number(number("Table 6", row, f"{format} from"), min, *of_trials, says=says)
        says = f"largest {measure} of scenario 2, {format}, in whole percent"
        yield check_number(number("Table 6", row, f"{format} to"), max, *of_trials, says=says)


def get_tests() -> dict[str, dict[Hashable, Any]]:
    """Return Table 8's tests of the values that Table 7 means, by measure."""
    table = tcp_samples.recompute_tests()
    meant = table[table["reading"] == tcp_samples.AS_MEANT]
    return {str(row["measure"]): row for row in meant.to_dict("records")}


def compute_findings() -> FindingNumbers:
    """Return the numbers of each finding in ``data/findings/tcp.yaml``."""
    return _compute_tests() | _compute_shares() | _compute_overview() | _compute_growth()


def _compute_tests() -> FindingNumbers:
    """Return the results of further tests of the samples of Table 7."""
    from scipy import stats  # here: it takes half a second

    tests = get_tests()
    alpha = number("Table 8", "level of significance", "alpha").value
    p_values = {measure: test["p"] for measure, test in tests.items()}
    alike = [measure for measure, p in p_values.items() if p >= alpha]
    corrected = [p for p in adjust_holm([*p_values.values()]) if p < alpha]

    readings = tcp_samples.recompute_tests().set_index(["measure", "reading"])
    json, xml = (get_trials(format, "Total Time") for format in FORMATS)
    paired = stats.ttest_rel(np.log(xml), np.log(json))
    low, high = np.exp(paired.confidence_interval(CONFIDENCE))
    return {
        "tcp.pooled-sizes": {
            "test": tests["Total Time"],
            "spread": np.var(xml, ddof=1) / np.var(json, ddof=1),
            "ratio": np.exp(np.mean(np.log(xml / json))),
            "low": low,
            "high": high,
            "confidence": 100 * CONFIDENCE,
            "paired_p": paired.pvalue,
        },
        "tcp.two-of-five": {
            "tests": len(tests),
            "kept": len(alike),
            "alike": alike,
            "corrected": len(corrected),
            "weakest": max(corrected),
        },
        "tcp.system-cpu-p": {
            "meant": tests["System CPU"],
            "misread": readings.loc["System CPU", tcp_samples.AS_PRINTED],
        },
    }


def _compute_shares() -> FindingNumbers:
    """Return seconds of CPU, and shares of CPU and memory."""
    tests = get_tests()
    # Seconds of CPU in scenario 1.
    busy = {}
    for format in FORMATS:
        percent = sum(get_printed(SCENARIO_1, format, share).value for share in SHARES)
        seconds = get_printed(SCENARIO_1, format, "Total Time").value / 1000
        busy[format] = seconds * percent / 100
    runs = (SCENARIO_1, *TRIALS)
    json, xml = (
        get_values(get_printed(run, format, "User CPU") for run in runs) for format in FORMATS
    )
    memory = np.concatenate([get_trials(format, "Memory") for format in FORMATS])

    user, system = (get_printed("trial 5", "XML", share).value for share in SHARES)
    again = number("Table 7", "System CPU", "XML 5").value
    return {
        "tcp.fewer-resources": {
            "user_p": tests["User CPU"]["p"],
            "memory_p": tests["Memory"]["p"],
            "higher": np.count_nonzero(json > xml),
            "runs": len(runs),
            "json_busy": busy["JSON"],
            "xml_busy": busy["XML"],
            "ratio": busy["XML"] / busy["JSON"],
        },
        "tcp.system-cpu-36": {
            "user": user,
            "system": system,
            "again": again,
            "together": user + system,
            "together_again": user + again,
        },
        "tcp.memory-of-before": {
            "million": get_printed(SCENARIO_1, "JSON", "Memory").value,
            "tenth": get_printed("trial 5", "JSON", "Memory").value,
            "trials": memory.size,
            "span": np.ptp(memory),
        },
    }


def _compute_overview() -> FindingNumbers:
    """Return how Table 6 sums up the tables before it."""
    total = get_printed(SCENARIO_1, "XML", "Total Time").value
    user, system = (get_trials("JSON", share) for share in SHARES)
    xml_user = get_trials("XML", "User CPU")
    without_first = tcp_samples.t_test(user[1:], xml_user[1:])
    return {
        "tcp.minutes": {
            "printed": number("Table 6", "Scenario 1 Total Time", "XML").printed,
            "total": total,
            "minutes": total / 60_000,
        },
        "tcp.memory-29": {
            "memory": number("Table 6", "Scenario 1 Memory", "XML").printed,
            "user": number("Table 6", "Scenario 1 User CPU", "XML").printed,
            "cut": get_printed(SCENARIO_1, "XML", "Memory").value,
            "rounded": get_printed(SCENARIO_1, "XML", "User CPU").value,
            "low": xml_user[0],
            "low_printed": number("Table 6", "Scenario 2 User CPU", "XML from").value,
            "high": user[-1],
            "high_printed": number("Table 6", "Scenario 2 User CPU", "JSON to").value,
        },
        "tcp.trials-left-out": {
            "user_range": number("Table 6", "Scenario 2 User CPU", "JSON from").printed,
            "system_range": number("Table 6", "Scenario 2 System CPU", "JSON from").printed,
            "user": [user.min(), user.max()],
            "system": [system.min(), system.max()],
            "user_trial": TRIALS[user.argmin()],
            "system_trial": TRIALS[system.argmax()],
            "p": without_first.pvalue,
        },
        "tcp.steady-user-cpu": {"first": user[0], "low": min(user[1:]), "high": max(user[1:])},
    }


def _compute_growth() -> FindingNumbers:
    """Return how times grow with the number of objects."""
    json, xml = (get_trials(format, "Total Time") for format in FORMATS)
    json_million, xml_million = (
        get_printed(SCENARIO_1, format, "Total Time").value for format in FORMATS
    )
    # What an object more takes from trial 2 on, and how much longer trial 1 took than that.
    sent = get_trials("JSON", "Number Of Objects")
    one_more = (json[-1] - json[1]) / (sent[-1] - sent[1])
    excess = json[0] - (json[1] - (sent[1] - sent[0]) * one_more)
    return {
        "tcp.first-trial": {
            "first": json[0] / sent[0],
            "million": json_million / MILLION,
            "one_more": one_more,
            "excess": excess,
            "busy": sum(get_printed("trial 1", "JSON", share).value for share in SHARES),
        },
        "tcp.growing-ratio": {
            "ratios": xml / json,
            "million": xml_million / json_million,
            # Of an object among a million, against one among 100,000.
            "xml_growth": 100 * (xml_million / 10 / xml[-1] - 1),
            "json_growth": 100 * (json_million / 10 / json[-1] - 1),
        },
    }
