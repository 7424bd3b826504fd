"""What is known of ArangoDB before a server of it runs."""

from typing import Final

from benchbook.registry import Product

PRODUCTS: Final = {
    "arangodb": Product(
        title="ArangoDB",
        server="benchbook.databases.arangodb.server",
        schemes=("arangodb", "arangodbs"),
        processes=("arangod",),
        untested="all of it (nothing stands in for ArangoDB)",
    ),
}
