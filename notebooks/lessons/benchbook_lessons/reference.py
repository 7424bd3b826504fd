"""The committed reference run as the lessons read it: single repetitions and block means of one quantity."""

from functools import cache

import pandas as pd

from benchbook.analysis import reference


@cache
def repetitions(study: str, language: str) -> pd.DataFrame:
    """Return the round trips' times, ns, as in `benchbook.results.schema.OBSERVATIONS`."""
    wanted = {"study": study, "language": language, "operation": "round_trip", "metric": "wall_time"}
    filters = [(name, "==", level) for name, level in wanted.items()]
    return pd.read_parquet(reference.intact(reference.REPETITIONS), filters=filters)


@cache
def means() -> pd.DataFrame:
    """Return the block means of all quantities, as `benchbook.analysis.reference.means` does."""
    return reference.means()


def of_one_machine(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the machine that measured most of them: there a block has one number."""
    return rows[rows["host"].eq(rows["host"].mode().iloc[0])]
