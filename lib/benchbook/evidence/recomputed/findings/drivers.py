"""`drivers`: bounds without tables, and what those bounds allow."""

from typing import Final

from benchbook.evidence.recomputed.checks.drivers import drivers
from benchbook.evidence.recomputed.finding import Finding


def _most() -> float:
    """Return the largest number of operations."""
    return drivers("Section 3.2", "operations", "level 4").value


def no_table() -> Finding:
    """No measured value is printed."""
    repetitions = drivers("Section 3.2", "repetitions", "each scenario").value
    scenarios = 2 * 2 * 4 * 4
    return Finding(
        "drivers.no-table",
        "Results without a number",
        "not shown",
        "Sections 4 and 5",
        "Three figures of four panels show times, CPU and memory; Table 1 describes the data.",
        f"{scenarios} scenarios (driver, data set, operation, number of operations) of three measures and "
        f"{repetitions:.0f} repetitions each were run; of their means and spreads none is printed, only bounds in "
        "the text.",
        "No ratio can be computed and no test made. Claims of this paper can be judged by direction only.",
    )


def bulk_only() -> Finding:
    """The bounds fit bulk calls only."""
    time, update, delete = (
        drivers("Section 5.4", "update and delete time", "upper bound").value,
        drivers("Section 4", "update CPU", "upper bound").value,
        drivers("Section 4", "delete CPU", "upper bound").value,
    )
    worst = drivers("Section 5.4", "insert and find time", "worst case to").value
    return Finding(
        "drivers.bulk-only",
        "200,000 operations or one",
        "contradiction",
        "Sections 3.2, 4 and 5.4",
        "Each scenario makes up to 200,000 operations.",
        f"Within the bounds an update takes {1e3 * time / _most():.0f} us at most, its client's CPU "
        f"{1e3 * update / _most():.2f} us and a delete's {1e6 * delete / _most():.0f} ns; insert and find take "
        f"{1e3 * worst / _most():.0f} us at worst.",
        "A call over a socket costs tens of microseconds. Updates and deletes must have been one call for all "
        "records, so that their times are the server's and cannot tell drivers apart.",
    )


def records() -> Finding:
    """More operations than records."""
    count = drivers("Table 1", "number of records", "set 1").value
    return Finding(
        "drivers.records",
        "200,000 operations from 18 thousand records",
        "not shown",
        "Table 1; Sections 3.2 and 4",
        "The sets have about 18 thousand records; 1,000 to 200,000 operations reach all of them.",
        f"The largest number is {_most() / count:.1f} times the records, the smallest {100 * 1000 / count:.1f} % of "
        "them.",
        "Records were repeated, or operations are not records. Repeated ones are friendlier to caches and compression.",
    )


def memory() -> Finding:
    """Forty megabytes do not hold the large set."""
    size = {one: drivers("Table 1", "size of a record", f"set {one}").value for one in (1, 2)}
    bound = drivers("Section 5.4", "insert and find memory", "to").value
    return Finding(
        "drivers.memory",
        "40 MB for 274",
        "implausible",
        "Table 1; Sections 4 and 5.4",
        f"Insert and find take {drivers('Section 5.4', 'insert and find memory', 'from').value:.0f} to {bound:.0f} "
        "MB of memory more.",
        f"{_most():,.0f} records are {_most() * size[1] / 1e3:.0f} MB in the large set and "
        f"{_most() * size[2] / 1e3:.0f} MB in the small one, as data alone.",
        "An array of the large set cannot be held in that. The change of memory was read after it had been freed, "
        "or the sets were not as large: it does not measure what a driver needs.",
    )


def delete_cpu() -> Finding:
    """Two sections disagree on who deletes with less CPU."""
    bound = drivers("Section 4", "delete CPU", "upper bound").value
    return Finding(
        "drivers.delete-cpu",
        "Whose delete takes more CPU",
        "contradiction",
        "Section 4 against Section 5.2",
        "Results: deleting, MongoClient takes more CPU. Analysis: MongoClient is the better one there too.",
        f"All values are under {bound:.0f} ms, for {_most():,.0f} records or for one call.",
        "Both cannot hold. Under the resolution of a CPU clock of 10 ms neither is shown.",
    )


def all_metrics() -> Finding:
    """Best in all metrics, alike in half of them."""
    favoured = {"time": ("insert", "find"), "CPU": ("insert", "find", "update"), "memory": ("insert", "find")}
    named = "; ".join(f"{metric} of {', '.join(operations)}" for metric, operations in favoured.items())
    count, every = sum(map(len, favoured.values())), 4 * len(favoured)
    return Finding(
        "drivers.all-metrics",
        "Cheaper in all metrics",
        "contradiction",
        "Section 5.4 against Sections 4, 5.1 and 5.3",
        "MongoClient is the steadier and cheaper one in every metric.",
        "By the sections before, times of update and delete are alike, so is their memory, and the CPU of delete "
        f"is larger in MongoClient: of {every} combinations of operation and metric {count} favour it at most "
        f"({named}).",
        "The general sentence is stronger than what it sums up: it holds for insert and find.",
    )


def panels() -> Finding:
    """Panels are cited under the numbers of other figures."""
    return Finding(
        "drivers.panels",
        "Panels of figures that come later",
        "misprint",
        "Section 4",
        "Panels are cited as 3a to 3d for time, 4a to 4d for CPU and 5a to 5d for memory.",
        "The figures of time, CPU and memory are 2, 3 and 4; there is no Fig. 5.",
        "Off by one throughout. A reader who looks a panel up finds the wrong measure.",
    )


def batch_split() -> Finding:
    """An explanation that the large set refutes."""
    level = drivers("Section 4", "insert, batches split", "above").value
    size = [drivers("Table 1", "size of a record", f"set {one}").value for one in (1, 2)]
    return Finding(
        "drivers.batch-split",
        "A drop explained by batches",
        "unsupported",
        "Section 4",
        f"Mongoose's insert of the small set gets quicker above {level:,.0f} operations, perhaps since larger "
        "batches are split.",
        f"The large set, {size[0] / size[1]:.1f} times the bytes a record, shows no such drop, as the paper says "
        f"itself; from {level:,.0f} to {_most():,.0f} twice the records take less time.",
        "The reason offered would hold for both sets. Twice the work in less time looks like something left undone.",
    )


def proportional() -> Finding:
    """Proportional to the size of a record, by no printed number."""
    size = [drivers("Table 1", "size of a record", f"set {one}").value for one in (1, 2)]
    attributes = [drivers("Table 1", "number of attributes", f"set {one}").value for one in (1, 2)]
    each = [1e3 * bytes_ / count for bytes_, count in zip(size, attributes, strict=True)]
    return Finding(
        "drivers.proportional",
        "Proportional to the size of a record",
        "unsupported",
        "Section 5.4; Table 1",
        "Mongoose's performance is directly proportional to the size of a record.",
        f"Record sizes differ by {size[0] / size[1]:.1f} times, attributes by {attributes[0] / attributes[1]:.1f} "
        f"({each[0]:.0f} and {each[1]:.0f} bytes an attribute); no ratio of times is printed, and updates and "
        "deletes are called alike.",
        "Size and number of attributes change together, and a mapper's cost goes with the attributes. Two sets "
        "cannot tell them apart.",
    )


def significance() -> Finding:
    """Significant differences, without a test."""
    repetitions = drivers("Section 3.2", "repetitions", "each scenario").value
    return Finding(
        "drivers.significance",
        "Significant, with no test",
        "unsupported",
        "Sections 4 and 5",
        "Differences are called significant or not, operation by operation.",
        f"Means of {repetitions:.0f} repetitions are drawn without a spread; memory is called unstable throughout.",
        "Where no comparison was steady, ten repetitions need a test more than elsewhere.",
    )


FINDINGS: Final = (
    no_table,
    bulk_only,
    records,
    memory,
    delete_cpu,
    all_metrics,
    panels,
    batch_split,
    proportional,
    significance,
)
