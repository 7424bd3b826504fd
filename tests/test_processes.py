"""Children never outlive their owner."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from benchbook import processes
from waiting import comes_true

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal; others have a keeper")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a child as another user")


def child_of_killed_owner(spawning: str) -> int:
    """Run an owner that starts a sleeping child, kill -9 it, and return the child's process id."""
    script = f"""
import signal, subprocess, time
from benchbook import processes
{spawning}
print(child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert psutil.pid_exists(pid)
        owner.kill()
    return pid


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def ends(pid: int) -> bool:
    return comes_true(lambda: gone(pid))


@LINUX
def test_a_child_dies_with_an_owner_that_was_killed() -> None:
    assert ends(child_of_killed_owner('child = processes.spawn(["sleep", "600"])'))


@LINUX
@ROOT
def test_a_child_of_another_user_dies_with_an_owner_that_was_killed() -> None:
    assert ends(child_of_killed_owner('child = processes.spawn(["sleep", "600"], user="nobody", cwd="/")'))


def test_where_there_is_no_parent_death_signal_a_keeper_ends_the_child() -> None:
    pid = child_of_killed_owner('child = subprocess.Popen(["sleep", "600"]); processes.keep(child.pid, signal.SIGKILL)')
    assert ends(pid)


def test_a_keeper_leaves_when_its_child_is_stopped() -> None:
    child = subprocess.Popen(["sleep", "600"])
    processes.keep(child.pid, signal.SIGKILL)
    keepers = [process for process in psutil.Process().children() if str(child.pid) in process.cmdline()]
    assert len(keepers) == 1
    processes.stop(child, signal.SIGTERM)
    assert gone(keepers[0].pid)


@LINUX
@ROOT
def test_a_child_of_another_user_has_none_of_our_groups() -> None:
    child = processes.spawn(["sleep", "600"], user="nobody", cwd=Path("/"))
    try:
        process = psutil.Process(child.pid)
        assert process.username() == "nobody"
        assert 0 not in (*process.uids(), *process.gids())
        status = Path(f"/proc/{child.pid}/status").read_text()
        assert "Groups:\t \n" in status
    finally:
        processes.stop(child, signal.SIGKILL)


def test_only_the_main_thread_may_spawn() -> None:
    refusals: list[str] = []

    def attempt() -> None:
        try:
            processes.spawn(["true"])
        except RuntimeError as error:
            refusals.append(str(error))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert "main thread" in refusals[0]


def test_an_interrupt_from_the_terminal_does_not_reach_a_child() -> None:
    child = processes.spawn(["sleep", "600"])
    try:
        assert os.getsid(child.pid) == child.pid
    finally:
        processes.stop(child)


def test_stop_returns_the_status_and_reaps() -> None:
    child = processes.spawn(["sleep", "600"])
    assert processes.stop(child, signal.SIGTERM) == -signal.SIGTERM
    assert not psutil.pid_exists(child.pid)
    assert processes.stop(child) == -signal.SIGTERM


def test_a_child_that_will_not_stop_is_killed() -> None:
    child = processes.spawn(["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"deaf\n"
    assert processes.stop(child, signal.SIGTERM, patience_s=0.2) == -signal.SIGKILL
    child.stdout.close()
