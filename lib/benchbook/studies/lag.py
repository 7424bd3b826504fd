"""Replication lag: one record after another on a fixed schedule, each followed until the replica holds it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from benchbook.databases import Engine
from benchbook.measure import Reading, clock
from benchbook.measure.timing import CLOCK_SOURCE
from benchbook.schemas import Record
from benchbook.studies.cell_store import Write, until_replicated


@dataclass(frozen=True)
class Probe:
    """One record's way to the replica."""

    started_at: datetime
    late: int  # nanoseconds by which the probe before it was not done when this one was due
    write: Write

    def readings(self) -> list[Reading]:
        """Return the lag: from the acknowledged write until the replica holds it, had it been sent when it was due."""
        source = f"{CLOCK_SOURCE}, until the replica is at the primary's position, of a probe sent when it was due"
        return [Reading("lag_time", "replica", self.write.catch_up + self.late, "ns", source, self.write.resolution)]


def probes(engine: Engine, records: Sequence[Record], rate: float, timeout_s: float) -> Iterator[Probe]:
    """Insert so many records a second, each when it is due, one at a time, and yield what each took.

    A stall delays the probes that were due meanwhile. Who had sent them would have waited as long: the delay is part
    of their lag. So a stall is seen at its true length, and not as one slow probe among many that were never sent.
    """
    first = ended = clock()
    for number, record in enumerate(records):
        due = first + round(number * 1e9 / rate)
        if (left := due - clock()) > 0:
            time.sleep(left / 1e9)
        started_at = datetime.now(UTC)
        write = until_replicated(partial(engine.insert, record), engine, timeout_s)
        yield Probe(started_at, max(0, ended - due), write)
        ended = clock()
