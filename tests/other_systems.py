"""Make this process look like one on a Mac with Apple silicon, to what is imported later.

What is imported here knows Linux. Run as a program it is the command `benchbook` there.
"""

import importlib
import os
import platform
import re
import sys
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

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


def look_like_a_mac() -> None:
    """Import what knows its system, then change the system's name."""
    for name in IMPORTED:
        importlib.import_module(name)
    sys.platform = "darwin"
    platform.machine = lambda: "arm64"
    platform.system = lambda: "Darwin"
    for name in ("sched_getaffinity", "sched_setaffinity"):
        if hasattr(os, name):
            delattr(os, name)


if __name__ == "__main__":
    for driver in ("docker", "psycopg", "pymongo", "pyroute2"):
        importlib.import_module(driver)
    look_like_a_mac()
    from benchbook.cli import main

    sys.exit(main(sys.argv[1:]))
