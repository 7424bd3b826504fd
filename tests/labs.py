"""A stock Dask scheduler and its workers on this machine, with the configuration and the commands of docs/hosts.md."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchbook import credentials, processes
from waiting import comes_true

DOCS = Path(__file__).parents[1] / "docs" / "hosts.md"
RENAMED = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
"""Before a command: gives it a host name, its first argument."""


def can_rename() -> bool:
    """Return whether this account can give a process a host name of its own."""
    try:
        return subprocess.run([*RENAMED, "other", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def documented(command: str) -> list[str]:
    """Return the words of one of the documented commands, with this environment's program."""
    line = re.search(rf"^ *\.venv/bin/dask {command} (.*)$", DOCS.read_text(), re.MULTILINE)
    assert line
    return [sys.executable, "-m", "dask", command, *line[1].replace('"', "").split()]


def configuration(folder: Path) -> dict[str, str]:
    """Write the documented configuration with a certificate of its own, and return the environment that names it."""
    pem = folder / "lab.pem"
    pem.touch(0o600)
    pem.write_bytes(credentials.made("lab"))
    block = re.search(r"^ *```yaml\n(.*?)^ *```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert block
    (folder / "dask.yaml").write_text(block[1].replace("/home/me/lab.pem", str(pem)))
    return {"DASK_CONFIG": str(folder / "dask.yaml")}


class Lab:
    """A scheduler and workers on this machine, and runs that use them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.results = folder / "results"
        self.environment = configuration(folder)
        self.cwd: Path | None = None
        """Where processes are started."""
        self.processes: list[subprocess.Popen[bytes]] = []
        command = [*documented("scheduler"), "--port", "0"]
        self._start([word.replace("10.0.0.1", "127.0.0.1") for word in command], "scheduler")
        assert comes_true(lambda: "Scheduler at:" in self.said("scheduler")), self.said("scheduler")
        self.address = re.findall(r"Scheduler at: *(tls://\S+)", self.said("scheduler"))[0]

    def _start(
        self, command: list[str], name: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        whole = {**os.environ, "BENCHBOOK_RESULTS": str(self.results), **self.environment, **(environment or {})}
        with (self._folder / f"{name}.log").open("a") as log:
            process = processes.spawn(command, cwd=self.cwd, env=whole, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self, name: str, *options: str, host: str = "", **environment: str) -> "subprocess.Popen[bytes]":
        """Start a worker as a machine of that name (`host`, else its own), and wait until the scheduler has it."""
        command = [word.replace("tls://10.0.0.1:8786", self.address) for word in documented("worker")]
        before = self.said(name).count("Registered to:")
        process = self._start([*RENAMED, host or name, *command, *options], name, environment)
        assert comes_true(lambda: self.said(name).count("Registered to:") > before), self.said(name)
        return process

    def run(self, *options: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "benchbook.cli", "run", *options, "--scheduler", self.address]
        return self._start(command, "run")

    def said(self, name: str) -> str:
        file = self._folder / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(60)
