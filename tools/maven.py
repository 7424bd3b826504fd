"""The Java lane's jar, which Maven makes of nothing but what ``harness/java/artefacts.lock`` names, plugins included.

Maven 3.8 pins versions, not hashes. So what is locked is fetched and checked first (`tools.artefacts`), and the jar
is built offline, in a scratch copy of the harness, with a local repository that holds the checked artefacts alone.
"""

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchbook import atomic, paths
from benchbook.lanes import jar
from tools import artefacts
from tools.artefacts import ArtefactError


def lock_file() -> Path:
    """Return the file that names each artefact and its SHA-256."""
    return paths.harness("java") / "artefacts.lock"


def build(repository: Path, lock: Mapping[str, str], into: Path) -> None:
    """Make the jar offline, of what is locked; what the repository lacks of that is fetched and checked before.

    Raises `ArtefactError`, and leaves no jar, when an artefact cannot be fetched or is not the one that is locked, or
    Maven fails, as it does when it needs another.
    """
    into.unlink(missing_ok=True)
    artefacts.gather(lock, repository)
    with tempfile.TemporaryDirectory() as checked:
        artefacts.gather(lock, Path(checked), repository)
        try:
            made = package(Path(checked), "-o")
        except ArtefactError as error:
            raise ArtefactError(f"with what is locked alone (the pom was changed? make lock): {error}") from None
    atomic.write(into, made)


def package(repository: Path, *options: str) -> bytes:
    """Return the jar that Maven makes in a scratch copy of the harness with this repository; raises `ArtefactError`."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "java"
        shutil.copytree(paths.harness("java"), project, ignore=shutil.ignore_patterns("target"))
        shutil.copy(paths.harness("") / "contract.schema.json", scratch)
        artefacts.maven(project, f"-Dmaven.repo.local={repository}", *options, "package")
        return (project / "target" / "benchbook.jar").read_bytes()


def resolved(repository: Path) -> dict[str, str]:
    """Return the SHA-256 of each jar and POM in a local repository by its coordinates."""
    files = (file for file in repository.rglob("*") if file.suffix in {".jar", ".pom"})
    return {_coordinates(file.relative_to(repository)): artefacts.digest(file) for file in files}


def _lock() -> None:
    """Lock what a build fetches that finds nothing here: the one build that is online and runs what nobody checked.

    Maven 3.8 asks for one jar more than 3.9 does.
    """
    with tempfile.TemporaryDirectory() as empty:
        package(Path(empty), "--strict-checksums")
        lock = resolved(Path(empty))
    lines = (f"{sha256}  {coordinates}\n" for coordinates, sha256 in sorted(lock.items()))
    lock_file().write_text("".join(lines), encoding="utf-8")


def _coordinates(path: Path) -> str:
    *group, artifact, version, _ = path.parts
    coordinates = f"{'.'.join(group)}:{artifact}:{path.suffix[1:]}:{version}"
    if artefacts.path_of(coordinates) != path:
        raise ArtefactError(f"{path} has a classifier, which the lock file cannot name yet")
    return coordinates


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["lock"]:
            _lock()
        else:
            build(paths.artefacts(), artefacts.locked(lock_file()), jar())
    except ArtefactError as error:
        sys.exit(str(error))
