"""RethinkDB: facts that are known before a server runs.

`server` starts servers, or asks those at given addresses; `adapter` keeps documents on them. Begin
with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Image, Package, Product

VERSION = 1

PRODUCTS: Final = {
    "rethinkdb": Product(
        title="RethinkDB",
        schemes=("rethinkdb",),
        processes=("rethinkdb",),
        package=Package(
            programs=("rethinkdb",),
            homebrew="rethinkdb",
            install_advice="RethinkDB's own package (rethinkdb.com/docs/install)",
        ),
        image=Image("docker.io/library/rethinkdb:2.4.4", "Apache License 2.0"),
        oldest="2.4",
        tested_on="2.4.4",
    ),
}
