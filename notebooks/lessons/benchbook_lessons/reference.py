"""The committed reference run for the lessons: single repetitions and block means."""

from functools import cache

import pandas as pd

from benchbook.analysis.runs import REPETITIONS_FILE, check_reference_file, load_reference_means


@cache
def load_repetitions(study: str, language: str) -> pd.DataFrame:
    """Return the round trips' times, ns, as in `benchbook.results.schema.OBSERVATIONS`."""
    wanted = {
        "study": study,
        "language": language,
        "operation": "round_trip",
        "metric": "wall_time",
    }
    filters = [(name, "==", level) for name, level in wanted.items()]
    return pd.read_parquet(check_reference_file(REPETITIONS_FILE), filters=filters)


@cache
def load_means() -> pd.DataFrame:
    """Load the block means of all quantities once."""
    return load_reference_means()


def select_main_host(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the machine that measured most of them, where a block has one number."""
    return rows[rows["host"].eq(rows["host"].mode().iloc[0])]
