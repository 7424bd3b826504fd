"""Processes that work for this one: new, apart from each other, and gone when it is, however it ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from benchbook import workers
from waiting import comes_true, gone

OWNER = """
import os, time
from benchbook import workers

if __name__ == "__main__":
    pool = workers.start_pool(2)
    sleepers = [pool.submit(time.sleep, 600) for _ in range(2)]
    while not all(sleeper.running() for sleeper in sleepers):
        time.sleep(0.01)
    print(*pool._processes, flush=True)
    time.sleep(600)
"""


def test_each_process_is_new_and_has_begun_before_it_works() -> None:
    with workers.start_pool(1, os.chdir, "/") as one, workers.start_pool(1) as other:
        assert (one.submit(os.getcwd).result(), other.submit(os.getcwd).result()) == ("/", str(Path.cwd()))
        pids = {pool.submit(os.getpid).result() for pool in (one, other)}
        assert len({os.getpid(), *pids}) == 3
    assert all(comes_true(lambda pid=pid: gone(pid)) for pid in pids)


def test_they_die_with_an_owner_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 2 and not any(map(gone, pids))
        owner.send_signal(signal.SIGKILL)
    assert all(comes_true(lambda pid=pid: gone(pid)) for pid in pids)
