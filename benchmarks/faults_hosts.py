"""What random signals leave behind in a lab: ``python benchmarks/faults_hosts.py [--kills 200] [--seed 1] [STUDY...]``.

A scheduler and two workers on this machine run the smoke grids, or those of some studies, again and again. At random
moments a random process gets SIGKILL, SIGTERM, or SIGSTOP and a moment later SIGCONT: the runner, a worker, the
scheduler, or what a worker started. Whatever ended is started again as an operator would, until all cells are done; the
next round begins with an empty folder. What must be none is counted as in `faults_kills.py`, whose counts these are;
with any of it the exit status is 1.
"""

import argparse
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Final

import psutil

from faults_kills import doubled, family, held, marked, outliving
from faults_run import Folders

PAUSE_S: Final = 4.0
"""How long the longest pause between two kills is."""

STOPPED_S: Final = 3.0
"""For how long the longest stop lasts."""

ATTEMPTS: Final = 60
"""How often a round's run may be started until it is called stuck."""


class Lab:
    """A scheduler, two workers and a run, of which whatever ends is started again."""

    def __init__(self, folders: Folders, studies: list[str]) -> None:
        self._folders = folders
        self._studies = studies
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.address = ""
        self.tend()

    def tend(self) -> None:
        """Start what does not run, the run excepted."""
        if self._ended("scheduler"):
            before = self._schedulers()
            self._start("scheduler", "scheduler", f"127.0.0.1:{self.address.rpartition(':')[2] or 0}")
            while (now := self._schedulers()) == before:
                time.sleep(0.05)
            self.address = now[-1]
        for name in ("worker 1", "worker 2"):
            if self._ended(name):
                self._start(name, "worker", self.address)

    def run(self) -> "subprocess.Popen[bytes]":
        """Start a run."""
        asked = ["run", *self._studies, "--profile", "smoke", "--where", "lane=python", "--hosts", self.address]
        return self._start("run", *asked)

    def _schedulers(self) -> list[str]:
        """Return the addresses of all schedulers that stood so far."""
        log = self._folders.path / "scheduler.log"
        return re.findall(r"run --hosts (\S+)\n", log.read_text()) if log.exists() else []

    def end(self) -> None:
        """End all of it."""
        for process in reversed(self.running.values()):
            with suppress(psutil.NoSuchProcess):
                psutil.Process(process.pid).resume()
            process.terminate()
            process.wait(60)

    def _start(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with (self._folders.path / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "benchbook.cli", *words]
            command += ["--credentials", str(self._folders.path / "lab.pem")]
            self.running[name] = subprocess.Popen(command, env=self._folders.environment(), stdout=log, stderr=log)
        return self.running[name]

    def _ended(self, name: str) -> bool:
        return name not in self.running or self.running[name].poll() is not None


class Kills:
    """The rounds, and what they left."""

    def __init__(self, seed: int, studies: list[str]) -> None:
        self._studies = studies
        self._chance = random.Random(seed)
        self.killed: Counter[str] = Counter()
        self.left = Counter(dict.fromkeys(("lost cells", "doubled values", "processes", "held locks", "folders"), 0))

    def rounds(self, kills: int) -> None:
        """Run the grids under kills until so many have hit."""
        while self.killed.total() < kills:
            folders = Folders()
            lab = Lab(folders, self._studies)
            try:
                self._round(folders, lab, kills)
            finally:
                lab.end()
                self._count("processes", outliving([*marked(folders)]))
                self._count("folders", [str(one) for one in folders.temporary.glob("benchbook-*")])
                folders.remove()

    def _round(self, folders: Folders, lab: Lab, kills: int) -> None:
        kept: dict[str, str] = {}
        for _ in range(ATTEMPTS):
            run = lab.run()
            while run.poll() is None:
                lab.tend()
                if self.killed.total() < kills:
                    time.sleep(self._chance.uniform(0.0, PAUSE_S))
                    kept |= folders.finished()
                    self._hurt(lab)
                else:
                    time.sleep(0.2)
            found = folders.finished()
            self._count("lost cells", [name for name, digest in kept.items() if found.get(name) != digest])
            self._count("held locks", held(folders.results / ".running"))
            if run.returncode == 0:
                self._count("doubled values", doubled(folders))
                return
        self._count("stuck rounds", ["the run did not come to its end"])

    def _hurt(self, lab: Lab) -> None:
        """Kill, end or stop a process of the lab, or one that a worker started."""
        name = self._chance.choice([*lab.running, "started"])
        every = [one for worker in ("worker 1", "worker 2") for one in family(lab.running[worker].pid)[1:]]
        victim = self._chance.choice(every) if name == "started" and every else None
        how = self._chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
        with suppress(psutil.NoSuchProcess):
            if victim is None:
                if name == "started":
                    return
                victim = psutil.Process(lab.running[name].pid)
            victim.send_signal(how)
            self.killed[f"{name.partition(' ')[0]} {how.name}"] += 1
            if how == signal.SIGSTOP:
                time.sleep(self._chance.uniform(0.1, STOPPED_S))
                victim.resume()
        if self.killed.total() % 20 == 0:
            print(f"{self.killed.total()} kills", file=sys.stderr, flush=True)

    def _count(self, what: str, found: list[str]) -> None:
        self.left[what] += len(found)
        for one in found:
            print(f"  {what}: {one}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("study", nargs="*")
    asked = parser.parse_args()
    kills = Kills(asked.seed, asked.study)
    kills.rounds(asked.kills)
    print("| signal | times |\n|---|---|")
    for what, times in sorted(kills.killed.items()):
        print(f"| {what} | {times} |")
    print("\n| left | count |\n|---|---|")
    for what, count in kills.left.items():
        print(f"| {what} | {count} |")
    return int(kills.left.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
