"""`benchbook servers check`: the contract suite on a real server, its record, and what follows."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchbook import cli
from benchbook.analysis.block_means import compute_block_means, load_block_means
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.comparisons import Comparison
from benchbook.cli import server_check
from benchbook.cli.command import DONE, NOTHING_RUNS, USAGE
from benchbook.databases import catalogue, mongodb
from benchbook.registry import products
from benchbook.results import server_checks
from benchbook.results.folder import ResultsFolder, open_results
from benchbook.results.server_checks import CHECKS_FILE, ServerCheck
from benchbook.results.views import load_observations
from benchbook.servers import launcher
from benchbook.servers.deployment import Deployment, Node

CLAIM = "crud.insert.mongodb-before-relational"
SMALL = ["--set", "topology=single", "--set", "n=1000", "--set", "repetitions=1"]
PASSED = ServerCheck(
    product="mongodb",
    version="6.0.5",
    topology="single",
    adapter=1,
    image_digest=None,
    date="2026-11-29",
    failed=(),
)


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let MongoDB's databases be of a plug-in."""
    of_plugins = ("mongodb", "mongodb+mongoengine")
    monkeypatch.setattr(products, "PLUGIN_DATABASES", of_plugins)
    # The command sets it.
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", "")


@pytest.fixture
def mongod() -> Iterator[Deployment]:
    with launcher.start_servers("mongodb", "single") as running:
        yield running.deployment


def measure(blocks: int) -> None:
    databases = ["--set", "database=mongodb,postgresql+relational"]
    options = [*databases, *SMALL, "--set", f"blocks={blocks}", "--noisy"]
    assert cli.main(["run", "crud", "--profile", "smoke", *options]) == DONE


def compare() -> Comparison:
    """Return the claim's comparison with PostgreSQL, of all finished cells."""
    # Whatever else this machine did meanwhile.
    means = compute_block_means(load_block_means(open_results()).assign(noisy=False))
    (claim,) = [one for one in load_claims("crud") if one.id == CLAIM]
    rows = compare_claims(means, [claim])
    (row,) = [one for one in rows if one.n == 1000 and one.b.startswith("PostgreSQL")]
    return row


@pytest.mark.usefixtures("shared_kernels")
def test_a_product_that_met_its_server_is_judged_like_all_others(
    mongod: Deployment,
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    measure(blocks=1)
    remedy = "measured; run `benchbook servers check mongodb` to have it judged"
    assert (compare().stands, compare().reason) == ("not run", remedy)

    # The server that the user has.
    assert cli.main(["servers", "check", "mongodb", mongod.node().url]) == DONE
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", "")
    printed = "".join(capfd.readouterr())
    version = mongod.node().version
    assert "  passed: a duplicate key is refused and the first record stays (2 times)\n" in printed
    assert "  cannot be done, as declared: constraints of mongodb: " in printed
    assert "mongodb, replicated: not checked: BENCHBOOK_MONGODB_URL is set" in printed
    assert f"  mongodb {version}, single: checked; its cells are judged like all others" in printed
    password = mongod.node().url.partition("@")[0].rpartition(":")[2]
    assert password not in printed
    (check,) = json.loads((results_folder / CHECKS_FILE).read_text())
    assert (check["product"], check["version"], check["failed"]) == ("mongodb", version, [])
    at_address = replace(mongod, settings={**mongod.settings, "source": "address"})
    with catalogue.open_adapter("mongodb", at_address) as adapter:
        assert catalogue.list_run_databases(adapter) == []

    # What was measured before counts, and what is measured after it keeps the date.
    assert (compare().stands, compare().blocks) == ("open", 1)
    measure(blocks=2)
    assert (compare().stands, compare().blocks) == ("open", 2)
    rows = load_observations()
    dates = rows.groupby(["database", "block"])["checked"].first()
    assert dates["mongodb"].fillna("").tolist() == ["", check["date"]]

    # Elsewhere only the cell says it.
    exported = tmp_path / "all.parquet"
    assert cli.main(["results", "--output", str(exported)]) == DONE
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "elsewhere"))
    assert cli.main(["results", "import", str(exported)]) == DONE
    assert (compare().stands, compare().blocks) == ("open", 1)


def test_a_check_holds_for_its_product_version_topology_and_adapter(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = ResultsFolder(results_folder)
    assert server_checks.is_unchecked("mongodb+mongoengine")
    server_checks.record_check(results, PASSED)
    server_checks.record_check(
        results, PASSED.model_copy(update={"version": "7.0", "failed": ("one",)})
    )
    assert server_checks.list_check_dates(results) == {PASSED.key: PASSED.date}
    assert not server_checks.is_unchecked("mongodb+mongoengine")
    # One of a plug-in that was removed.
    server_checks.record_check(results, PASSED.model_copy(update={"product": "gone"}))
    # A later check takes the place of an earlier one.
    server_checks.record_check(results, PASSED.model_copy(update={"failed": ("one",)}))
    assert len(server_checks.load_checks(results)) == 3 and not server_checks.list_check_dates(
        results
    )
    server_checks.record_check(results, PASSED)
    monkeypatch.setattr(mongodb, "VERSION", mongodb.VERSION + 1)
    assert not server_checks.list_check_dates(results)


def test_a_damaged_file_of_checks_is_refused_with_its_name(
    results_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results_folder.mkdir()
    (results_folder / CHECKS_FILE).write_text('[{"product": "mongodb"}]')
    assert cli.main(["doctor"]) == USAGE
    assert f"{results_folder / CHECKS_FILE}: it is damaged" in capfd.readouterr().err


def test_a_simulator_is_not_the_product(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    node = Node("primary", "mongodb://127.0.0.1:1", None, "MongoMock")
    running = launcher.RunningServers(
        Deployment("mongodb", "single", (node,)), lambda: None, lambda: None
    )
    monkeypatch.setattr(server_check.launcher, "provide_servers", lambda *_: running)
    assert cli.main(["servers", "check", "mongodb"]) == NOTHING_RUNS
    assert "the server calls itself 'MongoMock', which is no version of MongoDB" in (
        capfd.readouterr().out
    )
    assert not results_folder.exists()


def test_without_pytest_or_the_checkout_the_command_says_what_to_do(
    results_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(server_check.importlib.util, "find_spec", lambda _: None)
        assert cli.main(["servers", "check", "mongodb"]) == USAGE
        assert "type BENCHBOOK_TESTS=1 make setup" in capfd.readouterr().err
    monkeypatch.setattr(server_check.paths, "code_folder", lambda: tmp_path)
    assert cli.main(["servers", "check", "mongodb"]) == USAGE
    assert "not in the wheel" in capfd.readouterr().err
