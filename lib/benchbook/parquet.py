"""The size of a Parquet file's values, known before they are unpacked: a small file may unpack to any size.

A dictionary has a text once, however many rows repeat it. Neither the file's size nor the sizes that it states count
the repetitions.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_ROWS: Final = 1_000
"""Rows of a batch."""


class TooLargeError(ValueError):
    """A file's values take more bytes than may be read."""


def check_size(source: pa.NativeFile, limit: int) -> None:
    """Raise `TooLargeError` when a file's values take more bytes than the limit, repeated ones each time.

    Texts stay in their dictionaries, at any depth, so that counting takes little memory.
    """
    error = TooLargeError(f"its values take more than {limit:,} bytes")
    with pq.ParquetFile(source) as file:
        columns = [file.schema.column(number) for number in range(len(file.schema))]
        nested = [number for number, column in enumerate(columns) if column.max_repetition_level]
        if _stated_size(file.metadata, nested) > limit:
            raise error
    bytes_columns = [column for column in columns if column.physical_type == "BYTE_ARRAY"]
    texts = [column.path for column in bytes_columns if column.logical_type.type != "DECIMAL"]
    size = 0
    with pq.ParquetFile(source, read_dictionary=texts, page_checksum_verification=True) as file:
        for batch in file.iter_batches(batch_size=_ROWS):
            size += sum(map(_value_bytes, batch.columns))
            if size > limit:
                raise error


def _stated_size(metadata: pq.FileMetaData, nested: Sequence[int]) -> int:
    """Return the bytes that a file says it takes at least: those of its pages, and one for each value.

    Only columns with lists, whose numbers are `nested`, state other numbers of values than of rows. Others are not
    asked: pyarrow aborts the process where a damaged footer does not describe a column.
    """
    pages, values = 0, metadata.num_rows * (metadata.num_columns - len(nested))
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        pages += group.total_byte_size
        values += sum(group.column(column).num_values for column in nested)
    return int(max(pages, values))


def _value_bytes(array: pa.Array) -> int:
    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(array.dictionary)
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if pa.types.is_struct(kind):
        return sum(map(_value_bytes, array.flatten()))
    if pa.types.is_nested(kind):
        return _value_bytes(array.flatten())
    return int(array.nbytes)
