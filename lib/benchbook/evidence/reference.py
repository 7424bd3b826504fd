"""The reference run that is committed: all its observations in one file, and the block means that are judged."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from benchbook import paths, results
from benchbook.evidence.means import block_means, measures
from benchbook.inputs import InputError
from benchbook.results import files
from benchbook.results.store import without_paths

MEANS: Final = "block_means.parquet"
REPETITIONS: Final = "repetitions.parquet"
ABOUT: Final = "reference.json"

_ORDER: Final = ("study", "cell_id", "block", "operation", "role", "metric", "format", "codec", "repetition")
_LEVEL: Final = 19  # of zstd's 22: written once a campaign, read by everybody
_GROUP: Final = 20_000  # rows: who asks for a few cells reads a few of these, in a fifth of the time


def write(folder: Path, identities: Iterable[str], means: pd.DataFrame) -> None:
    """Write the observations of some finished cells, and their block means, some five bytes a value.

    Parameters
    ----------
    folder
        Where `MEANS` and `REPETITIONS` are written: both with their campaigns, the second in the columns of
        `benchbook.results.schema.OBSERVATIONS`.
    identities
        As in `benchbook.results.observations`.
    means
        Their block means, as `benchbook.evidence.stored_means` returns them.
    """
    with results.connect(identities) as connection:
        query = f"SELECT * FROM observations ORDER BY {', '.join(_ORDER)}"
        _write(folder / REPETITIONS, connection.sql(query).to_arrow_table())
    _write(folder / MEANS, pa.Table.from_pandas(means, preserve_index=False).replace_schema_metadata())


def _write(path: Path, table: pa.Table) -> None:
    """Write a table, its texts without paths.

    Floating-point numbers are split into streams of bytes, which zstd packs a third smaller.
    """
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            coded = table[field.name].combine_chunks().dictionary_encode()
            texts = [without_paths(text) for text in coded.dictionary.to_pylist()]
            table = table.set_column(number, field, pa.array(texts, field.type).take(coded.indices))
    split = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    others = [name for name in table.column_names if name not in split]
    packed: dict[str, Any] = {"compression": "zstd", "compression_level": _LEVEL}
    packed |= {"use_dictionary": others, "use_byte_stream_split": split}
    with path.open("w+b") as file, files.sealed(file, table.schema, **packed) as writer:
        writer.write_table(table, row_group_size=_GROUP)


def means(folder: Path | None = None) -> pd.DataFrame:
    """Return the committed block means of all quantities, stored and derived; without a file none.

    Parameters
    ----------
    folder
        Where they lie; None: ``figures/reference`` of the checkout.
    """
    nothing = block_means(results.OBSERVATIONS.empty_table().to_pandas())
    try:
        found = pd.read_parquet(intact(MEANS, folder))
    except FileNotFoundError:
        return nothing
    if lacking := [name for name in nothing if name not in found]:
        where = str((folder or paths.reference()) / MEANS)
        raise InputError(where, f"it is of another version of benchbook: it has no column {lacking[0]!r}")
    return measures(found)


def profile() -> str:
    """Return the profile whose cells the committed run has."""
    return str(json.loads((paths.reference() / ABOUT).read_text(encoding="utf-8"))["profile"])


def intact(name: str, folder: Path | None = None) -> Path:
    """Return the path of `MEANS` or `REPETITIONS`, once the file is known to hold what was written.

    Raises
    ------
    benchbook.inputs.InputError
        When it does not.
    FileNotFoundError
        When there is none.
    """
    path = (folder or paths.reference()) / name
    try:
        files.check(path)
    except files.DamagedError as error:
        raise InputError(str(path), f"the reference run is damaged ({error}): restore it from git") from error
    return path
