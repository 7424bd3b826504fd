"""Products whose server no package registry holds: by address, or by a stand-in that speaks the protocol."""

import hashlib
import shutil
from functools import cache
from pathlib import Path
from typing import Final

from benchbook import paths, registry
from benchbook.deployment import Topology
from benchbook.registry import StandIn
from benchbook.servers.address import variable
from benchbook.servers.programs import Found, Missing, version_of

_OLDEST: Final = {"node": 18}


def absent(product: str, topology: Topology) -> Found | Missing:
    """Return the product's stand-in, or in one line why there is none here and how to get it or a real server."""
    stand_in = registry.product(product).stand_in
    if stand_in is None:
        why = "nothing stands in for it"
    elif topology != "single" and not stand_in.pairs:
        why = f"{stand_in.version} stands in for a single server only"
    else:
        try:
            return Found(product, stand_in.version, "stand-in", _programs(stand_in), stand_in=True)
        except OSError as error:
            why = f"nor its stand-in, {stand_in.version}: {error}: {stand_in.get}"
    service, roles = ("single", variable(product)) if topology == "single" else ("replicated", _both(product))
    return Missing(
        product,
        f"no {product} here, {why}; the product: docker compose run --rm {product}-{service}, then set {roles}"
        " (see compose.yaml)",
    )


def _programs(stand_in: StandIn) -> dict[str, Path]:
    """Return what it takes to start a stand-in.

    Raises
    ------
    OSError
        When something is missing, too old, or another version than the one that was checked.
    """
    programs = {}
    for name in stand_in.programs:
        if (path := shutil.which(name)) is None:
            raise FileNotFoundError(f"no {name} on PATH")
        programs[name] = Path(path)
        if name in _OLDEST and int((told := version_of(programs[name])).partition(".")[0]) < _OLDEST[name]:
            raise FileNotFoundError(f"{path} is version {told}")
    harness = paths.harness(stand_in.lane)
    package = harness / stand_in.package
    if not package.is_file():
        raise FileNotFoundError(f"{harness} has no {stand_in.package}")
    if stand_in.sha256 and _sha256(package) != stand_in.sha256:
        raise FileNotFoundError(f"{package} is not {stand_in.version}, remove it")
    return programs | {"launcher": harness / stand_in.launcher, "package": package}


def _both(product: str) -> str:
    return f"{variable(product)} and {variable(product, 'replica')}"


@cache
def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
