"""What is known of SQL Server before a server of it runs."""

from typing import Final

from benchbook.registry import Product

PRODUCTS: Final = {
    "sqlserver": Product(
        title="SQL Server",
        server="benchbook.databases.sqlserver.server",
        schemes=("sqlserver",),
        processes=("sqlservr",),
        untested="all of it (its SQL is parsed as T-SQL, no more)",
    ),
}
