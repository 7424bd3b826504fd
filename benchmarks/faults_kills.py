"""Print what random signals leave behind: ``python benchmarks/faults_kills.py [--kills 200] [--seed 1]``.

The smoke grids of all studies run again and again, as a user runs them. At random moments a random kind of process
gets SIGKILL, SIGTERM, or SIGSTOP followed by its runner's SIGKILL: the runner, what forks its kernels, a kernel, a
server, a JVM, Node. A run that ended is started again, until all its cells are done; then reports are hurt in the same
way, and the next round begins with an empty folder. After each end what must be none is counted: finished cells whose
file is gone or another, values that stand twice, and what is left: processes, a held lock, and, once the next run has
swept, temporary folders.
"""

import argparse
import fcntl
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from benchbook import results
from faults_run import Folders
from faults_servers import tree

REPORTS: Final = 4
"""How many reports are hurt after each round of runs."""

KINDS: Final = {
    "run": ("fork server", "kernel", "mongod", "postgres", "java", "node", "benchbook.wire.receiver"),
    "report": ("fork server", "kernel", "benchbook.workers"),
}
"""What is hurt beside the command itself, each as likely, however many there are of it: the first that comes up."""

PAUSE_S: Final = 3.0
"""How long the longest pause between two kills is."""

GRACE_S: Final = 10.0
"""How long what a killed process started may take to end."""

TWICE: Final = f"""
SELECT count(*) FROM (SELECT 1 FROM all_observations WHERE metric IS NOT NULL GROUP BY study, parameters, block,
repetition, operation, role, metric, source, {", ".join(results.OF_AN_ARM)} HAVING count(*) > 1)"""


class Kills:
    """The rounds, and what they left."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.killed: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    def rounds(self, kills: int) -> None:
        """Run the grids under kills until so many have hit, a fresh folder each time all cells are done."""
        while self.killed.total() < kills:
            folders = Folders()
            try:
                self._round(folders, kills)
            finally:
                folders.remove()

    def _round(self, folders: Folders, kills: int) -> None:
        kept: dict[str, str] = {}
        while self._run(folders, "run", kept, kills) != 0 and self.killed.total() < kills:
            pass
        if _benchbook(folders, "run").wait(600) == 0:  # unhurt: it sweeps what the killed ones left
            self._hold(folders, kept, "the last run")
            self._count("folders", [str(found) for found in folders.temporary.glob("benchbook-*")])
            self._count("doubled values", doubled(folders))
        for _ in range(REPORTS):
            if self.killed.total() < kills:
                self._run(folders, "report", kept, kills)

    def _run(self, folders: Folders, verb: str, kept: dict[str, str], kills: int) -> int:
        """Start the command, hurt it until it ends, see what it left, and return its exit status."""
        process = _benchbook(folders, verb)
        ours: dict[int, psutil.Process] = {}
        while process.poll() is None and self.killed.total() < kills:
            wanted = self._chance.choice([verb, *KINDS[verb]])
            due = time.monotonic() + self._chance.uniform(0.0, PAUSE_S)
            while process.poll() is None:
                top, started = (found := family(process.pid))[:1], found[1:]
                ours |= {one.pid: one for one in started}
                victims = top if wanted == verb else [one for one in started if _name(one) == wanted]
                if victims and time.monotonic() > due:
                    kept |= folders.finished()
                    self._hurt(self._chance.choice(victims), process, wanted)
                    break
                time.sleep(0.01)
        status = process.wait(600)
        self._count("processes", outliving([*ours.values(), *marked(folders)]))
        self._count("held locks", held(folders.results / ".running"))
        self._hold(folders, kept, f"{verb} ({status})")
        return status

    def _hurt(self, victim: psutil.Process, top: "subprocess.Popen[bytes]", kind: str) -> None:
        """Kill, end or stop a process; one that is stopped loses its runner."""
        how = self._chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
        with suppress(psutil.NoSuchProcess):
            victim.send_signal(how)
            if how == signal.SIGSTOP:
                time.sleep(0.2)
                top.kill()
            self.killed[f"{kind} {how.name}"] += 1
            if self.killed.total() % 20 == 0:
                print(f"{self.killed.total()} kills", file=sys.stderr, flush=True)

    def _hold(self, folders: Folders, kept: dict[str, str], when: str) -> None:
        found = folders.finished()
        self._count(
            "lost cells", [f"{name} after {when}" for name, digest in kept.items() if found.get(name) != digest]
        )

    def _count(self, what: str, found: list[str]) -> None:
        self.left[what] += len(found)
        for one in found:
            print(f"  {what}: {one}", flush=True)


def _benchbook(folders: Folders, verb: str) -> "subprocess.Popen[bytes]":
    with (folders.path / "output").open("ab") as file:
        env = folders.environment(BENCHBOOK_FIGURES=str(folders.path / "figures"))
        command = [sys.executable, "-m", "benchbook.cli", verb, "--profile", "smoke"]
        return subprocess.Popen(command, env=env, stdout=file, stderr=file, stdin=subprocess.DEVNULL)


def family(pid: int) -> list[psutil.Process]:
    """Return a process and its descendants; nothing once it has gone."""
    with suppress(psutil.NoSuchProcess):
        return tree(pid)
    return []


def doubled(folders: Folders) -> list[str]:
    """Return how many values stand twice in the results, if any do."""
    command = [sys.executable, "-m", "benchbook.cli", "results", "--sql", TWICE, "--json"]
    told = subprocess.run(command, env=folders.environment(), capture_output=True, text=True, check=True).stdout
    ((count,),) = (row.values() for row in json.loads(told))
    return [f"{count} values stand twice"] if count else []


def _name(process: psutil.Process) -> str:
    """Return what a process is, in a word or two."""
    try:
        words, parent = process.cmdline(), process.parent()
        if "benchbook.runner.fork_server" in words:
            of_kernel = parent is not None and "benchbook.runner.fork_server" in parent.cmdline()
            return "kernel" if of_kernel else "fork server"
        modules = [word for word in words if word.startswith("benchbook.")]
        return modules[0] if modules else process.name()
    except psutil.Error:
        return "gone"


def marked(folders: Folders) -> Iterator[psutil.Process]:
    """Yield every process that works in the run's folders, whoever its parent is."""
    mark = f"TMPDIR={folders.temporary}".encode()
    for one in psutil.process_iter():
        with suppress(OSError, psutil.Error):
            if mark in Path(f"/proc/{one.pid}/environ").read_bytes() or _inside(one.pid, folders.path):
                yield one


def _inside(pid: int, folder: Path) -> bool:
    return Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder)


def outliving(processes: list[psutil.Process]) -> list[str]:
    """Return what still runs when its time is over, and end it."""
    _, alive = psutil.wait_procs(list({one.pid: one for one in processes}.values()), timeout=GRACE_S)
    found = []
    for one in alive:
        with suppress(psutil.NoSuchProcess):
            if one.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{_name(one)}, {one.status()}: {' '.join(one.cmdline())[:80]}")
                one.kill()
    return found


def held(lock: Path) -> list[str]:
    """Return the lock if somebody holds it."""
    if not lock.exists():
        return []
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return [str(lock)]
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    kills = Kills(asked.seed)
    kills.rounds(asked.kills)
    print("| hit | times |\n|---|---|")
    for what, times in sorted(kills.killed.items()):
        print(f"| {what} | {times} |")
    print("\n| left | count |\n|---|---|")
    for what in ("lost cells", "doubled values", "processes", "held locks", "folders"):
        print(f"| {what} | {kills.left[what]} |")
    sys.exit(bool(kills.left.total()))


if __name__ == "__main__":
    main()
