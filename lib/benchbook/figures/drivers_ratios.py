"""Study `drivers`: mapper over native driver in every condition of the paper, each stack's pair beside the other."""

from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures.compared import by_stack, counted
from benchbook.figures.drivers import OPERATIONS, PAIRS, PAPERS_WAY, SETS, N
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import Row, each
from benchbook.figures.tables import NOT_RUN, estimate

QUANTITIES: Final = {
    "time": "wall_time",
    "CPU": "cpu_time",
    "RSS": "memory_change_kb",
    "heap": "heap_change_kb",
}
STACKS: Final = ("Node.js", "Python")
"""The paper's own first."""

Place = tuple[str, int, int, str, str]


def pairs(evidence: Evidence) -> Exhibit:
    """Set all 32 ratios of each pair (2 record sets, 4 numbers of records, 4 operations), of time, CPU and memory."""
    found, notes = _found(evidence)
    conditions = list(product(SETS.values(), N, OPERATIONS))
    frame = pd.DataFrame(conditions, columns=["Attributes", "Records", "Operation"])
    frame["Records"] = frame["Records"].map("{:,}".format)
    for stack, (quantity, metric) in product(STACKS, QUANTITIES.items()):
        if (stack, metric) != ("Python", "heap_change_kb"):  # which has no such counter
            texts = [_text(found.get((stack, *condition, metric))) for condition in conditions]
            frame[f"{stack}: {quantity}, here"] = texts
    absent = [stack for stack in STACKS if stack not in {place[0] for place in found}]
    said = [
        *([counted(min(row.n_a, row.n_b) for row in found.values())] if found else []),
        *(f"not run in this profile: {stack}" for stack in absent),
        "Node.js: Mongoose over MongoClient, the paper's own pair; Python: mongoengine over pymongo",
        "above 1: the mapper is slower or larger; the paper prints no values",
        "RSS, heap: what the client's resident memory, and its heap (Node.js alone tells it), grew by in the operation",
        "where a growth is zero or negative there is no ratio: the difference then, mapper minus driver, in MB",
    ]
    return Exhibit("drivers: mapper over native driver, ratios with their 95 % intervals", frame, (*said, *notes))


def _found(evidence: Evidence) -> tuple[dict[Place, Row], list[str]]:
    """Return the comparisons by stack, attributes, n, operation and metric; the heap is compared as resident memory."""
    heap = Evidence.of(evidence.means[evidence.means["metric"] == "heap_change"].assign(metric="memory_change"))
    of_heap = heap.comparisons.replace({"metric": {"memory_change_kb": "heap_change_kb"}})
    tables = [evidence.comparisons[evidence.comparisons["study"] == "drivers"], *([of_heap] if len(of_heap) else [])]
    settled, notes = by_stack(pd.concat(tables), dict.fromkeys(("python", "node"), PAPERS_WAY))
    found = {}
    for stack, rows in settled.items():
        for row in each(rows):
            if (row.side_b, row.side_a) == PAIRS[stack] and row.n_a and row.n_b:
                settings: dict[str, Any] = row.settings
                found[stack, settings["attributes"], int(row.n), row.operation, row.metric] = row
    return found, notes


def _text(row: Row) -> str:
    if row is None:
        return NOT_RUN
    if row.ratio == row.ratio:
        return estimate(row.ratio, row.low, row.high)
    megabytes = [end / 1000 for end in (row.difference, row.difference_low, row.difference_high)]
    return estimate(megabytes[0], megabytes[1], megabytes[2], "MB")


TABLES: Final[dict[str, Maker]] = {"drivers_pairs": pairs}
