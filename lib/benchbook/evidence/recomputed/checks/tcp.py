"""`tcp`: averages, sums, repeated samples, the overview of Table 6, the t-tests of Table 8 and the text's orderings."""

from itertools import pairwise, product
from typing import Final

import pandas as pd

from benchbook.evidence.recomputed.check import Check, Kind, bound, less, limit, number, same
from benchbook.evidence.recomputed.printed import Printed, printed
from benchbook.evidence.students import AS_MEANT, MEASURES, student_as_published

TRIALS: Final = range(1, 6)
FORMATS: Final = ("JSON", "XML")
SHARES: Final = ("User CPU", "System CPU")


def tcp(source: str, row: str, column: str) -> Printed:
    """Return a number of the paper."""
    return printed("tcp", source, row, column)


def trial(number_: int, measure: str, format: str) -> Printed:
    """Return what Tables 3 to 5 print of a trial."""
    if measure.endswith("Time"):
        return tcp("Table 3", f"Trial {number_} {measure}", format)
    return tcp("Table 4" if format == "JSON" else "Table 5", f"Trial {number_}", measure)


def objects() -> list[Check]:
    """Check that the tables repeat the numbers of objects of the design, which are equally spaced."""
    sent = [tcp("Section 4.4", "Scenario 2", f"Trial {one} objects") for one in TRIALS]
    tables = [
        same(
            tcp("Table 3", f"Trial {one} Number Of Objects", format), sent[one - 1], f"objects of trial {one}, {format}"
        )
        for one, format in product(TRIALS, FORMATS)
    ]
    million = tcp("Section 4.4", "Scenario 1", "objects")
    tables += [
        same(tcp("Table 1", "Number Of Objects", one), million, f"objects of scenario 1, {one}") for one in FORMATS
    ]
    steps = [
        number(after, lambda before, first: before + first, before, sent[0], says=f"{before.column} and a step more")
        for before, after in pairwise(sent)
    ]
    return tables + steps


def averages() -> list[Check]:
    """Check that each average time is the total over the number of objects."""
    places = [("Table 1", "", "scenario 1")] + [("Table 3", f"Trial {one} ", f"trial {one}") for one in TRIALS]
    return [
        number(
            tcp(source, f"{prefix}Average Time", format),
            lambda total, objects: total / objects,
            tcp(source, f"{prefix}Total Time", format),
            tcp(source, f"{prefix}Number Of Objects", format),
            says=f"average time of {name}, {format}: total time over objects",
        )
        for (source, prefix, name), format in product(places, FORMATS)
    ]


def shares() -> list[Check]:
    """Check that user and system CPU of one row are not more than the whole CPU."""
    rows = [("Table 2", format, f"scenario 1, {format}") for format in FORMATS]
    rows += [("Table 4", f"Trial {one}", f"trial {one}, JSON") for one in TRIALS]
    rows += [("Table 5", f"Trial {one}", f"trial {one}, XML") for one in TRIALS]
    return [
        limit(
            "tcp",
            source,
            100,
            lambda user, system: user + system,
            *(tcp(source, row, share) for share in SHARES),
            says=f"user and system CPU together, {name}, in percent",
        )
        for source, row, name in rows
    ]


def samples() -> list[Check]:
    """Check that Table 7 repeats Tables 3 to 5."""
    return [
        same(
            tcp("Table 7", measure, f"{format} {one}"), trial(one, measure, format), f"{measure}, trial {one}, {format}"
        )
        for measure, format, one in product(MEASURES, FORMATS, TRIALS)
    ]


def as_meant() -> pd.DataFrame:
    """Return Table 8's tests of the values that Table 7 means, a row a measure."""
    table = student_as_published()
    return table[table["reading"] == AS_MEANT].set_index("measure")


def tests() -> list[Check]:
    """Check the p-values of Table 8 by Student's test of Table 7, and the three that are called significant."""
    alpha = tcp("Table 8", "level of significance", "alpha")
    found = []
    for row in as_meant().reset_index().to_dict("records"):
        claim = tcp("Table 8", str(row["measure"]), "p")
        kind: Kind = "bound" if claim.text.startswith("≤") else "number"
        says = f"p of {row['measure']}, Student's test of Table 7"
        found.append(
            Check(
                "tcp",
                kind,
                says,
                "Table 8",
                "Table 7",
                claim.text,
                float(row["p"]),
                claim.half,
                bool(row["agrees"]),
                claim.key,
            )
        )
        below = row["measure"] in ("Total Time", "Average Time", "System CPU")
        says = f"{row['measure']} is {'' if below else 'not '}called significant"
        agrees = bool((row["p"] < alpha.value) == below)
        bounds = f"{'below' if below else 'above'} {alpha.text}"
        found.append(Check("tcp", "bound", says, "Section 5.3", "Table 7", bounds, float(row["p"]), 0.0, agrees))
    return found


def orders() -> list[Check]:
    """Check what the discussion and the conclusion say is faster or spends less."""
    faster = [
        less(
            "Section 5.3",
            f"JSON's total time below XML's, trial {one}",
            *(trial(one, "Total Time", format) for format in FORMATS),
        )
        for one in TRIALS
    ]
    faster.append(
        less(
            "Section 5.3",
            "JSON's total time below XML's, scenario 1",
            *(tcp("Table 1", "Total Time", format) for format in FORMATS),
        )
    )
    users = [
        less(
            "Section 5.2",
            f"XML's user CPU below JSON's, trial {one}",
            *(trial(one, "User CPU", format) for format in FORMATS[::-1]),
        )
        for one in TRIALS
    ]
    users.append(
        less(
            "Section 5.3",
            "XML's user CPU below JSON's, scenario 1",
            *(tcp("Table 2", format, "User CPU") for format in FORMATS[::-1]),
        )
    )
    return faster + users


def resources() -> list[Check]:
    """Check the conclusion that JSON uses fewer resources, measure by measure and scenario by scenario."""
    measures = (*SHARES, "Memory")
    first = [
        less(
            "Section 7",
            f"JSON's {measure} below XML's, scenario 1",
            *(tcp("Table 2", format, measure) for format in FORMATS),
        )
        for measure in measures
    ]
    second = [
        less(
            "Section 7",
            f"JSON's {measure} below XML's, trial {one}",
            *(trial(one, measure, format) for format in FORMATS),
        )
        for measure, one in product(measures, TRIALS)
    ]
    return first + second


def fewer_objects() -> list[Check]:
    """Check that fewer objects take less time each in XML, the same in JSON, and the same CPU."""
    alone = {format: tcp("Table 1", "Average Time", format) for format in FORMATS}
    xml = [
        less(
            "Section 5.3",
            f"XML's average time of trial {one} below scenario 1's",
            trial(one, "Average Time", "XML"),
            alone[("XML")],
        )
        for one in TRIALS
    ]
    json = [
        same(
            trial(one, "Average Time", "JSON"), alone["JSON"], (f"JSON's average time of trial {one} as in scenario 1")
        )
        for one in TRIALS
    ]
    others = [trial(one, "User CPU", "JSON") for one in TRIALS[1:]]
    low = bound(
        trial(1, "User CPU", "JSON"),
        "below",
        lambda *shares: min(shares),
        *others,
        says="JSON's user CPU of trial 1 not below that of the larger trials",
    )
    return [*xml, *json, low]


CHECKS: Final = (objects, averages, shares, samples, tests, orders, resources, fewer_objects)
