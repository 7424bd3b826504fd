"""`benchbook results check`: which verdicts of the reference run would change with some files.

The files are read, and not imported.
"""

import itertools
import json
from collections.abc import Iterable
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook.analysis.block_means import compute_block_means
from benchbook.analysis.runs import Analysis
from benchbook.cli import compare, selection
from benchbook.cli.command import DONE
from benchbook.grid import cells
from benchbook.grid.pooling import list_counted_versions
from benchbook.results.schema import OBSERVATIONS
from benchbook.studies.catalogue import SLUGS
from benchbook.studies.levels import read_parameters

CELL_AND_BLOCK: Final = ["cell_id", "block"]
"""The columns that tell finished cells apart."""


def check_files(tables: Iterable[pa.Table]) -> int:
    """Print how many cells of files count, and the reference run's verdicts that they change.

    Parameters
    ----------
    tables
        The observations of each file, whose columns and levels were checked.
    """
    # What counts, and is not in the reference run: the same measurement began at the same time.
    before = selection.load_reference().analysis
    table = pa.concat_tables(tables, promote_options="default")
    observed = table.filter(pc.equal(table["state"], "done"))
    means = compute_block_means(_select_counted(observed).to_pandas())
    began = [*CELL_AND_BLOCK, "started_at"]
    known = pd.MultiIndex.from_frame(before.means[began])
    new = means[~pd.MultiIndex.from_frame(means[began]).isin(known)]

    # How many cells that is.
    hosts = ", ".join(sorted(means["host"].unique()))
    print(f"Finished cells: {_count_cells(observed.select(CELL_AND_BLOCK).to_pandas())}")
    print(f"Of today's versions, or of those pooled with them: {_count_cells(means)}")
    print(f"Not in the reference run: {_count_cells(new)}{f' ({hosts})' if len(new) else ''}")
    noisy = _count_cells(new[new["noisy"]])
    if noisy:
        print(f"Noisy, so that no claim is judged on them: {noisy}")
    if new.empty:
        print("\nNothing is new that counts: no verdict changes.")
        return DONE

    # The verdicts with them.
    print()
    added = _choose_free_blocks(new, before.means)
    after = Analysis(pd.concat([before.means, added], ignore_index=True))
    compare.print_verdicts(before, after, most=len(after.verdicts))
    return DONE


def _choose_free_blocks(new: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return block means with the block numbers that an import gives their cells.

    A cell whose number another measurement has gets the next free one.
    """
    taken = {*known[CELL_AND_BLOCK].itertuples(index=False, name=None)}
    number_of: dict[tuple[str, int], int] = {}
    for identity, block in new[CELL_AND_BLOCK].drop_duplicates().itertuples(index=False, name=None):
        free = next(one for one in itertools.count(block) if (identity, one) not in taken)
        taken.add((identity, free))
        number_of[identity, block] = free
    cells_of_rows = zip(new["cell_id"], new["block"], strict=True)
    return new.assign(block=[number_of[cell] for cell in cells_of_rows])


def _select_counted(table: pa.Table) -> pa.Table:
    """Return the rows that count: of today's versions, or of those pooled with them."""
    keys = ["study", "cell_id", "versions"]
    groups = table.select([*keys, "operation"]).to_pandas().groupby(keys, dropna=False, sort=False)
    chosen: list[int] = []
    for (study, _, versions), rows in groups:
        first = table.slice(rows.index[0], 1).to_pylist()[0]
        # A file may have the empty columns of other studies' parameters.
        known = {name: first[name] for name in first if name in OBSERVATIONS.names}
        known |= {name: level for name, level in first.items() if level is not None}
        parameters = None
        if study in SLUGS:
            parameters = cells.read_parameters(study, read_parameters(known))
        # A user's records are in no claim.
        if parameters is None or parameters.dataset_file:
            continue
        for counted, operations in list_counted_versions(study, parameters):
            if counted == json.loads(versions or "{}"):
                is_counted = rows["operation"].isin(operations or rows["operation"])
                chosen += [*rows.index[is_counted]]
    return table.take(pa.array(sorted({*chosen}), pa.int64()))


def _count_cells(rows: pd.DataFrame) -> int:
    return len(rows[CELL_AND_BLOCK].drop_duplicates())
