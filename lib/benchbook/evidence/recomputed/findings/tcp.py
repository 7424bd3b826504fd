"""`tcp`: misprints that reach a p-value, trials left out, and a conclusion that its own tests do not carry."""

from typing import Final

from benchbook import stats
from benchbook.evidence.recomputed.checks.tcp import FORMATS, SHARES, TRIALS, tcp, trial
from benchbook.evidence.recomputed.finding import Finding, listed
from benchbook.evidence.students import AS_MEANT, AS_PRINTED, student_as_published


def system_cpu_p() -> Finding:
    """The printed p-value comes from decimal commas that were read as separators."""
    table = student_as_published()
    rows = table[table["measure"] == "System CPU"].set_index("reading")
    meant, misread = rows.loc[AS_MEANT], rows.loc[AS_PRINTED]
    return Finding(
        "tcp.system-cpu-p",
        "A p-value made by three commas",
        "misprint",
        "Table 8 from Table 7",
        f"System CPU differs with p = {meant['printed']}; Table 7 prints three of the XML values with a decimal comma.",
        f"With the values meant Student's p is {meant['p']:.1e} (Welch's {meant['p_welch']:.1e}). Only the commas "
        f"read as separators, which makes {misread['n_xml']} values of five, give {misread['p']:.4f}.",
        "The difference is far surer than printed. It was computed as if the samples had gone in as text.",
    )


def system_cpu_36() -> Finding:
    """36 stands for 33.36."""
    user, system = (trial(5, share, "XML").value for share in SHARES)
    again = tcp("Table 7", "System CPU", "XML 5").value
    return Finding(
        "tcp.system-cpu-36",
        "More than the whole CPU",
        "misprint",
        "Table 5 against Table 7",
        f"XML's system CPU of trial 5 is {system:g} % beside {user:.2f} % of user CPU; Table 7 has {again:.2f} %.",
        f"The two shares of Table 5 sum to {user + system:.2f} %, with Table 7's value to {user + again:.2f} %.",
        "33.36 is meant. Table 6's range of 32 to 33 % agrees with it too.",
    )


def minutes() -> Finding:
    """75.77 minutes are 75.78."""
    total = tcp("Table 1", "Total Time", "XML")
    claim = tcp("Table 6", "Scenario 1 Total Time", "XML")
    return Finding(
        "tcp.minutes",
        "A hundredth of a minute",
        "misprint",
        "Table 6 from Table 1",
        f"XML's total time of scenario 1: {claim.text}.",
        f"{total.value:,.2f} ms are {total.value / 60e3:.4f} minutes, which round to {total.value / 60e3:.2f}.",
        "Cut off, not rounded. It changes nothing, and shows how the overview was made.",
    )


def memory_29() -> Finding:
    """Shares are rounded in one row and cut off in the next."""
    cut, rounded = tcp("Table 2", "XML", "Memory").value, tcp("Table 2", "XML", "User CPU").value
    return Finding(
        "tcp.memory-29",
        "Rounded here, cut off there",
        "misprint",
        "Table 6 from Tables 2, 4 and 5",
        f"XML's memory {tcp('Table 6', 'Scenario 1 Memory', 'XML').text}, its user CPU "
        f"{tcp('Table 6', 'Scenario 1 User CPU', 'XML').text}.",
        f"{cut} rounds to {cut:.0f}; {rounded} was rounded up. Of the ranges, "
        f"{trial(1, 'User CPU', 'XML').value:.2f} became 65 and {trial(5, 'User CPU', 'JSON').value:.2f} became 88.",
        "The overview's whole percents are good to one unit, not to half a one.",
    )


def trials_left_out() -> Finding:
    """The overview's ranges leave trial 1 and trial 2 out."""
    user, system = ([trial(one, share, "JSON").value for one in TRIALS] for share in SHARES)
    kept = stats.student(user[1:], [trial(one, "User CPU", "XML").value for one in TRIALS[1:]]).p
    shown = {share: tcp("Table 6", f"Scenario 2 {share}", "JSON from").text for share in SHARES}
    return Finding(
        "tcp.trials-left-out",
        "Ranges without the trials that do not fit",
        "contradiction",
        "Table 6 against Table 4",
        f"JSON's user CPU lies in {shown['User CPU']}, its system CPU in {shown['System CPU']}.",
        f"The five trials span {min(user):.2f} to {max(user):.2f} % and {min(system):.2f} to {max(system):.2f} %: "
        f"trial {user.index(min(user)) + 1} is missing from the one, trial {system.index(max(system)) + 1} from the "
        "other.",
        f"The t-tests keep these trials. Without trial 1, user CPU would differ too (p = {kept:.1g}), JSON's being "
        "the higher: overview and tests describe different samples.",
    )


def steady_user_cpu() -> Finding:
    """Fewer objects do change JSON's user CPU."""
    first, *rest = (trial(one, "User CPU", "JSON").value for one in TRIALS)
    return Finding(
        "tcp.steady-user-cpu",
        "User CPU that does not depend on the number of objects",
        "contradiction",
        "Section 5.3 against Table 4",
        "Sending fewer JSON objects leaves the user CPU as it is.",
        f"At 20,000 objects it is {first:.2f} %, at more {min(rest):.2f} to {max(rest):.2f} %.",
        "The sentence holds for four of five trials; the smallest number of objects is the one it is about.",
    )


def first_trial() -> Finding:
    """JSON's first trial is mostly idle and holds half a second that no object accounts for."""
    totals = [trial(one, "Total Time", "JSON").value for one in TRIALS]
    each = (totals[-1] - totals[1]) / 60_000
    excess = totals[0] - (totals[1] - 20_000 * each)
    averages = [totals[0] / 20_000, tcp("Table 1", "Total Time", "JSON").value / 1e6]
    busy = sum(trial(1, share, "JSON").value for share in SHARES)
    return Finding(
        "tcp.first-trial",
        "The first trial is a warm-up",
        "unsupported",
        "Section 5.3; Tables 3 and 4",
        "A JSON object takes the same time however few are sent.",
        f"In trial 1 it takes {averages[0]:.3f} ms, in scenario 1 {averages[1]:.3f}. An object more costs "
        f"{each:.4f} ms from trial 2 on; trial 1 took {excess:.0f} ms longer than that, and its machine was busy "
        f"for {busy:.2f} % only.",
        "A start-up cost of the first trial is averaged into five values and tested as if it were spread.",
    )


def growing_ratio() -> Finding:
    """XML's time an object grows by half from scenario 2 to scenario 1."""
    ratios = [trial(one, "Total Time", "XML").value / trial(one, "Total Time", "JSON").value for one in TRIALS]
    xml, json = (tcp("Table 1", "Total Time", format).value for format in FORMATS[::-1])
    growth = [
        100 * (tcp("Table 1", "Total Time", format).value / 1e6 / (trial(5, "Total Time", format).value / 1e5) - 1)
        for format in FORMATS
    ]
    return Finding(
        "tcp.growing-ratio",
        "One study, ratios from 28 to 58",
        "not shown",
        "Tables 1 and 3",
        "A long run gives the accurate averages, short ones the fine grain.",
        f"XML over JSON in time is {listed(ratios, '.1f')} in the five trials and {xml / json:.1f} in scenario 1. "
        f"From 100,000 objects to a million an object takes {growth[1]:.0f} % more time in XML and {growth[0]:.0f} "
        "% more in JSON.",
        "The time of an XML object depends on how many were sent before. The paper prints both values and gives no "
        "reason; neither is the cost of the format.",
    )


def memory_of_before() -> Finding:
    """Ten times the objects, less than half the memory."""
    one, two = tcp("Table 2", "JSON", "Memory").value, trial(5, "Memory", "JSON").value
    return Finding(
        "tcp.memory-of-before",
        "Memory of whatever ran before",
        "implausible",
        "Tables 2, 4 and 5",
        "Memory is compared between the formats, being about alike.",
        f"A million JSON objects take {one:.2f} % of the memory, a tenth of them {two:.2f} %, and all ten trials of "
        "scenario 2 lie within one percentage point.",
        "The share is the machine's, caches and all. It says what had run before, as the paper notes itself; no "
        "difference between the formats can come out of it.",
    )


FINDINGS: Final = (
    system_cpu_p,
    system_cpu_36,
    minutes,
    memory_29,
    trials_left_out,
    steady_user_cpu,
    first_trial,
    growing_ratio,
    memory_of_before,
)
