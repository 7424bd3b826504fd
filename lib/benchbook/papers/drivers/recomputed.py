"""`drivers` recomputed: repeated numbers, and bounds and what they allow; the paper prints no table of results."""

from itertools import product
from typing import Final

from benchbook.papers.recomputed import Checks, Paper, Texts, less, same

paper: Final = Paper("drivers")
SETS: Final = ("set 1", "set 2")


@paper.check
def repeated() -> Checks:
    """Check that text and Table 1, and Sections 4 and 5.4, print the same."""
    for row, one in product(("number of attributes", "size of a record"), SETS):
        yield same(paper("Table 1", row, one), paper("Section 3.1", row, one), f"{row}, {one}")
    about = paper("Section 3.1", "number of records", "about")
    for one in SETS:
        yield same(paper("Table 1", about.row, one), about, f"{about.row}, {one}")
    ends = [("insert and find memory", "from"), ("insert and find memory", "to")]
    for row, column in (*ends, ("update and delete memory", "upper bound")):
        yield same(paper("Section 5.4", row, column), paper("Section 4", row, column), f"{row}, {column}")


@paper.check
def bounds() -> Checks:
    """Check that insert and find cost more than update and delete, and that CPU bounds lie below time bounds."""
    rest = paper("Section 5.4", "update and delete time", "upper bound")
    for quantity, start in (("time", "worst case from"), ("memory", "from")):
        yield less(
            "Section 5.4",
            f"{quantity} of update and delete below that of insert and find",
            paper("Section 5.4", f"update and delete {quantity}", "upper bound"),
            paper("Section 5.4", f"insert and find {quantity}", start),
        )
    for name in ("update", "delete"):
        says = f"CPU bound of {name} below the bound of its time"
        yield less("Section 4", says, paper("Section 4", f"{name} CPU", "upper bound"), rest)


def most() -> float:
    """Return the largest number of operations."""
    return paper("Section 3.2", "operations", "level 4").value


def repetitions() -> float:
    """Return how often each scenario ran."""
    return paper("Section 3.2", "repetitions", "each scenario").value


def of_sets(row: str) -> list[float]:
    """Return what Table 1 prints of the large set and of the small one."""
    return [paper("Table 1", row, one).value for one in SETS]


@paper.finding("not shown", "Sections 4 and 5")
def no_table() -> Texts:
    """Results without a number."""
    return (
        "Three figures of four panels show times, CPU and memory; Table 1 describes the data.",
        f"{2 * 2 * 4 * 4} scenarios (driver, data set, operation, number of operations) of three measures and "
        f"{repetitions():.0f} repetitions each were run; of their means and spreads none is printed, only bounds in "
        "the text.",
        "No ratio can be computed and no test made. Claims of this paper can be judged by direction only.",
    )


@paper.finding("contradiction", "Sections 3.2, 4 and 5.4")
def bulk_only() -> Texts:
    """200,000 operations or one."""
    time = paper("Section 5.4", "update and delete time", "upper bound").value
    worst = paper("Section 5.4", "insert and find time", "worst case to").value
    update, delete = (paper("Section 4", f"{name} CPU", "upper bound").value for name in ("update", "delete"))
    return (
        "Each scenario makes up to 200,000 operations.",
        f"Within the bounds an update takes {1e3 * time / most():.0f} us at most, its client's CPU "
        f"{1e3 * update / most():.2f} us and a delete's {1e6 * delete / most():.0f} ns; insert and find take "
        f"{1e3 * worst / most():.0f} us at worst.",
        "A call over a socket costs tens of microseconds. Updates and deletes must have been one call for all "
        "records, so that their times are the server's and cannot tell drivers apart.",
    )


@paper.finding("not shown", "Table 1; Sections 3.2 and 4")
def records() -> Texts:
    """200,000 operations from 18 thousand records."""
    count, _ = of_sets("number of records")
    return (
        "The sets have about 18 thousand records; 1,000 to 200,000 operations reach all of them.",
        f"The largest number is {most() / count:.1f} times the records, the smallest {100 * 1000 / count:.1f} % of "
        "them.",
        "Records were repeated, or operations are not records. Repeated ones are friendlier to caches and compression.",
    )


@paper.finding("implausible", "Table 1; Sections 4 and 5.4")
def memory() -> Texts:
    """40 MB for 274."""
    low, high = (paper("Section 5.4", "insert and find memory", column).value for column in ("from", "to"))
    large, small = (most() * size / 1e3 for size in of_sets("size of a record"))
    return (
        f"Insert and find take {low:.0f} to {high:.0f} MB of memory more.",
        f"{most():,.0f} records are {large:.0f} MB in the large set and {small:.0f} MB in the small one, as data "
        "alone.",
        "An array of the large set cannot be held in that. The change of memory was read after it had been freed, "
        "or the sets were not as large: it does not measure what a driver needs.",
    )


@paper.finding("contradiction", "Section 4 against Section 5.2")
def delete_cpu() -> Texts:
    """Whose delete takes more CPU."""
    bound = paper("Section 4", "delete CPU", "upper bound").value
    return (
        "Results: deleting, MongoClient takes more CPU. Analysis: MongoClient is the better one there too.",
        f"All values are under {bound:.0f} ms, for {most():,.0f} records or for one call.",
        "Both cannot hold. Under the resolution of a CPU clock of 10 ms neither is shown.",
    )


@paper.finding("contradiction", "Section 5.4 against Sections 4, 5.1 and 5.3")
def all_metrics() -> Texts:
    """Cheaper in all metrics."""
    favoured = {"time": ("insert", "find"), "CPU": ("insert", "find", "update"), "memory": ("insert", "find")}
    named = "; ".join(f"{metric} of {', '.join(operations)}" for metric, operations in favoured.items())
    return (
        "MongoClient is the steadier and cheaper one in every metric.",
        "By the sections before, times of update and delete are alike, so is their memory, and the CPU of delete "
        f"is larger in MongoClient: of {4 * len(favoured)} combinations of operation and metric "
        f"{sum(map(len, favoured.values()))} favour it at most ({named}).",
        "The general sentence is stronger than what it sums up: it holds for insert and find.",
    )


@paper.finding("misprint", "Section 4")
def panels() -> Texts:
    """Panels of figures that come later."""
    return (
        "Panels are cited as 3a to 3d for time, 4a to 4d for CPU and 5a to 5d for memory.",
        "The figures of time, CPU and memory are 2, 3 and 4; there is no Fig. 5.",
        "Off by one throughout. A reader who looks a panel up finds the wrong measure.",
    )


@paper.finding("unsupported", "Section 4")
def batch_split() -> Texts:
    """A drop explained by batches."""
    level = paper("Section 4", "insert, batches split", "above").value
    large, small = of_sets("size of a record")
    return (
        f"Mongoose's insert of the small set gets quicker above {level:,.0f} operations, perhaps since larger "
        "batches are split.",
        f"The large set, {large / small:.1f} times the bytes a record, shows no such drop, as the paper says itself; "
        f"from {level:,.0f} to {most():,.0f} twice the records take less time.",
        "The reason offered would hold for both sets. Twice the work in less time looks like something left undone.",
    )


@paper.finding("unsupported", "Section 5.4; Table 1")
def proportional() -> Texts:
    """Proportional to the size of a record."""
    (large, small), (many, few) = of_sets("size of a record"), of_sets("number of attributes")
    return (
        "Mongoose's performance is directly proportional to the size of a record.",
        f"Record sizes differ by {large / small:.1f} times, attributes by {many / few:.1f} ({1e3 * large / many:.0f} "
        f"and {1e3 * small / few:.0f} bytes an attribute); no ratio of times is printed, and updates and deletes are "
        "called alike.",
        "Size and number of attributes change together, and a mapper's cost goes with the attributes. Two sets "
        "cannot tell them apart.",
    )


@paper.finding("unsupported", "Sections 4 and 5")
def significance() -> Texts:
    """Significant, with no test."""
    return (
        "Differences are called significant or not, operation by operation.",
        f"Means of {repetitions():.0f} repetitions are drawn without a spread; memory is called unstable throughout.",
        "Where no comparison was steady, ten repetitions need a test more than elsewhere.",
    )
