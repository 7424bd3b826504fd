"""The Java lane's jar, which Maven makes of nothing but what ``harness/java/artefacts.lock`` names, plugins included.

Maven 3.8 pins versions, not hashes. So the jar is built offline, in a scratch copy of the harness, with a local
repository that holds the locked artefacts alone, each checked: one that is missing or changed ends the build.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.lanes.contract import LaneError

LOCAL: Final = Path.home() / ".m2" / "repository"
"""Where Maven keeps what it fetched."""

_SAID: Final = 500
"""Characters of what Maven says, in a message."""


class MavenError(LaneError):
    """Maven is missing, or failed."""


def lock_file() -> Path:
    """Return the file that names each artefact and its SHA-256."""
    return paths.harness("java") / "artefacts.lock"


def jar() -> Path:
    """Return where the lane looks for its jar."""
    return paths.harness("java") / "target" / "benchbook.jar"


def locked(file: Path) -> dict[str, str]:
    """Return the SHA-256 of each artefact by its coordinates, ``group:artifact:extension:version``."""
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {coordinates: sha256 for sha256, coordinates in lines}


def build(repository: Path, lock: dict[str, str], into: Path) -> None:
    """Make the jar; Maven fetches into its local repository what is not there yet.

    Raises
    ------
    LaneError
        When an artefact is not the one that is locked, or Maven fails, as it does when it needs another; then no jar is
        left.
    """
    into.unlink(missing_ok=True)
    try:
        made = _offline(repository, lock)
    except MavenError:
        if all((repository / _path(coordinates)).is_file() for coordinates in lock):
            raise
        package(repository)  # only to fetch: what it makes of unchecked artefacts is thrown away
        made = _offline(repository, lock)
    into.parent.mkdir(exist_ok=True)
    part = into.with_suffix(".part")
    part.write_bytes(made)
    part.rename(into)


def verified(repository: Path, lock: dict[str, str], into: Path) -> None:
    """Copy the locked artefacts that a local repository holds.

    Raises
    ------
    LaneError
        When one is not the one that is locked.
    """
    for coordinates, sha256 in lock.items():
        path = _path(coordinates)
        if not (repository / path).is_file():
            continue
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(repository / path, into / path)
        if (digest := _sha256(into / path)) != sha256:
            raise LaneError(f"{coordinates} is not what is locked: its sha256 is {digest}, not {sha256}")


def package(repository: Path, *options: str) -> bytes:
    """Return the jar that Maven makes in a scratch copy of the harness with this local repository.

    Raises
    ------
    MavenError
        When Maven is missing or fails.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise MavenError("no mvn on PATH: get maven from apt-get or conda")
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "java"
        shutil.copytree(paths.harness("java"), project, ignore=shutil.ignore_patterns("target"))
        shutil.copy(paths.harness("") / "contract.schema.json", scratch)
        command = [maven, "-q", "-B", "-Dstyle.color=never", f"-Dmaven.repo.local={repository}", *options, "package"]
        answer = subprocess.run(command, cwd=project, capture_output=True, text=True)
        if answer.returncode:
            said = " ".join((answer.stdout + answer.stderr).split())[:_SAID]
            alone = " with what is locked alone (the pom was changed? make lock)" if "-o" in options else ""
            raise MavenError(f"Maven failed{alone}: {said}")
        return (project / "target" / "benchbook.jar").read_bytes()


def resolved(repository: Path) -> dict[str, str]:
    """Return the SHA-256 of each jar and POM in a local repository by its coordinates."""
    return {_coordinates(file.relative_to(repository)): _sha256(file) for file in _artefacts(repository)}


def _offline(repository: Path, lock: dict[str, str]) -> bytes:
    with tempfile.TemporaryDirectory() as checked:
        verified(repository, lock, Path(checked))
        return package(Path(checked), "-o")


def _lock() -> None:
    """Lock what a build fetches that finds nothing here; Maven 3.8 asks for one jar more than 3.9 does."""
    with tempfile.TemporaryDirectory() as empty:
        package(Path(empty), "--strict-checksums")
        found = resolved(Path(empty))
    lines = (f"{sha256}  {coordinates}\n" for coordinates, sha256 in sorted(found.items()))
    lock_file().write_text("".join(lines), encoding="utf-8")


def _artefacts(repository: Path) -> Iterable[Path]:
    return (file for file in repository.rglob("*") if file.suffix in {".jar", ".pom"})


def _path(coordinates: str) -> Path:
    group, artifact, extension, version = coordinates.split(":")
    return Path(*group.split("."), artifact, version, f"{artifact}-{version}.{extension}")


def _coordinates(path: Path) -> str:
    *group, artifact, version, _ = path.parts
    coordinates = f"{'.'.join(group)}:{artifact}:{path.suffix[1:]}:{version}"
    if _path(coordinates) != path:
        raise MavenError(f"{path} has a classifier, which the lock file cannot name yet")
    return coordinates


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["lock"]:
            _lock()
        else:
            build(LOCAL, locked(lock_file()), jar())
    except LaneError as error:
        sys.exit(str(error))
