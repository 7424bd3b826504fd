"""What many tests need: folders of their own, a home they may change, real servers; and what a skip means in CI."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchbook import databases, servers
from benchbook.databases import Engine
from benchbook.deployment import NONE, VARIABLE, Deployment, Topology
from benchbook.servers.address import single_variable, variable
from cases import Case, Deployed, Opened
from standing import LOCAL, here, needed

ROOT = Path(__file__).parents[1]
SIZE_MB = 64


signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell starts what it puts in the background deaf to Ctrl-C; the runs that tests start must hear it."""

MAY_LACK = ("cannot be mounted", "no tmpfs", "only Linux", "is not installed with the suite")
"""Reasons that a machine of CI may give for skipping a test: a missing server, browser or package is none of them."""


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
    """A copy of the grids and notebooks, with empty results."""
    folder = tmp_path / "home"
    for name in ("papermill_params", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    monkeypatch.setenv("BENCHBOOK_HOME", str(folder))
    return folder


@pytest.fixture
def no_given_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for product in servers.PRODUCTS:
        for name in (variable(product), variable(product, "replica"), single_variable(product)):
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
    """Yield what returns a deployment; each pair of product and topology is started once, when first asked for."""
    running: dict[tuple[str, Topology], Deployment] = {}
    with ExitStack() as stack:

        def deployment(engine: str, topology: Topology) -> Deployment:
            key = (servers.product_of(engine), topology)
            if key not in running:
                needed(key[0])
                running[key] = NONE if topology == "none" else stack.enter_context(servers.start(*key)).deployment
            return running[key]

        yield deployment


@pytest.fixture
def opened(deployed: Deployed, case: Case) -> Iterator[Opened]:
    """Yield what opens the case's engine; closed at the end."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(databases.open(case[0], deployed(*case), **options))


@pytest.fixture
def engine(opened: Opened) -> Engine:
    return opened()
