"""Checks on the drivers paper's own numbers, and the numbers of its findings.

The paper prints no table of results: repeated numbers, and bounds and what they allow.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

from benchbook.papers.printed_checks import (
    FindingNumbers,
    PrintedCheck,
    check_number,
    check_order,
    get_number,
    get_values,
)

SETS = ("set 1", "set 2")

number = partial(get_number, "drivers")


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks: numbers that are printed twice, and the order of bounds."""
    for row, name in product(("number of attributes", "size of a record"), SETS):
        again = number("Section 3.1", row, name)
        yield check_number(number("Table 1", row, name), float, again, says=f"{row}, {name}")
    for name in SETS:
        again = number("Section 3.1", "number of records", "about")
        printed = number("Table 1", "number of records", name)
        yield check_number(printed, float, again, says=f"number of records, {name}")
    for row, column in (
        ("insert and find memory", "from"),
        ("insert and find memory", "to"),
        ("update and delete memory", "upper bound"),
    ):
        printed, again = (number(section, row, column) for section in ("Section 5.4", "Section 4"))
        yield check_number(printed, float, again, says=f"{row}, {column}")

    for quantity, start in (("time", "worst case from"), ("memory", "from")):
        bulk = number("Section 5.4", f"update and delete {quantity}", "upper bound")
        single = number("Section 5.4", f"insert and find {quantity}", start)
        says = f"{quantity} of update and delete below that of insert and find"
        yield check_order("Section 5.4", bulk, single, says=says)
    for operation in ("update", "delete"):
        cpu = number("Section 4", f"{operation} CPU", "upper bound")
        time = number("Section 5.4", "update and delete time", "upper bound")
        says = f"CPU bound of {operation} below the bound of its time"
        yield check_order("Section 4", cpu, time, says=says)


def compute_findings() -> FindingNumbers:
    """Return the numbers of each finding in ``data/findings/drivers.yaml``."""
    repetitions = number("Section 3.2", "repetitions", "each scenario").value
    least = number("Section 3.2", "operations", "level 1").value
    most = number("Section 3.2", "operations", "level 4").value
    records = number("Table 1", "number of records", "set 1").value
    return {
        # Drivers, data sets, operations and levels.
        "drivers.no-table": {"scenarios": 2 * 2 * 4 * 4, "repetitions": repetitions},
        "drivers.records": {
            "least": least,
            "most": most,
            "most_times": most / records,
            "least_percent": 100 * least / records,
        },
        "drivers.significance": {"repetitions": repetitions},
        **_compute_bounds(most),
        **_compute_sets(most),
    }


def _compute_bounds(most: float) -> FindingNumbers:
    """Return the bounds that the text prints, in ms and per operation of the highest level."""
    time = number("Section 5.4", "update and delete time", "upper bound").value
    worst = number("Section 5.4", "insert and find time", "worst case to").value
    update_cpu = number("Section 4", "update CPU", "upper bound").value
    delete_cpu = number("Section 4", "delete CPU", "upper bound").value
    return {
        "drivers.bulk-only": {
            "most": most,
            "update_us": 1000 * time / most,
            "update_cpu_us": 1000 * update_cpu / most,
            "delete_cpu_ns": 1e6 * delete_cpu / most,
            "insert_us": 1000 * worst / most,
        },
        "drivers.delete-cpu": {"most": most, "bound": delete_cpu},
    }


def _compute_sets(most: float) -> FindingNumbers:
    """Return how the large and the small data set differ."""
    record = get_values(number("Table 1", "size of a record", name) for name in SETS)
    attributes = get_values(number("Table 1", "number of attributes", name) for name in SETS)
    return {
        "drivers.memory": {
            "low": number("Section 5.4", "insert and find memory", "from").value,
            "high": number("Section 5.4", "insert and find memory", "to").value,
            "most": most,
            "megabytes": most * record / 1000,
        },
        "drivers.batch-split": {
            "level": number("Section 4", "insert, batches split", "above").value,
            "most": most,
            "record_ratio": record[0] / record[1],
        },
        "drivers.proportional": {
            "record_ratio": record[0] / record[1],
            "attribute_ratio": attributes[0] / attributes[1],
            "attribute_bytes": 1000 * record / attributes,
        },
    }
