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
from waiting import comes_true, gone

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


def ends(pid: int) -> bool:
    return comes_true(lambda: gone(pid))


@LINUX
def test_a_child_dies_with_an_owner_that_was_killed() -> None:
    assert ends(child_of_killed_owner('child = processes.spawn(["sleep", "600"])'))


@LINUX
def test_a_child_that_was_stopped_dies_with_its_owner_of_the_signal_that_it_would_have_acted_on() -> None:
    stopped = "os.kill(child.pid, signal.SIGSTOP)"
    spawning = 'child = processes.spawn(["sleep", "600"], death_signal=signal.SIGTERM)'
    assert ends(child_of_killed_owner(f"import os\n{spawning}\n{stopped}"))


@LINUX
@pytest.mark.parametrize("watch_is_stopped", [False, True])
def test_what_a_child_started_dies_with_the_childs_owner_even_when_all_of_it_is_stopped(watch_is_stopped: bool) -> None:
    started = """
import os
leader = processes.spawn(["sh", "-c", "sleep 600 & kill -s STOP $!; echo $!; wait"], stdout=subprocess.PIPE)
class child: pid = int(leader.stdout.readline())
group = processes.group_ended(leader.pid)
group.__enter__()
os.kill(leader.pid, signal.SIGSTOP)
"""
    stopped = "os.kill([*processes._LIFELINES][-1], signal.SIGSTOP)" if watch_is_stopped else ""
    assert ends(child_of_killed_owner(f"{started}\n{stopped}"))


def test_a_group_that_ends_by_itself_is_left_alone_afterwards() -> None:
    with subprocess.Popen(["sleep", "600"], process_group=0) as other:
        with processes.group_ended(other.pid):
            pass
        assert other.poll() is None
        other.kill()


@LINUX
def test_a_command_that_is_only_asked_dies_with_its_owner_even_when_it_was_stopped() -> None:
    asking = "from benchbook import processes; processes.answer(['sleep', '600'])"
    with subprocess.Popen([sys.executable, "-c", asking]) as owner:
        assert comes_true(lambda: [one.name() for one in psutil.Process(owner.pid).children()] == ["sleep"])
        (child,) = psutil.Process(owner.pid).children()
        child.suspend()
        owner.kill()
    assert ends(child.pid)


def test_a_command_that_is_asked_says_what_it_said_and_how_it_ended() -> None:
    said = processes.answer(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (said.stdout, said.stderr, said.returncode) == ("out\n", "err\n", 3)


def test_a_process_that_another_library_starts_can_be_made_to_die_with_its_owner() -> None:
    code = "from benchbook import processes; import time; processes.die_with({}); print(1, flush=True); time.sleep(600)"
    started = "child = subprocess.Popen([sys.executable, '-c', code.format(os.getpid())], stdout=subprocess.PIPE)"
    awaited = "assert child.stdout.readline() == b'1\\n'"
    assert ends(child_of_killed_owner(f"import os, sys\ncode = {code!r}\n{started}\n{awaited}"))


@LINUX
@ROOT
def test_a_child_of_another_user_dies_with_an_owner_that_was_killed() -> None:
    assert ends(child_of_killed_owner('child = processes.spawn(["sleep", "600"], user="nobody", cwd="/")'))


def test_where_there_is_no_parent_death_signal_a_keeper_ends_the_child() -> None:
    pid = child_of_killed_owner('child = subprocess.Popen(["sleep", "600"]); processes.keep(child.pid, signal.SIGKILL)')
    assert ends(pid)


def test_a_keeper_leaves_when_its_child_is_stopped() -> None:
    child = subprocess.Popen(["sleep", "600"])
    before = set(psutil.Process().children())
    processes.keep(child.pid, signal.SIGKILL)
    (keeper,) = set(psutil.Process().children()) - before
    processes.stop(child, signal.SIGTERM)
    assert gone(keeper.pid)


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


def test_a_child_that_was_stopped_acts_on_the_signal_that_ends_it() -> None:
    child = processes.spawn(["sleep", "600"])
    child.send_signal(signal.SIGSTOP)
    assert processes.stop(child, signal.SIGTERM) == -signal.SIGTERM


def test_a_child_that_waits_for_one_of_its_own_which_was_stopped_ends_well() -> None:
    waiting = 'sleep 600 & trap "kill $!; wait $!; exit 3" TERM; echo $!; wait'
    child = processes.spawn(["sh", "-c", waiting], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout as told:
        sleeper = psutil.Process(int(told.readline()))
    sleeper.suspend()
    assert processes.stop(child, signal.SIGTERM, patience_s=0.3) == 3
    assert gone(sleeper.pid)


def test_a_child_finds_nothing_of_the_users_in_its_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PGOPTIONS", "JAVA_TOOL_OPTIONS", "PYTHONPATH", "LD_PRELOAD_OF_NOTHING", "TZ", "LC_ALL", "HOME"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    for env in (None, processes.environment(tmp_path, MORE="ours")):
        child = processes.spawn(["env"], env=env, stdout=subprocess.PIPE)
        found = dict(line.split("=", 1) for line in child.communicate()[0].decode().splitlines())
        assert "theirs" not in found.values() and found["LD_LIBRARY_PATH"] == "/nowhere" and found["TZ"] == "UTC"
        assert (found.get("HOME"), found.get("MORE")) == ((str(tmp_path), "ours") if env else (None, None))
        processes.stop(child)


def test_a_child_that_will_not_stop_is_killed() -> None:
    child = processes.spawn(["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"deaf\n"
    assert processes.stop(child, signal.SIGTERM, patience_s=0.2) == -signal.SIGKILL
    child.stdout.close()
