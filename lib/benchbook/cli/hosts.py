"""`benchbook run --scheduler`: a run on the workers of a stock Dask scheduler.

Dask is an extra that need not be installed, and slow to import: only such a run imports it.
"""

import argparse
import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchbook import cli
from benchbook.hosts import HostsError

if TYPE_CHECKING:
    from benchbook.grid import Cell
    from benchbook.runner.progress import Summary

PORT = 8786
"""Dask's own."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run on several machines."""
    text = "measure on the workers of a Dask scheduler, such as tls://10.0.0.1:8786 (docs/hosts.md)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=text)
    text = "accept a scheduler without TLS: all who can reach it can run any code here"
    parser.add_argument("--unprotected", action="store_true", help=text)
    # What older versions had: an error names what stands instead.
    parser.add_argument("--hosts", help=argparse.SUPPRESS)


def is_asked(asked: argparse.Namespace) -> bool:
    """Return whether a run is asked for on other hosts.

    Raises `benchbook.cli.UsageError` when its options do not fit.
    """
    if asked.hosts:
        instead = f"--scheduler {asked.hosts}, with Dask's own workers (docs/hosts.md)"
        raise cli.UsageError(f"--hosts was removed: use {instead}")
    if asked.scheduler and asked.until_decided:
        instead = "with --scheduler, set the blocks, as --set blocks=50"
        raise cli.UsageError(f"--until-decided runs on this machine only: {instead}")
    if asked.unprotected and not asked.scheduler:
        raise cli.UsageError("--unprotected needs --scheduler")
    return bool(asked.scheduler)


def run(asked: argparse.Namespace) -> int:
    """Run what is not done on the hosts of the scheduler."""
    address = _check_address(asked.scheduler, asked.unprotected)
    # Slow to import, and only this needs them.
    from benchbook.cli import selection
    from benchbook.cli.execution import execute, patience_s
    from benchbook.runner.batch import TIMEOUT_S

    try:
        from benchbook.hosts.dispatch import Dispatch, connect
    except ModuleNotFoundError as error:
        remedy = "pip install 'benchbook[hosts]', or make setup"
        raise cli.UsageError(f"{error.name} is missing: {remedy}") from error
    # What was asked wrongly is an error now, not on each host.
    records = {cell.records for cell in selection.planned(asked).cells}
    planned: list[Cell] = []

    def work(summary: "Summary") -> None:
        request = asked.study, asked.profile, asked.where, asked.set
        limits = asked.timeout or TIMEOUT_S, patience_s(asked)
        dispatch = Dispatch(client, request, limits, records)
        try:
            dispatch.run(summary)
        finally:
            planned.extend(dispatch.plan)

    try:
        with connect(address) as client:
            return execute(asked, planned, [], work)
    except HostsError as error:
        raise cli.UsageError(f"--scheduler: {error}") from error


def _check_address(text: str, unprotected: bool) -> str:
    """Return a scheduler's whole address.

    Raises `benchbook.cli.UsageError` when it is no address, or other machines reach it without TLS
    and this was not asked for.
    """
    whole = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(whole)
        port = parts.port or PORT
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname:
        raise cli.UsageError(f"--scheduler {text} is not an address: write it as tls://10.0.0.1:{PORT}")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.scheme != "tls" and not unprotected and not _is_loopback(parts.hostname):
        raise cli.UsageError(
            f"--scheduler {text} has no TLS, so all who can reach it can run any code here:"
            f" use tls://{name}:{port} (docs/hosts.md), or add --unprotected to trust them all"
        )
    return f"{parts.scheme}://{name}:{port}"


def _is_loopback(name: str) -> bool:
    """Return whether only this machine reaches that host."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
