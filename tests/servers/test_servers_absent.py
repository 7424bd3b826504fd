"""Servers that are not in a registry: the message where they are missing."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchbook import cli
from benchbook.databases import catalogue
from benchbook.databases.adapter import AdapterError
from benchbook.registry import products
from benchbook.servers import containers, launcher, programs
from benchbook.servers.containers import CONTAINERS_VARIABLE, NO_CONTAINERS
from benchbook.servers.programs import AvailableServer, MissingServer
from shared_servers import explain_missing

MISSING_DRIVER = products.find_missing_driver


@pytest.fixture(autouse=True)
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no containers, and each driver, whether or not an extra has brought it."""
    monkeypatch.setenv(CONTAINERS_VARIABLE, NO_CONTAINERS)
    monkeypatch.setattr(products, "find_missing_driver", lambda _: "")


@pytest.fixture
def without_drivers(absent: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no driver that an extra brings, whether or not it is installed."""
    monkeypatch.setattr(products, "find_missing_driver", MISSING_DRIVER)
    for name in products.PRODUCTS:
        if products.load_product(name).extra_driver:
            monkeypatch.setitem(sys.modules, products.load_product(name).extra_driver, None)
    launcher.load_servers.cache_clear()


@pytest.mark.parametrize("product", ["couchbase", "sqlserver", "arangodb"])
def test_without_containers_one_line_says_how_to_get_the_server(
    product: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for said in (NO_CONTAINERS, f"unix://{tmp_path}/none.sock"):
        monkeypatch.setenv(CONTAINERS_VARIABLE, said)
        reason = explain_missing(product, "replicated")
        assert "\n" not in reason
        for way in (f"BENCHBOOK_{product.upper()}_URL", f"benchbook servers pull {product}"):
            assert way in reason


@pytest.mark.parametrize("product", ["couchbase", "sqlserver"])
def test_a_product_whose_terms_are_not_accepted_is_missing(
    product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = containers.ContainerEngine(
        "unix:///none", "Podman 5", rootless=False, shares_kernel=True
    )
    here = containers.LocalImage(products.load_images()[product], "sha256:0", "8.0", engine)
    monkeypatch.setattr(containers, "find_image", lambda _: here)
    monkeypatch.delenv(products.ACCEPTED_TERMS[0], raising=False)
    reason = explain_missing(product, "replicated")
    assert (
        f"runs on its maker's terms ({here.image.licence}): export ACCEPT_EULA=Y, if you accept"
        in reason
    )
    monkeypatch.setenv(*products.ACCEPTED_TERMS)
    monkeypatch.setattr(programs.psutil, "virtual_memory", lambda: SimpleNamespace(available=1.5e9))
    reason = explain_missing(product, "replicated")
    assert f"{product} needs 2 GB of memory, 1.50 GB are free" in reason


def test_doctor_names_adapters_that_never_met_a_server(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        launcher, "find_server", lambda product, topology="single": MissingServer(product, "absent")
    )
    cli.main(["doctor", "--missing"])
    lines = capfd.readouterr().out.splitlines()
    for product in products.PRODUCTS:
        (line,) = [
            line for line in lines if line.startswith(f"  {products.load_product(product).title} ")
        ]
        assert line.endswith(" (experimental)") == products.is_experimental(f"{product}")


@pytest.mark.parametrize("product", ["couchbase", "sqlserver", "arangodb"])
@pytest.mark.parametrize("way", ["address", "container"])
def test_without_its_driver_a_product_is_left_out_in_one_line_that_names_the_extra(
    product: str, way: str, monkeypatch: pytest.MonkeyPatch, without_drivers: None
) -> None:
    if way == "address":
        monkeypatch.setenv(
            f"BENCHBOOK_{product.upper()}_URL", f"{product}://someone:s3cret@127.0.0.1:1/x"
        )
    else:
        monkeypatch.setattr(
            programs, "_find_container", lambda *_: AvailableServer(product, "16", "container", {})
        )
    reason = explain_missing(product)
    title = products.load_product(product).title
    assert reason == f"{title}'s driver is not installed: install benchbook[{product}]"
    (database,) = [
        name for name in catalogue.DATABASE_NAMES if products.parse_name(name).product == product
    ]
    with pytest.raises(AdapterError, match=re.escape(reason)):
        catalogue.load_adapter(database)
