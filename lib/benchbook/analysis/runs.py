"""Runs: a profile's results on this machine, the committed reference run, or a folder of either.

Begin with `Run`: every command, page and notebook reads from one. Its `Analysis` has all tables.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchbook import paths
from benchbook.analysis.aa_check import compare_arms
from benchbook.analysis.block_means import (
    MEAN_COLUMNS,
    average_repetitions,
    compute_block_means,
    load_block_means,
    read_texts_by_reference,
)
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claims import Claim
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.judged_tables import JudgedTables, Tables, hash_files, hash_results
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.study_means import StudyMeans, select_first_arms, split_by_study
from benchbook.analysis.verdicts import ClaimVerdict, judge_claims, list_t_tests
from benchbook.files.inputs import InputError
from benchbook.results import files
from benchbook.results.folder import Operations, ResultsFolder, map_operations, open_results
from benchbook.results.schema import OBSERVATIONS, merge_schemas
from benchbook.results.views import connect

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MEANS_FILE: Final = "block_means.parquet"
REPETITIONS_FILE: Final = "repetitions.parquet"
ABOUT_FILE: Final = "reference.json"


class Analysis:
    """All tables that follow from some block means; each is computed when it is first asked for.

    Parameters
    ----------
    means
        As `benchbook.analysis.block_means.compute_block_means` returns them or takes them, with
        both arms; or a function that loads them.
    claims
        The claims that are compared and judged; None for all of `data/claims`. Comparisons are
        corrected together by study, so all claims of a study are needed.
    cache
        Where comparisons and verdicts are kept; None judges anew.
    """

    def __init__(
        self,
        means: pd.DataFrame | Callable[[], pd.DataFrame],
        claims: Sequence[Claim] | None = None,
        cache: JudgedTables | None = None,
    ) -> None:
        self._means = means
        self._claims = claims
        self._cache = cache

    @cached_property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived, with both arms."""
        means = self._means if isinstance(self._means, pd.DataFrame) else self._means()
        return compute_block_means(means)

    def exclude_machine_day(self, machine_day: str) -> "Analysis":
        """Return the analysis of the same claims without the blocks of a machine-day."""
        means = self.means
        return Analysis(means[means["machine_day"] != machine_day], self._claims)

    @cached_property
    def studies(self) -> dict[str, StudyMeans]:
        """The block means of each study that ran, without second arms."""
        return split_by_study(select_first_arms(self.means))

    @property
    def comparisons(self) -> list[Comparison]:
        """Every comparison of the claims, as `compare_claims` returns them."""
        return self._judged[0]

    @property
    def verdicts(self) -> list[ClaimVerdict]:
        """The verdict on each claim, as `judge_claims` returns them."""
        return self._judged[1]

    @cached_property
    def _judged(self) -> Tables:
        return self._cache.load(self._judge) if self._cache else self._judge()

    def _judge(self) -> Tables:
        comparisons = compare_claims(self.means, self._claims)
        return comparisons, judge_claims(comparisons, self._claims)

    def count_agreeing_hosts(self) -> tuple[int, int]:
        """Return in how many decided comparisons all hosts agree in sign, and how many have two."""
        # The sign of each comparison on each host alone.
        signs: dict[str, list[float]] = defaultdict(list)
        for _, means in self.means.groupby("host", sort=False):
            for row in Analysis(means, self._claims).comparisons:
                if not isnan(row.estimate):
                    null = row.than if row.kind == "ratio" else 0.0
                    signs[row.key].append(float(np.sign(row.estimate - null)))

        # Those that are for their claim or against it on all hosts together.
        agreeing = shared = 0
        for row in self.comparisons:
            if row.stands in ("for", "against") and len(signs[row.key]) > 1:
                shared += 1
                agreeing += len(set(signs[row.key])) == 1
        return agreeing, shared

    @cached_property
    def t_tests(self) -> pd.DataFrame:
        """The t-test of every comparison with an interval, as `list_t_tests` returns them."""
        return list_t_tests(self.comparisons, self.verdicts)

    @cached_property
    def tables(self) -> list[Comparison]:
        """Every comparison of the papers' tables, as `compare_tables` returns them."""
        return compare_tables(self.means)

    @cached_property
    def aa(self) -> list[Comparison]:
        """The A/A checks, as `compare_arms` returns them."""
        return compare_arms(self.means)


@dataclass(frozen=True, eq=False)
class Run:
    """The cells of a run, their files and their analysis."""

    name: str  # of a profile, `benchbook.paths.REFERENCE`, or a folder
    analysis: Analysis
    repetitions: Path | None = None  # the file with all repetitions of the reference run
    # Which finished cells of the results it has, with the operations that count.
    identities: Mapping[str, Operations] | None = None

    @classmethod
    def read_results(
        cls,
        name: str,
        identities: Iterable[str] | Mapping[str, Operations],
        means_hash: str | None = None,
    ) -> Self:
        """Return finished cells of this machine's results.

        Parameters
        ----------
        name
            Of their profile.
        identities
            As `ResultsFolder.list_finished_files` takes them.
        means_hash
            As `benchbook.analysis.judged_tables.hash_results` returns it for them. None: it is
            computed from the list of all results, which takes longer than to read kept means.
        """
        chosen = map_operations(identities)
        if means_hash is None:
            means_hash = hash_results(open_results().list_finished_files(chosen))
        cache = JudgedTables(name, means_hash)
        # Of parts that can be pickled: figures are drawn by several processes.
        load_means = partial(cache.load_means, partial(_compute_means, chosen))
        return cls(name, Analysis(load_means, cache=cache), identities=chosen)

    @classmethod
    def read_reference(cls) -> Self:
        """Return the committed run; without one, a run without cells.

        Raises
        ------
        benchbook.files.inputs.InputError
            When its files are damaged, once they are read.
        """
        means = paths.reference() / MEANS_FILE
        if not means.is_file():
            return cls(paths.REFERENCE, Analysis(load_reference_means))
        cache = JudgedTables(paths.REFERENCE, hash_files([means]))
        analysis = Analysis(load_reference_means, cache=cache)
        return cls(paths.REFERENCE, analysis, paths.reference() / REPETITIONS_FILE)

    @property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived, with both arms."""
        return self.analysis.means

    def connect(self) -> "DuckDBPyConnection":
        """Return a DuckDB connection as `benchbook.results.views.connect`, on this run's values."""
        if self.identities is not None:
            return connect(self.identities)
        if self.repetitions is None:
            return connect(rows=OBSERVATIONS.empty_table())
        check_reference_file(self.repetitions)
        schema = merge_schemas([pq.read_schema(self.repetitions)])
        return connect(rows=ds.dataset(str(self.repetitions), schema=schema))


def _compute_means(identities: Mapping[str, Operations]) -> pd.DataFrame:
    """Return the block means of some finished cells, stored and derived."""
    return compute_block_means(load_block_means(open_results(), identities))


def load_folder_means(folder: Path) -> pd.DataFrame:
    """Return the block means of a folder of results or of a reference run, which may have none."""
    if (folder / MEANS_FILE).is_file():
        return load_reference_means(folder)
    return load_block_means(ResultsFolder(folder))


def load_reference_means(folder: Path | None = None) -> pd.DataFrame:
    """Return the committed block means of all quantities; without a file, no rows.

    Parameters
    ----------
    folder
        None: ``figures/reference`` of the checkout.

    Raises
    ------
    benchbook.files.inputs.InputError
        When the file is damaged or of another version.
    """
    path = (folder or paths.reference()) / MEANS_FILE
    try:
        with _explain_damage(path):
            committed = read_texts_by_reference(files.read_table(path))
    except FileNotFoundError:
        return average_repetitions(OBSERVATIONS.empty_table().to_pandas())
    missing = [name for name in MEAN_COLUMNS if name not in committed]
    if missing:
        why = (
            f"the reference run is damaged, or of another version (it has no column {missing[0]!r})"
        )
        raise InputError(str(path), f"{why}: {paths.suggest_restore()}")
    return compute_block_means(committed)


def read_reference_profile() -> str:
    """Return the profile whose cells the committed run has."""
    about = json.loads((paths.reference() / ABOUT_FILE).read_text(encoding="utf-8"))
    return str(about["profile"])


def check_reference_file(path: Path) -> None:
    """Verify the checksums of a reference run's `MEANS_FILE` or `REPETITIONS_FILE`.

    Raises
    ------
    benchbook.files.inputs.InputError
        When the file is damaged.
    FileNotFoundError
        When there is none.
    """
    with _explain_damage(path):
        files.check_file(path)


@contextmanager
def _explain_damage(path: Path) -> Iterator[None]:
    """Turn a `DamagedError` into an `InputError` that says how to restore the reference run."""
    try:
        yield
    except files.DamagedError as error:
        reason = f"the reference run is damaged ({error}): {paths.suggest_restore()}"
        raise InputError(str(path), reason) from error
