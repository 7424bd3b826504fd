"""RethinkDB: what is known of it before a server runs.

`server` starts servers, the stand-in of a single one (reqlite) where the product is absent, or asks those at given
addresses; `adapter` keeps documents on them. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry import Image, Package, Product, StandIn

PRODUCTS: Final = {
    "rethinkdb": Product(
        title="RethinkDB",
        schemes=("rethinkdb",),
        processes=("rethinkdb", "node"),
        package=Package(
            programs=("rethinkdb",),
            get="RethinkDB's own package (rethinkdb.com/docs/install), or brew install rethinkdb",
        ),
        image=Image("docker.io/library/rethinkdb:2.4.4", "Apache License 2.0"),
        oldest="2.4",
        tested_on="2.4.4",
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
