"""Which lanes can run here: the program, and what of ours it runs; else why not, and how to get it."""

import hashlib
import os
import pwd
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

from benchbook import paths, processes


@dataclass(frozen=True)
class Found:
    """A lane that can run.

    Parameters
    ----------
    lane
        Its name.
    version
        Of the program and of what it runs: part of a cell's identity.
    command
        What starts its harness.
    temporary
        The program's option before a folder of temporary files, where it is deaf to ``TMPDIR``.
    """

    lane: str
    version: str
    command: tuple[str, ...]
    temporary: str | None = None

    def started(self, folder: str) -> tuple[str, ...]:
        """Return the command, with its temporary files in a folder."""
        program, *arguments = self.command
        return (program, *([self.temporary + folder] if self.temporary else []), *arguments)


@dataclass(frozen=True)
class Missing:
    """A lane that cannot run, and why, with what would help."""

    lane: str
    why: str


def _java() -> Found | Missing:
    jar = paths.harness("java") / "target" / "benchbook.jar"
    if (java := shutil.which("java")) is None:
        return Missing(
            "java", "no Java 17 or newer on PATH: get openjdk and maven from apt-get or conda, then make setup"
        )
    told = _said(java, "-XshowSettings:properties", "-version").stderr
    version = re.search(r'version "((\d+)[^"]*)"', told)
    if version is None or int(version[2]) < 17:
        return Missing("java", f"{java} is {version[1] if version else 'no JDK'}: Java 17 or newer is needed")
    if not jar.is_file():
        return Missing("java", "harness/java is not built: make setup, with Maven (mvn) on PATH")
    if home := re.search(r"java\.home = (.+)", told):
        java = str(Path(home[1]) / "bin" / "java")
    # JAXB writes dates in the machine's time zone, the paper's were an hour east of Greenwich
    command = (java, "-Duser.timezone=GMT+01:00", "-jar", str(jar))
    return Found("java", f"java {version[1]}, harness {_digest(jar)}", command, "-Djava.io.tmpdir=")


def _node() -> Found | Missing:
    harness = paths.harness("node")
    if (node := shutil.which("node")) is None:
        return Missing("node", f"no Node.js {_NODE} or newer on PATH: get nodejs and npm, then make setup")
    told, _, program = _said(node, "-p", "`${process.versions.node} ${process.execPath}`").stdout.strip().partition(" ")
    if tuple(int(part) for part in re.findall(r"\d+", told)[:2]) < tuple(map(int, _NODE.split("."))):
        return Missing("node", f"{node} is {told or 'no Node.js'}: MongoDB's driver needs {_NODE} or newer")
    if not (harness / "node_modules" / "mongoose").is_dir():
        return Missing("node", "harness/node is not installed: make setup, with npm on PATH")
    command = (program, "--expose-gc", "--max-old-space-size=3072", str(harness / "lane.js"))  # the paper's heap: 3 GB
    files = (*sorted(harness.glob("*.js")), harness / "package-lock.json", harness.parent / "contract.schema.json")
    return Found("node", f"node {told}, harness {_digest(*files)}", command)


_NODE: Final = "20.19"

_FINDERS: Final[Mapping[str, Callable[[], Found | Missing]]] = {"java": _java, "node": _node}

LANES: Final = ("python", *_FINDERS)
"""Every lane; Python needs no harness."""


@cache
def find(lane: str) -> Found | Missing:
    """Return a lane's harness, or why it cannot run here.

    Raises
    ------
    LookupError
        When there is no such lane, or it is Python, which is here.
    """
    if lane not in _FINDERS:
        raise LookupError(f"no harness for the lane {lane!r}: there are {', '.join(_FINDERS)}")
    return _FINDERS[lane]()


def _said(program: str, *arguments: str) -> CompletedProcess[str]:
    """Return what a program says of itself: what is on PATH may only lead to it, by files in the user's own home."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container's user may have no name
        home = None
    return processes.answer([program, *arguments], env=processes.environment(home))


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
