"""The containers' file and scripts, as far as they can be held to anything where no container runs."""

import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from benchbook import servers
from benchbook.servers.address import given
from benchbook.servers.programs import here

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
FILE = ROOT / "compose.yaml"
SCRIPTS = sorted((ROOT / "compose").glob("*.sh"))
PASSWORD = "s3cret-Password"
PRODUCTS = ("mongodb", "postgresql", "mysql", "mariadb", "couchdb", "rethinkdb", "couchbase", "sqlserver", "arangodb")
MOVING = {"mcr.microsoft.com/mssql/server:2022-latest"}
"""SQL Server's only tag that follows its updates within a release."""


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    text = re.sub(r"\$\{BENCHBOOK_PASSWORD:\?[^}]*\}", PASSWORD, FILE.read_text())
    return dict(yaml.safe_load(text))


@pytest.fixture(scope="module")
def services(composed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(composed["services"])


def test_the_file_is_what_the_compose_specification_says(composed: dict[str, Any]) -> None:
    schema = json.loads((files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text())
    jsonschema.validate(composed, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**composed, "services": {"x": {"imagee": "y"}}}, schema)


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_product_comes_single_and_as_a_pair(services: dict[str, dict[str, Any]], product: str) -> None:
    wanted = {"": set(), "-primary": set(), "-replica": set(), "-single": {product}}
    wanted["-replicated"] = {f"{product}-primary", f"{product}-replica"}
    for suffix, needed in wanted.items():
        service = services[product + suffix]
        assert needed <= set(service.get("depends_on", {}))
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert services[other]["healthcheck"]["test"]
            assert services[other]["profiles"] == service["profiles"], "else compose would not start it along"


def test_images_are_pinned_and_ports_on_loopback(services: dict[str, dict[str, Any]]) -> None:
    published = []
    for name, service in services.items():
        assert re.search(r":[\w.-]*\d", service["image"]), f"{name}: {service['image']} names no version"
        assert not service["image"].endswith("latest") or service["image"] in MOVING
        published += service.get("ports", [])
    assert len(set(published)) == len(published) > 27
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_password_comes_from_the_environment_alone() -> None:
    told = [line for line in FILE.read_text().splitlines() if "PASSWORD" in line and not line.startswith("#")]
    assert all("*secret" in line or "$" in line or "*password" in line for line in told)
    assert FILE.read_text().count("${BENCHBOOK_PASSWORD:?") == 1


def test_what_is_mounted_and_run_is_there(services: dict[str, dict[str, Any]]) -> None:
    text = json.dumps(services)
    for mounted in re.findall(r'"(\./[^:"]+):', text):
        assert (ROOT / mounted).exists(), mounted
    run = set(re.findall(r"/benchbook/([\w.-]+)", text))
    told = {name for script in SCRIPTS for name in re.findall(r"/benchbook/([\w.-]+)", script.read_text())}
    assert run
    assert all((ROOT / "compose" / name).is_file() for name in run | told)
    left = {script.name for script in SCRIPTS} - run - {"addresses.sh", "postgresql-primary.sh"}
    assert not left, "scripts that nothing runs"


@pytest.mark.parametrize("script", [*SCRIPTS, ROOT / "setup.sh", ROOT / ".ci" / "run"], ids=lambda path: path.name)
def test_scripts_are_clean(script: Path) -> None:
    assert os.access(script, os.X_OK)
    checked = subprocess.run([BIN / "shellcheck", script], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def told(*arguments: str, password: str | None = PASSWORD) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"]} | ({"BENCHBOOK_PASSWORD": password} if password else {})
    return subprocess.run(
        ["bash", ROOT / "compose" / "addresses.sh", *arguments], env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("product", [product for product in PRODUCTS if product in servers.PRODUCTS])
@pytest.mark.parametrize("topology", ["single", "replicated"])
def test_a_shell_takes_the_addresses_and_benchbook_knows_them(
    product: str, topology: Any, services: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, url in re.findall(r"(BENCHBOOK_\w+)='([^']+)'", told(product, topology).stdout):
        monkeypatch.setenv(name, url)
    urls = given(product, topology)
    assert urls is not None
    nodes = {"primary": product} if topology == "single" else {r: f"{product}-{r}" for r in ("primary", "replica")}
    assert set(urls) == set(nodes)
    for role, node in nodes.items():
        assert PASSWORD in urls[role]
        port = re.search(r"@127\.0\.0\.1:(\d+)", urls[role])
        assert port is not None
        assert f"127.0.0.1:{port[1]}:" in " ".join(services[node]["ports"])


def test_addresses_of_nothing_are_refused() -> None:
    assert told("oracle").returncode == 2
    assert told("mongodb", "sideways").returncode == 2
    assert "password" in told("mongodb", password=None).stderr


@pytest.mark.parametrize("product", ["rethinkdb", "couchbase", "sqlserver", "arangodb"])
def test_what_is_missing_names_the_container_that_sets_it_up(
    product: str, services: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    missing = here(product, "replicated")
    assert isinstance(missing, servers.Missing)
    (service,) = re.findall(r"docker compose run --rm ([\w-]+)", missing.why)
    assert service in services
    assert "\n" not in missing.why
