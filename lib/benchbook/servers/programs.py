"""Which servers can run here: from their wheel, else from PATH; old ones from the folder they were fetched into."""

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from benchbook import paths, processes, registry
from benchbook.registry import Package
from benchbook.servers.errors import remedy

Source = Literal["wheel", "path", "fetched", "stand-in", "address"]


@dataclass(frozen=True)
class Found:
    """A server that can be used: its programs by name, or none when it runs already at a given address."""

    product: str
    version: str
    source: Source
    programs: dict[str, Path]
    stand_in: bool = False


@dataclass(frozen=True)
class Missing:
    """A server that cannot, and one line that says why and how to get it."""

    product: str
    why: str


def environment(home: Path | None = None) -> dict[str, str]:
    """Return the whole environment that servers run in: they speak English, in the one locale that is everywhere."""
    return processes.environment(home, LC_ALL="C")  # mongod does not even start when the locale is not installed


def installed(product: str) -> Found | Missing:
    """Return the first server of `product` whose programs are all there and run."""
    package = registry.product(product).package
    assert package is not None
    refusals: list[str] = []
    tried: set[Path] = set()
    for source, folder in _candidates(product, package):
        programs = {name: _beside(folder, name) for name in package.programs}
        if (server := programs[package.programs[0]].resolve()) in tried:
            continue
        tried.add(server)
        if absent := [name for name, path in programs.items() if not path.is_file()]:
            refusals.append(f"{folder} has no {' nor '.join(absent)}")
            continue
        try:
            return Found(product, version_of(programs[package.programs[0]], package.excludes), source, programs)
        except OSError as error:
            refusals.append(str(error))
    return Missing(product, "; ".join([*refusals, f"no {product} here that runs: {package.get}"]))


def _candidates(product: str, package: Package) -> Iterator[tuple[Source, Path]]:
    """Yield every folder that may hold the programs, the preferred first."""
    if package.artefact:
        if (fetched := paths.old_servers() / product / "bin").is_dir():
            yield "fetched", fetched
        return
    if folder := _wheel(package):
        yield "wheel", folder
    for name in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if shutil.which(package.programs[0], path=name):
            yield "path", Path(name)
    for pattern in package.places:
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), key=_numbers, reverse=True):
            if (folder / package.programs[0]).is_file():
                yield "path", folder


def _beside(folder: Path, name: str) -> Path:
    """Return a program's path: of MariaDB's, Debian keeps the server and the installer in two folders."""
    places = (folder, folder.parent / "bin", folder.parent / "scripts")
    return next((place / name for place in places if (place / name).is_file()), folder / name)


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


@cache
def version_of(program: Path, excludes: str = "") -> str:
    """Return what ``--version`` says.

    Raises
    ------
    OSError
        When the program does not run (which is not cached: it may be put right), or is another product's.
    """
    command: list[str | Path] = [program, "--version"]
    try:
        answer = processes.answer(command, env=environment(), timeout_s=20)
    except subprocess.TimeoutExpired:
        raise OSError(f"{program} does not run: it hangs") from None
    if excludes and excludes in answer.stdout:
        raise OSError(f"{program} is {excludes}")
    if answer.returncode == 0 and (found := re.search(r"\d+(\.\d+)+", answer.stdout.replace(str(program), ""))):
        return found.group()
    said = (answer.stderr or answer.stdout).strip().splitlines()
    raise OSError(
        f"{program} does not run: {remedy(answer.stderr, answer.returncode)} ({said[-1] if said else 'silent'})"
    )


def _numbers(path: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(path))]
