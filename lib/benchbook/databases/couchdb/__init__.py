"""CouchDB: what is known before a server runs; adapters and servers are beside it."""

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
