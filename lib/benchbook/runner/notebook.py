"""One cell in a fresh kernel: papermill works in a thread, the main thread watches over it."""

import logging
import math
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from benchbook.digits import duration
from benchbook.runner.kernels import Kernel
from benchbook.scrubbing import scrubbed
from benchbook.servers.errors import advised

_GLANCE_S: Final = 1.0
_GRACE_S: Final = 3.0
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")

logging.getLogger("papermill").setLevel(logging.CRITICAL)  # the summary says it


@dataclass(frozen=True)
class Ended:
    """How an execution ended.

    Parameters
    ----------
    why
        Why not well, else None.
    kernel_s, longest_s, rest_s
        Of one that ended well, seconds until its kernel took its first notebook cell, in the notebook cell that took
        longest, and in all else.
    """

    why: str | None
    kernel_s: float = 0.0
    longest_s: float = 0.0
    rest_s: float = 0.0


def execute(
    notebook: Path,
    parameters: dict[str, Any],
    kernel: Kernel,
    kept: Path,
    *,
    broken: Callable[[], str | None] = lambda: None,
    scrub: Callable[[str], str] = scrubbed,
    timeout_s: float = math.inf,
    skipped: str = "draw",
    begun: Callable[[str], object] | None = None,
) -> Ended:
    """Execute a notebook; return how it ended.

    Parameters
    ----------
    kept
        Where the executed notebook is kept.
    broken
        Returns why what the cell uses has died; asked once a second. The cell then has a moment to say so itself.
    scrub
        Returns a text without passwords: what is returned and kept goes through it.
    timeout_s
        Seconds until the cell is given up.
    skipped
        The tag of notebook cells that are left out.
    begun
        Is given the id of each notebook cell that begins.
    """
    said: list[Ended] = []
    executed = kernel.folder / "executed.ipynb"
    hooks = {"on_cell_start": lambda cell, **_: begun(cell.id)} if begun else {}
    how = (notebook, parameters, kernel, executed, kept.name, {"skip_cells_with_tag": skipped, **hooks})
    worker = threading.Thread(target=lambda: said.append(_papermill(*how)))
    worker.start()
    try:
        why = _watch(worker, broken, timeout_s)
    finally:
        _end(worker, kernel)
        _keep(executed, kept, scrub)
    ended = replace(said[0], why=why or said[0].why)
    return replace(ended, why=ended.why and scrub(ended.why))


def _watch(worker: threading.Thread, broken: Callable[[], str | None], timeout_s: float) -> str | None:
    deadline = time.monotonic() + timeout_s
    while worker.is_alive():
        worker.join(_GLANCE_S)
        if time.monotonic() > deadline:
            return f"it was given up after {duration(timeout_s)}"
        if worker.is_alive() and (why := broken()):
            worker.join(_GRACE_S)
            return why
    return None


def _end(worker: threading.Thread, kernel: Kernel) -> None:
    """End the kernel, and with it the thread; more than once, for it may only be starting."""
    while worker.is_alive():
        kernel.kill()
        worker.join(0.2)


def _papermill(
    notebook: Path, parameters: dict[str, Any], kernel: Kernel, executed: Path, kept: str, options: dict[str, Any]
) -> Ended:
    begun = datetime.now(UTC)
    try:
        done = papermill.execute_notebook(
            notebook,
            executed,
            parameters,
            progress_bar=False,
            request_save_on_cell_execute=False,
            kernel_manager_class=kernel.manager(),
            shutdown_kernel="immediate",
            **options,
        )
    except PapermillExecutionError as error:
        said = advised(f"{error.ename}: {_COLOURS.sub('', error.evalue)}")
        return Ended(f"{said} (notebook cell {error.cell_index} of {kept})")
    except DeadKernelError:
        return Ended(f"the kernel died; {_last_words(kernel.log)}")
    except Exception as error:  # whatever a kernel's start or its messages can raise fails the cell, not the run
        return Ended(advised(f"{type(error).__name__}: {error}"))
    whole = (datetime.now(UTC) - begun).total_seconds()
    marks = [cell.metadata["papermill"] for cell in done.cells]
    spans = [[datetime.fromisoformat(mark[end]) for end in ("start_time", "end_time")] for mark in marks]
    kernel_s = (spans[0][0] - begun).total_seconds()
    longest_s = max((end - start).total_seconds() for start, end in spans)
    return Ended(None, kernel_s, longest_s, whole - kernel_s - longest_s)


def _keep(executed: Path, kept: Path, scrub: Callable[[str], str]) -> None:
    """Keep an executed notebook, its tracebacks without passwords."""
    if executed.exists():
        with suppress(OSError):  # a copy to look at: a disk that has no room for it is told by who writes the rows
            kept.write_text(scrub(executed.read_text(encoding="utf-8")), encoding="utf-8")
            executed.unlink()


def _last_words(log: Path) -> str:
    words = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return f"its last words: {words[-1]}" if words else "it said nothing"
