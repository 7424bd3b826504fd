"""SQL Server: facts that are known before a server runs.

`server` starts servers in containers, or asks those at given addresses; `adapter` keeps records in
tables on them. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Product
from benchbook_more_databases.licensed_image import LicensedImage

VERSION = 1

PRODUCTS: Final = {
    "sqlserver": Product(
        title="SQL Server",
        schemes=("sqlserver",),
        processes=("sqlservr",),
        image=LicensedImage(
            "mcr.microsoft.com/mssql/server:2022-CU26-ubuntu-22.04",
            "Microsoft's Software License Terms, Developer edition",
            memory_gb=2.0,
        ),
    ),
}
