"""The images of containers that products' servers are started from: each pinned, with what its maker asks for.

None is ever fetched by a run: ``benchbook servers pull`` does that, when a person asks. An image is its product's own,
from its makers or from Docker's official library, and its programs are started as those of this machine are.
"""

import os
from dataclasses import dataclass, replace
from typing import Final

from benchbook.servers.address import setting


@dataclass(frozen=True)
class Image:
    """What is known of a product's image before it is here."""

    reference: str  # where a container engine fetches it from, and its tag
    licence: str
    folder: str = ""  # where its programs lie in it, if not on its PATH
    port: int = 0  # at which alone its server listens, on a bridge of its own; 0: where it is told, on loopback
    memory_gb: float = 0  # without which free a server of it does not start
    terms: bool = False  # whether its maker's are its user's to accept: then `ACCEPTED` must be exported


ACCEPTED: Final = ("ACCEPT_EULA", "Y")
"""The environment variable by which a user, and nobody else, accepts the terms of a maker, and its value."""

IMAGES: Final = {
    "mongodb": Image("docker.io/library/mongo:8.0", "SSPL 1.0"),
    "postgresql": Image("docker.io/library/postgres:18", "PostgreSQL License"),
    "mysql": Image("docker.io/library/mysql:8.4", "GPL 2"),
    "mariadb": Image("docker.io/library/mariadb:11.8", "GPL 2"),
    "couchdb": Image("docker.io/library/couchdb:3.5.2", "Apache License 2.0", folder="/opt/couchdb/bin"),
    "rethinkdb": Image("docker.io/library/rethinkdb:2.4.4", "Apache License 2.0"),
    "couchbase": Image(
        "docker.io/library/couchbase:enterprise-8.0.2",
        "Couchbase's Enterprise License Agreement",
        port=8091,
        memory_gb=2,
        terms=True,
    ),
    "sqlserver": Image(
        "mcr.microsoft.com/mssql/server:2022-CU26-ubuntu-22.04",
        "Microsoft's Software License Terms, Developer edition",
        port=1433,
        memory_gb=2,
        terms=True,
    ),
    # no later one: from 3.12.10 on no single server follows another
    "arangodb": Image("docker.io/library/arangodb:3.12.9", "ArangoDB Community License"),
}
"""By product."""


def variable(product: str) -> str:
    """Return the environment variable that names another image for a product, or ``pinned`` for the one here.

    With it the product is started from that image even where its own programs are.
    """
    return setting(product, "IMAGE")


def asked(product: str) -> Image | None:
    """Return the image that a product must be started from; None when nobody asked for one."""
    if not (given := os.environ.get(variable(product), "")):
        return None
    known = IMAGES.get(product, Image(given, "unknown"))
    return known if given == "pinned" else replace(known, reference=given)
