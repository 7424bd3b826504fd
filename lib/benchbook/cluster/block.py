"""What the child process of a Dask task does: it plans this host's cells, or measures a block.

It imports no Dask, because a run starts a child for every block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchbook import grid
from benchbook.cluster.child_process import HostsError
from benchbook.grid import Cell
from benchbook.grid.cells import read_states
from benchbook.measure.machine import name_host
from benchbook.results.folder import ResultsFolder
from benchbook.runner.progress import Limits, Summary

MAX_BLOCK_BYTES: Final = 2**30
"""The largest size of a block's files together."""


@dataclass(frozen=True)
class BlockResults:
    """What a host measured of a block."""

    files: dict[str, bytes]  # by their paths in the results' folder
    summary: Summary


def plan(*request: Any) -> tuple[str, list[Cell]]:
    """Return this host's name and its cells."""
    return name_host(), grid.make_plan(*request).cells


def measure(ordered: list[Cell], limits: Limits, noisy: Mapping[str, float]) -> BlockResults:
    """Measure the cells that are not done here yet, and those whose values the run has as noisy.

    Finished cells are returned even if it is stopped; of noisy ones only less noisy values.

    Parameters
    ----------
    ordered
        The cells of a block.
    limits, noisy
        As `benchbook.runner.batch.run_cells` takes them.
    """
    # Imported here, because a child that plans needs no kernel.
    from benchbook.runner.batch import lock_results, run_cells

    with lock_results() as results:
        _remove_other_results(results, ordered)
        cells = read_states(ordered)
        cells = [replace(cell, state="todo") if cell.key in noisy else cell for cell in cells]
        # A previous run ended before it received them.
        done = {(cell.combination, cell.block) for cell in cells if cell.state == "done"}
        summary = Summary(finished=done)
        with summary.record_end():
            run_cells(cells, limits, summary, noisy=noisy)
        return BlockResults(_read_files(results, cells), summary)


def _remove_other_results(results: ResultsFolder, cells: Sequence[Cell]) -> None:
    """Remove the results of all other cells from this host's folder: the run has them."""
    keys = {cell.key for cell in cells}
    for path in results.path.glob("*/**/*.*"):
        if path.is_file() and _read_key(path) not in keys:
            path.unlink()


def _read_files(results: ResultsFolder, cells: Sequence[Cell]) -> dict[str, bytes]:
    """Return the results and notebooks of these cells by their paths in the folder."""
    # Choose the files.
    keys = {cell.key for cell in cells}
    written = [file.path for file in results.list_files() if file.key in keys]
    notebooks = sorted(results.path.glob("*/notebooks/*.*"))
    written += [path for path in notebooks if _read_key(path) in keys]
    # Read them.
    size = sum(path.stat().st_size for path in written)
    if size > MAX_BLOCK_BYTES:
        limit = f"at most {MAX_BLOCK_BYTES:,} are sent: narrow the run by --where"
        raise HostsError(f"the block's files have {size:,} bytes, {limit}")
    return {str(path.relative_to(results.path)): path.read_bytes() for path in written}


def _read_key(path: Path) -> str:
    """Return the identity and block with which the name of a cell's file begins."""
    return ".".join(path.name.split(".")[:2])
