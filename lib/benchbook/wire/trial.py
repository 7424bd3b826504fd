"""What the server knows of one trial: its clock, what it has received, and what went wrong."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import psutil

from benchbook.measure import Reading, client_meters, clock
from benchbook.wire.digest import fingerprint
from benchbook.wire.framing import WireError

Decode = Callable[[bytes], Mapping[str, Any]]

CPU: Final = [meter for meter in client_meters() if meter.metric in ("cpu_user", "cpu_system")]


class Trial:
    """One trial, from its start command to its end signal.

    Parameters
    ----------
    decode
        From an object's bytes to its record.
    order
        The start command: ``acknowledge, check``. With ``check`` the decoded objects' fingerprints are added up, so
        that the client can compare; without it each is discarded at once.
    """

    def __init__(self, decode: Decode, order: Mapping[str, Any]) -> None:
        self._decode = decode
        try:
            self.acknowledge = bool(order["acknowledge"])
            self.decode: Callable[[bytes], object] = self._fold if order["check"] else decode
        except KeyError as error:
            raise WireError(f"not a start command: {error!r}") from error
        self._changed = threading.Condition()
        self._received = self._bytes = self._digest = 0
        self._error: WireError | None = None
        self._cpu = [meter.read() for meter in CPU]
        self._start = clock()

    def add(self, received: int, size: int) -> None:
        """Count what one connection has brought."""
        with self._changed:
            self._received += received
            self._bytes += size
            self._changed.notify_all()

    def fail(self, error: WireError) -> None:
        """Keep the first error, for the reply to the end signal."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def finish(self, objects: int, patience_s: float) -> dict[str, Any]:
        """Stop the clock when all objects are here, and return the report.

        Raises
        ------
        WireError
            The first error of the trial, or that objects are missing.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._error or self._received >= objects, patience_s)
            elapsed = clock() - self._start
            if self._error:
                raise self._error
            if self._received != objects:
                raise WireError(f"{self._received} objects were received, {objects} were sent")
            return {
                "readings": [vars(reading) for reading in self._readings(elapsed)],
                "objects": self._received,
                "bytes": self._bytes,
                "digest": self._digest,
            }

    def _readings(self, elapsed: int) -> list[Reading]:
        cpu = [
            Reading(meter.metric, "server", meter.read() - before, meter.unit, meter.source, meter.resolution)
            for meter, before in zip(CPU, self._cpu, strict=True)
        ]
        rss = psutil.Process().memory_info().rss
        return [
            Reading("wall_time", "server", elapsed, "ns", "perf_counter_ns, from start to end signal", 1.0),
            *cpu,
            Reading("memory_rss", "server", rss, "B", "psutil.memory_info", 4096),
        ]

    def _fold(self, data: bytes) -> None:
        mark = fingerprint(self._decode(data))
        with self._changed:
            self._digest = (self._digest + mark) % 2**64
