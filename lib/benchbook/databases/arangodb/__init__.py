"""ArangoDB, by address alone: what is known of it before a server runs.

`server` asks servers at given addresses what they are; `adapter` keeps documents in the database that the address
names. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry import Product

PRODUCTS: Final = {
    "arangodb": Product(
        title="ArangoDB",
        schemes=("arangodb", "arangodbs"),
        processes=("arangod",),
    ),
}
