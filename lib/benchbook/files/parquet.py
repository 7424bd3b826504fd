"""The unpacked size of a Parquet file, checked first: a small file may unpack to any size.

A dictionary has a text once, however many rows repeat it. Neither the file's size nor the sizes
that it states count the repetitions.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_BATCH_ROWS: Final = 1_000
"""Rows of a batch."""


class TooLargeError(ValueError):
    """A file's values take more bytes than may be read."""


def check_size(source: pa.NativeFile | str, limit: int, rows: int | None = None) -> None:
    """Raise `TooLargeError` when the values of a file's first rows take more bytes than the limit.

    Repeated values count each time. Texts stay in their dictionaries while they are counted, so
    that counting takes little memory.

    Parameters
    ----------
    source
        The file.
    limit
        Bytes.
    rows
        How many rows are read; None: all.
    """
    error = TooLargeError(f"its values take more than {limit:,} bytes")
    with pq.ParquetFile(source) as file:
        columns = [file.schema.column(number) for number in range(len(file.schema))]
        nested = [number for number, column in enumerate(columns) if column.max_repetition_level]
        is_whole = rows is None or rows >= file.metadata.num_rows
        if is_whole and _read_stated_size(file.metadata, nested) > limit:
            raise error
    bytes_columns = [column for column in columns if column.physical_type == "BYTE_ARRAY"]
    texts = [column.path for column in bytes_columns if column.logical_type.type != "DECIMAL"]
    size = 0
    with pq.ParquetFile(source, read_dictionary=texts, page_checksum_verification=True) as file:
        for batch in iterate_batches(file, rows):
            size += sum(map(_count_value_bytes, batch.columns))
            if size > limit:
                raise error


def iterate_batches(file: pq.ParquetFile, rows: int | None) -> Iterator[pa.RecordBatch]:
    """Yield batches with at least the first rows of a file; None: with all.

    A batch is of one row group: pyarrow cannot join the dictionaries of nested texts from several.
    """
    left = file.metadata.num_rows if rows is None else rows
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(max(1, min(left, _BATCH_ROWS)), row_groups=[group]):
            yield batch
            left -= batch.num_rows
            if left <= 0:
                return


def _read_stated_size(metadata: pq.FileMetaData, nested: Sequence[int]) -> int:
    """Return the fewest bytes that a file states: those of its pages, or one per value.

    Only columns with lists, whose numbers are `nested`, have more values than rows. The metadata of
    other columns is not read: pyarrow aborts the process when a damaged footer does not describe a
    column.
    """
    pages, values = 0, metadata.num_rows * (metadata.num_columns - len(nested))
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        pages += group.total_byte_size
        values += sum(group.column(column).num_values for column in nested)
    return int(max(pages, values))


def _count_value_bytes(array: pa.Array) -> int:
    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(array.dictionary)
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if pa.types.is_struct(kind):
        return sum(map(_count_value_bytes, array.flatten()))
    if pa.types.is_map(kind):
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        parts = (array.keys.slice(start, end - start), array.items.slice(start, end - start))
        return sum(map(_count_value_bytes, parts))
    if pa.types.is_nested(kind):
        return _count_value_bytes(array.flatten())
    return int(array.nbytes)
