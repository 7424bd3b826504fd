"""Make the lessons' data, ``notebooks/lessons/data``, from the reference run and its campaigns.

``python -m tools.lesson_data`` takes the blocks of one machine, `HOST`, on the days `DAYS`. It
writes the single round trips of lessons 2 and 3, and the block means of lessons 5 and 8.
``python -m tools.lesson_data stores`` measures what lesson 7 shows where no server can start: about
a minute, on an idle machine. Make the data again only with a reason: the lessons' texts, answers
and tests have their numbers.
"""

import argparse
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import paths
from benchbook.analysis.block_means import average_repetitions
from benchbook.analysis.runs import REPETITIONS_FILE
from benchbook.analysis.study_means import select_cells
from benchbook.plots.points import select_rows
from benchbook_lessons import snapshot, stores

HOST: Final = "vm (AMD EPYC)"
"""The machine that measured most blocks. Lessons never mix machines."""

DAYS: Final = ("2026-11-26", "2026-11-27", "2026-11-28")
"""The dates of the chosen blocks."""

JAVA_BLOCKS, PYTHON_BLOCKS = 6, 20
"""So many processes are enough for the figures of lessons 2 and 3."""

_JAVA_CELL: Final = {
    "case": 1,
    "json_codec": "jackson",
    "process": "together",
    "keys": "paper",
    "binding": "once",
    "sink": "file",
}
_COLUMNS: Final = ["language", "n", "format", "block", "repetition", "us"]


def load_observations() -> pd.DataFrame:
    """Return the chosen machine's observations of the chosen days."""
    files = [paths.reference() / REPETITIONS_FILE]
    files += sorted((paths.root() / "figures" / "campaigns").glob("*.parquet"))
    filters = [("host", "==", HOST), ("state", "==", "done")]
    rows = pd.concat([pd.read_parquet(file, filters=filters) for file in files])
    # A later reference run has its campaigns' observations, too.
    rows = rows.drop_duplicates()
    chosen: pd.DataFrame = rows[rows["cell_started_at"].astype(str).str[:10].isin(DAYS)]
    return chosen


def select_round_trips(observations: pd.DataFrame) -> pd.DataFrame:
    """Return single round trips of Java's and of identical Python processes.

    The blocks are numbered anew from 1, within a language and a number of books.
    """
    rows = select_rows(observations, study="bookstore", operation="round_trip", metric="wall_time")
    java = select_cells(select_rows(rows, language="java", arm="a"), **_JAVA_CELL)
    python = select_rows(rows, language="python", arm="b", format="json", n=1000)
    chosen = []
    for table, most in ((java, JAVA_BLOCKS), (python, PYTHON_BLOCKS)):
        for _, cells in table.groupby("n"):
            # One cell only, and its first blocks in the order of time.
            cell = cells[cells["cell_id"] == cells["cell_id"].iloc[0]]
            moments = cell["cell_started_at"]
            cell = cell.assign(block=moments.rank(method="dense").astype(int))
            chosen.append(cell[cell["block"] <= most])
    found = pd.concat(chosen)
    found = found.assign(us=(found["value"] / 1e3).astype("float32"))[_COLUMNS]
    ordered: pd.DataFrame = found.sort_values(_COLUMNS[:-1], ignore_index=True)
    return ordered


def select_means(observations: pd.DataFrame) -> pd.DataFrame:
    """Return block means with seven digits, and dates in place of moments."""
    means = average_repetitions(observations)
    assert (means["at_least"] == means["value"]).all(), "a wait timed out: choose other blocks"
    means = means.drop(columns=["at_least", "environment"]).dropna(axis="columns", how="all")
    for name in ("started_at", "last_started_at"):
        means[name] = means[name].dt.floor("D")
    return means.astype({"value": "float32"})


def measure_stores(records: int = 500, repetitions: int = 10) -> pd.DataFrame:
    """Measure the three tables of lesson 7 on this machine."""
    tables = {
        "mapper": stores.measure_mapper(records, repetitions),
        "replication": stores.measure_replication(records // 2, repetitions),
        "durability": stores.measure_durability(records // 5, repetitions),
    }
    return pd.concat([rows.assign(table=name) for name, rows in tables.items()], ignore_index=True)


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table small: it is committed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = [name for name in ("value", "us", "ms") if name in table]
    pq.write_table(
        pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None),
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table if name not in numbers],
        column_encoding=dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
        write_page_checksum=True,
        store_schema=False,
    )
    print(f"{path.name}: {len(table):,} rows, {path.stat().st_size / 1e3:,.0f} kB")


def main() -> None:
    """Make the files that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("blocks", "stores"), default="blocks")
    folder = snapshot.find_folder()
    if parser.parse_args().what == "stores":
        write(measure_stores(), folder / snapshot.STORES_FILE)
        return
    observations = load_observations()
    write(select_round_trips(observations), folder / snapshot.ROUND_TRIPS_FILE)
    write(select_means(observations), folder / snapshot.MEANS_FILE)


if __name__ == "__main__":
    main()
