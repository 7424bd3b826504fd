"""Java artefacts, each named by its coordinates ``group:artifact:extension:version`` and by its SHA-256.

What Maven's local repository holds is taken where it is the same; the rest is fetched by Maven itself, from wherever
its settings say, with an extension of ours and no plugin (``harness/maven/Fetch.java``). Nothing runs unchecked.

``python -m tools.artefacts`` makes the Java language's jar, of nothing but what ``harness/java/artefacts.lock`` names,
plugins included: Maven 3.8 pins versions, not hashes. So what is locked is fetched and checked first, and the jar is
built offline, in a scratch copy of the harness, with a local repository that holds the checked artefacts alone. With
``lock`` it writes that file anew; with a folder it puts what the folder's own lock file names into it.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchbook import atomic, paths
from benchbook.languages import jar

LOCAL: Final = Path.home() / ".m2" / "repository"
"""Where Maven keeps what it fetched: read here, and never written."""

_MESSAGE_LIMIT: Final = 500
"""Characters of what a program says, in a message."""

_POM: Final = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>org.benchbook</groupId><artifactId>fetch</artifactId>"
    "<version>1</version><packaging>pom</packaging></project>"
)


class ArtefactError(RuntimeError):
    """An artefact is not the one that is locked, or Maven is missing or fails."""


def locked(file: Path) -> dict[str, str]:
    """Return the SHA-256 of each artefact that a lock file names, by its coordinates."""
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {coordinates: sha256 for sha256, coordinates in lines}


def gather(lock: Mapping[str, str], repository: Path, source: Path | None = None) -> None:
    """Bring each artefact that is locked into a repository of checked ones, unless it is there.

    Both folders are laid out as Maven's local repository, which is the source unless another is given: what is there as
    it is locked is taken, the rest fetched. What came before a failure stays.

    Raises `ArtefactError` when one cannot be fetched, or is not the one that is locked.
    """
    if missing := _without(repository, lock):
        _take(source or LOCAL, missing, repository)
    if missing := _without(repository, lock):
        with tempfile.TemporaryDirectory() as scratch:
            fetched = Path(scratch) / "repository"
            try:
                _fetch(missing, Path(scratch), fetched)
            finally:
                _take(fetched, missing, repository)
            for coordinates, sha256 in _without(repository, missing).items():
                actual = digest(fetched / path_of(coordinates))
                raise ArtefactError(f"{coordinates} is not what is locked: its sha256 is {actual}, not {sha256}")


def maven(project: Path, *options: str) -> None:
    """Run Maven on the project in a scratch folder.

    Raises `ArtefactError` when Maven is missing or fails, in its own words.
    """
    (project / ".mvn").mkdir(exist_ok=True)  # else Maven obeys one above it, where others may write
    answer = _run("mvn", "-q", "-B", "-Dstyle.color=never", *options, cwd=project)
    if answer.returncode:
        message, *_ = re.sub(r"\[ERROR\] |\x1b\[\w*", "", answer.stdout + answer.stderr).split(" -> [Help")
        raise ArtefactError(f"Maven failed: {_cut(message)}")


def digest(file: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def path_of(coordinates: str) -> Path:
    """Return where an artefact lies in a repository."""
    group, artifact, extension, version = coordinates.split(":")
    return Path(*group.split("."), artifact, version, f"{artifact}-{version}.{extension}")


def lock_file() -> Path:
    """Return the file that names each artefact and its SHA-256."""
    return paths.harness("java") / "artefacts.lock"


def build(repository: Path, lock: Mapping[str, str], into: Path) -> None:
    """Make the jar offline, of what is locked; what the repository lacks of that is fetched and checked before.

    Raises `ArtefactError`, and leaves no jar, when an artefact cannot be fetched or is not the one that is locked, or
    Maven fails, as it does when it needs another.
    """
    into.unlink(missing_ok=True)
    gather(lock, repository)
    with tempfile.TemporaryDirectory() as checked:
        gather(lock, Path(checked), repository)
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
        maven(project, f"-Dmaven.repo.local={repository}", *options, "package")
        return (project / "target" / "benchbook.jar").read_bytes()


def resolved(repository: Path) -> dict[str, str]:
    """Return the SHA-256 of each jar and POM in a local repository by its coordinates."""
    digests = {}
    for file in repository.rglob("*"):
        if file.suffix not in {".jar", ".pom"}:
            continue
        path = file.relative_to(repository)
        *group, artifact, version, _ = path.parts
        coordinates = f"{'.'.join(group)}:{artifact}:{path.suffix[1:]}:{version}"
        if path_of(coordinates) != path:
            raise ArtefactError(f"{path} has a classifier, which the lock file cannot name yet")
        digests[coordinates] = digest(file)
    return digests


def _without(repository: Path, lock: Mapping[str, str]) -> dict[str, str]:
    """Return what is locked and is not there, or not as it is locked."""
    lacking = {}
    for coordinates, sha256 in lock.items():
        file = repository / path_of(coordinates)
        if not file.is_file() or digest(file) != sha256:
            lacking[coordinates] = sha256
    return lacking


def _take(source: Path, lock: Mapping[str, str], repository: Path) -> None:
    """Copy what is as it is locked; what is copied is what is checked, for the source may change meanwhile."""
    for coordinates, sha256 in lock.items():
        path = path_of(coordinates)
        if not (source / path).is_file():
            continue
        content = (source / path).read_bytes()
        if hashlib.sha256(content).hexdigest() == sha256:
            atomic.write(repository / path, content)


def _fetch(lock: Mapping[str, str], scratch: Path, into: Path) -> None:
    """Have Maven put artefacts, unchecked, into a local repository, and do nothing else."""
    (listed := scratch / "artefacts").write_text("\n".join(lock), encoding="utf-8")
    (project := scratch / "project").mkdir()
    (project / "pom.xml").write_text(_POM, encoding="utf-8")
    extension = _extension(scratch / "extension")
    maven(
        project,
        f"-Dmaven.ext.class.path={extension}",
        f"-Dmaven.repo.local={into}",
        f"-Dbenchbook.artefacts={listed}",
        "-Dmaven.artifact.threads=16",
        "-Daether.connector.requestTimeout=20000",  # a server that falls silent: Maven would wait for half an hour,
        "-Dmaven.wagon.rto=20000",  # which 3.8 calls so
        "validate",
    )


def _extension(into: Path) -> Path:
    """Compile what Maven is extended by against the very Maven that is here."""
    printed = _run("mvn", "-v").stdout
    if (home := re.search(r"^Maven home: (.+)$", printed, re.MULTILINE)) is None:
        raise ArtefactError(f"mvn -v names no home of Maven: {_cut(printed)}")
    source = paths.harness("maven") / "Fetch.java"
    # Maven 3.8 reads no class files newer than Java 11's
    options = ("-proc:none", "--release", "11", "-Xlint:-options", "-cp", f"{home[1]}/lib/*", "-d", str(into))
    answer = _run("javac", *options, str(source))
    if answer.returncode:
        raise ArtefactError(f"{source} does not compile: {_cut(answer.stderr)}")
    (into / "META-INF" / "sisu").mkdir(parents=True)
    (into / "META-INF" / "sisu" / "javax.inject.Named").write_text(f"{source.stem}\n", encoding="utf-8")
    return into


def _run(name: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    if (program := shutil.which(name)) is None:
        raise ArtefactError(f"no {name} on PATH: get a JDK and Maven from apt-get or conda")
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, errors="replace")


def _cut(message: str) -> str:
    return " ".join(message.split())[:_MESSAGE_LIMIT]


def _lock() -> None:
    """Lock what a build fetches that finds nothing here: the one build that is online and runs what nobody checked.

    Maven 3.8 asks for one jar more than 3.9 does.
    """
    with tempfile.TemporaryDirectory() as empty:
        package(Path(empty), "--strict-checksums")
        lock = resolved(Path(empty))
    lines = (f"{sha256}  {coordinates}\n" for coordinates, sha256 in sorted(lock.items()))
    lock_file().write_text("".join(lines), encoding="utf-8")


def _copy_out(folder: Path) -> None:
    """Put what a folder's lock file names into it."""
    lock = locked(folder / "artefacts.lock")
    with tempfile.TemporaryDirectory() as checked:
        gather(lock, Path(checked))
        for coordinates in lock:
            file = Path(checked) / path_of(coordinates)
            atomic.write(folder / file.name, file.read_bytes())


if __name__ == "__main__":
    try:
        match sys.argv[1:]:
            case []:
                build(paths.artefacts(), locked(lock_file()), jar())
            case ["lock"]:
                _lock()
            case [folder]:
                _copy_out(Path(folder))
    except ArtefactError as error:
        sys.exit(str(error))
