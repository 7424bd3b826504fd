"""How many processors each role of a cell had to itself, as the kernel granted them."""

import os
import sys
from collections import Counter
from collections.abc import Sequence, Set
from itertools import chain

from benchbook.servers import networks
from benchbook.servers.deployment import Deployment, Place


def read_processors(pid: int = 0) -> Set[int]:
    """Return the processors that a process may use, for 0 this thread; empty if unknown."""
    if sys.platform != "linux":
        return frozenset()
    try:
        return os.sched_getaffinity(pid)
    except OSError:
        # It has ended, or is another account's in a container that hides it.
        return frozenset()


def read_place(place: Place | None) -> Set[int]:
    """Return the processors that the kernel grants to what starts at a place; None: here."""
    with networks.enter_place(place):
        return read_processors()


def count_own_processors(granted: Sequence[Set[int]]) -> int | None:
    """Return the fewest processors that one of a cell's roles had to itself; 0: it shared all.

    A cell's answer depends on all its roles: a client waits for a replica that has too little.

    Parameters
    ----------
    granted
        The processors of each role; empty where they are unknown.

    Returns
    -------
    int or None
        None where a role's processors are unknown, or there is one role only.
    """
    if len(granted) < 2 or not all(granted):
        return None
    roles_of = Counter(chain.from_iterable(granted))
    counts = [sum(roles_of[one] == 1 for one in processors) for processors in granted]
    return min(counts)


def count_deployment_processors(deployment: Deployment) -> int | None:
    """Return `count_own_processors` of the client and the servers of a deployment that runs."""
    client = read_place(deployment.places.get("client"))
    # A server on another machine, or in a virtual one, has no process here.
    unknown = frozenset[int]()
    servers = [read_processors(node.pid) if node.pid else unknown for node in deployment.nodes]
    return count_own_processors([client, *servers])
