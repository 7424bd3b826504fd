"""Judged tables on disk: comparisons, verdicts and means of a run, kept while nothing changes.

To read, compare and judge takes seconds, and every command that reads a run would do it again.
Begin with `JudgedTables`.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import paths
from benchbook.analysis.block_means import read_texts_by_reference
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.files import suite_files
from benchbook.registry.plugins import PluginGroup, find_entries
from benchbook.results.folder import ResultFile

Tables = tuple[list[Comparison], list[ClaimVerdict]]
"""Comparisons and verdicts, as `compare_claims` and `judge_claims` return them."""

_INPUTS: Final = b"inputs"
"""The key of a file's inputs in its metadata."""


@dataclass(frozen=True)
class JudgedTables:
    """The files of one run's tables.

    It is a cache: a file that is absent, damaged or of other inputs is written anew, and a folder
    that cannot be written costs only time. Nothing is kept where a plug-in is installed, because
    its code is not among the inputs.
    """

    run: str  # a profile, or `benchbook.paths.REFERENCE`
    means_hash: str  # a digest of what the run's block means are computed from

    def load(self, judge: Callable[[], Tables]) -> Tables:
        """Return the tables of the file, or those that `judge` returns, which are kept."""
        if any(find_entries(group) for group in get_args(PluginGroup)):
            return judge()
        inputs = self._hash_inputs()
        path = paths.judged_tables() / f"{self.run}.json"
        try:
            kept = json.loads(path.read_bytes())
            if kept["inputs"] == inputs:
                comparisons = [Comparison(**row) for row in kept["comparisons"]]
                return comparisons, [ClaimVerdict(**row) for row in kept["verdicts"]]
        except (OSError, ValueError, LookupError, TypeError):
            # The tables are judged again.
            pass
        comparisons, verdicts = judge()
        content = {
            "inputs": inputs,
            "comparisons": [vars(row) for row in comparisons],
            "verdicts": [vars(row) for row in verdicts],
        }
        with suppress(OSError):
            # Settings have numbers of numpy.
            text = json.dumps(content, default=lambda number: number.item())
            suite_files.write_file(path, text)
        return comparisons, verdicts

    def load_means(self, compute: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Return the block means of the file, or those that `compute` returns, which are kept."""
        if any(find_entries(group) for group in get_args(PluginGroup)):
            return compute()
        inputs = self._hash_inputs().encode()
        path = paths.judged_tables() / f"{self.run}.parquet"
        try:
            table = pq.read_table(path, page_checksum_verification=True)
            if table.schema.metadata[_INPUTS] == inputs:
                return read_texts_by_reference(table)
        except (OSError, LookupError, TypeError, pa.ArrowException):
            # The means are computed again.
            pass
        means = compute()
        table = pa.Table.from_pandas(means, preserve_index=False)
        table = table.replace_schema_metadata({**table.schema.metadata, _INPUTS: inputs})
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with suite_files.replace_file(path) as file:
                pq.write_table(table, file, write_page_checksum=True)
        return means

    def _hash_inputs(self) -> str:
        return f"{self.means_hash} {hash_rules()}"


def hash_rules() -> str:
    """Return a digest of the code, the claims, the papers' numbers and the grids.

    With the block means it is all that a verdict follows from.
    """
    return hash_files(
        chain(
            Path(paths.__file__).parent.rglob("*.py"),
            paths.grids().glob("*.yaml"),
            paths.published_numbers().glob("*.csv"),
            paths.claims().iterdir(),
            paths.findings().iterdir(),
        )
    )


def hash_files(files: Iterable[Path]) -> str:
    """Return a digest of the names and contents of files, in any order."""
    digest = hashlib.sha256()
    for file in sorted(files):
        if file.is_file():
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def hash_results(files: Iterable[ResultFile]) -> str:
    """Return a digest of results, without reading them.

    It is of their names, sizes and times, and of the operations that count.
    """
    digest = hashlib.sha256()
    for result in files:
        path, facts = result.path, result.path.stat()
        counted = "all" if result.operations is None else " ".join(sorted(result.operations))
        about = f"{path.parent.name}/{path.name} {facts.st_size} {facts.st_mtime_ns} {counted}"
        digest.update(f"{about}\n".encode())
    return digest.hexdigest()
