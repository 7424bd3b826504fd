"""Servers that no registry holds: what is said where they are not here."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchbook import cli, databases, registry, servers
from benchbook.servers import containers, programs
from benchbook.servers.containers import LEFT_OUT, VARIABLE
from standing import why_missing

MISSING_DRIVER = registry.missing_driver


@pytest.fixture(autouse=True)
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no containers, and each driver, whether or not an extra has brought it."""
    monkeypatch.setenv(VARIABLE, LEFT_OUT)
    monkeypatch.setattr(registry, "missing_driver", lambda _: "")


@pytest.fixture
def without_drivers(absent: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no driver that an extra brings, whether or not it is installed."""
    monkeypatch.setattr(registry, "missing_driver", MISSING_DRIVER)
    for name in registry.PRODUCTS:
        if registry.product(name).extra_driver:
            monkeypatch.setitem(sys.modules, registry.product(name).extra_driver, None)
    servers.servers_of.cache_clear()


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


def test_doctor_says_what_never_met_a_server(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "find", lambda product, topology="single": servers.Missing(product, "absent"))
    cli.main(["doctor", "--missing"])
    lines = capfd.readouterr().out.splitlines()
    for product in registry.PRODUCTS:
        (line,) = [line for line in lines if line.startswith(f"  {registry.product(product).title} ")]
        assert line.endswith(" (experimental)") == registry.is_experimental(f"{product}")


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
    (database,) = [name for name in databases.NAMES if registry.parsed(name).product == product]
    with pytest.raises(databases.AdapterError, match=re.escape(reason)):
        databases.load(database)
