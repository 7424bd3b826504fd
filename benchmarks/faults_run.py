"""`benchbook run` as a user starts it, in folders of its own and under watch: what `faults.py` lays its hand on."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchbook.deployment import Deployment

PATIENCE_S: Final = 400.0
"""How long something that must come may take, in seconds."""


HEAD: Final = """\
| engine | fault | what the user saw | exit | finished before, lost | the next cell |
|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Row:
    """What one fault did to one run."""

    engine: str
    fault: str
    saw: str
    status: int
    lost: str
    following: str

    def markdown(self) -> str:
        """Return it as a line of the table."""
        texts = (self.engine, self.fault, self.saw, str(self.status), self.lost, self.following)
        return f"| {' | '.join(' '.join(text.split()).replace('|', '/') for text in texts)} |"


class Folders:
    """Where runs write: their results, and all that is temporary, which a small file system may hold."""

    def __init__(self) -> None:
        self._top = tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True)
        self.path = Path(self._top.name)
        self.results, self.temporary = self.path / "results", self.path / "tmp"
        for folder in (self.path, self.results, self.temporary):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)  # root's servers run as other users
        self._mounted = False

    def mount(self, size_mb: int) -> None:
        """Put a small file system in place of the temporary folder (root only)."""
        options = f"size={size_mb}m,mode=755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.temporary], check=True)
        self._mounted = True

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a run that writes here."""
        return {**os.environ, "BENCHBOOK_RESULTS": str(self.results), "TMPDIR": str(self.temporary), **more}

    def finished(self) -> dict[str, str]:
        """Return the digest of every finished cell's file, by its name."""
        files = (file for file in self.results.glob("*/*.parquet") if file.name.count(".") == 2)
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.name[0] != "."}

    def remove(self) -> None:
        """Remove all of it."""
        if self._mounted:
            subprocess.run(["umount", self.temporary], check=True)
        self._top.cleanup()


class Run:
    """One run of a few cells; what it prints goes to a file, line by line as a user sees it."""

    def __init__(self, folders: Folders, options: list[str], **more: str) -> None:
        self._folders = folders
        self._output = folders.path / "output"
        command = [sys.executable, "-m", "benchbook.cli", "run", *options]
        with self._output.open("w") as file:
            env = folders.environment(**more)
            self.process = subprocess.Popen(command, env=env, stdout=file, stderr=subprocess.STDOUT)

    @property
    def printed(self) -> str:
        """All that it has printed so far."""
        return self._output.read_text()

    def until(self, condition: Callable[[], Any], what: str, poll_s: float = 0.005) -> Any:
        """Wait until a condition is true of the run, and return what it returned.

        Raises
        ------
        RuntimeError
            When the run ends before, or it takes too long.
        """
        deadline = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            ended = self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"{'the run ended' if ended else 'time ran out'} before {what}:\n{self.printed}")
            time.sleep(poll_s)
        return found

    def deployment(self) -> Deployment | None:
        """Return the servers that the present cell uses; None while there are none."""
        for file in self._folders.temporary.glob("benchbook-*/deployment.json"):
            try:
                return Deployment.from_json(file.read_text())
            except (OSError, json.JSONDecodeError):  # it is being written, or was just removed
                return None
        return None

    def end(self) -> int:
        """Wait for its end and return the exit status; one that hangs is killed, and told by its -9."""
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def selected(study: str, **values: str) -> list[str]:
    """Return the options that run a study's smallest cells with these values of their parameters."""
    return [
        study,
        "--profile",
        "smoke",
        *(part for name, value in values.items() for part in ("--set", f"{name}={value}")),
    ]


def summary(printed: str) -> str:
    """Return what a run said of its cells at the end, and of waits that ran out."""
    told = re.search(r"^(cells: .*?);.*$((?:\nwaits .*$(?:\n  .*$)*)?)", printed, re.MULTILINE)
    return f"{told[1]}{told[2]}" if told else printed
