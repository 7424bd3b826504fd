"""Make this process look like one on a Mac with Apple silicon or on Windows, to later imports.

What is imported here knows Linux. Run as a program it is the command `benchbook` on a Mac.
"""

import importlib
import os
import platform
import re
import signal
import sys
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

IMPORTED = (
    *("asyncio", "multiprocessing", "selectors", "subprocess", "urllib.request"),
    *("duckdb", "IPython", "lxml.etree", "matplotlib.pyplot", "orjson", "pandas", "psutil"),
    *("pyarrow.parquet", "scipy.stats", "zmq"),
)


class OnlyLocked(MetaPathFinder):
    """Refuses the packages that a lock has not."""

    def __init__(self, lock: Path) -> None:
        """Read the lock's names."""
        self.locked = {*re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE)}
        self.locked |= {"benchbook", "pip", "setuptools"}
        self.owners = metadata.packages_distributions()

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Refuse a module of another package; other finders find the rest."""
        owners = self.owners.get(name.partition(".")[0], [])
        names = {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
        if names and names.isdisjoint(self.locked):
            raise ModuleNotFoundError(f"No module named {name!r} in the lock", name=name)
        return None


class NotOnWindows(MetaPathFinder):
    """Refuses the modules that Python does not have on Windows."""

    NAMES = frozenset({"fcntl", "grp", "pwd", "resource", "termios", "tty"})

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Refuse such a module; other finders find the rest."""
        if name in self.NAMES:
            raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
        return None


def look_like_a_mac() -> None:
    """Import what knows its system, then change the system's name."""
    for name in IMPORTED:
        importlib.import_module(name)
    sys.platform = "darwin"
    platform.machine = lambda: "arm64"
    platform.system = lambda: "Darwin"
    _remove(os, "sched_getaffinity", "sched_setaffinity")


def look_like_windows() -> None:
    """Import what knows its system, then take away what Windows does not have."""
    for name in IMPORTED:
        importlib.import_module(name)
    sys.platform = "win32"
    platform.machine = lambda: "AMD64"
    platform.system = lambda: "Windows"
    _remove(os, "sched_getaffinity", "sched_setaffinity", "geteuid", "getuid", "getgid")
    _remove(os, "getloadavg", "getpriority", "sysconf", "statvfs", "O_NOFOLLOW", "O_DIRECTORY")
    _remove(signal, "SIGALRM", "setitimer", "ITIMER_REAL")
    for name in NotOnWindows.NAMES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, NotOnWindows())


def _remove(module: ModuleType, *names: str) -> None:
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


if __name__ == "__main__":
    for driver in ("docker", "psycopg", "pymongo", "pyroute2"):
        importlib.import_module(driver)
    look_like_a_mac()
    from benchbook.cli import main

    sys.exit(main(sys.argv[1:]))
