"""Checks and findings on the drivers paper's own numbers.

The paper prints no table of results: repeated numbers, and bounds and what they allow.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import truediv

from benchbook.papers.recomputed import (
    PaperFinding,
    PrintedCheck,
    Values,
    check_number,
    check_order,
    get_number,
    get_values,
    list_values,
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
        again = number("Section 4", row, column)
        yield check_number(
            number("Section 5.4", row, column), float, again, says=f"{row}, {column}"
        )

    for quantity, start in (("time", "worst case from"), ("memory", "from")):
        bulk = number("Section 5.4", f"update and delete {quantity}", "upper bound")
        single = number("Section 5.4", f"insert and find {quantity}", start)
        says = f"{quantity} of update and delete below that of insert and find"
        yield check_order("Section 5.4", truediv, bulk, single, says=says)

    for operation in ("update", "delete"):
        cpu = number("Section 4", f"{operation} CPU", "upper bound")
        time = number("Section 5.4", "update and delete time", "upper bound")
        says = f"CPU bound of {operation} below the bound of its time"
        yield check_order("Section 4", truediv, cpu, time, says=says)


def list_findings() -> Iterator[PaperFinding]:
    """Yield the findings that do not follow."""
    yield _find_no_table()
    yield _find_bulk_only()
    yield _find_records()
    yield _find_memory()
    yield _find_delete_cpu()
    yield PaperFinding(
        name="drivers.all-metrics",
        title="Cheaper in all metrics",
        kind="contradiction",
        source="Section 5.4 against Sections 4, 5.1 and 5.3",
        as_printed="MongoClient is the steadier and cheaper one in every metric.",
        recomputed=(
            "By the sections before, times of update and delete are alike, so is their memory, and "
            "the CPU of delete is larger in MongoClient: of 12 combinations of operation and "
            "metric 7 favour it at most (time of insert, find; CPU of insert, find, update; memory "
            "of insert, find)."
        ),
        why="The general sentence is stronger than what it sums up: it holds for insert and find.",
    )
    yield PaperFinding(
        name="drivers.panels",
        title="Panels of figures that come later",
        kind="misprint",
        source="Section 4",
        as_printed=(
            "Panels are cited as 3a to 3d for time, 4a to 4d for CPU and 5a to 5d for memory."
        ),
        recomputed="The figures of time, CPU and memory are 2, 3 and 4; there is no Fig. 5.",
        why="Off by one throughout. A reader who looks a panel up finds the wrong measure.",
    )
    yield _find_batch_split()
    yield _find_proportional()
    yield _find_significance()


def get_operations(level: int) -> float:
    """Return the number of operations of a level, 1 to 4."""
    return number("Section 3.2", "operations", f"level {level}").value


def get_repetitions() -> float:
    """Return how often each scenario ran."""
    return number("Section 3.2", "repetitions", "each scenario").value


def get_bound(source: str, row: str) -> float:
    """Return an upper bound that the text prints, in ms."""
    return number(source, row, "upper bound").value


def get_sets(row: str) -> Values:
    """Return the values of a row of Table 1: of the large set, then of the small one."""
    return get_values(number("Table 1", row, name) for name in SETS)


def _find_no_table() -> PaperFinding:
    drivers, sets, operations, levels = 2, 2, 4, 4
    return PaperFinding(
        name="drivers.no-table",
        title="Results without a number",
        kind="not shown",
        source="Sections 4 and 5",
        as_printed=(
            "Three figures of four panels show times, CPU and memory; Table 1 describes the data."
        ),
        recomputed=(
            f"{drivers * sets * operations * levels} scenarios (driver, data set, operation, "
            f"number of operations) of three measures and {get_repetitions():.0f} repetitions "
            "each were run; of their means and spreads none is printed, only bounds in the text."
        ),
        why=(
            "No ratio can be computed and no test made. Claims of this paper can be judged by "
            "direction only."
        ),
    )


def _find_bulk_only() -> PaperFinding:
    most = get_operations(4)
    time = get_bound("Section 5.4", "update and delete time")
    worst = number("Section 5.4", "insert and find time", "worst case to").value
    update = get_bound("Section 4", "update CPU")
    delete = get_bound("Section 4", "delete CPU")
    return PaperFinding(
        name="drivers.bulk-only",
        title="200,000 operations or one",
        kind="contradiction",
        source="Sections 3.2, 4 and 5.4",
        as_printed="Each scenario makes up to 200,000 operations.",
        recomputed=(
            f"Within the bounds an update takes {1000 * time / most:.0f} us at most, its client's "
            f"CPU {1000 * update / most:.2f} us and a delete's {1e6 * delete / most:.0f} ns; "
            f"insert and find take {1000 * worst / most:.0f} us at worst."
        ),
        why=(
            "A call over a socket costs tens of microseconds. Updates and deletes must have been "
            "one call for all records, so that their times are the server's and cannot tell "
            "drivers apart."
        ),
    )


def _find_records() -> PaperFinding:
    records = number("Table 1", "number of records", "set 1").value
    least, most = get_operations(1), get_operations(4)
    return PaperFinding(
        name="drivers.records",
        title="200,000 operations from 18 thousand records",
        kind="not shown",
        source="Table 1; Sections 3.2 and 4",
        as_printed=(
            "The sets have about 18 thousand records; 1,000 to 200,000 operations reach all of "
            "them."
        ),
        recomputed=(
            f"The largest number is {most / records:.1f} times the records, the smallest "
            f"{100 * least / records:.1f} % of them."
        ),
        why=(
            "Records were repeated, or operations are not records. Repeated ones are friendlier to "
            "caches and compression."
        ),
    )


def _find_memory() -> PaperFinding:
    low = number("Section 5.4", "insert and find memory", "from").value
    high = number("Section 5.4", "insert and find memory", "to").value
    most = get_operations(4)
    megabytes = most * get_sets("size of a record") / 1000
    return PaperFinding(
        name="drivers.memory",
        title="40 MB for 274",
        kind="implausible",
        source="Table 1; Sections 4 and 5.4",
        as_printed=f"Insert and find take {low:.0f} to {high:.0f} MB of memory more.",
        recomputed=(
            f"{most:,.0f} records are {megabytes[0]:.0f} MB in the large set and "
            f"{megabytes[1]:.0f} MB in the small one, as data alone."
        ),
        why=(
            "An array of the large set cannot be held in that. The change of memory was read after "
            "it had been freed, or the sets were not as large: it does not measure what a driver "
            "needs."
        ),
    )


def _find_delete_cpu() -> PaperFinding:
    bound = get_bound("Section 4", "delete CPU")
    return PaperFinding(
        name="drivers.delete-cpu",
        title="Whose delete takes more CPU",
        kind="contradiction",
        source="Section 4 against Section 5.2",
        as_printed=(
            "Results: deleting, MongoClient takes more CPU. Analysis: MongoClient is the better "
            "one there too."
        ),
        recomputed=(
            f"All values are under {bound:.0f} ms, for {get_operations(4):,.0f} records or for one "
            "call."
        ),
        why="Both cannot hold. Under the resolution of a CPU clock of 10 ms neither is shown.",
    )


def _find_batch_split() -> PaperFinding:
    level = number("Section 4", "insert, batches split", "above").value
    large, small = get_sets("size of a record")
    return PaperFinding(
        name="drivers.batch-split",
        title="A drop explained by batches",
        kind="unsupported",
        source="Section 4",
        as_printed=(
            f"Mongoose's insert of the small set gets quicker above {level:,.0f} operations, "
            "perhaps since larger batches are split."
        ),
        recomputed=(
            f"The large set, {large / small:.1f} times the bytes a record, shows no such drop, as "
            f"the paper says itself; from {level:,.0f} to {get_operations(4):,.0f} twice the "
            "records take less time."
        ),
        why=(
            "The reason offered would hold for both sets. Twice the work in less time looks like "
            "something left undone."
        ),
    )


def _find_proportional() -> PaperFinding:
    record = get_sets("size of a record")
    attributes = get_sets("number of attributes")
    bytes_each = list_values(1000 * record / attributes, ".0f")
    return PaperFinding(
        name="drivers.proportional",
        title="Proportional to the size of a record",
        kind="unsupported",
        source="Section 5.4; Table 1",
        as_printed="Mongoose's performance is directly proportional to the size of a record.",
        recomputed=(
            f"Record sizes differ by {record[0] / record[1]:.1f} times, attributes by "
            f"{attributes[0] / attributes[1]:.1f} ({bytes_each} bytes an attribute); no ratio of "
            "times is printed, and updates and deletes are called alike."
        ),
        why=(
            "Size and number of attributes change together, and a mapper's cost goes with the "
            "attributes. Two sets cannot tell them apart."
        ),
    )


def _find_significance() -> PaperFinding:
    return PaperFinding(
        name="drivers.significance",
        title="Significant, with no test",
        kind="unsupported",
        source="Sections 4 and 5",
        as_printed="Differences are called significant or not, operation by operation.",
        recomputed=(
            f"Means of {get_repetitions():.0f} repetitions are drawn without a spread; memory is "
            "called unstable throughout."
        ),
        why="Where no comparison was steady, ten repetitions need a test more than elsewhere.",
    )
