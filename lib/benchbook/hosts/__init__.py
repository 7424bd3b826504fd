"""Several machines: the workers of a stock Dask scheduler measure blocks of cells.

`dispatch` is the run's side: it sends blocks, and keeps the results that come back as if they had
been measured here. `worker` is a host's side: its tasks plan and measure there, in a child process
(`__main__`).
"""

from importlib import metadata
from typing import get_args

from benchbook import plugins
from benchbook.suite import suite


class HostsError(RuntimeError):
    """A host cannot be used, or none can: says why, and what to do."""


def describe_suite() -> str:
    """Return the suite's version and commit and plug-ins' versions, the same on all hosts."""
    packages: set[str] = set()
    for group in get_args(plugins.Group):
        packages |= {entry.distribution for entry in plugins.announced(group).values()}
    return ", ".join([suite(), *(f"{name} {metadata.version(name)}" for name in sorted(packages))])
