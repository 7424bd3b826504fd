"""The contract of adapters on CouchbaseMock, which is not taken for Couchbase."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from benchbook import cli
from benchbook.cli.command import NOTHING_RUNS

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]

# The mock lists a key of these tests' records otherwise than it was written: it stays there.
TESTS: Final = "couchbase and not (users_records or users_file or refused_record)"

WHY = "couchbase is not installed with the suite: benchbook-more-databases brings it"
pytest.importorskip("couchbase", reason=WHY)
couchbase_mock = pytest.importorskip("couchbase_mock")
stand_ins = pytest.importorskip("stand_ins")


@pytest.fixture(autouse=True)
def needs_mock() -> None:
    if not couchbase_mock.JAR.exists() or not shutil.which("javac"):
        pytest.skip("CouchbaseMock is not installed with the suite: README.md says how to fetch it")


def test_the_adapter_passes_the_contract_suite() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "couchbase_mock", "-k", TESTS]
    files = ["tests/databases/test_adapters.py", "tests/databases/test_capabilities.py"]
    folders = [str(HERE), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    ended = subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_mock_is_not_taken_for_couchbase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("BENCHBOOK_COUCHBASE_URL", "")
    with stand_ins.start("couchbase", "single") as running:
        url = running.deployment.node().url
        assert cli.main(["servers", "check", "couchbase", url]) == NOTHING_RUNS
    printed = capfd.readouterr().out
    assert "calls itself 'CouchbaseMock', which is no version of Couchbase" in printed
    assert not (tmp_path / "results").exists()
