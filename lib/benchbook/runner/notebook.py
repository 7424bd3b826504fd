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
from typing import Final

import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from benchbook.runner.kernels import Kernel
from benchbook.scrubbing import scrubbed
from benchbook.servers.errors import advised

_GLANCE_S: Final = 1.0
_GRACE_S: Final = 3.0
_KILLED_S: Final = 0.2
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")

# What fails is said by the summary.
logging.getLogger("papermill").setLevel(logging.CRITICAL)


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
    parameters: dict[str, object],
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
    endings: list[Ended] = []
    executed = kernel.folder / "executed.ipynb"
    hooks = {"on_cell_start": lambda cell, **_: begun(cell.id)} if begun else {}
    how = (notebook, parameters, kernel, executed, kept.name, {"skip_cells_with_tag": skipped, **hooks})
    worker = threading.Thread(target=lambda: endings.append(_papermill(*how)))
    worker.start()
    try:
        stopped_for = _watch(worker, broken, timeout_s)
    finally:
        # The thread ends with the kernel, which is killed more than once, for it may only be starting.
        while worker.is_alive():
            kernel.kill()
            worker.join(_KILLED_S)
        # A copy to look at: a disk that has no room for it is told by who writes the rows.
        with suppress(OSError):
            kept.write_text(scrub(executed.read_text(encoding="utf-8")), encoding="utf-8")
            executed.unlink()
    (ended,) = endings
    why = stopped_for or ended.why
    return replace(ended, why=why and scrub(why))


def _watch(worker: threading.Thread, broken: Callable[[], str | None], timeout_s: float) -> str | None:
    deadline = time.monotonic() + timeout_s
    while worker.is_alive():
        worker.join(_GLANCE_S)
        if time.monotonic() > deadline:
            return f"it was given up after {timeout_s:g} s"
        if worker.is_alive() and (why := broken()):
            worker.join(_GRACE_S)
            return why
    return None


def _papermill(
    notebook: Path, parameters: dict[str, object], kernel: Kernel, executed: Path, kept: str, options: dict[str, object]
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
        why = advised(f"{error.ename}: {_COLOURS.sub('', error.evalue)}")
        return Ended(f"{why} (notebook cell {error.cell_index} of {kept})")
    except DeadKernelError:
        words = kernel.log.read_text(errors="replace").strip().splitlines() if kernel.log.exists() else []
        return Ended("the kernel died; " + (f"its last words: {words[-1]}" if words else "it said nothing"))
    # Whatever a kernel's start or its messages can raise fails the cell, not the run.
    except Exception as error:
        return Ended(advised(f"{type(error).__name__}: {error}"))
    whole = (datetime.now(UTC) - begun).total_seconds()
    marks = [cell.metadata["papermill"] for cell in done.cells]
    spans = [[datetime.fromisoformat(mark[end]) for end in ("start_time", "end_time")] for mark in marks]
    kernel_s = (spans[0][0] - begun).total_seconds()
    longest_s = max((end - start).total_seconds() for start, end in spans)
    return Ended(None, kernel_s, longest_s, whole - kernel_s - longest_s)
