"""The committed reference run as the lessons read it: single repetitions and block means of one quantity."""

from functools import cache

import pandas as pd

from benchbook.evidence import reference
from benchbook.evidence.measured import parameters


@cache
def repetitions(study: str, lane: str, operation: str = "round_trip", metric: str = "wall_time") -> pd.DataFrame:
    """Return the repetitions of one quantity, ns or bytes, as in `benchbook.results.schema.OBSERVATIONS`."""
    wanted = {"study": study, "lane": lane, "operation": operation, "metric": metric}
    filters = [(name, "==", level) for name, level in wanted.items()]
    found = pd.read_parquet(reference.intact(reference.REPETITIONS), filters=filters)
    return found.assign(case=pd.Series([parameters(text).get("case") for text in found["parameters"]], found.index))


@cache
def means() -> pd.DataFrame:
    """Return the block means of all quantities, as `benchbook.evidence.reference.means` does."""
    return reference.means()
