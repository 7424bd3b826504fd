"""Java artefacts, locked by their coordinates ``group:artifact:extension:version`` and SHA-256.

An artefact in Maven's local repository is taken if its hash is the locked one. The others are
fetched by Maven itself, as its settings say, with an extension of ours
(``harness/maven/Fetch.java``) and without plugins. Nothing runs unchecked.

``python -m tools.artefacts`` builds the Java language's jar from the artefacts of
``harness/java/artefacts.lock`` only, plugins included. Maven 3.8 pins versions, not hashes. So the
locked artefacts are fetched and checked first, and the jar is built offline, in a scratch copy of
the harness, with a local repository of checked artefacts. With ``lock`` the command writes the lock
file again; with a folder it copies the artefacts of the folder's lock file into it.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.files import suite_files
from benchbook.registry.products import name_package_manager
from benchbook.studies.harness import find_jar

LOCAL: Final = Path.home() / ".m2" / "repository"
"""Maven's local repository: read here, and never written."""

_MESSAGE_LIMIT: Final = 500
"""The most characters of a program's output in a message."""

_POM: Final = (
    "<project><modelVersion>4.0.0</modelVersion>"
    "<groupId>org.benchbook</groupId><artifactId>fetch</artifactId>"
    "<version>1</version><packaging>pom</packaging></project>"
)


class ArtefactError(RuntimeError):
    """An artefact is not the one that is locked, or Maven is missing or fails."""


def read_lock(file: Path) -> dict[str, str]:
    """Return the SHA-256 of a lock file's artefacts by coordinates."""
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {coordinates: sha256 for sha256, coordinates in lines}


def gather(lock: Mapping[str, str], repository: Path, source: Path | None = None) -> None:
    """Copy or fetch each locked artefact that a repository of checked ones does not have.

    Both folders are laid out as Maven's local repository, which is the default source. An artefact
    with the locked hash is copied from there, the others are fetched. Artefacts that came before a
    failure stay.

    Raises `ArtefactError` when one cannot be fetched, or its hash is not the locked one.
    """
    missing = _find_missing(repository, lock)
    if missing:
        _copy_checked(source or LOCAL, missing, repository)
        missing = _find_missing(repository, missing)
    if not missing:
        return
    with suite_files.TemporaryFolder("cell") as scratch:
        fetched = scratch / "repository"
        try:
            _fetch(missing, scratch, fetched)
        finally:
            _copy_checked(fetched, missing, repository)
        for coordinates, sha256 in _find_missing(repository, missing).items():
            actual = compute_digest(fetched / locate(coordinates))
            raise ArtefactError(
                f"{coordinates} is not what is locked: its sha256 is {actual}, not {sha256}"
            )


def run_maven(project: Path, *options: str) -> None:
    """Run Maven on the project in a scratch folder.

    Raises `ArtefactError` with Maven's message when it is missing or fails.
    """
    # Without a .mvn Maven obeys one in a folder above, where others may write.
    (project / ".mvn").mkdir(exist_ok=True)
    answer = _run("mvn", "-q", "-B", "-Dstyle.color=never", *options, cwd=project)
    if answer.returncode:
        message, *_ = re.sub(r"\[ERROR\] |\x1b\[\w*", "", answer.stdout + answer.stderr).split(
            " -> [Help"
        )
        raise ArtefactError(f"Maven failed: {_shorten(message)}")


def compute_digest(file: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def locate(coordinates: str) -> Path:
    """Return an artefact's path in a repository."""
    group, artifact, extension, version = coordinates.split(":")
    return Path(*group.split("."), artifact, version, f"{artifact}-{version}.{extension}")


def find_lock_file() -> Path:
    """Return the file that names each artefact and its SHA-256."""
    return paths.harness("java") / "artefacts.lock"


def build_jar(repository: Path, lock: Mapping[str, str], into: Path) -> None:
    """Build the jar offline from the locked artefacts; missing ones are fetched and checked before.

    Raises `ArtefactError`, and leaves no jar, when an artefact cannot be fetched, its hash is not
    the locked one, or Maven fails, for example because it needs another artefact.
    """
    into.unlink(missing_ok=True)
    gather(lock, repository)
    with suite_files.TemporaryFolder("cell") as checked:
        gather(lock, checked, repository)
        try:
            made = package_jar(checked, "-o")
        except ArtefactError as error:
            raise ArtefactError(
                f"with what is locked alone (the pom was changed? make lock): {error}"
            ) from None
    suite_files.write_file(into, made)


def package_jar(repository: Path, *options: str) -> bytes:
    """Return the jar that Maven builds in a scratch copy of the harness; raises `ArtefactError`."""
    with suite_files.TemporaryFolder("cell") as scratch:
        project = scratch / "java"
        shutil.copytree(paths.harness("java"), project, ignore=shutil.ignore_patterns("target"))
        shutil.copy(paths.harness("") / "contract.schema.json", scratch)
        run_maven(project, f"-Dmaven.repo.local={repository}", *options, "package")
        return (project / "target" / "benchbook.jar").read_bytes()


def list_artefacts(repository: Path) -> dict[str, str]:
    """Return the SHA-256 of each jar and POM in a local repository by its coordinates."""
    digests = {}
    for file in repository.rglob("*"):
        if file.suffix not in {".jar", ".pom"}:
            continue
        path = file.relative_to(repository)
        *group, artifact, version, _ = path.parts
        coordinates = f"{'.'.join(group)}:{artifact}:{path.suffix[1:]}:{version}"
        if locate(coordinates) != path:
            raise ArtefactError(f"{path} has a classifier, which the lock file cannot name yet")
        digests[coordinates] = compute_digest(file)
    return digests


def _find_missing(repository: Path, lock: Mapping[str, str]) -> dict[str, str]:
    """Return the locked artefacts that are missing in a repository, or have another hash."""
    missing = {}
    for coordinates, sha256 in lock.items():
        file = repository / locate(coordinates)
        if not file.is_file() or compute_digest(file) != sha256:
            missing[coordinates] = sha256
    return missing


def _copy_checked(source: Path, lock: Mapping[str, str], repository: Path) -> None:
    """Copy the artefacts that have the locked hash."""
    for coordinates, sha256 in lock.items():
        path = locate(coordinates)
        if not (source / path).is_file():
            continue
        # The bytes that were checked are written, because the source may change meanwhile.
        content = (source / path).read_bytes()
        if hashlib.sha256(content).hexdigest() == sha256:
            suite_files.write_file(repository / path, content)


def _fetch(lock: Mapping[str, str], scratch: Path, into: Path) -> None:
    """Let Maven fetch artefacts, unchecked, into a local repository, and do nothing else."""
    listed = scratch / "artefacts"
    listed.write_text("\n".join(lock), encoding="utf-8")
    project = scratch / "project"
    project.mkdir()
    (project / "pom.xml").write_text(_POM, encoding="utf-8")
    extension = _compile_extension(scratch / "extension")
    run_maven(
        project,
        f"-Dmaven.ext.class.path={extension}",
        f"-Dmaven.repo.local={into}",
        f"-Dbenchbook.artefacts={listed}",
        "-Dmaven.artifact.threads=16",
        # Maven would wait half an hour for a silent server; the second is the name of 3.8.
        "-Daether.connector.requestTimeout=20000",
        "-Dmaven.wagon.rto=20000",
        "validate",
    )


def _compile_extension(into: Path) -> Path:
    """Compile Maven's extension against the installed Maven."""
    printed = _run("mvn", "-v").stdout
    home = re.search(r"^Maven home: (.+)$", printed, re.MULTILINE)
    if home is None:
        raise ArtefactError(f"mvn -v names no home of Maven: {_shorten(printed)}")
    source = paths.harness("maven") / "Fetch.java"
    # Maven 3.8 reads no class files newer than Java 11's
    options = (
        "-proc:none",
        "--release",
        "11",
        "-Xlint:-options",
        "-cp",
        f"{home[1]}/lib/*",
        "-d",
        str(into),
    )
    answer = _run("javac", *options, str(source))
    if answer.returncode:
        raise ArtefactError(f"{source} does not compile: {_shorten(answer.stderr)}")
    (into / "META-INF" / "sisu").mkdir(parents=True)
    (into / "META-INF" / "sisu" / "javax.inject.Named").write_text(
        f"{source.stem}\n", encoding="utf-8"
    )
    return into


def _run(name: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = shutil.which(name)
    if program is None:
        source = f"{name_package_manager()} or conda"
        raise ArtefactError(f"no {name} on PATH: get a JDK and Maven from {source}")
    return subprocess.run(
        [program, *arguments], cwd=cwd, capture_output=True, text=True, errors="replace"
    )


def _shorten(message: str) -> str:
    return " ".join(message.split())[:_MESSAGE_LIMIT]


def _write_lock() -> None:
    """Lock the artefacts that a build fetches into an empty repository.

    This is the only build that is online and runs unchecked plugins. Maven 3.8 asks for one jar
    more than 3.9 does.
    """
    with suite_files.TemporaryFolder("cell") as empty:
        package_jar(empty, "--strict-checksums")
        lock = list_artefacts(empty)
    lines = (f"{sha256}  {coordinates}\n" for coordinates, sha256 in sorted(lock.items()))
    find_lock_file().write_text("".join(lines), encoding="utf-8")


def _copy_out(folder: Path) -> None:
    """Copy the artefacts of a folder's lock file into it."""
    lock = read_lock(folder / "artefacts.lock")
    with suite_files.TemporaryFolder("cell") as checked:
        gather(lock, checked)
        for coordinates in lock:
            file = checked / locate(coordinates)
            suite_files.write_file(folder / file.name, file.read_bytes())


if __name__ == "__main__":
    try:
        match sys.argv[1:]:
            case []:
                build_jar(paths.artefacts(), read_lock(find_lock_file()), find_jar())
            case ["lock"]:
                _write_lock()
            case [folder]:
                _copy_out(Path(folder))
    except ArtefactError as error:
        sys.exit(str(error))
