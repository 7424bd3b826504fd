"""The Java harness is built only from files that its lock names, checked before they run."""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from benchbook import paths
from tools import artefacts
from tools.artefacts import ArtefactError

LOCK = artefacts.read_lock(artefacts.find_lock_file())
OF_MAVEN_3_8 = {"org.codehaus.plexus:plexus-utils:jar:1.1"}
SHADED = "org.json:json:jar:20260814"
PLUGIN = "org.apache.maven.plugins:maven-resources-plugin:jar:3.3.1"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a local repository with all that is locked."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("no JDK with Maven on PATH")
    into = tmp_path_factory.mktemp("maven") / "repository"
    artefacts.gather(LOCK, into, paths.artefacts())
    return into


QUICK = "-XX:TieredStopAtLevel=1"
"""Turns the second compiler of Maven's JVM off: it takes longer than these builds."""


@pytest.fixture(autouse=True)
def quick_maven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAVEN_OPTS", QUICK)


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maven's own local repository holds nothing."""
    monkeypatch.setattr(artefacts, "LOCAL", tmp_path / "nothing")


def write_settings(tmp_path: Path, address: str) -> Path:
    """Return a home with settings that have Maven fetch from one place only."""
    settings = tmp_path / "home" / ".m2" / "settings.xml"
    settings.parent.mkdir(parents=True)
    mirror = f"<mirror><id>local</id><mirrorOf>*</mirrorOf><url>{address}</url></mirror>"
    settings.write_text(f"<settings><mirrors>{mirror}</mirrors></settings>")
    return settings.parents[1]


def test_the_lock_names_exactly_the_files_of_the_build(repository: Path, tmp_path: Path) -> None:
    settings = write_settings(tmp_path, repository.as_uri()) / ".m2" / "settings.xml"
    artefacts.package_jar(tmp_path / "empty", "--settings", str(settings))
    found = artefacts.list_artefacts(tmp_path / "empty")
    assert LOCK | found == LOCK
    assert LOCK.keys() - found.keys() <= OF_MAVEN_3_8


def test_the_lock_names_each_dependency_and_plugin_of_the_pom() -> None:
    pom = (paths.harness("java") / "pom.xml").read_text()
    named = re.findall(
        r"<artifactId>([\w.-]+)</artifactId>\s*<version>([\w.${}-]+)</version>", pom
    )[1:]
    assert len(named) == 13
    for artifact, version in named:
        if version.startswith("$"):
            version = re.search(rf"<{version[2:-1]}>(.*)</", pom)[1]
        assert [one for one in LOCK if one.endswith(f":{artifact}:jar:{version}")], (
            f"{artifact} {version}: make lock"
        )
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in LOCK.values())


class Mirror(SimpleHTTPRequestHandler):
    """A folder over HTTP, which refuses the first thing that it is asked for."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path.lstrip("/"))
        if len(self.asked) == 1:
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder that this Maven fetches from, with all that is locked."""
    folder = tmp_path / "mirror"
    shutil.copytree(repository, folder)
    monkeypatch.setattr(Mirror, "asked", [], raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        home = write_settings(tmp_path, f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("MAVEN_OPTS", f"{QUICK} -Duser.home={home}")
        yield folder
        server.shutdown()


def tamper(jar: Path, scratch: Path) -> Path:
    """Put a class of ours for a plugin's goal; return the file that it makes when it is run."""
    name = "org.apache.maven.plugins.resources.ResourcesMojo"
    package, _, simple = name.rpartition(".")
    write = f'java.nio.file.Files.createFile(java.nio.file.Path.of("{scratch / "ran"}"))'
    source = scratch / f"{simple}.java"
    source.write_text(
        f"package {package}; public class {simple} "
        f"{{ static {{ try {{ {write}; }} catch (java.io.IOException error) {{ }} }} }}"
    )
    subprocess.run(["javac", "--release", "11", "-d", str(scratch), str(source)], check=True)
    entry = f"{name.replace('.', '/')}.class"
    with zipfile.ZipFile(jar) as before:
        kept = {each: before.read(each) for each in before.namelist() if each != entry}
    with zipfile.ZipFile(jar, "w") as after:
        for each, content in kept.items():
            after.writestr(each, content)
        after.write(scratch / entry, entry)
    return scratch / "ran"


@pytest.mark.usefixtures("nothing_here")
def test_a_tampered_plugin_is_fetched_and_refused_and_never_run(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".mvn").mkdir()  # of another user, above our scratch folder
    (tmp_path / ".mvn" / "jvm.config").write_text("--an-option-that-ends-java")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ran = tamper(mirror / artefacts.locate(PLUGIN), tmp_path)
    lock = {one: LOCK[one] for one in (PLUGIN, SHADED)}
    jar, repository = tmp_path / "benchbook.jar", tmp_path / "checked"
    jar.write_bytes(b"an older one")
    with pytest.raises(
        ArtefactError, match=rf"^{PLUGIN} is not what is locked: .* not {LOCK[PLUGIN]}$"
    ):
        artefacts.build_jar(repository, lock, jar)
    assert not ran.exists()
    assert not jar.exists()
    assert artefacts.list_artefacts(repository) == {SHADED: LOCK[SHADED]}
    assert set(Mirror.asked) == {artefacts.locate(one).as_posix() for one in lock}


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_here: None) -> Path:
    """Return an empty local repository for a Maven that fetches one artefact and logs its calls."""
    for name, script in (("mvn", MAVEN), ("javac", "#!/bin/sh\n")):
        scripted = tmp_path / name
        scripted.write_text(script)
        scripted.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path / "repository"


MAVEN = """#!/bin/sh
here=$(dirname "$0")
[ "$1" = -v ] && { echo "Maven home: $here"; exit; }
for option; do
    case $option in -Dmaven.repo.local=*) file=${option#*=}/org/one/1/one-1.jar;; esac
done
case " $* " in
    *" -o "*) echo offline >>"$here/calls"; [ -e "$file" ] || { echo "no one:jar:1"; exit 1; };;
    *" validate "*)
        echo fetch >>"$here/calls"
        mkdir -p "$(dirname "$file")"
        printf fetched >"$file";;
    *) echo online >>"$here/calls";;
esac
mkdir target; printf made >target/benchbook.jar
"""
ONE = {"org:one:jar:1": hashlib.sha256(b"fetched").hexdigest()}


def read_calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().split()


def test_maven_is_online_once(one: Path, tmp_path: Path) -> None:
    jar = tmp_path / "target" / "benchbook.jar"
    for _ in range(2):
        artefacts.build_jar(one, ONE, jar)
        assert jar.read_bytes() == b"made"
        jar.unlink()
    assert read_calls(tmp_path) == ["fetch", "offline", "offline"]


def test_a_file_that_differs_from_the_lock_is_fetched_again_and_never_used(
    one: Path, tmp_path: Path
) -> None:
    for folder in (one, artefacts.LOCAL):
        file = folder / artefacts.locate("org:one:jar:1")
        file.parent.mkdir(parents=True)
        file.write_bytes(b"tampered")
    artefacts.build_jar(one, ONE, tmp_path / "target" / "benchbook.jar")
    assert read_calls(tmp_path) == ["fetch", "offline"]
    assert artefacts.list_artefacts(one) == ONE
    assert file.read_bytes() == b"tampered", "Maven's own repository is none of ours"


def test_files_that_maven_has_are_used(one: Path, tmp_path: Path) -> None:
    file = artefacts.LOCAL / artefacts.locate("org:one:jar:1")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"fetched")
    artefacts.build_jar(one, ONE, tmp_path / "target" / "benchbook.jar")
    assert read_calls(tmp_path) == ["offline"]


def test_a_file_that_the_lock_does_not_name_is_not_used(repository: Path, tmp_path: Path) -> None:
    jar = tmp_path / "benchbook.jar"
    fewer = {coordinates: sha256 for coordinates, sha256 in LOCK.items() if coordinates != SHADED}
    with pytest.raises(
        ArtefactError, match=f"^with what is locked alone .*make lock.*: Maven failed: .*{SHADED}"
    ):
        artefacts.build_jar(repository, fewer, jar)
    assert not jar.exists()


@pytest.mark.usefixtures("nothing_here")
def test_without_maven_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ArtefactError, match=r"^no mvn on PATH: get a JDK and Maven from apt-get or conda$"
    ):
        artefacts.build_jar(tmp_path, LOCK, tmp_path / "benchbook.jar")
