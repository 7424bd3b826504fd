"""A scheduler and workers on this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

from waiting import comes_true

READY = "waits for blocks"
PYTHON = [sys.executable, "-m"]


class Lab:
    """A scheduler and workers on this machine, and runs that use them."""

    def __init__(self, folder: Path, **security: str) -> None:
        self._folder = folder
        self.results = folder / "results"
        self.environment = {**os.environ, **security}
        self.processes: list[subprocess.Popen[str]] = []
        kind, file = ("tls" if security else "tcp"), folder / "scheduler.json"
        options = ["--host", f"{kind}://127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
        self.start([*PYTHON, "dask", "scheduler", *options, "--scheduler-file", str(file)], "scheduler")
        written = comes_true(lambda: file.exists() and file.read_text().strip().endswith("}"))
        assert written, self.said("scheduler")
        self.address: str = json.loads(file.read_text())["address"]

    def start(self, command: list[str], name: str) -> "subprocess.Popen[str]":
        environment = {**self.environment, "BENCHBOOK_RESULTS": str(self.results)}
        with (self._folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        return process

    def workers(self, *names: str) -> "list[subprocess.Popen[str]]":
        return self.ready({name: [*PYTHON, "benchbook.cli", "worker", self.address] for name in names})

    def ready(self, commands: dict[str, list[str]]) -> "list[subprocess.Popen[str]]":
        names = [*commands]
        before = [self.said(name).count(READY) for name in names]
        started = [self.start(command, name) for name, command in commands.items()]
        for name, count in zip(names, before, strict=True):
            assert comes_true(lambda name=name, count=count: self.said(name).count(READY) > count), self.said(name)
        return started

    def run(self, *options: str) -> "subprocess.Popen[str]":
        return self.start([*PYTHON, "benchbook.cli", "run", *options, "--hosts", self.address], "run")

    def said(self, name: str) -> str:
        file = self._folder / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(60)
