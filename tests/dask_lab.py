"""A Dask scheduler and workers on this machine, configured as in docs/hosts.md."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchbook.servers import processes
from benchbook.servers.fleet import make_certificate
from checkout import ROOT
from waiting import PATIENCE_S, comes_true

DOCS = ROOT / "docs" / "hosts.md"
RENAMED = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
"""Before a command: gives it a host name, its first argument."""


def can_rename() -> bool:
    """Return whether this account can give a process a host name of its own."""
    try:
        return (
            subprocess.run([*RENAMED, "other", "true"], capture_output=True, check=False).returncode
            == 0
        )
    except FileNotFoundError:
        return False


def read_command(command: str) -> list[str]:
    """Return the words of one of the documented commands, with this environment's program."""
    line = re.search(rf"^ *\.venv/bin/dask {command} (.*)$", DOCS.read_text(), re.MULTILINE)
    assert line
    return [sys.executable, "-m", "dask", command, *line[1].replace('"', "").split()]


def write_configuration(folder: Path) -> dict[str, str]:
    """Write the documented configuration with a new certificate; return its environment."""
    pem = folder / "lab.pem"
    pem.touch(0o600)
    pem.write_bytes(make_certificate("lab"))
    block = re.search(r"^ *```yaml\n(.*?)^ *```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert block
    (folder / "dask.yaml").write_text(block[1].replace("/home/me/lab.pem", str(pem)))
    return {"DASK_CONFIG": str(folder / "dask.yaml")}


class Lab:
    """A scheduler and workers on this machine, and runs that use them."""

    def __init__(self, folder: Path, cwd: Path | None = None) -> None:
        self._folder = folder
        self.results = folder / "results"
        self.environment = write_configuration(folder)
        self.cwd = cwd
        """Where processes are started."""
        self._started: Counter[str] = Counter()
        """How many workers of each name have been started."""
        self.processes: list[subprocess.Popen[bytes]] = []
        command = [*read_command("scheduler"), "--port", "0"]
        self._start([word.replace("10.0.0.1", "127.0.0.1") for word in command], "scheduler")
        assert comes_true(lambda: "Scheduler at:" in self.read_log("scheduler")), self.read_log(
            "scheduler"
        )
        self.address = re.findall(r"Scheduler at: *(tls://\S+)", self.read_log("scheduler"))[0]

    def _start(
        self, command: list[str], name: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        whole = {
            **os.environ,
            "BENCHBOOK_RESULTS": str(self.results),
            **self.environment,
            **(environment or {}),
        }
        with (self._folder / f"{name}.log").open("a") as log:
            process = processes.spawn(command, cwd=self.cwd, env=whole, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_worker(
        self, name: str, *options: str, host: str = "", **environment: str
    ) -> "subprocess.Popen[bytes]":
        """Start a worker on a machine called `host`, else `name`."""
        command = [
            word.replace("tls://10.0.0.1:8786", self.address) for word in read_command("worker")
        ]
        self._started[name] += 1
        return self._start([*RENAMED, host or name, *command, *options], name, environment)

    def await_workers(self) -> None:
        """Wait until the scheduler has all workers that were started."""

        def have_registered() -> bool:
            logs = {name: self.read_log(name) for name in self._started}
            return self._started == {name: logs[name].count("Registered to:") for name in logs}

        assert comes_true(have_registered), [*map(self.read_log, self._started)]

    def start_run(self, *options: str) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable,
            "-m",
            "benchbook.cli",
            "run",
            *options,
            "--scheduler",
            self.address,
        ]
        return self._start(command, "run")

    def read_log(self, name: str) -> str:
        file = self._folder / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(PATIENCE_S)
