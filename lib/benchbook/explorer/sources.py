"""Where the explorer's numbers come from: the reference run of the checkout, or what ran on this machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from benchbook import grid, paths
from benchbook.evidence import means
from benchbook.evidence.means import Triple
from benchbook.evidence.measured import OF_QUANTITY, Measured, first_arms
from benchbook.evidence.runs import Run
from benchbook.evidence.sides import Side
from benchbook.results import OF_AN_ARM

REFERENCE = "the reference run"
HERE = "this machine's results"

_PROVENANCE = ("run_id", "campaign", "host", "engine_version", "driver_version", "runtime", "codec", "code_hash",
               "foreign_load", "disturbed", "environment", "cell_started_at", "position")  # fmt: skip
_FOLD = 1_000_000
"""More than any block's repetitions: they are told apart as blocks of their own while a quantity is derived of each."""

_PARTS = ("study", "topology", "count", "censored", "resolution", "source", *OF_AN_ARM)
_SHOWN = ("cell_id", "block", "repetition", *OF_QUANTITY, "value", "unit", "started_at")


@dataclass(frozen=True, eq=False)
class Source:
    """Block means to compare, and the files that hold the repetitions behind them."""

    name: str  # what it is called on the page
    means: pd.DataFrame  # of all quantities, as `benchbook.evidence.measures` returns them
    files: Mapping[tuple[str, int] | None, Path]  # as `Run` has them
    _measured: dict[str, Measured] = field(default_factory=dict)
    _datasets: dict[tuple[str, ...], ds.Dataset] = field(default_factory=dict)

    @classmethod
    def of_reference(cls) -> Self:
        """Return the committed run."""
        return cls.of(REFERENCE, Run.of_reference())

    @classmethod
    def of_here(cls) -> Self:
        """Return what ran here with the code as it is now."""
        return cls.of(HERE, Run.of_results(HERE, grid.finished()))

    @classmethod
    def of(cls, name: str, run: Run) -> Self:
        """Return a run, under the name that the page gives it."""
        source = cls(name, first_arms(run.means), run.files())
        pa.default_memory_pool().release_unused()  # what reading took, 150 MB that each page would go on holding
        return source

    @property
    def studies(self) -> list[str]:
        """The studies that ran."""
        return sorted(self.means["study"].unique()) if len(self.means) else []

    def measured(self, study: str) -> Measured:
        """Return a study's block means, by what was measured."""
        if study not in self._measured:
            rows = self.means[self.means["study"] == study]
            self._measured[study] = Measured(study, means.ended(rows))
        return self._measured[study]

    def repetitions(self, side: Side, quantity: Triple) -> pd.DataFrame:
        """Return every repetition behind a side's block means, in the order of time.

        Returns
        -------
        pandas.DataFrame
            ``cell_id, block, repetition, value, unit, started_at``; a derived quantity (a rate, a share) is derived of
            each repetition as it is of a block's means.
        """
        of_quantity = [ds.field(name) == level for name, level in zip(OF_QUANTITY, quantity, strict=True)]
        stored = self._rows(side, _SHOWN, of_quantity)
        if stored.empty:  # it is derived, or the end of what its client timed
            rows = self._rows(side, [*_SHOWN, *_PARTS], [])
            rows["block"] = _FOLD * rows["block"].astype("int64") + rows["repetition"]
            if formulas := [derived for derived in means.DERIVED if derived.metric == quantity[2]]:
                alone = dict.fromkeys(("at_least", "value_without", "median"), rows["value"])
                rows = means.derive(rows.assign(outliers=0, deviation=float("nan"), **alone), formulas)
            rows = means.ended(rows)
            stored = rows[(rows[list(OF_QUANTITY)] == list(quantity)).all(axis=1)]
            stored = stored.assign(repetition=stored["block"] % _FOLD, block=stored["block"] // _FOLD)
        ordered: pd.DataFrame = stored[list(_SHOWN)].sort_values("started_at", ignore_index=True)
        return ordered

    def provenance(self, cell: str, block: int) -> dict[str, Any]:
        """Return what the runner wrote of a cell in a block, and the file that holds it."""
        wanted = (ds.field("cell_id") == cell) & (ds.field("block") == block)
        files = self._files([(cell, block)])
        source = self._dataset(files)
        columns = [name for name in _PROVENANCE if name in source.schema.names]
        rows = source.head(1, columns=columns, filter=wanted).to_pylist()
        file = Path(files[0])
        # As a person in the checkout would name it.
        shown = file.relative_to(paths.root()) if file.is_relative_to(paths.root()) else file
        return {"cell": cell, "block": block, **(rows[0] if rows else {}), "file": str(shown)}

    def _rows(self, side: Side, columns: Iterable[str], conditions: Iterable[ds.Expression]) -> pd.DataFrame:
        """Return some columns of a side's rows: of its cells, what is of its arm."""
        keys = [*zip(map(str, side.cells), map(int, side.blocks), strict=True)]
        if not (files := self._files(keys)):
            return pd.DataFrame(columns=list(columns))
        wanted = ds.field("cell_id").isin(sorted({*side.cells}))
        for condition in conditions:
            wanted &= condition
        for name in OF_AN_ARM:  # a cell may take several in turn, and each row states its own
            if isinstance(level := side.settings.get(name), str) and name != "arm":
                wanted &= ds.field(name).is_null() | (ds.field(name) == level)
        source = self._dataset(files)
        present = [name for name in columns if name in source.schema.names]
        rows: pd.DataFrame = source.to_table(present, filter=wanted).to_pandas()
        return rows

    def _dataset(self, files: list[str]) -> ds.Dataset:
        """Return some files as one, whose footers are read once."""
        key = tuple(files)
        if key not in self._datasets:
            self._datasets[key] = ds.dataset(files)
        return self._datasets[key]

    def _files(self, keys: Iterable[tuple[str, int]]) -> list[str]:
        files = dict.fromkeys(self.files.get(None) or self.files.get(key) for key in keys)
        return [str(path) for path in files if path is not None and path.is_file()]
