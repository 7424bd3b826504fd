"""Writes that end when the replica holds what the primary holds: their three times, and what is told of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from typing import Any, Final

from benchbook.databases import Engine
from benchbook.measure import Reading, clock
from benchbook.studies.cell import Rows

CLOCK: Final = "perf_counter_ns"


class ReplicaLostError(RuntimeError):
    """A wait for the replica ran out twice: nothing that follows could be measured."""


@dataclass(frozen=True)
class Write:
    """Times of one row of writes, in ns.

    Parameters
    ----------
    wall
        The client's loop.
    catch_up
        From the loop's end until the replica held what the primary held. When the wait ran out: how long was waited.
    elapsed
        Both, read as one interval.
    caught_up
        False when the wait ran out: the true `catch_up` and `elapsed` are larger.
    resolution
        Of the end of the wait: by how much it may be late.
    """

    wall: int
    catch_up: int
    elapsed: int
    caught_up: bool
    resolution: float

    def add_to(self, add: Callable[..., None]) -> None:
        """Add the three times: the client's is always exact, a wait that ran out makes the others censored."""
        wait = f"{CLOCK}, until the replica is at the primary's position"
        add(readings=[Reading("wall_time", "client", self.wall, "ns", CLOCK, 1.0)])
        waited = [
            Reading("catch_up_time", "replica", self.catch_up, "ns", wait, self.resolution),
            Reading("elapsed_time", "client", self.elapsed, "ns", wait, self.resolution),
        ]
        add(readings=waited, censored=not self.caught_up)


class RanOutError(RuntimeError):
    """The wait for the replica ran out: the window has no end."""

    def __init__(self, write: Write) -> None:
        super().__init__(f"the replica had not caught up after {write.catch_up / 1e9:g} s")
        self.write = write


def until_replicated(write: Callable[[], object], engine: Engine, timeout_s: float) -> Write:
    """Write, then wait once until the replica holds what the primary holds, or the time runs out.

    The wait ends when the replica is known to have held it; what proving that took afterwards is in no time.
    """
    started = clock()
    write()
    written = clock()
    caught_up = engine.wait_for(engine.position(), timeout_s)
    ended = clock() - engine.wait_proof_ns
    return Write(written - started, ended - written, ended - started, caught_up, engine.wait_resolution_ns)


def resume(engine: Engine, timeout_s: float) -> None:
    """After a wait that ran out, give the replica as long again, untimed: the paper's tests go on when both nodes do.

    Raises
    ------
    ReplicaLostError
        When that runs out too.
    """
    if not engine.wait_for(engine.position(), timeout_s):
        raise ReplicaLostError(f"{engine.name}: the replica has not caught up within 2 times {timeout_s:g} s")


def add_unmeasured(
    rows: Rows, expected: set[tuple[str, str, str]], repetitions: Iterable[int], reason: str, columns: dict[str, Any]
) -> None:
    """Add what these repetitions still owe: rows without a number (NaN), censored, with the reason as source."""
    owed = {(repetition, *one) for repetition in repetitions for one in expected}
    measured = rows.frame()[["repetition", "operation", "role", "metric"]].itertuples(index=False, name=None)
    for repetition, operation, role, metric in sorted(owed - set(measured)):
        rows.add_value(
            repetition, operation, role, metric, nan, f"not measured: {reason}", nan, 0,
            started_at=datetime.now(UTC), censored=True, **columns,
        )  # fmt: skip
