"""Make the lessons' data, ``notebooks/lessons/data``, from the reference run.

``python -m tools.lesson_data`` takes the blocks of one machine, `HOST`, up to the date `LAST_DAY`.
The machine has most blocks of the present design, over five days. It writes the single round trips
of lesson 2, and the block means of lessons 5 and 8. Make the data again only with a reason: the
lessons' texts, answers and tests have their numbers.

Older blocks, of 26 to 28 November, are among them where ``grid/pooled.yaml`` says that they answer
the same question. Update and delete of study ``drivers`` changed. They have four blocks of the
present design on this machine, too few for an interval, so no case of lesson 5 needs them.

Lesson 3 keeps its round trips in Python, of 26 November: twenty processes of one day, of which some
neighbours are slow together. Ten processes of the present design, on two days, do not show this.
The design changed the order of JSON and XML. Lesson 3 compares nothing: it shows how JSON's
processes differ, which the order does not change.

``python -m tools.lesson_data stores`` measures what lesson 7 shows where no server can start: about
a minute, on an idle machine.
"""

import argparse
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import paths
from benchbook.analysis.block_means import average_repetitions
from benchbook.analysis.orders import TURN_MEANS
from benchbook.analysis.runs import REPETITIONS_FILE
from benchbook.plots.points import select_rows
from benchbook_lessons import snapshot, stores

HOST: Final = "vm (AMD EPYC)"
"""The machine that measured most blocks. Lessons never mix machines."""

LAST_DAY: Final = "2026-11-30"
"""Later blocks of the reference run are left out."""

JAVA_BLOCKS: Final = 5
"""So many blocks are enough for the figure of lesson 2: each has two processes."""

_JAVA_CELL: Final = {
    "case": 1,
    "cell_arm": "a",
    "json_codec": "jackson",
    "process": "together",
    "keys": "paper",
    "binding": "once",
    "sink": "file",
}
_COLUMNS: Final = ["language", "n", "format", "block", "repetition", "us"]


def load_observations() -> pd.DataFrame:
    """Return the chosen machine's observations in the reference run."""
    filters = [("host", "==", HOST), ("state", "==", "done")]
    rows = pd.read_parquet(paths.reference() / REPETITIONS_FILE, filters=filters)
    chosen: pd.DataFrame = rows[rows["cell_started_at"].astype(str).str[:10] <= LAST_DAY]
    return chosen


def select_java_trips(observations: pd.DataFrame) -> pd.DataFrame:
    """Return single round trips of Java processes, numbered from 1 within a number of books.

    A block has two processes: the first half of its repetitions ran in one that XML began, the
    second half in one that JSON began. So XML begins the processes with odd numbers.
    """
    rows = select_rows(observations, study="bookstore", operation="round_trip", metric="wall_time")
    java = snapshot.select_cells(select_rows(rows, language="java", arm="a"), **_JAVA_CELL)
    chosen = []
    for _, cell in java.groupby("n"):
        assert cell["cell_id"].nunique() == 1
        # The first blocks in the order of time.
        at = cell["cell_started_at"].rank(method="dense").astype(int) - 1
        half = cell["repetitions"] // 2
        is_second = cell["repetition"] >= half
        cell = cell.assign(
            block=2 * at + is_second + 1, repetition=cell["repetition"] - half * is_second
        )
        is_begun_by_xml = (cell["format"] == "xml") == (cell["turn"] == 1)
        assert (is_begun_by_xml == cell["block"] % 2).all(), "another order of the processes"
        chosen.append(cell[at < JAVA_BLOCKS])
    found = pd.concat(chosen)
    return found.assign(us=found["value"] / 1e3)[_COLUMNS]


def select_round_trips(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the Java processes of lesson 2, and the Python processes that lesson 3 keeps."""
    kept = snapshot.load_round_trips(language="python")
    found = pd.concat([select_java_trips(observations), kept])
    found = found.astype({"block": "int64", "repetition": "int64", "us": "float32"})
    ordered: pd.DataFrame = found.sort_values(_COLUMNS[:-1], ignore_index=True)
    return ordered


def select_means(observations: pd.DataFrame) -> pd.DataFrame:
    """Return block means with seven digits, and dates in place of moments."""
    means = average_repetitions(observations)
    assert (means["at_least"] == means["value"]).all(), "a wait timed out: choose other blocks"
    unread = ["at_least", "environment", *TURN_MEANS]
    means = means.drop(columns=unread).dropna(axis="columns", how="all")
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
