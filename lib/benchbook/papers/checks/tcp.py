"""The TCP paper's own numbers: checks in the order of its tables and sentences, and findings."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import add, truediv
from statistics import fmean

import numpy as np

from benchbook.analysis.intervals import CONFIDENCE, adjust_holm
from benchbook.papers import tcp_samples
from benchbook.papers.recomputed import (
    PaperFinding,
    PrintedCheck,
    check_bound,
    check_limit,
    check_number,
    check_order,
    get_number,
    get_values,
    list_values,
)
from benchbook.papers.tcp_samples import (
    FORMATS,
    RESOURCE_TABLES,
    RESOURCES,
    SHARES,
    get_average_time,
    get_objects,
    get_resource,
    get_resources,
    get_tests,
    get_total_time,
    get_total_times,
)

TRIALS = tuple(tcp_samples.TRIALS.values())

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

    def average(*values: float) -> float:
        return fmean(values)

    for format in FORMATS:
        yield check_number(
            number("Table 6", "Scenario 2 Total Time for 100,000 Objects", format),
            lambda milliseconds: milliseconds / 1000,
            get_total_time(5, format),
            says=f"total time for 100,000 objects, {format}, in seconds",
        )
        yield check_number(
            number("Table 6", "Scenario 2 Average Time", format),
            average,
            *(get_average_time(trial, format) for trial in TRIALS),
            says=f"Average Time of scenario 2, {format}: mean of the trials",
        )
        yield check_number(
            number("Table 6", "Scenario 2 Memory", format),
            average,
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


def list_findings() -> Iterator[PaperFinding]:
    """Yield the findings that do not follow."""
    yield _find_pooled_sizes()
    yield _find_fewer_resources()
    yield _find_two_of_five()
    yield _find_system_cpu_p()
    yield _find_system_cpu_36()
    yield _find_minutes()
    yield _find_memory_29()
    yield _find_trials_left_out()
    yield _find_steady_user_cpu()
    yield _find_first_trial()
    yield _find_growing_ratio()
    yield _find_memory_of_before()


def _test_samples(measure: str) -> float:
    """Return the p-value of Student's test of Table 7's samples."""
    json = get_values(number("Table 7", measure, f"JSON {trial}") for trial in TRIALS)
    xml = get_values(number("Table 7", measure, f"XML {trial}") for trial in TRIALS)
    return float(tcp_samples.t_test(json, xml).pvalue)


def _find_pooled_sizes() -> PaperFinding:
    from scipy import stats  # here: it takes half a second

    json, xml = get_total_times("JSON"), get_total_times("XML")
    test = get_tests()["Total Time"]
    spread = np.var(xml, ddof=1) / np.var(json, ddof=1)
    paired = stats.ttest_rel(np.log(xml), np.log(json))
    ratio = np.exp(np.mean(np.log(xml / json)))
    low, high = np.exp(paired.confidence_interval(CONFIDENCE))
    return PaperFinding(
        name="tcp.pooled-sizes",
        title="A t-test over five sizes",
        kind="unsupported",
        source="Section 5.3, Tables 7 and 8",
        as_printed=(
            "The total times of 20,000 to 100,000 objects are one sample a format; p = "
            f"{test['printed']}."
        ),
        recomputed=(
            f"Student's test gives {test['p']:.4f}; without equal variances (XML's is "
            f"{spread:,.0f} times JSON's) Welch's gives {test['p_welch']:.3f}. Paired by size, on "
            f"logarithms, XML takes {ratio:.1f} times as long ({low:.1f} to {high:.1f} "
            f"at {100 * CONFIDENCE:.0f} %), p = {paired.pvalue:.1e}."
        ),
        why=(
            "Its spread is the design's, not the measurement's: with more sizes the same machine "
            "would look less sure. Every trial ran once, so that the paired test has sizes for "
            "repetitions and is no better than that."
        ),
    )


def _find_fewer_resources() -> PaperFinding:
    busy = {}  # seconds of CPU in scenario 1
    user = {}  # shares of scenario 1 and of the trials
    for format in FORMATS:
        shares = [number("Table 2", format, share).value for share in SHARES]
        seconds = number("Table 1", "Total Time", format).value / 1000
        busy[format] = seconds * sum(shares) / 100
        user[format] = np.array([shares[0], *get_resources(format, "User CPU")])
    higher = np.count_nonzero(user["JSON"] > user["XML"])
    return PaperFinding(
        name="tcp.fewer-resources",
        title="Fewer resources",
        kind="unsupported",
        source="Section 7 against Tables 2, 4, 5 and 8",
        as_printed="JSON is faster and uses fewer resources, which refutes the null hypothesis.",
        recomputed=(
            f"User CPU (p = {_test_samples('User CPU'):.2f}) and memory (p = "
            f"{_test_samples('Memory'):.2f}) do not differ; JSON's user CPU is the higher one in "
            f"{higher} of {len(user['JSON'])} runs. Only its system CPU is lower."
        ),
        why=(
            f"Shares hide it: the CPU is busy for {busy['JSON']:.0f} s in JSON and "
            f"{busy['XML']:,.0f} s in XML in scenario 1, {busy['XML'] / busy['JSON']:.0f} times as "
            "long. The conclusion is right for a quantity that is not in the paper."
        ),
    )


def _find_two_of_five() -> PaperFinding:
    p_values = {measure: test["p"] for measure, test in get_tests().items()}
    kept = [measure for measure, p in p_values.items() if p >= 0.05]
    rejected = [p for p in adjust_holm([*p_values.values()]) if p < 0.05]
    return PaperFinding(
        name="tcp.two-of-five",
        title="One null hypothesis, five tests",
        kind="unsupported",
        source="Section 4 against Table 8",
        as_printed="There is significant analysis against equal times and equal use of resources.",
        recomputed=(
            f"Two of five tests do not reject it: {' and '.join(kept)}. Corrected for five tests "
            f"by Holm, {len(rejected)} still do, the weakest with p = {max(rejected):.3f}."
        ),
        why=(
            "Time and system CPU differ, by any correction. Of the rest nothing is shown: neither "
            "a difference nor that there is none, for which a test of equivalence would be needed."
        ),
    )


def _find_system_cpu_p() -> PaperFinding:
    table = tcp_samples.recompute_tests()
    readings = table[table["measure"] == "System CPU"].set_index("reading")
    meant, misread = readings.loc[tcp_samples.AS_MEANT], readings.loc[tcp_samples.AS_PRINTED]
    return PaperFinding(
        name="tcp.system-cpu-p",
        title="A p-value made by three commas",
        kind="misprint",
        source="Table 8 from Table 7",
        as_printed=(
            f"System CPU differs with p = {meant['printed']}; Table 7 prints three of the XML "
            "values with a decimal comma."
        ),
        recomputed=(
            f"With the values meant Student's p is {meant['p']:.1e} (Welch's "
            f"{meant['p_welch']:.1e}). Only the commas read as separators, which makes "
            f"{misread['n_xml']} values of five, give {misread['p']:.4f}."
        ),
        why=(
            "The difference is far surer than printed. It was computed as if the samples had gone "
            "in as text."
        ),
    )


def _find_system_cpu_36() -> PaperFinding:
    user, system = (get_resource(5, "XML", share).value for share in SHARES)
    again = number("Table 7", "System CPU", "XML 5").value
    return PaperFinding(
        name="tcp.system-cpu-36",
        title="More than the whole CPU",
        kind="misprint",
        source="Table 5 against Table 7",
        as_printed=(
            f"XML's system CPU of trial 5 is {system:g} % beside {user:.2f} % of user CPU; Table 7 "
            f"has {again:.2f} %."
        ),
        recomputed=(
            f"The two shares of Table 5 sum to {user + system:.2f} %, with Table 7's value to "
            f"{user + again:.2f} %."
        ),
        why="33.36 is meant. Table 6's range of 32 to 33 % agrees with it too.",
    )


def _find_minutes() -> PaperFinding:
    total = number("Table 1", "Total Time", "XML").value
    overview = number("Table 6", "Scenario 1 Total Time", "XML")
    return PaperFinding(
        name="tcp.minutes",
        title="A hundredth of a minute",
        kind="misprint",
        source="Table 6 from Table 1",
        as_printed=f"XML's total time of scenario 1: {overview.printed}.",
        recomputed=(
            f"{total:,.2f} ms are {total / 60_000:.4f} minutes, which round to "
            f"{total / 60_000:.2f}."
        ),
        why="Cut off, not rounded. It changes nothing, and shows how the overview was made.",
    )


def _find_memory_29() -> PaperFinding:
    memory = number("Table 6", "Scenario 1 Memory", "XML")
    user = number("Table 6", "Scenario 1 User CPU", "XML")
    cut = number("Table 2", "XML", "Memory").value
    rounded = number("Table 2", "XML", "User CPU").value
    low = get_resource(1, "XML", "User CPU").value
    high = get_resource(5, "JSON", "User CPU").value
    return PaperFinding(
        name="tcp.memory-29",
        title="Rounded here, cut off there",
        kind="misprint",
        source="Table 6 from Tables 2, 4 and 5",
        as_printed=f"XML's memory {memory.printed}, its user CPU {user.printed}.",
        recomputed=(
            f"{cut} rounds to {cut:.0f}; {rounded} was rounded up. Of the ranges, {low:.2f} became "
            f"65 and {high:.2f} became 88."
        ),
        why="The overview's whole percents are good to one unit, not to half a one.",
    )


def _find_trials_left_out() -> PaperFinding:
    user, system = (get_resources("JSON", share) for share in SHARES)
    xml = get_resources("XML", "User CPU")
    user_range = number("Table 6", "Scenario 2 User CPU", "JSON from").printed
    system_range = number("Table 6", "Scenario 2 System CPU", "JSON from").printed
    return PaperFinding(
        name="tcp.trials-left-out",
        title="Ranges without the trials that do not fit",
        kind="contradiction",
        source="Table 6 against Table 4",
        as_printed=f"JSON's user CPU lies in {user_range}, its system CPU in {system_range}.",
        recomputed=(
            f"The five trials span {user.min():.2f} to {user.max():.2f} % and {system.min():.2f} "
            f"to {system.max():.2f} %: trial {TRIALS[user.argmin()]} is missing from the one, "
            f"trial {TRIALS[system.argmax()]} from the other."
        ),
        why=(
            "The t-tests keep these trials. Without trial 1, user CPU would differ too (p = "
            f"{tcp_samples.t_test(user[1:], xml[1:]).pvalue:.1g}), JSON's being the higher: "
            "overview and "
            "tests describe different samples."
        ),
    )


def _find_steady_user_cpu() -> PaperFinding:
    first, *larger = get_resources("JSON", "User CPU")
    return PaperFinding(
        name="tcp.steady-user-cpu",
        title="User CPU that does not depend on the number of objects",
        kind="contradiction",
        source="Section 5.3 against Table 4",
        as_printed="Sending fewer JSON objects leaves the user CPU as it is.",
        recomputed=(
            f"At 20,000 objects it is {first:.2f} %, at more {min(larger):.2f} to "
            f"{max(larger):.2f} %."
        ),
        why=(
            "The sentence holds for four of five trials; the smallest number of objects is the "
            "one it is about."
        ),
    )


def _find_first_trial() -> PaperFinding:
    totals = get_total_times("JSON")
    sent = get_values(get_objects(trial, "JSON") for trial in TRIALS)
    million = number("Table 1", "Total Time", "JSON").value
    busy = sum(get_resource(1, "JSON", share).value for share in SHARES)
    one_more = (totals[-1] - totals[1]) / (sent[-1] - sent[1])  # from trial 2 on
    excess = totals[0] - (totals[1] - (sent[1] - sent[0]) * one_more)
    return PaperFinding(
        name="tcp.first-trial",
        title="The first trial is a warm-up",
        kind="unsupported",
        source="Section 5.3; Tables 3 and 4",
        as_printed="A JSON object takes the same time however few are sent.",
        recomputed=(
            f"In trial 1 it takes {totals[0] / sent[0]:.3f} ms, in scenario 1 "
            f"{million / 1_000_000:.3f}. An object more costs {one_more:.4f} ms from trial 2 on; "
            f"trial 1 took {excess:.0f} ms longer than that, and its machine was busy for "
            f"{busy:.2f} % only."
        ),
        why=(
            "A start-up cost of the first trial is averaged into five values and tested as if it "
            "were spread."
        ),
    )


def _find_growing_ratio() -> PaperFinding:
    json, xml = get_total_times("JSON"), get_total_times("XML")
    json_million, xml_million = (number("Table 1", "Total Time", name).value for name in FORMATS)
    # of an object among a million against one among 100,000
    json_growth = json_million / 10 / json[-1] - 1
    xml_growth = xml_million / 10 / xml[-1] - 1
    return PaperFinding(
        name="tcp.growing-ratio",
        title="One study, ratios from 28 to 58",
        kind="not shown",
        source="Tables 1 and 3",
        as_printed="A long run gives the accurate averages, short ones the fine grain.",
        recomputed=(
            f"XML over JSON in time is {list_values(xml / json, '.1f')} in the five trials and "
            f"{xml_million / json_million:.1f} in scenario 1. From 100,000 objects to a million an "
            f"object takes {100 * xml_growth:.0f} % more time in XML and {100 * json_growth:.0f} % "
            "more in JSON."
        ),
        why=(
            "The time of an XML object depends on how many were sent before. The paper prints both "
            "values and gives no reason; neither is the cost of the format."
        ),
    )


def _find_memory_of_before() -> PaperFinding:
    million = number("Table 2", "JSON", "Memory").value
    tenth = get_resource(5, "JSON", "Memory").value
    return PaperFinding(
        name="tcp.memory-of-before",
        title="Memory of whatever ran before",
        kind="implausible",
        source="Tables 2, 4 and 5",
        as_printed="Memory is compared between the formats, being about alike.",
        recomputed=(
            f"A million JSON objects take {million:.2f} % of the memory, a tenth of them "
            f"{tenth:.2f} %, and all ten trials of scenario 2 lie within one percentage point."
        ),
        why=(
            "The share is the machine's, caches and all. It says what had run before, as the paper "
            "notes itself; no difference between the formats can come out of it."
        ),
    )
