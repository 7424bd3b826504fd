"""Fixtures of many tests: folders, a home, real servers; and pytest's hooks."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

import shared_servers
import stand_ins
from benchbook.analysis.runs import Analysis, Run
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter
from benchbook.measure import meters
from benchbook.papers import exhibits
from benchbook.papers.exhibits import FIGURES, TABLES, make_exhibit
from benchbook.papers.numbers import KeyedNumber, list_numbers
from benchbook.plots.exhibit import Exhibit
from benchbook.runner import batch
from benchbook.runner.kernel import ForkServer
from benchbook.servers import launcher
from benchbook.servers.deployment import DEPLOYMENT_VARIABLE, NO_DEPLOYMENT, Deployment, Topology
from cases import Case, Deployed, Opened
from checkout import ROOT
from mounts import mount_memory
from order import Scheduler, sort_items
from shared_kernels import SharedForkServers
from shared_servers import LOCAL, is_given, is_here, skip_without

SIZE_MB = 64

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell's background jobs ignore Ctrl-C, and the runs that tests start must not."""

ALLOWED_SKIPS = ("cannot be mounted", "no tmpfs", "only Linux", "is not installed with the suite")
"""Allowed reasons of a skip in CI; a missing server, browser or package fails the test there."""

TURN = shared_servers.Turn()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `benchbook servers check`."""
    text = "only the contract of adapters, on the servers that the test run is given"
    parser.addoption("--check", metavar="PRODUCT-TOPOLOGY", help=text)


def pytest_configure() -> None:
    """Refuse addresses at which no test can run."""
    shared_servers.check_given_addresses()
    # Under nohup the commands of tests would inherit an ignored SIGHUP, which some tests send.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    """Return a line per product whose servers tests share, with its version and where it is."""
    return [
        "servers that tests share:",
        *(f"  {line}" for line in shared_servers.describe_products()),
    ]


SHARING: Final[set[Path]] = set()
"""The files of this run whose tests share servers."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler | None:
    """Return the scheduler of whole files."""
    return Scheduler(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests, and note the files whose tests share servers."""
    checked = config.getoption("check")
    if checked:
        items[:] = [item for item in items if is_of_contract(item, checked)]
    sort_items(items)
    sharing = (
        item.path
        for item in items
        if {"deployed", "announce"} & {*getattr(item, "fixturenames", ())}
    )
    SHARING.update(sharing)


def is_of_contract(item: pytest.Item, checked: str) -> bool:
    """Return whether a test is of the contract of a product in a topology.

    Tests that write databases of a user's own on the servers are left out.
    """
    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    if case is None or "owners" in getattr(item, "fixturenames", ()):
        return False
    name, topology = case
    return f"{launcher.name_product(name)}-{topology}" == checked


def pytest_collection_finish() -> None:
    """Keep imported objects out of garbage collections, which drivers' cells run often."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Collect garbage now: Python 3.11 fails if it happens while a plug-in's code is parsed."""
    gc.unfreeze()
    gc.collect()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Reserve the given servers for this process while a file's tests use them.

    Servers that tests start are stopped before the first file that does not use them, because idle
    servers take processor time.
    """
    if shared_servers.GIVEN and "deployed" in getattr(item, "fixturenames", ()):
        TURN.take()
    done = yield
    if nextitem is None or nextitem.path != item.path:
        TURN.end()
    if nextitem is None or nextitem.path not in SHARING:
        shared_servers.stop_own()
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI, unless its reason is allowed."""
    report = yield
    allowed = any(reason in str(report.longrepr) for reason in ALLOWED_SKIPS)
    if report.skipped and os.environ.get("CI") and not allowed:
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def reference_run() -> Run:
    """The committed run, read and judged once for all tests of a process."""
    run = Run.read_reference()
    # Now, because a test may have another folder of reference runs when it is first asked for.
    assert len(run.analysis.verdicts)
    return run


@pytest.fixture(scope="session")
def committed(reference_run: Run) -> Analysis:
    """The analysis of the committed run: no test changes it."""
    return reference_run.analysis


@pytest.fixture(scope="session")
def committed_exhibits(committed: Analysis) -> dict[str, Exhibit]:
    """All figures and tables of the committed run by their names: no test changes them."""
    return {name: make_exhibit(committed, name) for name in (*FIGURES, *TABLES)}


@pytest.fixture(scope="session")
def keyed(committed: Analysis, committed_exhibits: dict[str, Exhibit]) -> dict[str, KeyedNumber]:
    """All numbers of the committed run by their keys: no test changes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exhibits, "make_exhibit", lambda _, name: committed_exhibits[name])
        return list_numbers(committed)


@pytest.fixture
def judged_once(reference_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find the committed run judged, as it is in `reference_run`."""
    monkeypatch.setattr(Run, "read_reference", lambda: reference_run)


@pytest.fixture
def results_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty results' folder."""
    folder = tmp_path / "results"
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(folder))
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results_folder: Path) -> Path:
    """A folder with copies of grids and notebooks, the papers' data, and no results."""
    folder = tmp_path / "home"
    (folder / "data").mkdir(parents=True)
    for name in ("claims", "findings", "published"):
        (folder / "data" / name).symlink_to(ROOT / "data" / name)
    for name in ("papermill_params", "notebooks"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints")
        )
    monkeypatch.setenv("BENCHBOOK_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_given_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the given addresses: another process may use their servers."""
    for name in (DEPLOYMENT_VARIABLE, *shared_servers.GIVEN):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def file_kernels() -> Iterator[SharedForkServers]:
    """The fork servers of a file's tests."""
    shared = SharedForkServers()
    yield shared
    shared.end()


@pytest.fixture
def shared_kernels(file_kernels: SharedForkServers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs in this process fork their kernels from fork servers that this file's tests share.

    To start one takes more processor time than all kernels of a small run.
    """
    monkeypatch.setattr(batch, "ForkServer", file_kernels.provide)


@pytest.fixture
def own_kernels(shared_kernels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each block start its own fork server, as runs of users do."""
    monkeypatch.setattr(batch, "ForkServer", ForkServer)


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a temporary folder that the user of root's PostgreSQL can reach."""
    folder = Path(tempfile.mkdtemp(prefix="test-servers-"))
    folder.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a temporary folder with a file system of `SIZE_MB`."""
    folder = Path(tempfile.mkdtemp(prefix="test-disk-"))
    try:
        with mount_memory(folder, f"size={SIZE_MB}m,mode=755", "small"):
            monkeypatch.setenv("TMPDIR", str(folder))
            monkeypatch.setattr(tempfile, "tempdir", str(folder))
            yield folder
    finally:
        folder.rmdir()


@pytest.fixture(params=filter(is_here, LOCAL))
def product(request: pytest.FixtureRequest) -> str:
    """Each product that is here."""
    skip_without(request.param)
    return str(request.param)


@pytest.fixture(scope="module", params=filter(is_here, LOCAL))
def pair(request: pytest.FixtureRequest) -> Iterator[launcher.RunningServers]:
    skip_without(request.param)
    with launcher.start_servers(request.param, "replicated") as running:
        yield running


@pytest.fixture(scope="module")
def deployed(pytestconfig: pytest.Config) -> Iterator[Deployed]:
    """Yield a function that returns a deployment on given servers, or on shared ones."""
    # Servers that are checked have been found already.
    is_check = pytestconfig.getoption("check") is not None
    given = shared_servers.GivenDeployments(must_fit=is_check)

    def deployment(database: str, topology: Topology, *, own: bool = False) -> Deployment:
        product = launcher.name_product(database)
        if product == "none":
            return NO_DEPLOYMENT
        started = given.deployment if is_given(product) and not own else shared_servers.start_own
        return started(product, topology)

    yield deployment
    given.end()


@pytest.fixture
def announce(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> shared_servers.Announce:
    """Return a function that announces a deployment to the next study, as a runner does.

    The study waits for idle servers for a shorter time: no test of these compares times.
    """
    monkeypatch.setattr(meters, "_IDLE_WINDOW_S", 0.02)

    def announce_deployment(product: str, topology: Topology, *, own: bool = False) -> Deployment:
        if product == "none":
            return NO_DEPLOYMENT
        started = deployed if is_given(product) and not own else shared_servers.start_own
        now = started(product, topology)
        path = tmp_path / "deployment.json"
        path.write_text(now.to_json())
        monkeypatch.setenv(DEPLOYMENT_VARIABLE, str(path))
        return now

    return announce_deployment


@pytest.fixture
def opened(deployed: Deployed, case: Case) -> Iterator[Opened]:
    """Yield a function that opens the case's database, which is closed at the end."""
    with ExitStack() as stack:

        def open_one(**options: object) -> Adapter:
            adapter = stack.enter_context(
                catalogue.open_adapter(case[0], deployed(*case), **options)
            )
            adapter.limitations = {**adapter.limitations, **stand_ins.find_limitations(*case)}
            return adapter

        yield open_one


@pytest.fixture
def adapter(opened: Opened) -> Adapter:
    return opened()
