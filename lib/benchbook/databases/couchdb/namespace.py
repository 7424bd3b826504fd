"""What the suite has on a CouchDB node: databases, pulls into them, and their marker; and what else replicates there.

A database is made under a new name each time, its store's and eight digits. Of one name CouchDB makes one replication,
so that the next would inherit the back-off of the last; and a name that was just deleted may be refused, as one that is
there. The marker, the only document of a database of its own, names stores.
"""

import re
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from typing_extensions import override

from benchbook.databases.connected import Marker, Namespace
from benchbook.databases.couchdb.http import HTTPNode
from benchbook.databases.engine import CATCH_UP_S, EngineError

PREFIX: Final = "benchbook-"

_MARKER: Final = f"{PREFIX}marker"
_NEW: Final = re.compile(rf"({PREFIX}[a-z0-9_]*)-[0-9a-f]{{8}}")
_REPLICATOR: Final = "_replicator"
_JITTER: Final = ("replicator", "startup_jitter")
_OVER: Final = ("completed", "failed")
_MANY: Final = 100_000
_POLL_S: Final = 0.01


def new_name(store: str) -> str:
    """Return a name for a new database of a store."""
    return f"{store}-{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Replication:
    """What a node replicates from one database into another, without end or not yet ended."""

    database: str | None  # that holds its document; None when it was started without one
    name: str  # its document's, else the job's
    source: str  # an address, or the name of a database there
    target: str


class Databases(Namespace):
    """Databases by their names' beginning; what replicates into one is the document of ``_replicator`` of its name."""

    title = f"what is called {PREFIX}…"

    def __init__(self, session: HTTPNode, timeout_s: float | None = None) -> None:
        super().__init__(session)
        self._ask = partial(session.ask, timeout_s=timeout_s)
        self._patience_s = timeout_s or CATCH_UP_S

    @override
    def marker(self) -> Marker | None:
        for name in self._markers():
            if document := self._ask("GET", f"/{name}/marker", none=(404,)):
                return Marker.from_json(document.get("marker"))
        return None

    @override
    def exists(self) -> bool:
        # Names are there by themselves.
        return False

    @override
    def contents(self) -> list[str]:
        pulls = (pull.name for pull in self.replications() if pull.database == _REPLICATOR)
        names = [name for name in dict.fromkeys([*self._names(), *pulls]) if name.startswith(PREFIX)]
        return [name for name in names if self.store(name) != _MARKER]

    @override
    def store(self, name: str) -> str:
        new = _NEW.fullmatch(name)
        return new[1] if new else name

    @override
    def mark(self, marker: Marker) -> None:
        if not (names := self._markers()):
            names = [new_name(_MARKER)]
            self._ask("PUT", f"/{names[0]}")
        name = names[0]
        former = self._ask("GET", f"/{name}/marker", none=(404,))
        revision = {"_rev": former["_rev"]} if former else {}
        self._ask("PUT", f"/{name}/marker", {**revision, "marker": marker.to_json()})

    @override
    def drop(self, stores: Sequence[str]) -> None:
        self.stop(stores)
        for name in self._names():
            if self.store(name) in stores:
                self._ask("DELETE", f"/{name}", none=(404,))

    @override
    def unmark(self, marker: Marker) -> None:
        for name in self._markers():
            self._ask("DELETE", f"/{name}", none=(404,))

    @override
    def before(self) -> dict[str, Any]:
        # the first replication makes the database of replications
        there = self._ask("GET", f"/{_REPLICATOR}", none=(404,)) is not None
        return {"replicator": there, "startup_jitter": self._session.setting(*_JITTER)}

    @override
    def restore(self, before: Mapping[str, Any]) -> None:
        if self._session.setting(*_JITTER) != (jitter := before.get("startup_jitter")):
            self._session.set(*_JITTER, jitter)
        # made for us, and used by nobody else
        if not before["replicator"] and self.before()["replicator"] and not self.replications():
            self._ask("DELETE", f"/{_REPLICATOR}")

    def prepare(self) -> None:
        """Prepare the node for pulls: they begin at once, where its user may set that, else within five seconds."""
        self._ask("PUT", f"/{_REPLICATOR}", none=(412,))
        self._session.set(*_JITTER, "0")

    def pull(self, name: str, source: str, target: str) -> None:
        """Let the node follow a database of that name, from one address to its own, without end."""
        ends = {"source": f"{source}/{name}", "target": f"{target}/{name}"}
        self._ask("PUT", f"/{_REPLICATOR}/{name}", {**ends, "continuous": True})

    def stop(self, stores: Collection[str]) -> None:
        """End the pulls into databases of these stores, or names; `EngineError` when they go on."""
        deadline = time.monotonic() + self._patience_s
        while names := [pull.name for pull in self.replications() if self._is_of(pull, stores)]:
            if time.monotonic() > deadline:
                raise EngineError(f"{self._session.name} goes on replicating into {', '.join(names)}")
            for name in names:
                if document := self._ask("GET", f"/{_REPLICATOR}/{name}", none=(404,)):
                    # between the two the node may have written into it how it fares
                    self._ask("DELETE", f"/{_REPLICATOR}/{name}?rev={document['_rev']}", none=(404, 409))
                else:
                    time.sleep(_POLL_S)

    def others(self) -> list[Replication]:
        """Return what the node replicates that is not the suite's."""
        marker = self.marker()
        return [pull for pull in self.replications() if not (marker and self._is_of(pull, marker.stores))]

    def replications(self) -> list[Replication]:
        """Return all that the node replicates: what documents ask for, and what runs without, or still."""
        rows = (self._ask("GET", f"/{_REPLICATOR}/_all_docs?include_docs=true", none=(404,)) or {}).get("rows", [])
        jobs = (self._ask("GET", f"/_scheduler/jobs?limit={_MANY}", none=(404,)) or {}).get("jobs", [])
        asked = []
        for document in (row["doc"] for row in rows):
            if "source" in document and document.get("_replication_state") not in _OVER:
                ends = (_address(document[end]) for end in ("source", "target"))
                asked.append(Replication(_REPLICATOR, document["_id"], *ends))
        running = [
            Replication(job["database"], job["doc_id"] or job["id"], job["source"], job["target"]) for job in jobs
        ]
        known = {(pull.database, pull.name) for pull in asked}
        return asked + [pull for pull in running if (pull.database, pull.name) not in known]

    def _is_of(self, replication: Replication, stores: Collection[str]) -> bool:
        known = replication.name in stores or self.store(replication.name) in stores
        return replication.database == _REPLICATOR and known

    def _markers(self) -> list[str]:
        return [name for name in self._names() if self.store(name) == _MARKER]

    def _names(self) -> list[str]:
        return list(self._ask("GET", "/_all_dbs"))


def _address(end: str | Mapping[str, Any]) -> str:
    return end if isinstance(end, str) else str(end.get("url"))
