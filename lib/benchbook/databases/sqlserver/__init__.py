"""SQL Server: facts that are known before a server runs.

`server` starts servers in containers, or asks those at given addresses; `adapter` keeps records in
tables on them. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Image, Product

VERSION = 1

PRODUCTS: Final = {
    "sqlserver": Product(
        title="SQL Server",
        extra_driver="pymssql",
        schemes=("sqlserver",),
        processes=("sqlservr",),
        image=Image(
            "mcr.microsoft.com/mssql/server:2022-CU26-ubuntu-22.04",
            "Microsoft's Software License Terms, Developer edition",
            port=1433,
            memory_gb=2,
            terms=True,
        ),
    ),
}
