"""`drivers`: numbers that its sections repeat, and its bounds against one another; it prints no table of results."""

from typing import Final

from benchbook.evidence.recomputed.check import Check, less, same
from benchbook.evidence.recomputed.printed import Printed, printed

SETS: Final = (1, 2)


def drivers(source: str, row: str, column: str) -> Printed:
    """Return a number of the paper."""
    return printed("drivers", source, row, column)


def repeated() -> list[Check]:
    """Check that text and Table 1, and Sections 4 and 5.4, print the same."""
    rows = [("number of attributes", f"set {one}") for one in SETS] + [
        ("size of a record", f"set {one}") for one in SETS
    ]
    table = [
        same(drivers("Table 1", row, column), drivers("Section 3.1", row, column), f"{row}, {column}")
        for row, column in rows
    ]
    table += [
        same(
            drivers("Table 1", "number of records", f"set {one}"),
            drivers("Section 3.1", "number of records", ("about")),
            f"number of records, set {one}",
        )
        for one in SETS
    ]
    memory = [
        ("insert and find memory", "from"),
        ("insert and find memory", "to"),
        ("update and delete memory", "upper bound"),
    ]
    return table + [
        same(drivers("Section 5.4", row, column), drivers("Section 4", row, column), f"{row}, {column}")
        for row, column in memory
    ]


def bounds() -> list[Check]:
    """Check that insert and find cost more than update and delete, and that CPU bounds lie below time bounds."""
    rest = drivers("Section 5.4", "update and delete time", "upper bound")
    memory = drivers("Section 5.4", "update and delete memory", "upper bound")
    return [
        less(
            "Section 5.4",
            "time of update and delete below that of insert and find",
            rest,
            drivers("Section 5.4", "insert and find time", "worst case from"),
        ),
        less(
            "Section 5.4",
            "memory of update and delete below that of insert and find",
            memory,
            drivers("Section 5.4", "insert and find memory", "from"),
        ),
        *(
            less(
                "Section 4",
                f"CPU bound of {name} below the bound of its time",
                drivers("Section 4", f"{name} CPU", ("upper bound")),
                rest,
            )
            for name in ("update", "delete")
        ),
    ]


CHECKS: Final = (repeated, bounds)
