"""Checks of the TCP paper's own numbers, in the order of its tables and sentences.

Its findings are in `benchbook.papers.checks.tcp_findings`.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import add, truediv
from statistics import fmean

from benchbook.papers import printed_tests
from benchbook.papers.checks.tcp_findings import list_findings
from benchbook.papers.printed_tests import (
    FORMATS,
    RESOURCE_TABLES,
    RESOURCES,
    SHARES,
    get_average_time,
    get_objects,
    get_resource,
    get_tests,
    get_total_time,
)
from benchbook.papers.recomputed import (
    PrintedCheck,
    check_bound,
    check_limit,
    check_number,
    check_order,
    get_number,
)

__all__ = ["list_checks", "list_findings"]

TRIALS = tuple(printed_tests.TRIALS.values())

number = partial(get_number, "tcp")


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
            get_objects(trial, format),
            float,
            number("Section 4.4", "Scenario 2", f"Trial {trial} objects"),
            says=f"objects of trial {trial}, {format}",
        )
    for format in FORMATS:
        yield check_number(
            number("Table 1", "Number Of Objects", format),
            float,
            number("Section 4.4", "Scenario 1", "objects"),
            says=f"objects of scenario 1, {format}",
        )
    for trial in TRIALS[:-1]:
        yield check_number(
            number("Section 4.4", "Scenario 2", f"Trial {trial + 1} objects"),
            add,
            number("Section 4.4", "Scenario 2", f"Trial {trial} objects"),
            number("Section 4.4", "Scenario 2", "Trial 1 objects"),
            says=f"Trial {trial} objects and a step more",
        )


def _check_average_times() -> Iterator[PrintedCheck]:
    """Check that average times are total times over objects."""
    for format in FORMATS:
        yield check_number(
            number("Table 1", "Average Time", format),
            truediv,
            number("Table 1", "Total Time", format),
            number("Table 1", "Number Of Objects", format),
            says=f"average time of scenario 1, {format}: total time over objects",
        )
    for trial, format in product(TRIALS, FORMATS):
        yield check_number(
            get_average_time(trial, format),
            truediv,
            get_total_time(trial, format),
            get_objects(trial, format),
            says=f"average time of trial {trial}, {format}: total time over objects",
        )


def _check_shares_together() -> Iterator[PrintedCheck]:
    """Check that user and system CPU are at most the whole CPU."""
    for format in FORMATS:
        user, system = (number("Table 2", format, share) for share in SHARES)
        says = f"user and system CPU together, scenario 1, {format}, in percent"
        yield check_limit("Table 2", 100, add, user, system, says=says)
    for format, trial in product(FORMATS, TRIALS):
        user, system = (get_resource(trial, format, share) for share in SHARES)
        says = f"user and system CPU together, trial {trial}, {format}, in percent"
        yield check_limit(RESOURCE_TABLES[format], 100, add, user, system, says=says)


def _check_samples() -> Iterator[PrintedCheck]:
    """Check that the samples of the t-tests are what the tables before have."""
    for format, trial in product(FORMATS, TRIALS):
        sample = number("Table 7", "Total Time", f"{format} {trial}")
        again = get_total_time(trial, format)
        yield check_number(sample, float, again, says=f"Total Time, trial {trial}, {format}")
    for format, trial in product(FORMATS, TRIALS):
        sample = number("Table 7", "Average Time", f"{format} {trial}")
        again = get_average_time(trial, format)
        yield check_number(sample, float, again, says=f"Average Time, trial {trial}, {format}")
    for measure, format, trial in product(RESOURCES, FORMATS, TRIALS):
        sample = number("Table 7", measure, f"{format} {trial}")
        again = get_resource(trial, format, measure)
        yield check_number(sample, float, again, says=f"{measure}, trial {trial}, {format}")


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
    for trial in TRIALS:
        json, xml = (get_total_time(trial, format) for format in FORMATS)
        says = f"JSON's total time below XML's, trial {trial}"
        yield check_order("Section 5.3", truediv, json, xml, says=says)
    json, xml = (number("Table 1", "Total Time", format) for format in FORMATS)
    yield check_order(
        "Section 5.3", truediv, json, xml, says="JSON's total time below XML's, scenario 1"
    )

    for trial in TRIALS:
        json, xml = (get_resource(trial, format, "User CPU") for format in FORMATS)
        says = f"XML's user CPU below JSON's, trial {trial}"
        yield check_order("Section 5.2", truediv, xml, json, says=says)
    json, xml = (number("Table 2", format, "User CPU") for format in FORMATS)
    yield check_order(
        "Section 5.3", truediv, xml, json, says="XML's user CPU below JSON's, scenario 1"
    )

    for measure in RESOURCES:
        json, xml = (number("Table 2", format, measure) for format in FORMATS)
        says = f"JSON's {measure} below XML's, scenario 1"
        yield check_order("Section 7", truediv, json, xml, says=says)
    for measure, trial in product(RESOURCES, TRIALS):
        json, xml = (get_resource(trial, format, measure) for format in FORMATS)
        says = f"JSON's {measure} below XML's, trial {trial}"
        yield check_order("Section 7", truediv, json, xml, says=says)


def _check_trials() -> Iterator[PrintedCheck]:
    """Check what Section 5.3 says of the trials."""
    for trial in TRIALS:
        of_scenario = number("Table 1", "Average Time", "XML")
        says = f"XML's average time of trial {trial} below scenario 1's"
        yield check_order(
            "Section 5.3", truediv, get_average_time(trial, "XML"), of_scenario, says=says
        )
    for trial in TRIALS:
        of_scenario = number("Table 1", "Average Time", "JSON")
        says = f"JSON's average time of trial {trial} as in scenario 1"
        yield check_number(get_average_time(trial, "JSON"), float, of_scenario, says=says)

    larger = [get_resource(trial, "JSON", "User CPU") for trial in TRIALS[1:]]
    says = "JSON's user CPU of trial 1 not below that of the larger trials"
    yield check_bound(get_resource(1, "JSON", "User CPU"), "below", min, *larger, says=says)


def _check_overview_of_scenario_1() -> Iterator[PrintedCheck]:
    """Check the numbers of scenario 1 in the overview of Table 6."""
    yield check_number(
        number("Table 6", "Scenario 1 Total Time", "JSON"),
        lambda milliseconds: milliseconds / 1000,
        number("Table 1", "Total Time", "JSON"),
        says="total time of scenario 1, JSON, in seconds",
    )
    yield check_number(
        number("Table 6", "Scenario 1 Total Time", "XML"),
        lambda milliseconds: milliseconds / 60_000,
        number("Table 1", "Total Time", "XML"),
        says="total time of scenario 1, XML, in minutes",
    )
    for format in FORMATS:
        yield check_number(
            number("Table 6", "Scenario 1 Average Time", format),
            float,
            number("Table 1", "Average Time", format),
            says=f"average time of scenario 1, {format}",
        )
    for measure, format in product(RESOURCES, FORMATS):
        yield check_number(
            number("Table 6", f"Scenario 1 {measure}", format),
            float,
            number("Table 2", format, measure),
            says=f"{measure} of scenario 1, {format}, in whole percent",
        )


def _check_overview_of_scenario_2() -> Iterator[PrintedCheck]:
    """Check the numbers of scenario 2 in the overview of Table 6."""
    for format in FORMATS:
        yield check_number(
            number("Table 6", "Scenario 2 Total Time for 100,000 Objects", format),
            lambda milliseconds: milliseconds / 1000,
            get_total_time(5, format),
            says=f"total time for 100,000 objects, {format}, in seconds",
        )
        yield check_number(
            number("Table 6", "Scenario 2 Average Time", format),
            _compute_mean,
            *(get_average_time(trial, format) for trial in TRIALS),
            says=f"Average Time of scenario 2, {format}: mean of the trials",
        )
        yield check_number(
            number("Table 6", "Scenario 2 Memory", format),
            _compute_mean,
            *(get_resource(trial, format, "Memory") for trial in TRIALS),
            says=f"Memory of scenario 2, {format}: mean of the trials",
        )
    for measure, format in product(SHARES, FORMATS):
        of_trials = [get_resource(trial, format, measure) for trial in TRIALS]
        row = f"Scenario 2 {measure}"
        says = f"smallest {measure} of scenario 2, {format}, in whole percent"
        yield check_number(number("Table 6", row, f"{format} from"), min, *of_trials, says=says)
        says = f"largest {measure} of scenario 2, {format}, in whole percent"
        yield check_number(number("Table 6", row, f"{format} to"), max, *of_trials, says=says)


def _compute_mean(*values: float) -> float:
    return fmean(values)
