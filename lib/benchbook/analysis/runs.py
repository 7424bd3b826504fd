"""A run that can be read: a profile's results on this machine, the committed reference run, or a folder of either.

Commands, pages and notebooks all take what they read from a `Run`; none looks for its files by itself.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchbook import paths, results
from benchbook.analysis import Analysis, reference
from benchbook.analysis.block_means import means_of
from benchbook.results.folder import Whole
from benchbook.results.schema import merge_schemas

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, eq=False)
class Run:
    """What some cells measured, and what follows from it."""

    name: str  # a profile's, `benchbook.paths.REFERENCE`, or a folder
    analysis: Analysis  # its block means, comparisons, verdicts: each made when it is first asked for
    # the Parquet files of its repetitions by a block's cell and number; under ``None`` the one that holds all
    files: Callable[[], Mapping[tuple[str, int] | None, Path]] = dict
    identities: frozenset[str] | None = None  # which finished cells of the results it has; None: all that `files` hold

    @classmethod
    def of_results(cls, name: str, identities: Iterable[str]) -> Self:
        """Return finished cells that ran here; identities as `benchbook.results.observations` takes them."""
        chosen = frozenset(identities)
        finished = results.finished(chosen)
        return cls(name, Analysis(partial(means_of, finished)), partial(_by_block, finished), chosen)

    @classmethod
    def of_reference(cls) -> Self:
        """Return the committed run; without one a run that measured nothing.

        Raises
        ------
        benchbook.inputs.InputError
            When it is damaged: once it is read.
        """
        if not (paths.reference() / reference.MEANS).is_file():
            return cls(paths.REFERENCE, Analysis(reference.means))
        return cls(paths.REFERENCE, Analysis(reference.means), lambda: {None: reference.intact(reference.REPETITIONS)})

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Return what a folder of results holds, or one that holds a reference run; it may hold nothing."""
        if (folder / reference.MEANS).is_file():
            analysis = Analysis(reference.means(folder))
            return cls(str(folder), analysis, lambda: {None: reference.intact(reference.REPETITIONS, folder)})
        with _results_in(folder):
            finished = results.finished()
            analysis = Analysis(means_of(finished))
            return cls(str(folder), analysis, partial(_by_block, finished))

    @property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived, of both arms."""
        return self.analysis.means

    def connect(self) -> "DuckDBPyConnection":
        """Return a connection with the views of `benchbook.results.connect`: ``observations`` are this run's."""
        if self.identities is not None:
            return results.connect(self.identities)
        files = [str(path) for path in self.files().values()]
        if not files:
            return results.connect(rows=_NOTHING)
        # Each file has the columns of its own study's parameters.
        schema = merge_schemas(pq.read_schema(file) for file in files)
        return results.connect(rows=ds.dataset(files, schema=schema))


def _by_block(finished: Iterable[Whole]) -> Mapping[tuple[str, int] | None, Path]:
    """Return the files of results by a block's cell and number."""
    return {(result.facts.cell_id, result.facts.block): result.path for result in finished}


_NOTHING: Final = results.OBSERVATIONS.empty_table()


@contextmanager
def _results_in(folder: Path) -> Iterator[None]:
    """Read results of another folder for a while."""
    before = os.environ.get("BENCHBOOK_RESULTS")
    os.environ["BENCHBOOK_RESULTS"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["BENCHBOOK_RESULTS"]
        else:
            os.environ["BENCHBOOK_RESULTS"] = before
