"""Our plug-in of more databases, found by its entry points, and the plans without it."""

import json
from pathlib import Path

import pytest

from benchbook.registry import products
from benchbook.results.folder import ResultsFolder
from benchbook.results.server_checks import ServerCheck, list_check_dates, record_check
from checkout import ROOT
from plugin_environment import Environment

PACKAGE = ROOT / "contrib" / "benchbook-more-databases"

COUNTED = """
import json
from benchbook.registry import products
from benchbook.results import server_checks
from benchbook.results.folder import open_results
checked = {product for product, _, _ in server_checks.list_check_dates(open_results())}
unchecked = [name for name in products.PLUGIN_DATABASES if server_checks.is_unchecked(name)]
print(json.dumps([sorted(checked), unchecked]))
"""

CHECK = ServerCheck(
    product="couchbase",
    version="8.0.2",
    topology="single",
    adapter=1,
    image_digest=None,
    date="2026-11-29",
    failed=(),
)


DESCRIBED = """
import json
from benchbook.registry import products
described = {}
for database in products.MORE_DATABASES:
    product = products.parse_name(database).product
    known = products.load_product(product)
    described[database] = [known.title, known.schemes[0], products.read_adapter_version(product)]
print(json.dumps(described))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with the plug-in; `before` is the plan without it."""
    made = Environment(tmp_path_factory.mktemp("more"), [PACKAGE])
    made.before = list_identities(made)
    made.install()
    return made


def list_identities(environment: Environment) -> dict[bool, set[str]]:
    """Return the identities of cells of the plug-in's databases (True) and of all others."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for study in ("crud", "replication"):
        for cell in environment.run_as_json("plan", study, "--profile", "paper"):
            is_of_plugin = cell["parameters"]["database"] in products.MORE_DATABASES
            found[is_of_plugin].add(cell["identity"])
    return found


def test_installing_it_changes_its_own_cells_alone(environment: Environment) -> None:
    after = list_identities(environment)
    assert after[False] == environment.before[False] and after[False]
    assert not after[True] & environment.before[True] and after[True]


def test_its_products_are_those_that_the_library_names(environment: Environment) -> None:
    ended = environment.ran("-I", "-c", DESCRIBED)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "couchbase": ["Couchbase", "couchbase", 1],
        "sqlserver+relational": ["SQL Server", "sqlserver", 1],
        "arangodb": ["ArangoDB", "arangodb", 1],
    }


def test_doctor_lists_them_and_names_a_missing_driver(environment: Environment) -> None:
    rows = environment.run_as_json("doctor")
    found = {row["database"]: row["why"] for row in rows}
    for database in products.MORE_DATABASES:
        assert found[database] and "install benchbook-more-databases" not in found[database]


def test_a_check_of_its_server_counts_where_it_is_installed(
    environment: Environment, results_folder: Path
) -> None:
    results = ResultsFolder(results_folder)
    record_check(results, CHECK)
    assert list_check_dates(results) == {}
    ended = environment.ran("-I", "-c", COUNTED, BENCHBOOK_RESULTS=str(results_folder))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [["couchbase"], ["sqlserver+relational", "arangodb"]]
