"""CouchDB, by address or its stand-in: what is known of it before a server runs.

`server` starts the stand-in (PouchDB on Node.js) or asks servers at given addresses; `adapter` keeps documents on them
and sets up their replication. Begin with `adapter`; `node` is requests to a server and what is the suite's there,
`proxy` counts what a replica receives.
"""

from typing import Final

from benchbook.registry import Product, StandIn

PRODUCTS: Final = {
    "couchdb": Product(
        title="CouchDB",
        schemes=("http", "https"),
        processes=("beam.smp", "node"),
        stand_in=StandIn(
            version="PouchDB 9.0.0 (stand-in)",
            programs=("node",),
            lane="node",
            launcher="couchdb.js",
            package="node_modules/pouchdb/package.json",
            get="apt-get or conda install nodejs, then setup.sh",
            pairs=True,
        ),
        bidirectional=True,
        lacks={"durability": "CouchDB syncs every commit and its stand-in none: there is no choice"},
    ),
}
