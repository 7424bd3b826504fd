"""Servers that no registry holds: what stands in for them, and what is said where nothing does."""

import ipaddress
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from rethinkdb import r
from rethinkdb.errors import ReqlError

from benchbook import cli, databases, registry, servers
from benchbook.databases.rethinkdb.server import connected
from benchbook.servers import containers, programs
from benchbook.servers.containers import LEFT_OUT, VARIABLE
from standing import needed, present, stood_in, why_missing

STANDING_IN = [name for name in registry.PRODUCTS if registry.product(name).stand_in]
HOW = {"couchdb": "setup.sh", "rethinkdb": "npm ci", "couchbase": "tools.artefacts"}
MISSING_DRIVER = registry.missing_driver
EACH = pytest.mark.parametrize("product", STANDING_IN)


@pytest.fixture(autouse=True)
def absent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the products themselves absent, wherever this runs, and no containers that go before what stands in."""
    monkeypatch.setenv(VARIABLE, LEFT_OUT)
    monkeypatch.setattr(registry, "missing_driver", lambda _: "")
    with stood_in():
        yield


@pytest.fixture
def without_drivers(absent: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no driver that an extra brings, whether or not it is installed."""
    monkeypatch.setattr(registry, "missing_driver", MISSING_DRIVER)
    for name in registry.PRODUCTS:
        if registry.product(name).extra_driver:
            monkeypatch.setitem(sys.modules, registry.product(name).extra_driver, None)
    servers.servers_of.cache_clear()


@EACH
def test_a_stand_in_is_named_one_wherever_it_comes_from(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needed(product)
    found = present(product)
    assert (found.source, found.stand_in) == ("stand-in", True)
    with servers.start(product, "single") as own:
        assert own.deployment.node().stand_in
        monkeypatch.setenv(f"BENCHBOOK_{product.upper()}_URL", own.deployment.node().url)
        given = present(product)
        assert (given.source, given.stand_in) == ("address", True)
        assert servers.up(product, "single").deployment.node().stand_in


@EACH
def test_a_stand_in_listens_on_the_loopback_only_and_leaves_nothing(product: str, temporary: Path) -> None:
    needed(product)
    with servers.start(product, "single") as running:
        process = psutil.Process(running.deployment.node().pid)
        listening = [s.laddr.ip for s in process.net_connections("all") if s.status == psutil.CONN_LISTEN]
        assert listening
        for address in map(ipaddress.ip_address, listening):
            assert (getattr(address, "ipv4_mapped", None) or address).is_loopback
        assert not any("password" in argument and "=" in argument for argument in process.cmdline())
    assert not process.is_running()
    assert list(temporary.iterdir()) == []


def test_rethinkdbs_stand_in_which_anyone_can_reach_runs_no_code_and_fetches_nothing(tmp_path: Path) -> None:
    needed("rethinkdb")
    marker = tmp_path / "marker"
    code = f"process.mainModule.require('fs').writeFileSync({str(marker)!r}, ''); 1"
    with (
        servers.start("rethinkdb", "single") as running,
        connected(running.deployment.node().url) as connection,
        socket.create_server(("127.0.0.1", 0)) as asked,
    ):
        for term in (r.js(code), r.http(f"http://127.0.0.1:{asked.getsockname()[1]}/")):
            with pytest.raises(ReqlError, match=r"disabled|fetches nothing"):
                term.run(connection)
        asked.setblocking(False)
        with pytest.raises(BlockingIOError):
            asked.accept()
    assert not marker.exists()


@pytest.mark.parametrize("product", [name for name in STANDING_IN if name != "couchdb"])
def test_a_stand_in_of_a_single_server_is_no_pair(product: str) -> None:
    reason = why_missing(product, "replicated")
    assert "single server only" in reason
    assert f"BENCHBOOK_{product.upper()}_REPLICA_URL" in reason
    with pytest.raises(servers.ServerError, match="single server only"):
        servers.start(product, "replicated")


@EACH
def test_without_its_package_one_line_says_how_to_get_it(
    product: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs.paths, "harness", lambda lane: tmp_path / lane)
    reason = why_missing(product)
    assert "\n" not in reason
    for way in (f"BENCHBOOK_{product.upper()}_URL", HOW[product]):
        assert way in reason


def test_a_package_that_is_not_the_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed("couchbase")
    monkeypatch.setattr(programs.paths, "harness", lambda lane: tmp_path / lane)
    jar = tmp_path / "couchbase-mock" / "CouchbaseMock-1.5.27.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"something else")
    reason = why_missing("couchbase")
    assert "is not CouchbaseMock 1.5.27" in reason


@pytest.mark.parametrize("product", ["couchbase", "sqlserver", "arangodb"])
def test_without_a_container_engine_one_line_says_how_to_get_the_server(
    product: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for said in (LEFT_OUT, f"unix://{tmp_path}/none.sock"):
        monkeypatch.setenv(VARIABLE, said)
        reason = why_missing(product, "replicated")
        assert "\n" not in reason
        for way in (f"BENCHBOOK_{product.upper()}_URL", f"benchbook servers pull {product}"):
            assert way in reason


@pytest.mark.parametrize("product", ["couchbase", "sqlserver"])
def test_whose_makers_terms_are_not_accepted_yet_says_so(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = containers.Engine("unix:///none", "Podman 5", rootless=False, shares_kernel=True)
    here = containers.Present(registry.images()[product], "sha256:0", "8.0", engine)
    monkeypatch.setattr(containers, "find", lambda _: here)
    monkeypatch.delenv(registry.ACCEPTED[0], raising=False)
    reason = why_missing(product, "replicated")
    assert f"runs on its maker's terms ({here.known.licence}): export ACCEPT_EULA=Y, if you accept" in reason
    monkeypatch.setenv(*registry.ACCEPTED)
    monkeypatch.setattr(programs.psutil, "virtual_memory", lambda: SimpleNamespace(available=1.5e9))
    reason = why_missing(product, "replicated")
    assert f"{product} needs 2 GB of memory, of which 1.50 GB are free" in reason


def test_doctor_says_what_never_met_a_server(capfd: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor"])
    lines = capfd.readouterr().out.splitlines()
    for name in databases.NAMES:
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert (registry.EXPERIMENTAL in line) == registry.is_experimental(name)


@pytest.mark.parametrize("product", ["couchbase", "sqlserver", "arangodb"])
@pytest.mark.parametrize("way", ["address", "container"])
def test_without_its_driver_a_product_is_left_out_in_one_line_that_names_the_extra(
    product: str, way: str, monkeypatch: pytest.MonkeyPatch, without_drivers: None
) -> None:
    if way == "address":
        monkeypatch.setenv(f"BENCHBOOK_{product.upper()}_URL", f"{product}://someone:s3cret@127.0.0.1:1/x")
    else:
        monkeypatch.setattr(programs, "_contained", lambda *_: servers.Found(product, "16", "container", {}))
    reason = why_missing(product)
    assert reason == f"{registry.product(product).title}'s driver is not installed: install benchbook[{product}]"
    (engine,) = [name for name in databases.NAMES if registry.parsed(name).product == product]
    with pytest.raises(databases.EngineError, match=re.escape(reason)):
        databases.load(engine)
