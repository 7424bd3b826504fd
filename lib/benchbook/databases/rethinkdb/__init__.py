"""RethinkDB, by address or its stand-in: what is known of it before a server runs.

`server` starts the stand-in (reqlite) or asks servers at given addresses; `adapter` keeps documents on them. Begin with
`adapter`.
"""

from typing import Final

from benchbook.registry import Product, StandIn

PRODUCTS: Final = {
    "rethinkdb": Product(
        title="RethinkDB",
        schemes=("rethinkdb",),
        processes=("rethinkdb", "node"),
        stand_in=StandIn(
            version="reqlite 2.3.0",
            programs=("node",),
            lane="reqlite",
            launcher="server.js",
            package="node_modules/reqlite/package.json",
            get="apt-get or conda install nodejs, then npm ci --ignore-scripts --prefix harness/reqlite",
        ),
    ),
}
