"""CPU quotas of control groups, in real groups of this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from benchbook.measure import control_groups
from benchbook.measure.load import compute_load, take_snapshot
from waiting import comes_true

PRINT_QUOTA = """
from pathlib import Path
from benchbook.measure import machine
print(machine.describe_environment(Path("/tmp"))["cores_usable"])
"""


def write_quota(group: Path, processors: float) -> None:
    """Set the quota of a group."""
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{int(processors * 100_000)} 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text(str(int(processors * 100_000)))


def make_group(parent: Path) -> Path | None:
    """Return a new group with a quota and a child ``inner``; None where it can have no quota."""
    made = parent / f"benchbook-test-{uuid4().hex[:8]}"
    try:
        (made / "inner").mkdir(parents=True)
    except OSError:
        return None
    try:
        write_quota(made, 0.3)
        return made
    except OSError:
        remove_group(made)
        return None


def remove_group(group: Path) -> None:
    assert comes_true(lambda: not (group / "inner" / "cgroup.procs").read_text())
    (group / "inner").rmdir()
    group.rmdir()


@pytest.fixture
def group() -> Iterator[Path]:
    """Yield a new group of processors that has a child named ``inner``."""
    made = next(filter(None, map(make_group, control_groups.list_cpu_groups())), None)
    if made is None:
        pytest.skip("a group with a quota cannot be mounted here")
    yield made
    remove_group(made)


def enter(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def run_in_group(group: Path, script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script in a child of the group that has the quota."""
    return subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=lambda: enter(group / "inner"),
        capture_output=True,
        text=True,
    )


def test_the_quota_of_a_parent_group_limits_the_usable_processors(group: Path) -> None:
    printed = run_in_group(group, PRINT_QUOTA)
    assert printed.stdout == "0.3\n", printed.stderr


MEASURE_LOAD = """
import os
from benchbook.measure.load import compute_load, take_snapshot
before = take_snapshot()
load = compute_load(before, take_snapshot(), [os.getpid()])
while not load.throttled:
    load = compute_load(before, take_snapshot(), [os.getpid()])
print(load.is_quiet, load)
"""


def test_a_window_in_which_a_quota_stopped_the_run_is_not_quiet(group: Path) -> None:
    printed = run_in_group(group, MEASURE_LOAD)
    assert printed.stdout.startswith("False "), printed.stderr
    assert "a CPU quota stopped this run" in printed.stdout


def test_a_window_without_a_quota_is_not_throttled() -> None:
    before = take_snapshot()
    load = compute_load(before, take_snapshot(), [os.getpid()])
    assert load.throttled == 0
