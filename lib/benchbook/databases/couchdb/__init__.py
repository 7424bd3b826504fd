"""CouchDB, started here or by address: what is known of it before a server runs.

`server` starts servers, or asks those at given addresses; `adapter` keeps documents on them. Begin with `adapter`;
`node` is requests to a server, what is the suite's there and how it is replicated, `proxy` counts what a replica
receives.
"""

from typing import Final

from benchbook.registry import Image, Package, Product

VERSION = 1

PRODUCTS: Final = {
    "couchdb": Product(
        title="CouchDB",
        schemes=("http", "https"),
        processes=("beam.smp",),
        package=Package(
            programs=("couchdb",),
            places=("/opt/couchdb/bin",),
            release="../lib/couch-[0-9]*",
            get="Apache's own package (docs.couchdb.org, Installation)",
        ),
        image=Image("docker.io/library/couchdb:3.5.2", "Apache License 2.0", folder="/opt/couchdb/bin"),
        bidirectional=True,
        tested_on="3.5.0",
        lacks={"durability": "CouchDB syncs every commit: there is no choice"},
    ),
}
