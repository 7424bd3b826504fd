"""CouchDB's namespace on a node: the databases whose names begin with ``benchbook-``, and the pulls into them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchbook.engines.couchdb_http import Node
from benchbook.engines.namespace import Marker, Namespace

PREFIX: Final = "benchbook-"
_MARKER: Final = f"{PREFIX}marker"


class Databases(Namespace):
    """A pull is the document of ``_replicator`` that goes by its database's name."""

    title = f"what is called {PREFIX}…"

    def __init__(self, node: Node) -> None:
        self._ask = node.ask

    def marker(self) -> Marker | None:
        """Return the marker: the only document of a database of its own."""
        found = self._ask("GET", f"/{_MARKER}/marker", none=(404,))
        return Marker.from_json(found["marker"]) if found else None

    def exists(self) -> bool:
        """Return that it is not: names are there by themselves."""
        return False

    def contents(self) -> list[str]:
        """Return the databases, and the pulls that have none."""
        names = [*self._ask("GET", "/_all_dbs"), *self._pulls()]
        return [name for name in dict.fromkeys(names) if name.startswith(PREFIX) and name != _MARKER]

    def mark(self, marker: Marker) -> None:
        """Write the marker, in a database that is made where it is not there."""
        self._ask("PUT", f"/{_MARKER}", none=(412,))
        there = self._ask("GET", f"/{_MARKER}/marker", none=(404,))
        revision = {"_rev": there["_rev"]} if there else {}
        self._ask("PUT", f"/{_MARKER}/marker", {**revision, "marker": marker.to_json()})

    def drop(self, stores: Sequence[str]) -> None:
        """Stop the pulls and drop the databases."""
        for name in stores:
            self.stop_pull(name)
            self._ask("DELETE", f"/{name}", none=(404,))

    def unmark(self, marker: Marker) -> None:
        """Drop the marker's database."""
        self._ask("DELETE", f"/{_MARKER}")

    def stop_pull(self, database: str) -> None:
        """Delete the pull into a database, if there is one."""
        if there := self._ask("GET", f"/_replicator/{database}", none=(404,)):
            self._ask("DELETE", f"/_replicator/{database}?rev={there['_rev']}")

    def before(self) -> dict[str, Any]:
        """Return whether there is a database of replications: the first makes it."""
        return {"replicator": self._ask("GET", "/_replicator", none=(404,)) is not None}

    def restore(self, before: Mapping[str, Any]) -> None:
        """Drop that database when it was made for us, and nobody has used it."""
        if not before["replicator"] and self.before()["replicator"] and not self._pulls():
            self._ask("DELETE", "/_replicator")

    def _pulls(self) -> list[str]:
        rows = (self._ask("GET", "/_replicator/_all_docs", none=(404,)) or {}).get("rows", [])
        return [row["id"] for row in rows if not row["id"].startswith("_design/")]
