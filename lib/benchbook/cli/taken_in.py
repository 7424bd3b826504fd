"""`benchbook results import`: cells that were measured before, or on another machine, come into the results' folder."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from benchbook import cli
from benchbook.results import store
from benchbook.results.files import DamagedError, read
from benchbook.results.folder import BusyError, locked

BYTES: Final = 2**29
"""Of the largest file that is taken in: a hundred reference runs."""

ROWS: Final = 20_000_000
"""Of the longest: what it holds is unpacked in memory."""


def main(asked: argparse.Namespace) -> int:
    """Take in each file, and say how many cells are new."""
    tables = _tables([Path(path) for path in asked.path])
    new = before = 0
    try:
        with locked():
            for file, table in tables:
                try:
                    written, known = store.take_in(table)
                except ValueError as error:
                    raise cli.UsageError(f"{file}: no observations that can be read: {error}") from error
                new, before = new + written, before + known
    except BusyError as error:
        raise cli.UsageError(str(error)) from error
    print(f"cells: {new} taken in, {before} here before")
    return cli.DONE


def _tables(paths: Sequence[Path]) -> Iterator[tuple[Path, pa.Table]]:
    """Yield the files with what they hold; of a results' folder all that are in its studies' folders."""
    for path in paths:
        cells = sorted(path.glob("[!.]*/[!.]*.parquet")) if path.is_dir() else []
        if path.is_dir() and not cells:
            raise cli.UsageError(f"{path}: no results are in it: name a results' folder, or a file of observations")
        for file in cells or [path]:
            try:
                if (size := file.stat().st_size) > BYTES:
                    raise DamagedError(f"it has {size:,} bytes: at most {BYTES:,} are read")
                yield file, read(file, ROWS)
            except DamagedError as error:
                raise cli.UsageError(f"{file}: no observations that can be read: {error}") from error
