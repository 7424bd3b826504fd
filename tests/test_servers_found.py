"""Which servers are used, and what is said of those that are missing or do not run."""

import importlib.metadata
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchbook import paths, registry, servers
from benchbook.databases.mysql.server import MariaDB, MySQL
from benchbook.servers import errors, programs
from benchbook.servers.address import variable
from benchbook.servers.programs import reachable
from standing import LOCAL, needed, present, why_missing
from tools import artefacts, fetched_servers

LINUX = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="only Linux on x86-64 has them"
)


def without_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the servers' wheels away, which are asked for once a process."""

    def files(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", files)
    monkeypatch.setattr(programs, "_wheel", programs._wheel.__wrapped__)


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


def test_the_wheels_are_preferred_to_whatever_is_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "mongod", "#!/bin/sh\necho 9.9.9\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = present("mongodb")
    assert (found.source, found.version) == ("wheel", "6.0.5")


def test_a_broken_program_on_path_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = present("mongodb")
    program(tmp_path / "broken", "mongod", "\x00\x01 no program")
    program(tmp_path / "failing", "mongod", "#!/bin/sh\nexit 3\n")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "mongod").symlink_to(wheel.programs["mongod"])
    without_wheels(monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("broken", "failing", "good")))
    found = present("mongodb")
    assert (found.source, found.programs["mongod"]) == ("path", tmp_path / "good" / "mongod")
    with servers.start("mongodb", "single") as running:
        assert running.deployment.settings["source"] == "path"


def real_postgresql() -> Path:
    """Return the folder of the wheel's programs."""
    found = present("postgresql")
    return found.programs["postgres"].parent


def test_a_link_to_a_server_leads_to_the_programs_beside_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on a machine whose ``/usr/local/bin`` has links to Debian's server and installer, and to no more."""
    real = real_postgresql()
    for name in ("postgres", "initdb"):
        (tmp_path / name).symlink_to(real / name)
    without_wheels(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = present("postgresql")
    assert found.programs == {name: real / name for name in ("postgres", "initdb", "pg_basebackup")}


def test_a_product_that_does_not_run_is_missing_with_the_reason_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path / "good", "rethinkdb", "#!/bin/sh\necho 'rethinkdb 2.4.4~0bookworm (CLANG 14.0.6)'\n")
    program(tmp_path / "broken", "rethinkdb", "#!/bin/sh\nexit 127\n")
    monkeypatch.setenv("PATH", str(tmp_path / "good"))
    found = present("rethinkdb")
    assert (found.source, found.version) == ("path", "2.4.4")
    monkeypatch.setenv("PATH", str(tmp_path / "broken"))
    reason = why_missing("rethinkdb", "replicated")
    assert "\n" not in reason
    for said in (f"{tmp_path}/broken/rethinkdb does not run", "BENCHBOOK_RETHINKDB_URL", "servers pull rethinkdb"):
        assert said in reason


def test_a_server_that_is_too_old_is_passed_over_and_named_where_nothing_fits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = real_postgresql()
    for name in ("postgres", "initdb", "pg_basebackup"):
        program(tmp_path, name, "#!/bin/sh\necho PostgreSQL 9.6.24\n")
    known = registry.product("postgresql")
    without_wheels(monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), str(real)]))
    found = present("postgresql")
    assert (found.source, found.programs["postgres"]) == ("path", real / "postgres")

    assert known.package
    here = replace(known.package, places=())
    monkeypatch.setattr(registry, "product", lambda _: replace(known, package=here, oldest="99"))
    reason = why_missing("postgresql")
    assert f"{tmp_path}/postgres is 9.6.24: postgresql is 99 or newer" in reason
    assert f"{real}/postgres is {found.version}: postgresql is 99 or newer" in reason
    with pytest.raises(servers.ServerError, match="99 or newer"):
        servers.start("postgresql", "single")


def test_what_was_fetched_is_the_last_to_be_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    known = registry.product("mysql")
    assert known.package
    nowhere = replace(known, package=replace(known.package, places=()))
    monkeypatch.setattr(registry, "product", lambda _: nowhere)
    (folder := paths.servers() / "mysql" / "bin").mkdir(parents=True)
    program(folder, "mysqld", "#!/bin/sh\necho mysqld Ver 8.0.15\n")
    program(tmp_path / "new", "mysqld", "#!/bin/sh\necho mysqld Ver 9.7.4\n")
    program(tmp_path / "old", "mysqld", "#!/bin/sh\necho mysqld Ver 8.0.11\n")
    for folders, source, version in ((("old", "new"), "path", "9.7.4"), (("old",), "fetched", "8.0.15")):
        monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in folders))
        found = present("mysql")
        assert (found.source, found.version) == (source, version)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_only_a_server_is_asked_for_its_version(temporary: Path) -> None:
    """MariaDB's installer, asked for its own, would fill ``/var/lib/mysql``."""
    program(temporary, "mariadbd", "#!/bin/sh\necho 10.11.6-MariaDB\n")
    program(temporary, "mariadb-install-db", f"#!/bin/sh\ntouch {temporary}/installed\n")
    temporary.chmod(0o777)
    programs = {name: temporary / name for name in ("mariadbd", "mariadb-install-db")}
    assert reachable(servers.Found("mariadb", "10.11.6", "path", programs), "nobody") == programs
    assert not (temporary / "installed").exists()
    programs["mariadb-install-db"].chmod(0o700)
    with pytest.raises(servers.ServerError, match="who cannot run"):
        reachable(servers.Found("mariadb", "10.11.6", "path", programs), "nobody")


@pytest.mark.parametrize(
    ("starter", "version", "said"),
    [
        (MySQL(), "8.0.15", ("CHANGE MASTER TO MASTER_PORT=1", "SHOW SLAVE STATUS", "Slave_IO_Running")),
        (
            MySQL(),
            "8.0.23",
            ("CHANGE REPLICATION SOURCE TO SOURCE_PORT=1", "SHOW REPLICA STATUS", "Replica_IO_Running"),
        ),
        (MySQL(), "9.7.4", ("CHANGE REPLICATION SOURCE TO SOURCE_PORT=1", "SHOW REPLICA STATUS", "Replica_IO_Running")),
        (MariaDB(), "10.11.6", ("CHANGE MASTER TO MASTER_PORT=1", "SHOW SLAVE STATUS", "Slave_IO_Running")),
    ],
)
def test_replication_is_set_up_in_the_words_of_the_version(starter: MySQL, version: str, said: tuple[str, ...]) -> None:
    """MySQL 8.4 dropped the old words, and 8.0.15, the one that is fetched, does not know the new ones."""
    words = ("CHANGE MASTER TO MASTER_PORT=1", "SHOW SLAVE STATUS", "Slave_IO_Running")
    assert tuple(starter._spoken(one, version) for one in words) == said


HOW = {
    "mongodb": ("libcurl.so.4", "conda install"),
    "postgresql": ("has no initdb nor pg_basebackup", "conda install"),
    "mysql": ("mysqld is MariaDB", "tools.fetched_servers"),
    "mariadb": ("has no mariadb-install-db", "apt-get install mariadb-server"),
    "couchdb": ("no node on PATH", "conda install"),
    "rethinkdb": ("no node on PATH", "rethinkdb.com/docs/install"),
}


@pytest.mark.parametrize("name", LOCAL)
def test_what_is_missing_says_why_and_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "mysqld", "#!/bin/sh\necho mysqld Ver 10.11.6-MariaDB\n")
    program(tmp_path, "mariadbd", "#!/bin/sh\necho 10.11.6-MariaDB\n")
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    program(tmp_path, "mongod", "#!/bin/sh\necho 'libcurl.so.4: not found' >&2\nexit 127\n")
    program(tmp_path, "postgres", "#!/bin/sh\necho 18.0\n")
    without_wheels(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    known = registry.product(name)
    nowhere = known.package and replace(known.package, places=())
    monkeypatch.setattr(registry, "product", lambda _: replace(known, package=nowhere))
    reason = why_missing(name)
    assert "\n" not in reason
    why, how = HOW[name]
    assert why in reason
    assert how in reason
    assert variable(name) in reason
    with pytest.raises(servers.ServerError, match=how):
        servers.start(name, "single")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_programs_under_a_closed_home_are_copied_once_for_the_other_user(temporary: Path) -> None:
    found = servers.find("postgresql")
    if not isinstance(found, servers.Found) or found.source != "wheel":
        pytest.skip("only a wheel's programs are copied")
    home = temporary / "home"
    home.mkdir(mode=0o700)
    folder = found.programs["postgres"].parent
    site = folder.parents[2]
    for part in (folder.parent.relative_to(site), Path(f"{folder.parents[1].name}.libs")):
        shutil.copytree(site / part, home / part)
    programs = {name: home / path.relative_to(site) for name, path in found.programs.items()}
    closed = servers.Found("postgresql", found.version, "wheel", programs)
    copies = reachable(closed, "nobody", temporary / "cache")
    assert all(path.is_relative_to(temporary / "cache") for path in copies.values())
    assert reachable(closed, "nobody", temporary / "cache") == copies
    assert len(list((temporary / "cache").iterdir())) == 1
    assert reachable(closed, None) == closed.programs


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_a_fetched_server_under_a_closed_home_is_copied_with_what_it_needs(temporary: Path) -> None:
    needed("mysql")
    found = present("mysql")
    if found.source != "fetched":
        pytest.skip(f"{found.version} at {found.programs['mysqld']} is taken, which was not fetched")
    home = temporary / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(found.programs["mysqld"].parents[1], home / "mysql")
    closed = servers.Found("mysql", found.version, "fetched", {"mysqld": home / "mysql" / "bin" / "mysqld"})
    copies = reachable(closed, "nobody", temporary / "cache")
    assert (copies["mysqld"].parents[1] / "data" / "mysql").is_dir()
    assert not (copies["mysqld"].parents[1] / "data" / "auto.cnf").exists(), "each server has an identity of its own"
    assert (copies["mysqld"].parents[1] / "share" / "english" / "errmsg.sys").is_file()


@LINUX
def test_a_server_that_cannot_be_fetched_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefacts, "LOCAL", tmp_path / "none")
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(servers.ServerError, match=r"^mysql was not fetched: no mvn on PATH"):
        fetched_servers.fetch()
    assert not list(paths.servers().iterdir())


@LINUX
def test_a_fetched_server_is_unpacked_by_the_systems_own_python(tmp_path: Path) -> None:
    """Debian 12's 3.11.2 knows no filter of `tarfile`, and left MySQL 8.0 out."""
    system = Path("/usr/bin/python3")
    version = subprocess.run([system, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    if version.stdout.split() != [*map(str, sys.version_info[:2])]:
        pytest.skip(f"{system} is not of this Python's version, whose packages it needs")
    program(tmp_path / "bin", "mysqld", "#!/bin/sh\n")
    with tarfile.open(tmp_path / "files.tgz", "w:gz") as archive:
        archive.add(tmp_path / "bin", "bin")
    with zipfile.ZipFile(tmp_path / "jar", "w") as jar:
        jar.write(tmp_path / "files.tgz", "files.tgz")
    packages = [path for path in sys.path if path]
    code = f"""import sys, zipfile; from pathlib import Path; sys.path += {packages}
from tools.fetched_servers import _extract
_extract(zipfile.ZipFile({str(tmp_path / "jar")!r}), "files.tgz", Path({str(tmp_path / "out")!r}))"""
    ended = subprocess.run([system, "-c", code], capture_output=True, text=True)
    assert (tmp_path / "out" / "bin" / "mysqld").is_file(), ended.stderr


@LINUX
def test_a_fetched_server_that_lacks_a_library_is_not_kept_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file"
    with tarfile.open(tmp_path / "files.tgz", "w:gz") as files:
        program(tmp_path / "bin", "mysqld", f"#!/bin/sh\necho '{said}' >&2\nexit 127\n")
        files.add(tmp_path / "bin", "bin")
    with zipfile.ZipFile(tmp_path / "jar", "w") as jar:
        jar.write(tmp_path / "files.tgz", "mysql-Linux-amd64.tar.gz")
    artefact, sha256 = fetched_servers.artefact(), artefacts.digest(tmp_path / "jar")
    file = tmp_path / "repository" / artefacts.path_of(artefact.coordinates)
    file.parent.mkdir(parents=True)
    (tmp_path / "jar").rename(file)
    monkeypatch.setattr(artefacts, "LOCAL", tmp_path / "repository")
    monkeypatch.setattr(fetched_servers, "artefact", lambda: replace(artefact, sha256=sha256))
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    with pytest.raises(servers.ServerError, match=r"^mysql was not fetched: .*install what provides libaio\.so\.1"):
        fetched_servers.fetch()
    assert not list(paths.servers().iterdir())


@pytest.mark.parametrize(
    ("wrote", "status", "advice"),
    [
        (
            "mongod: error while loading shared libraries: libcurl.so.4: cannot open",
            127,
            "install what provides libcurl",
        ),
        ('initdb: error: could not write to file "x": No space left on device', 1, "the disk is full"),
        (
            "[ERROR] InnoDB: preallocating 100663296 bytes for file ./ib_logfile101 failed with error 28",
            1,
            "disk is full",
        ),
        ("InnoDB: Error in creating ./ibdata1: probably out of disk space", 1, "the disk is full"),
        ("[ERROR] mysqld: Disk is full writing './binlog.000001' (Errcode: 28). Waiting", 1, "the disk is full"),
        ("[ERROR] InnoDB: the log is 280 bytes too short, error 281", 1, "all that is known"),
        ("", -signal.SIGILL, "AVX"),
        ("", -signal.SIGKILL, "memory"),
        ("nonsense", 1, "all that is known"),
    ],
)
def test_an_error_says_what_to_do(wrote: str, status: int, advice: str) -> None:
    assert advice in errors.remedy(wrote, status)


@pytest.mark.parametrize("linked", [False, True])
def test_couchdbs_version_is_read_beside_its_program_which_is_not_run(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``couchdb --version`` would start it."""
    program, library = tmp_path / "couchdb" / "bin" / "couchdb", tmp_path / "couchdb" / "lib"
    for name in ("couch-3.9.1", "couch_log-1.2.3", "jiffy-9.9.9"):
        (library / name).mkdir(parents=True)
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "couchdb").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "links" if linked else program.parent), prepend=os.pathsep)
    found = present("couchdb", "bidirectional")
    assert (found.version, found.source) == ("3.9.1", "path")
    assert not (tmp_path / "started").exists()

    (library / "couch-3.9.1").rmdir()
    monkeypatch.setenv("PATH", str(program.parent))
    known = registry.product("couchdb")
    assert known.package
    nowhere = replace(known, package=replace(known.package, places=()))
    monkeypatch.setattr(registry, "product", lambda _: nowhere)
    reason = why_missing("couchdb")
    assert f"{program} has no ../lib/couch-" in reason
