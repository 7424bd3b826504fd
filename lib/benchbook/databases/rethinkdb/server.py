"""RethinkDB: a server, or a cluster of two, by address; else reqlite, which stands in for a single server.

reqlite keeps everything in memory and knows one user, admin, without a password: any user of this machine can read what
is written to it while it runs.
"""

from contextlib import closing
from typing import Any
from urllib.parse import unquote, urlsplit

from rethinkdb import r
from rethinkdb.errors import ReqlError

from benchbook.deployment import Role, Topology
from benchbook.servers.address import Answer
from benchbook.servers.fleet import Fleet
from benchbook.servers.programs import Found

_PATIENCE_S = 5


class _Connection:
    """A connection to `url` that `closing` can close: reqlite does not answer the driver's own farewell."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.link: Any = r.connect(
            parts.hostname,
            parts.port or 28015,
            user=unquote(parts.username or "admin"),
            password=unquote(parts.password or ""),
            timeout=_PATIENCE_S,
        )

    def close(self) -> None:
        """Close it at once."""
        self.link.close(noreply_wait=False)


def fleet() -> Fleet:
    """Return an empty fleet for the stand-in."""
    return Fleet("rethinkdb")


def launch(fleet: Fleet, found: Found, topology: Topology) -> dict[Role, str]:
    """Start the stand-in and return its URL."""
    server = fleet.serve("primary", lambda port: [found.programs["node"], found.programs["launcher"], str(port)])
    server.await_line("ready")
    return {"primary": f"rethinkdb://admin:@127.0.0.1:{server.port}"}


def ask(url: str) -> Answer:
    """Return what the server at `url` says of itself; its role is what it is used as.

    Raises
    ------
    ConnectionError
        When it cannot be reached or refuses the user.
    """
    try:
        with closing(_Connection(url)) as connection:
            identity = connection.link.server()["id"]
            told = {row["id"]: row for row in r.db("rethinkdb").table("server_status").run(connection.link)}
    except (ReqlError, OSError) as error:
        raise ConnectionError(" ".join(str(error).split())) from None
    if identity not in told:  # RethinkDB lists itself
        return Answer("reqlite", None, {}, stand_in=True)
    process = told[identity]["process"]
    return Answer(process["version"].split()[1], None, {"cache_size_mb": process["cache_size_mb"]})
