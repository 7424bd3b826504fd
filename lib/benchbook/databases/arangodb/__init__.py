"""ArangoDB: what is known before a server runs; adapters and servers are beside it."""

from typing import Final

from benchbook.registry import Product

PRODUCTS: Final = {
    "arangodb": Product(
        title="ArangoDB",
        schemes=("arangodb", "arangodbs"),
        processes=("arangod",),
    ),
}
