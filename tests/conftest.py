"""What many tests need: folders of their own, a home they may change, real servers; and what a skip means in CI."""

import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from typing_extensions import override
from xdist.scheduler import LoadFileScheduling

import products
import standing
from benchbook import databases, servers
from benchbook.databases import Adapter
from benchbook.deployment import NONE, VARIABLE, Deployment, Topology
from cases import Case, Deployed, Opened
from standing import LOCAL, here, is_given, needed

ROOT = Path(__file__).parents[1]
SIZE_MB = 64


signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell starts what it puts in the background deaf to Ctrl-C; the runs that tests start must hear it."""

MAY_LACK = ("cannot be mounted", "no tmpfs", "only Linux", "is not installed with the suite")
"""Reasons that a machine of CI may give for skipping a test: a missing server, browser or package is none of them."""


TURN = standing.Turn()


def pytest_configure() -> None:
    """Refuse addresses at which no test can run."""
    standing.check()


def pytest_report_header() -> list[str]:
    """Return a line per product whose servers tests share, with its version and where it is."""
    return ["servers that tests share:", *(f"  {line}" for line in standing.describe_products())]


CHAINS: Final = (
    ("databases", "capabilities"),
    ("study_crud", "study_replication", "replicated_studies", "study_drivers", "languages", "couchdb", "sockets"),
)
"""Files whose tests share servers, and so a process: each chain of them starts a product's servers once."""

LONGEST: Final = (
    *(name for chain in CHAINS for name in chain),
    *("setup", "lab", "runner", "hosts", "servers", "suite", "secrets", "lab_server", "explorer", "your_documents"),
    *("reference", "lessons", "figures", "report", "manuscript", "plugins", "docs", "quiet", "servers_given"),
    *("simulations", "containers", "networks", "verdicts", "wire_secret", "until", "wheel"),
)
"""Files of tests that begin first, for what ends last is waited for alone: those that take half a minute or more."""

SHARING: Final[set[Path]] = set()
"""The files of this run whose tests share servers."""


class Scheduler(LoadFileScheduling):
    """Gives a process a file at a time, or a chain of files."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        name = Path(file).stem.removeprefix("test_")
        return next((chain[0] for chain in CHAINS if name in chain), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler | None:
    """Return what gives each process its files, where files go to one whole."""
    return Scheduler(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the files: the longest first, then as they were collected."""
    files = dict.fromkeys([*(f"test_{name}" for name in LONGEST), *(item.path.stem for item in items)])
    order = {name: number for number, name in enumerate(files)}
    items.sort(key=lambda item: order[item.path.stem])
    sharing = (item.path for item in items if {"deployed", "announce"} & {*getattr(item, "fixturenames", ())})
    SHARING.update(sharing)


def pytest_collection_finish() -> None:
    """Leave out of all further collections what was imported: drivers' cells ask for one before each operation."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Collect what runs in this process left: if that happens while a plugin's code is parsed, Python 3.11 gives up."""
    gc.unfreeze()
    gc.collect()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Let no other process use the given servers from the first test of a file that does to the file's last.

    Our own ones stop before the first file that shares none: idle ones take processor time from other tests.
    """
    if standing.GIVEN and "deployed" in getattr(item, "fixturenames", ()):
        TURN.take()
    done = yield
    if nextitem is None or nextitem.path != item.path:
        TURN.end()
    if nextitem is None or nextitem.path not in SHARING:
        standing.end_own()
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI no skip hides what is missing: it is a failure there."""
    report = yield
    if report.skipped and os.environ.get("CI") and not any(reason in str(report.longrepr) for reason in MAY_LACK):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.fixture
def results_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty results' folder."""
    folder = tmp_path / "results"
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(folder))
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results_folder: Path) -> Path:
    """A copy of the grids and notebooks, with the papers' claims and numbers, and empty results."""
    folder = tmp_path / "home"
    (folder / "data").mkdir(parents=True)
    for name in ("claims", "published"):
        (folder / "data" / name).symlink_to(ROOT / "data" / name)
    for name in ("papermill_params", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    monkeypatch.setenv("BENCHBOOK_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_given_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test see no address but its own: what it starts would run on servers that another process uses."""
    for name in (VARIABLE, *standing.GIVEN):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a temporary folder of this test alone, which the user of root's PostgreSQL can reach."""
    folder = Path(tempfile.mkdtemp(prefix="test-servers-"))
    folder.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the temporary folder of this test: a file system of 64 MB of its own."""
    folder = Path(tempfile.mkdtemp(prefix="test-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m,mode=755", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True) if os.geteuid() == 0 else None
    if mounted is None or mounted.returncode:
        folder.rmdir()
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.strip() if mounted else 'needs root'}")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


@pytest.fixture(params=filter(here, LOCAL))
def product(request: pytest.FixtureRequest) -> str:
    """Each product that is here."""
    needed(request.param)
    return str(request.param)


@pytest.fixture(scope="module", params=filter(here, LOCAL))
def pair(request: pytest.FixtureRequest) -> Iterator[servers.Running]:
    needed(request.param)
    with servers.start(request.param, "replicated") as running:
        yield running


@pytest.fixture(scope="module")
def deployed() -> Iterator[Deployed]:
    """Yield what returns a deployment: on given servers, else on our own, started once a group of tests."""
    given = standing.Given()

    def deployment(database: str, topology: Topology, *, own: bool = False) -> Deployment:
        product = servers.product_of(database)
        if product == "none":
            return NONE
        started = given.deployment if is_given(product) and not own else standing.own
        return started(product, topology)

    yield deployment
    given.end()


@pytest.fixture
def announce(deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> standing.Announce:
    """Return what lets the next study find its servers as a runner does; our own ones are shared by all studies."""

    def announced(product: str, topology: Topology, *, own: bool = False) -> Deployment:
        if product == "none":
            return NONE
        started = deployed if is_given(product) and not own else standing.own
        now = started(product, topology)
        path = tmp_path / "deployment.json"
        path.write_text(now.to_json())
        monkeypatch.setenv(VARIABLE, str(path))
        return now

    return announced


@pytest.fixture
def opened(deployed: Deployed, case: Case) -> Iterator[Opened]:
    """Yield what opens the case's database; closed at the end."""
    with ExitStack() as stack:

        def open_one(**options: object) -> Adapter:
            adapter = stack.enter_context(databases.open(case[0], deployed(*case), **options))
            adapter.gaps = {**adapter.gaps, **products.lacks(*case)}
            return adapter

        yield open_one


@pytest.fixture
def adapter(opened: Opened) -> Adapter:
    return opened()
