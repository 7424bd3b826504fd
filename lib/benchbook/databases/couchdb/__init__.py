"""CouchDB: facts that are known before a server runs.

`server` starts servers, or asks those at given addresses. `adapter` keeps documents on them: `node`
is a server's HTTP interface and its replication, `proxy` counts what a replica receives. Begin with
`adapter`.
"""

from typing import Final

from benchbook.registry.products import Image, Package, Product

VERSION = 1

PRODUCTS: Final = {
    "couchdb": Product(
        title="CouchDB",
        schemes=("http", "https"),
        processes=("beam.smp",),
        package=Package(
            programs=("couchdb",),
            folder_patterns=("/opt/couchdb/bin",),
            version_pattern="../lib/couch-[0-9]*",
            install_advice="Apache's own package (docs.couchdb.org, Installation)",
        ),
        image=Image(
            "docker.io/library/couchdb:3.5.2", "Apache License 2.0", folder="/opt/couchdb/bin"
        ),
        bidirectional=True,
        tested_on="3.5.0",
        limitations={"durability": "CouchDB syncs every commit: there is no choice"},
    ),
}
