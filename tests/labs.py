"""A scheduler and workers on this machine."""

import os
import subprocess
import sys
from pathlib import Path

from distributed import Security

from benchbook import processes
from benchbook.hosts.scheduler import secured
from waiting import comes_true

READY = "waits for blocks"
RUNS = "benchbook run --hosts "
PYTHON = [sys.executable, "-m"]


class Lab:
    """A scheduler and workers on this machine, and runs that use them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.results = folder / "results"
        self.credentials = folder / "lab.pem"
        self.processes: list[subprocess.Popen[bytes]] = []
        command = [*PYTHON, "benchbook.cli", "scheduler", "127.0.0.1:0", "--credentials", str(self.credentials)]
        self.start(command, "scheduler")
        assert comes_true(lambda: RUNS in self.said("scheduler")), self.said("scheduler")
        self.address = self.said("scheduler").partition(RUNS)[2].split()[0]

    def start(self, command: list[str], name: str) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "BENCHBOOK_RESULTS": str(self.results)}
        with (self._folder / f"{name}.log").open("a") as log:
            process = processes.spawn(command, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def workers(self, *names: str) -> "list[subprocess.Popen[bytes]]":
        return self.ready({name: [*PYTHON, *self.worker()] for name in names})

    def worker(self, *options: str) -> list[str]:
        return ["benchbook.cli", "worker", self.address, "--credentials", str(self.credentials), *options]

    def ready(self, commands: dict[str, list[str]]) -> "list[subprocess.Popen[bytes]]":
        names = [*commands]
        before = [self.said(name).count(READY) for name in names]
        started = [self.start(command, name) for name, command in commands.items()]
        for name, count in zip(names, before, strict=True):
            assert comes_true(lambda name=name, count=count: self.said(name).count(READY) > count), self.said(name)
        return started

    def run(self, *options: str) -> "subprocess.Popen[bytes]":
        return self.start([*PYTHON, "benchbook.cli", "run", *options, *self.hosts], "run")

    @property
    def hosts(self) -> list[str]:
        return ["--hosts", self.address, "--credentials", str(self.credentials)]

    @property
    def secured(self) -> tuple[str, Security]:
        return secured(self.address, self.credentials)

    def said(self, name: str) -> str:
        file = self._folder / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(60)
