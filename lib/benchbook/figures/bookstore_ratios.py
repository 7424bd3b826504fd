"""Study `bookstore`: XML over JSON from a cold start, in each case and size, and whether it is near the paper's."""

from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.evidence import number as printed_number
from benchbook.figures.bookstore import WAYS, N
from benchbook.figures.compared import by_stack, counted
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import Row, each
from benchbook.figures.tables import NOT_RUN, estimate, number

NEAR: Final = 0.3
WITHIN: Final = f"within {100 * NEAR:.0f} %"
OPERATIONS: Final = {"written and read": "round_trip", "written": "marshal", "read": "unmarshal"}
STACKS: Final = {"Java": "java", "Python": "python"}
Place = tuple[str, int, int, str]


def cold(evidence: Evidence) -> Exhibit:
    """Set XML's time over JSON's for both cases and every number of books, the paper's own stack first."""
    found, notes = _found(evidence)
    conditions = list(product((1, 2), N))
    frame = pd.DataFrame(conditions, columns=["Case", "Books"])
    frame["Books"] = frame["Books"].map("{:,}".format)
    theirs = [_printed(*condition) for condition in conditions]
    frame["written and read, published"] = [number(ratio) for ratio in theirs]
    for stack in STACKS:
        for what, operation in OPERATIONS.items():
            rows = [found.get((stack, *condition, operation)) for condition in conditions]
            frame[f"{stack}: {what}, here"] = [_text(row) for row in rows]
            if operation == "round_trip":
                pairs = zip(rows, theirs, strict=True)
                frame[f"{stack}: {WITHIN}"] = [_near(row, ratio) for row, ratio in pairs]
    absent = [stack for stack in STACKS if stack not in {place[0] for place in found}]
    said = [
        *([counted(min(row.n_a, row.n_b) for row in found.values())] if found else []),
        *(f"not run in this profile: {stack}" for stack in absent),
        "each cell is one process without warm-up, and the mean holds its first repetition, as in the paper",
        f"{WITHIN}: the ratio here over the published one lies in {1 - NEAR:g} to {1 + NEAR:g}",
        "the paper prints the sum of writing and reading alone",
    ]
    return Exhibit(
        "bookstore: XML over JSON, time from a cold start, ratios with their 95 % intervals", frame, (*said, *notes)
    )


def _found(evidence: Evidence) -> tuple[dict[Place, Row], list[str]]:
    """Return the comparisons of elapsed time by stack, case, n and operation."""
    table = evidence.comparisons[evidence.comparisons["study"] == "bookstore"]
    warm = table["settings"].map(lambda settings: settings["process"] == "warm").astype(bool)
    settled, notes = by_stack(table[~warm & (table["metric"] == "wall_time")], WAYS)
    found = {}
    for stack, rows in settled.items():
        for row in each(rows[rows["ratio"].notna()]):
            settings: dict[str, Any] = row.settings
            found[stack, int(settings["case"]), int(row.n), row.operation] = row
    return found, notes


def _printed(case: int, n: int) -> float:
    xml, json = (printed_number("bookstore", f"Case {case} table", str(n), f"{kind} time") for kind in ("XML", "JSON"))
    return xml / json


def _text(row: Row) -> str:
    return NOT_RUN if row is None else estimate(row.ratio, row.low, row.high)


def _near(row: Row, theirs: float) -> str:
    if row is None:
        return NOT_RUN
    share = row.ratio / theirs
    return f"{'yes' if abs(share - 1) <= NEAR else 'no'} ({number(share)})"


TABLES: Final[dict[str, Maker]] = {"bookstore_cold": cold}
