"""What of a server is the suite's: a namespace that holds its marker, and in it the stores that the marker names.

A server that is given by its address is its user's, and so is all on it. The suite keeps to one namespace (a database,
a schema, a bucket, or the databases whose names begin alike) and marks it, which it does only where nothing is there.
In a marked namespace it drops what the marker names and nothing else. What a killed run left is marked: the next takes
it over.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from benchbook.engines.errors import OccupiedError

MARKER: Final = "benchbook_marker"
"""What the marker is called."""

_SHOWN: Final = 5


@dataclass(frozen=True)
class Marker:
    """What the suite made in a namespace.

    Parameters
    ----------
    since
        When it was marked, in UTC.
    made
        Whether the namespace itself was made with it: one that was there, and empty, stays.
    stores
        All that was made, or is about to be; what refers to another comes after it.
    before
        What the server was set to before the suite set it otherwise.
    """

    since: str
    made: bool
    stores: tuple[str, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return it as a JSON object, with whose it is."""
        return json.dumps({"suite": "benchbook", **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "Marker":
        """Return the marker that `to_json` wrote."""
        told = json.loads(text)
        return cls(told["since"], told["made"], tuple(told["stores"]), told["before"])


class Namespace(ABC):
    """A namespace on one node; what the driver raises passes through.

    Attributes
    ----------
    title
        What it is to a reader: ``the database benchbook``.
    """

    title: str

    @abstractmethod
    def marker(self) -> Marker | None:
        """Return its marker, if it has one."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether it is there, marked or not."""

    @abstractmethod
    def contents(self) -> Collection[str]:
        """Return the names of all in it but the marker."""

    @abstractmethod
    def mark(self, marker: Marker) -> None:
        """Write the marker, in the place of an older one; make the namespace where ``marker.made`` says so."""

    @abstractmethod
    def drop(self, stores: Sequence[str]) -> None:
        """Drop those of the stores that are there, and nothing that is not theirs."""

    @abstractmethod
    def unmark(self, marker: Marker) -> None:
        """Remove the marker; where ``marker.made`` says so and nothing else is there, the namespace too."""

    def before(self) -> dict[str, Any]:
        """Return what the server is set to that the suite will set otherwise."""
        return {}

    def restore(self, before: Mapping[str, Any]) -> None:
        """Set the server to what `before` returned."""
        assert not before

    def check(self, where: str) -> None:
        """Raise `OccupiedError` where something is there and no marker."""
        if self.marker() is None and (found := sorted(self.contents())):
            listed = ", ".join(found[:_SHOWN]) + ", …" * (len(found) > _SHOWN)
            raise OccupiedError(
                f"{where}: {self.title} holds what this suite did not make ({listed}); it is left as it is: drop it"
                " yourself, or give the address of another server or database"
            )

    def take(self, marker: Marker | None, stores: Sequence[str], where: str) -> Marker:
        """Return the marker, a new one where there is none yet, with these stores in it: they may be dropped, and made.

        Raises
        ------
        OccupiedError
            When something goes by such a name already that the suite did not make.
        """
        if marker is None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            marker = Marker(now, made=not self.exists(), before=self.before())
            self.mark(marker)
        if new := tuple(store for store in stores if store not in marker.stores):
            there = {name.casefold() for name in (MARKER, *self.contents())}
            if foreign := [store for store in new if store.casefold() in there]:
                raise OccupiedError(
                    f"{where}: in {self.title}, which is this suite's, {', '.join(foreign)} is not: drop or rename it"
                )
            others = [store for store in marker.stores if store not in stores]
            marker = replace(marker, stores=(*others, *stores))
            self.mark(marker)
        return marker

    def release(self) -> None:
        """Remove all that the suite made, the marker at last; a namespace without one is left alone."""
        if (marker := self.marker()) is not None:
            self.drop(tuple(reversed(marker.stores)))
            self.restore(marker.before)
            self.unmark(marker)
