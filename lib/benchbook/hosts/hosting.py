"""What a host's worker does for a run that has placed servers on it: it holds them until they are wanted no more."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from distributed import get_worker

from benchbook.deployment import Topology
from benchbook.hosts import worker
from benchbook.hosts.worker import Job
from benchbook.scrubbing import scrubbed
from benchbook.servers import Found, Missing, ServerError, here, servers_of
from benchbook.servers.fleet import Fleet

_GLANCE_S: Final = 0.25

_held: Final[dict[str, tuple[Fleet, Found]]] = {}
"""The fleet and the programs of each lease."""


async def held(lease: str, product: str, topology: Topology) -> str:
    """Hold a fleet: a task that a run sends. It ends when the run has gone, or with why a server has ended."""
    dask_worker = get_worker()
    address = urlsplit(dask_worker.address).hostname
    assert address, "a worker has an address"
    await _in_main_thread(partial(_begin, lease, product, topology, address))
    before: str | None = None
    try:
        while worker.wanted(dask_worker, lease):
            why = _held[lease][0].failure()
            if why and before:  # one whose port was taken is started once more
                return why
            before = why
            await asyncio.sleep(_GLANCE_S)
        return "the run wants it no more"
    finally:
        await _in_main_thread(partial(_end, lease))


def holds(lease: str) -> bool:
    """Return whether the fleet is there."""
    return lease in _held


async def called(lease: str, function: Callable[..., Any], arguments: tuple[object, ...]) -> Any:
    """Return what a function does with the fleet and its programs, as `benchbook.servers.fleet.At` has it, or an error.

    Raised, Dask would print the error with the arguments, among which are passwords.
    """
    try:
        return await _in_main_thread(partial(function, *_held[lease], *arguments))
    except Exception as error:
        return ServerError(scrubbed(str(error)))


async def _in_main_thread(work: Callable[[], Any]) -> Any:
    """Have it done where servers are started, with which they would end."""
    job = Job(work)
    worker.this_slot().put(job)
    return await job.answer


def _begin(lease: str, product: str, topology: Topology, address: str) -> None:
    if ":" in address:
        raise ServerError("its address is one of IPv6: benchbook worker --listen takes one of IPv4")
    found = here(product, topology)
    if isinstance(found, Missing):
        raise ServerError(found.why)
    fleet = servers_of(product).fleet()
    fleet.address = address
    _held[lease] = fleet, found


def _end(lease: str) -> None:
    try:
        _held[lease][0].stop()
    finally:
        del _held[lease]
