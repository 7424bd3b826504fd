"""MySQL, MariaDB and MySQL 5.5: what is known before a server runs; adapters and servers are beside it."""

import zipfile
from pathlib import Path
from typing import Final

from benchbook.registry import Artefact, Package, Product


def _unpack(jar: zipfile.ZipFile, folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "mysqld").write_bytes(jar.read("5-5-9/Linux-x86_64/mysqld"))
    (folder / "bin" / "mysqld").chmod(0o755)
    for name, into in (("data_dir", folder / "data"), ("share_dir", folder)):
        with jar.open(f"5-5-9/{name}.jar") as inner, zipfile.ZipFile(inner) as files:
            files.extractall(into, [each for each in files.namelist() if not each.startswith("META-INF")])


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
            get="conda install -c conda-forge mysql-server, brew install mysql, or set BENCHBOOK_MYSQL_URL",
        ),
        oldest="8.0.23",
    ),
    "mariadb": Product(
        title="MariaDB",
        servers="MariaDB",
        schemes=("mariadb", "mysql"),
        processes=("mariadbd", "mysqld"),
        package=Package(
            programs=("mariadbd", "mariadb-install-db"),
            places=("/usr/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb*/bin"),
            get="apt-get install mariadb-server, brew install mariadb, or set BENCHBOOK_MARIADB_URL",
        ),
        oldest="10.5",
    ),
    "mysql@5.5": Product(
        title="MySQL 5.5",
        servers="OldMySQL",
        schemes=("mysql",),
        processes=("mysqld",),
        package=Package(
            programs=("mysqld",),
            get="make old-servers, or set BENCHBOOK_MYSQL_5_5_URL",
            artefact=Artefact(  # 5.5.9, the oldest that a registry holds for Linux x86-64; the crud paper's is 5.5.31
                "mysql:mysql-connector-mxj-db-files:jar:5.0.12",
                "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
                _unpack,
            ),
        ),
    ),
}
