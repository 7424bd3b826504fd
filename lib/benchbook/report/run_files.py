"""A run as two files that are committed or sent: its values and block means, packed small."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.quantities import MEAN_KEYS
from benchbook.analysis.runs import MEANS_FILE, REPETITIONS_FILE
from benchbook.results.folder import Operations, open_results
from benchbook.results.schema import VALUES
from benchbook.results.views import connect

# Of zstd's 22 levels: the files are written once and read often.
_COMPRESSION_LEVEL: Final = 19
# A query for a few cells then reads a few groups, in a fifth of the time.
_ROWS_PER_GROUP: Final = 20_000

_ORDER: Final = ("study", *MEAN_KEYS, "repetition")


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table.

    Floating-point numbers are split into streams of bytes, which zstd packs a third smaller.
    """
    split = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    others = [name for name in table.column_names if name not in split]
    pq.write_table(
        table,
        path,
        row_group_size=_ROWS_PER_GROUP,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        use_dictionary=others,
        use_byte_stream_split=split,
        write_page_checksum=True,
    )


def write_run(folder: Path, identities: Iterable[str] | Mapping[str, Operations]) -> None:
    """Write the observations and block means of some finished cells, at some five bytes per value.

    Parameters
    ----------
    folder
        Where `MEANS_FILE` and `REPETITIONS_FILE` are written, the second in the columns of
        `benchbook.results.schema.OBSERVATIONS`.
    identities
        As `ResultsFolder.list_finished_files` takes them.
    """
    with connect(identities) as connection:
        query = f"SELECT * FROM observations ORDER BY {', '.join(_ORDER)}"
        observed = connection.sql(query).to_arrow_table()
    write_parquet(folder / REPETITIONS_FILE, observed)
    # The means as stored: an analysis joins some blocks, and adds what it derives.
    means = load_block_means(open_results(), identities)
    write_parquet(folder / MEANS_FILE, _type_like(means, observed.schema))


def _type_like(means: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Return block means as a table with a schema's types.

    In pandas a column with NaN cannot have whole numbers.
    """
    table = pa.Table.from_pandas(means, preserve_index=False).replace_schema_metadata()
    for field in schema:
        if field.name in table.column_names and field.name not in VALUES.names:
            column = table[field.name].cast(field.type)
            table = table.set_column(table.column_names.index(field.name), field, column)
    return table
