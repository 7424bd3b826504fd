"""ArangoDB: facts that are known before a server runs.

`server` starts servers, or asks those at given addresses, and returns their URLs. `adapter` keeps
documents in the database that the address names. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Image, Package, Product

VERSION = 1

PRODUCTS: Final = {
    "arangodb": Product(
        title="ArangoDB",
        limitations={
            "bytes_received": (
                "the applier counts no bytes, and follows whom its server is set to: "
                "no proxy can count"
            ),
        },
        schemes=("arangodb", "arangodbs"),
        processes=("arangod",),
        package=Package(
            programs=("arangod",),
            install_advice="install its makers' package",
            folder_patterns=("/usr/sbin",),
        ),
        # From 3.12.10 on no single server follows another.
        image=Image("docker.io/library/arangodb:3.12.9", "ArangoDB Community License"),
    ),
}
