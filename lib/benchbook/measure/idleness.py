"""Waiting until servers have finished what they do by themselves."""

import time
from collections.abc import Iterable
from typing import Final

import psutil

from benchbook.measure.process import tree_cpu
from benchbook.measure.timing import clock

WINDOW_S: Final = 0.1


class NotIdle(RuntimeError):  # noqa: N818
    """A server kept its processor busy, or went away."""


def idle(pids: Iterable[int], threshold: float = 0.02, patience_s: float = 10.0) -> None:
    """Wait until each of the servers, with its children, uses little CPU over a short window.

    Parameters
    ----------
    pids
        Top processes of the servers.
    threshold
        Largest share of one processor, over 100 ms, that counts as idle.
    patience_s
        How long to wait.

    Raises
    ------
    NotIdle
        When patience ran out (says who used how much), or a process is gone.
    """
    servers = tuple(pids)
    deadline = time.monotonic() + patience_s
    while servers:
        shares = _shares(servers)
        if max(shares.values()) < threshold:
            return
        if time.monotonic() > deadline:
            used = ", ".join(f"process {pid} used {share:.1%}" for pid, share in shares.items())
            raise NotIdle(f"not below {threshold:.0%} of a processor within {patience_s:g} s: {used}")


def _shares(pids: tuple[int, ...]) -> dict[int, float]:
    before, start = _totals(pids), clock()
    time.sleep(WINDOW_S)
    after, window = _totals(pids), clock() - start
    return {pid: (after[pid] - before[pid]) / window for pid in pids}


def _totals(pids: tuple[int, ...]) -> dict[int, float]:
    try:
        return {pid: sum(tree_cpu(pid)) for pid in pids}
    except (psutil.Error, OSError) as error:
        raise NotIdle(f"a server cannot be watched: {error}") from error
