"""SQL Server, by address alone: what is known of it before a server runs.

`server` connects to those at given addresses and asks what they are; `adapter` keeps records in tables on them. Begin
with `adapter`.
"""

from typing import Final

from benchbook.registry import Product

PRODUCTS: Final = {
    "sqlserver": Product(
        title="SQL Server",
        schemes=("sqlserver",),
        processes=("sqlservr",),
    ),
}
