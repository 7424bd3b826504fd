"""A lab's scheduler, and the credentials without which nobody speaks to it, nor to a worker.

The credentials are one file: a key, and a certificate that is its own authority. Scheduler, workers and runs show it to
each other (TLS), and ask for it: whoever has it can run any code on all of them, and nobody else any.
"""

import asyncio
import logging
import os
import signal
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import dask
from distributed import Scheduler, Security

from benchbook.credentials import made
from benchbook.hosts import NoLabError

PORT: Final = 8786
"""Dask's own."""

RESTING: Final = {
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
}
"""What Dask does by itself many times a second."""

_OTHERS: Final = 0o077
_ROLES: Final = ("client", "scheduler", "worker")


class OnePort:
    """What of Dask listens at its own port alone: its HTTP server, beside that, asks nobody for credentials."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none."""


class _Scheduler(OnePort, Scheduler):
    pass


def serve(address: str, credentials: Path) -> None:
    """Be the scheduler at an address of this machine until SIGINT or SIGTERM; without credentials, make them first.

    Raises `NoLabError` when the credentials cannot be used, or nothing can listen there.
    """
    if not credentials.exists():
        make(credentials)
        print(f"made {credentials}: copy it to each machine of the lab, readable by you alone, and to no other")
    at, security = secured(address, credentials)
    # What a person needs to know is printed by `_serving`.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with dask.config.set(RESTING), suppress(asyncio.CancelledError):
        asyncio.run(_serving(at, security))


def secured(scheduler: str, credentials: Path, unprotected: bool = False) -> tuple[str, Security]:
    """Return a scheduler's whole address, and what is shown to it and asked of it.

    Raises `NoLabError` when that is no address, or there are no credentials that can be used; unless the lab is
    `unprotected`, which has none.
    """
    at = _address(scheduler, "tcp" if unprotected else "tls")
    if not at.startswith("tls://"):
        if not unprotected:
            raise NoLabError(
                f"{at} asks nobody for credentials: whoever reaches it runs any code here. benchbook scheduler starts"
                " one that does, at tls://; --unprotected trusts everybody who reaches this one"
            )
        return at, Security(require_encryption=False)
    if not credentials.is_file():
        raise NoLabError(
            f"no {credentials}: benchbook scheduler made it on the lab's first machine, copy it from there"
        )
    if credentials.stat().st_mode & _OTHERS:
        raise NoLabError(f"{credentials} is open to other accounts, who could run code as you: chmod 600 {credentials}")
    files = {f"tls_{role}_{part}": str(credentials) for role in _ROLES for part in ("cert", "key")}
    security = Security(require_encryption=True, tls_ca_file=str(credentials), **files)
    try:
        security.get_connection_args("client")
    except (ssl.SSLError, OSError) as error:
        raise NoLabError(f"{credentials} holds no credentials ({error}): copy it again, or remove it") from error
    return at, security


def make(credentials: Path) -> None:
    """Write a new key and its certificate into a file that only its owner can read."""
    credentials.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(credentials, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(made("benchbook lab"))


def _address(text: str, scheme: str) -> str:
    """Return an address with its scheme and its port."""
    whole = text if "://" in text else f"{scheme}://{text}"
    try:
        parts = urlsplit(whole)
        if parts.hostname:
            return whole if parts.port is not None else f"{whole}:{PORT}"
    except ValueError:
        pass
    raise NoLabError(f"{text} is no scheduler's address, such as 10.0.0.1 or tls://lab:{PORT}")


async def _serving(at: str, security: Security) -> None:
    host, _, port = at.rpartition(":")
    try:
        async with _Scheduler(host=host, port=int(port), security=security, dashboard=False) as scheduler:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            address = scheduler.address
            print(f"the lab's scheduler is {address}, until Ctrl-C. What measures joins it by")
            print(f"  benchbook worker {address}\nand a run is shared among what has joined by")
            print(f"  benchbook run --hosts {address}", flush=True)
            await scheduler.finished()
    # Dask's, of a port that is taken, or an address that is not this machine's.
    except RuntimeError as error:
        raise NoLabError(f"no scheduler can listen at {at}: {error.__cause__ or error}") from error
