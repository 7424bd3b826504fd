"""Limits of this account that would fail cells one by one, without their cause."""

import os
import sys
from typing import Final

import psutil

from benchbook.files.inputs import InputError

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import resource

MIN_OPEN_FILES: Final = 256
"""Open files that a run needs: the largest fork server, kernel or server among the five studies."""

MIN_FREE_THREADS: Final = 100
"""Processes and threads that a run needs for one server and a kernel."""

_MAX_CHECKED_THREADS: Final = 1000
"""A larger limit is not compared with what runs, because counting that takes time."""


def check_limits() -> None:
    """Allow enough open files, and check that enough processes may start.

    Raises `benchbook.files.inputs.InputError` when this account may not have as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < MIN_OPEN_FILES:
        if hard < MIN_OPEN_FILES:
            reason = f"{hard} open files are too few for servers and kernels"
            raise InputError("ulimit -n", f"{reason}: ulimit -n 1024, before this command")
        resource.setrlimit(resource.RLIMIT_NOFILE, (MIN_OPEN_FILES, hard))

    # Only Linux counts threads; it does not limit root's.
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if sys.platform != "linux" or os.getuid() == 0 or not 0 <= limit <= _MAX_CHECKED_THREADS:
        return
    used = _count_threads()
    if limit - used < MIN_FREE_THREADS:
        reason = f"{used} of {limit} processes and threads run already, a run needs "
        remedy = "end some, or raise the limit before this command"
        raise InputError("ulimit -u", f"{reason}{MIN_FREE_THREADS} more: {remedy}")


def _count_threads() -> int:
    """Return how many threads this account's processes have."""
    count = 0
    for process in psutil.process_iter(["uids", "num_threads"]):
        if process.info["uids"] and process.info["uids"].real == os.getuid():
            count += process.info["num_threads"] or 1
    return count
