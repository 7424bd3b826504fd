"""What is the suite's own on a server: a namespace, its marker, and the lease of the run that uses it.

A server that is given by its address is its user's, and so is all on it. The suite keeps to one namespace (a database,
a schema, a bucket, or the databases whose names begin alike) and marks it, which it does only where nothing is there.
In a marked namespace it drops what the marker names and nothing else. The marker is also the lease of the process that
uses the namespace, so that two runs never share one. What a killed run left is marked: the next takes it over.
"""

import json
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeAlias, TypeVar

import psutil

from benchbook import processes
from benchbook.databases.engine import OccupiedError

MARKER: Final = "benchbook_marker"
"""What the marker is called."""

Settings: TypeAlias = Mapping[str, Any]
"""What a server is set to, by its product's names."""

LEASE_S: Final = 2 * 3600.0
"""How long another machine's lease holds after it was last renewed, which is done before each cell: what a lost machine
left is free afterwards."""

_SHOWN: Final = 5


class MarkerError(ValueError):
    """A marker is there that cannot be read."""


@dataclass(frozen=True)
class Lease:
    """The process that uses a namespace, with all that it started."""

    host: str
    process: int
    started: float  # seconds since 1970, which tell the process from a later one of its number
    until: float  # seconds since 1970

    @classmethod
    def of_this_process(cls) -> "Lease":
        """Return a new lease of this process."""
        owner = psutil.Process()
        return cls(socket.gethostname(), owner.pid, owner.create_time(), time.time() + LEASE_S)

    def is_ours(self) -> bool:
        """Return whether this process holds it, or one that started it."""
        this_process = psutil.Process()
        ours = {process.pid for process in (this_process, *this_process.parents())}
        return self.host == socket.gethostname() and self.process in ours and processes.runs(self.process, self.started)

    def of_another(self) -> bool:
        """Return whether another run holds it.

        On this machine a process that has ended holds none; of another machine only the time can tell.
        """
        if self.host != socket.gethostname():
            return time.time() < self.until
        return not self.is_ours() and processes.runs(self.process, self.started)


@dataclass(frozen=True)
class Marker:
    """What the suite made in a namespace."""

    since: str  # when it was marked, in UTC
    made: bool  # whether the namespace itself was made with it: one that was there, and empty, stays
    stores: tuple[str, ...] = ()  # all that was made, or is about to be; what refers to another comes after it
    before: Settings = field(default_factory=dict)  # what the server was set to before the suite changed it
    lease: Lease | None = None  # who uses it

    def to_json(self) -> str:
        """Return it as a JSON object, with whose it is."""
        return json.dumps({"suite": "benchbook", **asdict(self)})

    @classmethod
    def from_json(cls, text: object) -> "Marker":
        """Return the marker that `to_json` wrote; raises `MarkerError` of anything else."""
        try:
            fields = json.loads(str(text))
            lease = Lease(**fields["lease"]) if fields.get("lease") else None
            return cls(fields["since"], fields["made"], tuple(fields["stores"]), fields["before"], lease)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise MarkerError(f"it holds {str(text)[:80]!r}") from error


S = TypeVar("S")
"""What an adapter has for each node: what its driver calls a client, a connection or a bucket."""


class Namespace(ABC, Generic[S]):
    """A namespace on one node, seen through an adapter's session with it; what the driver raises passes through."""

    title: str  # what it is to a reader: ``the database benchbook``

    def __init__(self, session: S) -> None:
        self._session = session

    @abstractmethod
    def marker(self) -> Marker | None:
        """Return its marker, if it has one; raises `MarkerError` when that cannot be read."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether it is there, marked or not."""

    @abstractmethod
    def contents(self) -> Collection[str]:
        """Return the names of all in it, with or without the marker's."""

    @abstractmethod
    def mark(self, marker: Marker) -> None:
        """Write the marker, in the place of an older one; make the namespace where ``marker.made`` says so."""

    @abstractmethod
    def drop(self, stores: Sequence[str]) -> None:
        """Drop those of the stores that are there, and nothing that is not theirs."""

    @abstractmethod
    def unmark(self, marker: Marker) -> None:
        """Remove the marker; where ``marker.made`` says so and nothing else is there, the namespace too."""

    def before(self) -> Settings:
        """Return what the server is set to that the suite will set otherwise."""
        return {}

    def restore(self, before: Settings) -> None:
        """Set the server to what `before` returned."""
        assert not before

    def store(self, name: str) -> str:
        """Return the store that something of that name in it belongs to."""
        return name

    def own_marker(self, where: str) -> Marker | None:
        """Return its marker, if it has one; raises `OccupiedError` when another run uses it or nobody can read it."""
        try:
            marker = self.marker()
        except MarkerError as error:
            raise OccupiedError(
                f"{where}: {self.title} has a marker of this suite's that cannot be read ({error}), so what else is"
                f" there may be yours; it is left as it is: drop {MARKER} and what you do not need yourself"
            ) from error
        if marker and marker.lease and marker.lease.of_another():
            until = datetime.fromtimestamp(marker.lease.until, UTC).isoformat(" ", "minutes")[:16]
            raise OccupiedError(
                f"{where}: {self.title} is used by another run, process {marker.lease.process} on {marker.lease.host}:"
                f" wait for it or stop it (if that machine is lost, its lease ends at {until} UTC)"
            )
        return marker

    def check(self, where: str) -> None:
        """Raise `OccupiedError` where something is there and no marker."""
        if self.own_marker(where) is None and (names := sorted({*self.contents()} - {MARKER})):
            listed = ", ".join(names[:_SHOWN]) + ", …" * (len(names) > _SHOWN)
            raise OccupiedError(
                f"{where}: {self.title} holds what this suite did not make ({listed}); it is left as it is: drop it"
                " yourself, or give the address of another server or database"
            )

    def take(self, marker: Marker | None, stores: Sequence[str], where: str) -> Marker:
        """Return the marker, a new one where there is none yet, with these stores in it: they may be dropped, and made.

        `OccupiedError` when something goes by such a name already that the suite did not make.
        """
        if marker is None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            marker = Marker(now, made=not self.exists(), before=self.before())
        if new := tuple(store for store in stores if store not in marker.stores):
            names = {self.store(name).casefold(): name for name in (MARKER, *self.contents())}
            if foreign := [names[store.casefold()] for store in new if store.casefold() in names]:
                raise OccupiedError(
                    f"{where}: in {self.title}, which is this suite's, {', '.join(foreign)} is not: drop or rename it"
                )
            others = [store for store in marker.stores if store not in stores]
            marker = replace(marker, stores=(*others, *stores))
        held = marker.lease if marker.lease and marker.lease.is_ours() else None
        lease = replace(held or Lease.of_this_process(), until=time.time() + LEASE_S)
        marker = replace(marker, lease=lease)
        self.mark(marker)
        if held is None:
            # Of two that took it at the same moment one reads the other's here.
            self.own_marker(where)
        return marker

    def release(self, where: str) -> None:
        """Remove all that the suite made, the marker at last; a namespace without one is left alone.

        `OccupiedError` when another run uses it.
        """
        if (marker := self.own_marker(where)) is not None:
            self.drop(tuple(reversed(marker.stores)))
            self.restore(marker.before)
            self.unmark(marker)
