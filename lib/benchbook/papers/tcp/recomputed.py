"""`tcp` recomputed: averages, sums, samples, overview and t-tests; trials left out, conclusions that no test bears."""

from collections.abc import Hashable
from itertools import pairwise, product
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchbook import stats
from benchbook.evidence.published import Number
from benchbook.papers.recomputed import Check, Checks, Compute, Paper, Texts, bound, follows, less, limit, listed, same
from benchbook.papers.tcp import students

paper: Final = Paper("tcp")
SCENARIO_1: Final = "scenario 1"
TRIALS: Final = tuple(f"trial {one}" for one in range(1, 6))
"""The runs of scenario 2."""

FORMATS: Final = ("JSON", "XML")
SHARES: Final = ("User CPU", "System CPU")
RESOURCES: Final = (*SHARES, "Memory")


def of_run(run: str, measure: str, format: str) -> Number:
    """Return what Tables 1 to 5 print of a run."""
    row = run.capitalize()
    if run == SCENARIO_1:
        return paper("Table 2", format, measure) if measure in RESOURCES else paper("Table 1", measure, format)
    if measure in RESOURCES:
        return paper("Table 4" if format == "JSON" else "Table 5", row, measure)
    return paper("Table 3", f"{row} {measure}", format)


def both(run: str, measure: str) -> list[Number]:
    """Return what is printed of JSON and of XML in a run."""
    return [of_run(run, measure, format) for format in FORMATS]


def of_trials(measure: str, format: str) -> NDArray[np.float64]:
    """Return the values of the five trials."""
    return np.array([of_run(run, measure, format).value for run in TRIALS])


@paper.check
def objects() -> Checks:
    """Check that the tables repeat the numbers of objects of the design, which are equally spaced."""
    sent = [paper("Section 4.4", "Scenario 2", f"{run.capitalize()} objects") for run in TRIALS]
    million = paper("Section 4.4", "Scenario 1", "objects")
    for (run, designed), format in product(zip((*TRIALS, SCENARIO_1), (*sent, million), strict=True), FORMATS):
        yield same(of_run(run, "Number Of Objects", format), designed, f"objects of {run}, {format}")
    for before, after in pairwise(sent):
        says = f"{before.column} and a step more"
        yield follows(after, lambda before, first: before + first, before, sent[0], says=says)


@paper.check
def averages() -> Checks:
    """Check that each average time is the total over the number of objects."""
    for run, format in product((SCENARIO_1, *TRIALS), FORMATS):
        names = ("Average Time", "Total Time", "Number Of Objects")
        average, total, count = (of_run(run, name, format) for name in names)
        says = f"average time of {run}, {format}: total time over objects"
        yield follows(average, lambda total, objects: total / objects, total, count, says=says)


@paper.check
def shares() -> Checks:
    """Check that user and system CPU of one row are not more than the whole CPU."""
    runs = [*product((SCENARIO_1,), FORMATS), *((run, format) for format, run in product(FORMATS, TRIALS))]
    for run, format in runs:
        user, system = (of_run(run, share, format) for share in SHARES)
        says = f"user and system CPU together, {run}, {format}, in percent"
        yield limit(user.source, 100, lambda user, system: user + system, user, system, says=says)


@paper.check
def samples() -> Checks:
    """Check that Table 7 repeats Tables 3 to 5."""
    for measure, format, run in product(students.MEASURES, FORMATS, TRIALS):
        again = paper("Table 7", measure, f"{format} {run[-1]}")
        yield same(again, of_run(run, measure, format), f"{measure}, {run}, {format}")


def tested() -> dict[str, dict[Hashable, Any]]:
    """Return Table 8's tests of the values that Table 7 means, by measure."""
    table = students.as_published().query("reading == @students.AS_MEANT")
    return {str(row["measure"]): row for row in table.to_dict("records")}


@paper.check
def tests() -> Checks:
    """Check the p-values of Table 8 by Student's test of Table 7, and the three that are called significant."""
    alpha = paper("Table 8", "level of significance", "alpha")
    for measure, test in tested().items():
        claim, p = paper("Table 8", measure, "p"), test["p"]
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


@paper.check
def orders() -> Checks:
    """Check what the discussion and the conclusion say is faster or spends less."""
    for run in (*TRIALS, SCENARIO_1):
        yield less("Section 5.3", f"JSON's total time below XML's, {run}", *both(run, "Total Time"))
    for run in (*TRIALS, SCENARIO_1):
        where = "Section 5.3" if run == SCENARIO_1 else "Section 5.2"
        yield less(where, f"XML's user CPU below JSON's, {run}", *reversed(both(run, "User CPU")))


@paper.check
def resources() -> Checks:
    """Check the conclusion that JSON uses fewer resources, measure by measure and scenario by scenario."""
    for runs in ((SCENARIO_1,), TRIALS):
        for measure, run in product(RESOURCES, runs):
            yield less("Section 7", f"JSON's {measure} below XML's, {run}", *both(run, measure))


@paper.check
def fewer_objects() -> Checks:
    """Check that fewer objects take less time each in XML, the same in JSON, and the same CPU."""
    json, xml = both(SCENARIO_1, "Average Time")
    for run in TRIALS:
        says = f"XML's average time of {run} below scenario 1's"
        yield less("Section 5.3", says, of_run(run, "Average Time", "XML"), xml)
    for run in TRIALS:
        yield same(of_run(run, "Average Time", "JSON"), json, f"JSON's average time of {run} as in scenario 1")
    first, *others = (of_run(run, "User CPU", "JSON") for run in TRIALS)
    says = "JSON's user CPU of trial 1 not below that of the larger trials"
    yield bound(first, "below", lambda *shares: min(shares), *others, says=says)


def overview(row: str, column: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a number of Table 6 repeats, rounds or summarises what Tables 1 to 5 print."""
    return follows(paper("Table 6", row, column), compute, *of, says=says)


@paper.check
def overview_of_scenario_1() -> Checks:
    """Check total and average time, shares and memory of scenario 1."""
    for format, unit, name in (("JSON", 1e3, "seconds"), ("XML", 60e3, "minutes")):
        total = of_run(SCENARIO_1, "Total Time", format)
        says = f"total time of scenario 1, {format}, in {name}"
        yield overview("Scenario 1 Total Time", format, lambda time, unit=unit: time / unit, total, says=says)
    for measure, format in product(("Average Time", *RESOURCES), FORMATS):
        says = f"{measure} of scenario 1, {format}, in whole percent"
        if measure == "Average Time":
            says = f"average time of scenario 1, {format}"
        alone = of_run(SCENARIO_1, measure, format)
        yield overview(f"Scenario 1 {measure}", format, lambda value: value, alone, says=says)


@paper.check
def overview_of_scenario_2() -> Checks:
    """Check the times, and the memory as the mean of the trials, of scenario 2."""
    for format in FORMATS:
        last = of_run(TRIALS[-1], "Total Time", format)
        row, says = "Scenario 2 Total Time for 100,000 Objects", f"total time for 100,000 objects, {format}, in seconds"
        yield overview(row, format, lambda time: time / 1e3, last, says=says)
        for measure in ("Average Time", "Memory"):
            each = [of_run(run, measure, format) for run in TRIALS]
            says = f"{measure} of scenario 2, {format}: mean of the trials"
            yield overview(f"Scenario 2 {measure}", format, lambda *values: fmean(values), *each, says=says)


@paper.check
def overview_ranges() -> Checks:
    """Check the ranges of user and system CPU of scenario 2 against the smallest and the largest trial."""
    for measure, format, (end, extreme) in product(SHARES, FORMATS, (("from", min), ("to", max))):
        each = [of_run(run, measure, format) for run in TRIALS]
        says = f"{'smallest' if end == 'from' else 'largest'} {measure} of scenario 2, {format}, in whole percent"
        yield overview(f"Scenario 2 {measure}", f"{format} {end}", extreme, *each, says=says)


@paper.finding("unsupported", "Section 5.3, Tables 7 and 8")
def pooled_sizes() -> Texts:
    """A t-test over five sizes."""
    json, xml = (of_trials("Total Time", format) for format in FORMATS)
    test, spread = tested()["Total Time"], np.var(xml, ddof=1) / np.var(json, ddof=1)
    ratio, paired = stats.ratio_interval(xml, json, pairs=True), stats.paired(np.log(xml), np.log(json))
    return (
        f"The total times of 20,000 to 100,000 objects are one sample a format; p = {test['printed']}.",
        f"Student's test gives {test['p']:.4f}; without equal variances (XML's is {spread:,.0f} times JSON's) Welch's "
        f"gives {test['p_welch']:.3f}. Paired by size, on logarithms, XML takes {ratio.estimate:.1f} times as long "
        f"({ratio.low:.1f} to {ratio.high:.1f}), p = {paired.p:.1e}.",
        "Its spread is the design's, not the measurement's: with more sizes the same machine would look less sure. "
        "Every trial ran once, so that the paired test has sizes for repetitions and is no better than that.",
    )


@paper.finding("unsupported", "Section 7 against Tables 2, 4, 5 and 8")
def fewer_resources() -> Texts:
    """Fewer resources."""
    user = [both(run, "User CPU") for run in (SCENARIO_1, *TRIALS)]
    higher = sum(json.value > xml.value for json, xml in user)
    json, xml = (
        of_run(SCENARIO_1, "Total Time", format).value
        / 1e3
        * sum(of_run(SCENARIO_1, share, format).value for share in SHARES)
        / 100
        for format in FORMATS
    )
    p = {measure: test["p"] for measure, test in tested().items()}
    return (
        "JSON is faster and uses fewer resources, which refutes the null hypothesis.",
        f"User CPU (p = {p['User CPU']:.2f}) and memory (p = {p['Memory']:.2f}) do not differ; JSON's user CPU is the "
        f"higher one in {higher} of {len(user)} runs. Only its system CPU is lower.",
        f"Shares hide it: the CPU is busy for {json:.0f} s in JSON and {xml:,.0f} s in XML in scenario 1, "
        f"{xml / json:.0f} times as long. The conclusion is right for a quantity that is not in the paper.",
    )


@paper.finding("unsupported", "Section 4 against Table 8")
def two_of_five() -> Texts:
    """One null hypothesis, five tests."""
    p = {measure: test["p"] for measure, test in tested().items()}
    kept = [measure for measure in p if p[measure] >= 0.05]
    still = [corrected for corrected in stats.holm([*p.values()]) if corrected < 0.05]
    return (
        "There is significant evidence against equal times and equal use of resources.",
        f"Two of five tests do not reject it: {' and '.join(kept)}. Corrected for five tests by Holm, {len(still)} "
        f"still do, the weakest with p = {max(still):.3f}.",
        "Time and system CPU differ, by any correction. Of the rest nothing is shown: neither a difference nor that "
        "there is none, for which a test of equivalence would be needed.",
    )


@paper.finding("misprint", "Table 8 from Table 7")
def system_cpu_p() -> Texts:
    """A p-value made by three commas."""
    table = students.as_published().query("measure == 'System CPU'").set_index("reading")
    meant, misread = table.loc[students.AS_MEANT], table.loc[students.AS_PRINTED]
    return (
        f"System CPU differs with p = {meant['printed']}; Table 7 prints three of the XML values with a decimal comma.",
        f"With the values meant Student's p is {meant['p']:.1e} (Welch's {meant['p_welch']:.1e}). Only the commas "
        f"read as separators, which makes {misread['n_xml']} values of five, give {misread['p']:.4f}.",
        "The difference is far surer than printed. It was computed as if the samples had gone in as text.",
    )


@paper.finding("misprint", "Table 5 against Table 7")
def system_cpu_36() -> Texts:
    """More than the whole CPU."""
    user, system = (of_run("trial 5", share, "XML").value for share in SHARES)
    again = paper("Table 7", "System CPU", "XML 5").value
    return (
        f"XML's system CPU of trial 5 is {system:g} % beside {user:.2f} % of user CPU; Table 7 has {again:.2f} %.",
        f"The two shares of Table 5 sum to {user + system:.2f} %, with Table 7's value to {user + again:.2f} %.",
        "33.36 is meant. Table 6's range of 32 to 33 % agrees with it too.",
    )


@paper.finding("misprint", "Table 6 from Table 1")
def minutes() -> Texts:
    """A hundredth of a minute."""
    total = of_run(SCENARIO_1, "Total Time", "XML").value
    return (
        f"XML's total time of scenario 1: {paper('Table 6', 'Scenario 1 Total Time', 'XML').printed}.",
        f"{total:,.2f} ms are {total / 60e3:.4f} minutes, which round to {total / 60e3:.2f}.",
        "Cut off, not rounded. It changes nothing, and shows how the overview was made.",
    )


@paper.finding("misprint", "Table 6 from Tables 2, 4 and 5")
def memory_29() -> Texts:
    """Rounded here, cut off there."""
    memory, user = (paper("Table 6", f"Scenario 1 {measure}", "XML").printed for measure in ("Memory", "User CPU"))
    cut, rounded = (of_run(SCENARIO_1, measure, "XML").value for measure in ("Memory", "User CPU"))
    low, high = of_run("trial 1", "User CPU", "XML").value, of_run("trial 5", "User CPU", "JSON").value
    return (
        f"XML's memory {memory}, its user CPU {user}.",
        f"{cut} rounds to {cut:.0f}; {rounded} was rounded up. Of the ranges, {low:.2f} became 65 and {high:.2f} "
        "became 88.",
        "The overview's whole percents are good to one unit, not to half a one.",
    )


@paper.finding("contradiction", "Table 6 against Table 4")
def trials_left_out() -> Texts:
    """Ranges without the trials that do not fit."""
    user, system = (of_trials(share, "JSON") for share in SHARES)
    kept = stats.student(user[1:], of_trials("User CPU", "XML")[1:]).p
    first, second = (paper("Table 6", f"Scenario 2 {share}", "JSON from").printed for share in SHARES)
    return (
        f"JSON's user CPU lies in {first}, its system CPU in {second}.",
        f"The five trials span {min(user):.2f} to {max(user):.2f} % and {min(system):.2f} to {max(system):.2f} %: "
        f"trial {user.argmin() + 1} is missing from the one, trial {system.argmax() + 1} from the other.",
        f"The t-tests keep these trials. Without trial 1, user CPU would differ too (p = {kept:.1g}), JSON's being "
        "the higher: overview and tests describe different samples.",
    )


@paper.finding("contradiction", "Section 5.3 against Table 4")
def steady_user_cpu() -> Texts:
    """User CPU that does not depend on the number of objects."""
    first, *rest = of_trials("User CPU", "JSON")
    return (
        "Sending fewer JSON objects leaves the user CPU as it is.",
        f"At 20,000 objects it is {first:.2f} %, at more {min(rest):.2f} to {max(rest):.2f} %.",
        "The sentence holds for four of five trials; the smallest number of objects is the one it is about.",
    )


@paper.finding("unsupported", "Section 5.3; Tables 3 and 4")
def first_trial() -> Texts:
    """The first trial is a warm-up."""
    totals = of_trials("Total Time", "JSON")
    each = (totals[-1] - totals[1]) / 60_000
    excess = totals[0] - (totals[1] - 20_000 * each)
    alone = of_run(SCENARIO_1, "Total Time", "JSON").value / 1e6
    busy = sum(of_run("trial 1", share, "JSON").value for share in SHARES)
    return (
        "A JSON object takes the same time however few are sent.",
        f"In trial 1 it takes {totals[0] / 20_000:.3f} ms, in scenario 1 {alone:.3f}. An object more costs {each:.4f} "
        f"ms from trial 2 on; trial 1 took {excess:.0f} ms longer than that, and its machine was busy for {busy:.2f} % "
        "only.",
        "A start-up cost of the first trial is averaged into five values and tested as if it were spread.",
    )


@paper.finding("not shown", "Tables 1 and 3")
def growing_ratio() -> Texts:
    """One study, ratios from 28 to 58."""
    ratios = of_trials("Total Time", "XML") / of_trials("Total Time", "JSON")
    alone, last = ([one.value for one in both(run, "Total Time")] for run in (SCENARIO_1, TRIALS[-1]))
    json, xml = (100 * (of_million / 1e6 / (time / 1e5) - 1) for of_million, time in zip(alone, last, strict=True))
    return (
        "A long run gives the accurate averages, short ones the fine grain.",
        f"XML over JSON in time is {listed(ratios, '.1f')} in the five trials and {alone[1] / alone[0]:.1f} in "
        f"scenario 1. From 100,000 objects to a million an object takes {xml:.0f} % more time in XML and {json:.0f} % "
        "more in JSON.",
        "The time of an XML object depends on how many were sent before. The paper prints both values and gives no "
        "reason; neither is the cost of the format.",
    )


@paper.finding("implausible", "Tables 2, 4 and 5")
def memory_of_before() -> Texts:
    """Memory of whatever ran before."""
    million, tenth = (of_run(run, "Memory", "JSON").value for run in (SCENARIO_1, TRIALS[-1]))
    return (
        "Memory is compared between the formats, being about alike.",
        f"A million JSON objects take {million:.2f} % of the memory, a tenth of them {tenth:.2f} %, and all ten trials "
        "of scenario 2 lie within one percentage point.",
        "The share is the machine's, caches and all. It says what had run before, as the paper notes itself; no "
        "difference between the formats can come out of it.",
    )
