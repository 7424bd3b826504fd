"""The Java lane is built of what its lock file names, and of nothing else."""

import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest

from benchbook import lanes, paths
from benchbook.lanes import maven

LOCK = maven.locked(maven.lock_file())
OF_MAVEN_3_8 = {"org.codehaus.plexus:plexus-utils:jar:1.1"}
SHADED = "org.json:json:jar:20260814"
PLUGIN = "org.apache.maven.plugins:maven-shade-plugin:jar:3.6.0"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a local repository with all that is locked."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("no JDK with Maven on PATH")
    into = tmp_path / "repository"
    maven.verified(maven.LOCAL, LOCK, into)
    if missing := LOCK.keys() - maven.resolved(into).keys() - OF_MAVEN_3_8:
        pytest.skip(f"Maven has not fetched {len(missing)} of what is locked: the jar was built elsewhere")
    return into


def file_of(coordinates: str, repository: Path) -> Path:
    _, artifact, extension, version = coordinates.split(":")
    (file,) = repository.rglob(f"{artifact}-{version}.{extension}")
    return file


def test_the_lock_names_exactly_what_the_build_resolves(repository: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.xml"
    mirror = f"<mirror><id>local</id><mirrorOf>*</mirrorOf><url>{repository.as_uri()}</url></mirror>"
    settings.write_text(f"<settings><mirrors>{mirror}</mirrors></settings>")
    maven.package(tmp_path / "empty", "--settings", str(settings))
    found = maven.resolved(tmp_path / "empty")
    assert LOCK | found == LOCK
    assert LOCK.keys() - found.keys() <= OF_MAVEN_3_8


def test_it_names_each_dependency_and_plugin_of_the_pom() -> None:
    pom = (paths.harness("java") / "pom.xml").read_text()
    named = re.findall(r"<artifactId>([\w.-]+)</artifactId>\s*<version>([\w.${}-]+)</version>", pom)[1:]
    assert len(named) == 12
    for artifact, version in named:
        if version.startswith("$"):
            version = re.search(rf"<{version[2:-1]}>(.*)</", pom)[1]
        assert [one for one in LOCK if one.endswith(f":{artifact}:jar:{version}")], f"{artifact} {version}: make lock"
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in LOCK.values())


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty local repository; the Maven on PATH needs and fetches one artefact, and logs its calls."""
    (scripted := tmp_path / "mvn").write_text(MAVEN)
    scripted.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path / "repository"


MAVEN = """#!/bin/sh
here=$(dirname "$0")
for option; do case $option in -Dmaven.repo.local=*) file=${option#*=}/org/one/1/one-1.jar;; esac; done
case " $* " in
    *" -o "*) echo offline >>"$here/calls"; [ -e "$file" ] || { echo "no one:jar:1"; exit 1; };;
    *) echo online >>"$here/calls"; mkdir -p "$(dirname "$file")"; printf fetched >"$file";;
esac
mkdir target; printf made >target/benchbook.jar
"""


def test_maven_is_online_once(one: Path, tmp_path: Path) -> None:
    lock = {"org:one:jar:1": hashlib.sha256(b"fetched").hexdigest()}
    for _ in range(2):
        maven.build(one, lock, jar := tmp_path / "target" / "benchbook.jar")
        assert jar.read_bytes() == b"made"
        jar.unlink()
    assert (tmp_path / "calls").read_text().split() == ["offline", "online", "offline", "offline"]


def test_what_was_fetched_and_is_not_what_is_locked_is_refused(one: Path, tmp_path: Path) -> None:
    with pytest.raises(lanes.LaneError, match=f"org:one:jar:1 is not what is locked: its sha256 is .*, not {'0' * 64}"):
        maven.build(one, {"org:one:jar:1": "0" * 64}, jar := tmp_path / "target" / "benchbook.jar")
    assert not jar.exists()


@pytest.mark.parametrize("artefact", [SHADED, PLUGIN, SHADED.replace("jar", "pom")])
def test_a_tampered_artefact_is_refused_and_no_jar_is_left(artefact: str, repository: Path, tmp_path: Path) -> None:
    with file_of(artefact, repository).open("ab") as file:
        file.write(b"something else")
    (jar := tmp_path / "benchbook.jar").write_bytes(b"an older one")
    with pytest.raises(lanes.LaneError, match=f"{artefact} is not what is locked: .* not {LOCK[artefact]}"):
        maven.build(repository, LOCK, jar)
    assert not jar.exists()


def test_what_the_lock_does_not_name_is_not_used(repository: Path, tmp_path: Path) -> None:
    fewer = {coordinates: sha256 for coordinates, sha256 in LOCK.items() if coordinates != SHADED}
    with pytest.raises(maven.MavenError, match=f"Maven failed with what is locked alone .*make lock.*{SHADED}"):
        maven.build(repository, fewer, jar := tmp_path / "benchbook.jar")
    assert not jar.exists()


def test_without_maven_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(maven.MavenError, match=r"^no mvn on PATH: get maven from apt-get or conda$"):
        maven.build(tmp_path, LOCK, tmp_path / "benchbook.jar")
