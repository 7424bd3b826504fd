"""Which servers are used, and the messages about those that are missing or do not run."""

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

from benchbook import paths
from benchbook.databases.mysql.server import MariaDBServers, MySQLServers
from benchbook.registry import products
from benchbook.servers import errors, launcher, programs
from benchbook.servers.address import name_url_variable
from benchbook.servers.errors import ServerError
from benchbook.servers.programs import AvailableServer, make_runnable
from shared_servers import explain_missing, find_present_server, skip_without
from tools import artefacts, fetched_servers

LINUX = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="only Linux on x86-64 has them",
)


def remove_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the servers' wheels away, which are asked for once a process."""

    def files(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", files)
    monkeypatch.setattr(programs, "_find_wheel_folder", programs._find_wheel_folder.__wrapped__)


def write_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


def test_a_wheels_programs_are_preferred_to_those_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_program(tmp_path, "mongod", "#!/bin/sh\necho 9.9.9\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = find_present_server("mongodb")
    assert (found.source, found.version) == ("wheel", "6.0.5")


def test_a_broken_program_on_path_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = find_present_server("mongodb")
    write_program(tmp_path / "broken", "mongod", "\x00\x01 no program")
    write_program(tmp_path / "failing", "mongod", "#!/bin/sh\nexit 3\n")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "mongod").symlink_to(wheel.programs["mongod"])
    remove_wheels(monkeypatch)
    monkeypatch.setenv(
        "PATH", os.pathsep.join(str(tmp_path / name) for name in ("broken", "failing", "good"))
    )
    found = find_present_server("mongodb")
    assert (found.source, found.programs["mongod"]) == ("path", tmp_path / "good" / "mongod")
    with launcher.start_servers("mongodb", "single") as running:
        assert running.deployment.settings["source"] == "path"


def real_postgresql() -> Path:
    """Return the folder of the wheel's programs."""
    found = find_present_server("postgresql")
    return found.programs["postgres"].parent


def test_a_link_to_a_server_leads_to_its_other_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Test it as on a machine with links in ``/usr/local/bin`` to Debian's server and installer."""
    real = real_postgresql()
    for name in ("postgres", "initdb"):
        (tmp_path / name).symlink_to(real / name)
    remove_wheels(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_present_server("postgresql")
    assert found.programs == {name: real / name for name in ("postgres", "initdb", "pg_basebackup")}


def test_a_product_that_does_not_run_is_missing_with_reason_and_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_program(
        tmp_path / "good",
        "rethinkdb",
        "#!/bin/sh\necho 'rethinkdb 2.4.4~0bookworm (CLANG 14.0.6)'\n",
    )
    write_program(tmp_path / "broken", "rethinkdb", "#!/bin/sh\nexit 127\n")
    monkeypatch.setenv("PATH", str(tmp_path / "good"))
    found = find_present_server("rethinkdb")
    assert (found.source, found.version) == ("path", "2.4.4")
    monkeypatch.setenv("PATH", str(tmp_path / "broken"))
    reason = explain_missing("rethinkdb", "replicated")
    assert "\n" not in reason
    for said in (
        f"{tmp_path}/broken/rethinkdb does not run",
        "BENCHBOOK_RETHINKDB_URL",
        "servers pull rethinkdb",
    ):
        assert said in reason


def test_a_server_that_is_too_old_is_skipped_and_named_if_nothing_fits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = real_postgresql()
    for name in ("postgres", "initdb", "pg_basebackup"):
        write_program(tmp_path, name, "#!/bin/sh\necho PostgreSQL 9.6.24\n")
    known = products.load_product("postgresql")
    remove_wheels(monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), str(real)]))
    found = find_present_server("postgresql")
    assert (found.source, found.programs["postgres"]) == ("path", real / "postgres")

    assert known.package
    here = replace(known.package, folder_patterns=())
    monkeypatch.setattr(
        products, "load_product", lambda _: replace(known, package=here, oldest="99")
    )
    reason = explain_missing("postgresql")
    assert f"{tmp_path}/postgres is 9.6.24: postgresql is 99 or newer" in reason
    assert f"{real}/postgres is {found.version}: postgresql is 99 or newer" in reason
    with pytest.raises(ServerError, match="99 or newer"):
        launcher.start_servers("postgresql", "single")


def test_a_fetched_server_is_used_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    known = products.load_product("mysql")
    assert known.package
    nowhere = replace(known, package=replace(known.package, folder_patterns=()))
    monkeypatch.setattr(products, "load_product", lambda _: nowhere)
    folder = paths.servers() / "mysql" / "bin"
    folder.mkdir(parents=True)
    write_program(folder, "mysqld", "#!/bin/sh\necho mysqld Ver 8.0.15\n")
    write_program(tmp_path / "new", "mysqld", "#!/bin/sh\necho mysqld Ver 9.7.4\n")
    write_program(tmp_path / "old", "mysqld", "#!/bin/sh\necho mysqld Ver 8.0.11\n")
    for folders, source, version in (
        (("old", "new"), "path", "9.7.4"),
        (("old",), "fetched", "8.0.15"),
    ):
        monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in folders))
        found = find_present_server("mysql")
        assert (found.source, found.version) == (source, version)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_only_the_server_program_prints_its_version(temporary: Path) -> None:
    """MariaDB's installer, asked for its own, would fill ``/var/lib/mysql``."""
    write_program(temporary, "mariadbd", "#!/bin/sh\necho 10.11.6-MariaDB\n")
    write_program(temporary, "mariadb-install-db", f"#!/bin/sh\ntouch {temporary}/installed\n")
    temporary.chmod(0o777)
    programs = {name: temporary / name for name in ("mariadbd", "mariadb-install-db")}
    assert (
        make_runnable(AvailableServer("mariadb", "10.11.6", "path", programs), "nobody") == programs
    )
    assert not (temporary / "installed").exists()
    programs["mariadb-install-db"].chmod(0o700)
    with pytest.raises(ServerError, match="who cannot run"):
        make_runnable(AvailableServer("mariadb", "10.11.6", "path", programs), "nobody")


@pytest.mark.parametrize(
    ("starter", "version", "said"),
    [
        (
            MySQLServers(),
            "8.0.15",
            ("CHANGE MASTER TO MASTER_PORT=1", "SHOW SLAVE STATUS", "Slave_IO_Running"),
        ),
        (
            MySQLServers(),
            "8.0.23",
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_PORT=1",
                "SHOW REPLICA STATUS",
                "Replica_IO_Running",
            ),
        ),
        (
            MySQLServers(),
            "9.7.4",
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_PORT=1",
                "SHOW REPLICA STATUS",
                "Replica_IO_Running",
            ),
        ),
        (
            MariaDBServers(),
            "10.11.6",
            ("CHANGE MASTER TO MASTER_PORT=1", "SHOW SLAVE STATUS", "Slave_IO_Running"),
        ),
    ],
)
def test_replication_is_set_up_with_the_statements_of_the_version(
    starter: MySQLServers, version: str, said: tuple[str, ...]
) -> None:
    """Test both: MySQL 8.4 dropped the old statements, and 8.0.15 does not know the new ones."""
    words = ("CHANGE MASTER TO MASTER_PORT=1", "SHOW SLAVE STATUS", "Slave_IO_Running")
    assert tuple(starter._translate(one, version) for one in words) == said


HOW = {
    "mongodb": ("libcurl.so.4", "conda install"),
    "postgresql": ("has no initdb nor pg_basebackup", "conda install"),
    "mysql": ("mysqld is MariaDB", "tools.fetched_servers"),
    "mariadb": ("has no mariadb-install-db", "apt-get install mariadb-server"),
    "couchdb": ("no couchdb here that runs", "Apache's own package"),
    "rethinkdb": ("no rethinkdb here that runs", "rethinkdb.com/docs/install"),
}


@pytest.mark.parametrize("name", HOW)
def test_a_missing_server_has_a_reason_and_a_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_program(tmp_path, "mysqld", "#!/bin/sh\necho mysqld Ver 10.11.6-MariaDB\n")
    write_program(tmp_path, "mariadbd", "#!/bin/sh\necho 10.11.6-MariaDB\n")
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    write_program(tmp_path, "mongod", "#!/bin/sh\necho 'libcurl.so.4: not found' >&2\nexit 127\n")
    write_program(tmp_path, "postgres", "#!/bin/sh\necho 18.0\n")
    remove_wheels(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    known = products.load_product(name)
    nowhere = known.package and replace(known.package, folder_patterns=())
    monkeypatch.setattr(products, "load_product", lambda _: replace(known, package=nowhere))
    reason = explain_missing(name)
    assert "\n" not in reason
    why, how = HOW[name]
    assert why in reason
    assert how in reason
    assert name_url_variable(name) in reason
    with pytest.raises(ServerError, match=how):
        launcher.start_servers(name, "single")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_programs_under_a_closed_home_are_copied_once_for_another_user(temporary: Path) -> None:
    found = launcher.find_server("postgresql")
    if not isinstance(found, AvailableServer) or found.source != "wheel":
        pytest.skip("only a wheel's programs are copied")
    home = temporary / "home"
    home.mkdir(mode=0o700)
    folder = found.programs["postgres"].parent
    site = folder.parents[2]
    for part in (folder.parent.relative_to(site), Path(f"{folder.parents[1].name}.libs")):
        shutil.copytree(site / part, home / part)
    programs = {name: home / path.relative_to(site) for name, path in found.programs.items()}
    closed = AvailableServer("postgresql", found.version, "wheel", programs)
    copies = make_runnable(closed, "nobody", temporary / "cache")
    assert all(path.is_relative_to(temporary / "cache") for path in copies.values())
    assert make_runnable(closed, "nobody", temporary / "cache") == copies
    assert len(list((temporary / "cache").iterdir())) == 1
    assert make_runnable(closed, None) == closed.programs


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_a_fetched_server_under_a_closed_home_is_copied_with_its_files(temporary: Path) -> None:
    skip_without("mysql")
    found = find_present_server("mysql")
    if found.source != "fetched":
        pytest.skip(
            f"{found.version} at {found.programs['mysqld']} is taken, which was not fetched"
        )
    home = temporary / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(found.programs["mysqld"].parents[1], home / "mysql")
    closed = AvailableServer(
        "mysql", found.version, "fetched", {"mysqld": home / "mysql" / "bin" / "mysqld"}
    )
    copies = make_runnable(closed, "nobody", temporary / "cache")
    assert (copies["mysqld"].parents[1] / "data" / "mysql").is_dir()
    assert not (copies["mysqld"].parents[1] / "data" / "auto.cnf").exists(), (
        "each server has an identity of its own"
    )
    assert (copies["mysqld"].parents[1] / "share" / "english" / "errmsg.sys").is_file()


@LINUX
def test_a_server_that_cannot_be_fetched_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefacts, "LOCAL", tmp_path / "none")
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError, match=r"^mysql was not fetched: no mvn on PATH"):
        fetched_servers.fetch()
    assert not list(paths.servers().iterdir())


@LINUX
def test_a_fetched_server_is_unpacked_by_the_systems_own_python(tmp_path: Path) -> None:
    """Debian 12's 3.11.2 knows no filter of `tarfile`, and left MySQL 8.0 out."""
    system = Path("/usr/bin/python3")
    version = subprocess.run(
        [system, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
    )
    if version.stdout.split() != [*map(str, sys.version_info[:2])]:
        pytest.skip(f"{system} is not of this Python's version, whose packages it needs")
    write_program(tmp_path / "bin", "mysqld", "#!/bin/sh\n")
    with tarfile.open(tmp_path / "files.tgz", "w:gz") as archive:
        archive.add(tmp_path / "bin", "bin")
    with zipfile.ZipFile(tmp_path / "jar", "w") as jar:
        jar.write(tmp_path / "files.tgz", "files.tgz")
    packages = [path for path in sys.path if path]
    code = f"""import sys, zipfile; from pathlib import Path; sys.path += {packages}
from tools.fetched_servers import _extract_archive
jar, out = zipfile.ZipFile({str(tmp_path / "jar")!r}), Path({str(tmp_path / "out")!r})
_extract_archive(jar, "files.tgz", out)"""
    ended = subprocess.run([system, "-c", code], capture_output=True, text=True)
    assert (tmp_path / "out" / "bin" / "mysqld").is_file(), ended.stderr


@LINUX
def test_a_fetched_server_without_its_library_is_removed_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (
        "mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file"
    )
    with tarfile.open(tmp_path / "files.tgz", "w:gz") as files:
        write_program(tmp_path / "bin", "mysqld", f"#!/bin/sh\necho '{said}' >&2\nexit 127\n")
        files.add(tmp_path / "bin", "bin")
    with zipfile.ZipFile(tmp_path / "jar", "w") as jar:
        jar.write(tmp_path / "files.tgz", "mysql-Linux-amd64.tar.gz")
    artefact, sha256 = fetched_servers.find_artefact(), artefacts.compute_digest(tmp_path / "jar")
    file = tmp_path / "repository" / artefacts.locate(artefact.coordinates)
    file.parent.mkdir(parents=True)
    (tmp_path / "jar").rename(file)
    monkeypatch.setattr(artefacts, "LOCAL", tmp_path / "repository")
    monkeypatch.setattr(fetched_servers, "find_artefact", lambda: replace(artefact, sha256=sha256))
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    with pytest.raises(
        ServerError, match=r"^mysql was not fetched: .*install what provides libaio\.so\.1"
    ):
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
        (
            'initdb: error: could not write to file "x": No space left on device',
            1,
            "the disk is full",
        ),
        (
            "[ERROR] InnoDB: preallocating 100663296 bytes for file ./ib_logfile101"
            " failed with error 28",
            1,
            "disk is full",
        ),
        ("InnoDB: Error in creating ./ibdata1: probably out of disk space", 1, "the disk is full"),
        (
            "[ERROR] mysqld: Disk is full writing './binlog.000001' (Errcode: 28). Waiting",
            1,
            "the disk is full",
        ),
        ("[ERROR] InnoDB: the log is 280 bytes too short, error 281", 1, "the cause is unknown"),
        ("", -signal.SIGILL, "AVX"),
        ("", -signal.SIGKILL, "memory"),
        ("nonsense", 1, "the cause is unknown"),
    ],
)
def test_an_error_has_a_remedy(wrote: str, status: int, advice: str) -> None:
    assert advice in errors.find_remedy(wrote, status)


@pytest.mark.parametrize("linked", [False, True])
def test_couchdbs_version_is_read_from_a_file_name_without_running_it(
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
    monkeypatch.setenv(
        "PATH", str(tmp_path / "links" if linked else program.parent), prepend=os.pathsep
    )
    found = find_present_server("couchdb", "bidirectional")
    assert (found.version, found.source) == ("3.9.1", "path")
    assert not (tmp_path / "started").exists()

    (library / "couch-3.9.1").rmdir()
    monkeypatch.setenv("PATH", str(program.parent))
    known = products.load_product("couchdb")
    assert known.package
    nowhere = replace(known, package=replace(known.package, folder_patterns=()))
    monkeypatch.setattr(products, "load_product", lambda _: nowhere)
    reason = explain_missing("couchdb")
    assert f"{program} has no ../lib/couch-" in reason
