"""SQL Server: what is known before a server runs; adapters and servers are beside it."""

from typing import Final

from benchbook.registry import Product

PRODUCTS: Final = {
    "sqlserver": Product(
        title="SQL Server",
        schemes=("sqlserver",),
        processes=("sqlservr",),
    ),
}
