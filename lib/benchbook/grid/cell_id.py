"""The identity of a cell: results with the same identity are of the same experiment."""

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from functools import cache
from typing import Final

from benchbook.grid.units import find_units, read_versions
from benchbook.measure.machine import name_host
from benchbook.own_data import own_records
from benchbook.servers import processes
from benchbook.servers.programs import AvailableServer
from benchbook.studies.cell import CellParameters

LENGTH: Final = 20
"""Hexadecimal digits of an identity: enough that no two cells of a laboratory share one."""


def identify_cell(
    study: str, parameters: CellParameters, server: str, code: str | None = None
) -> str:
    """Return the identity of a cell: a digest of all that may move what it measures.

    These are the parameters with their arm, the user's records that are measured, the versions of
    code, libraries, Python and server, the host, and the variables that a child process inherits.
    The number of blocks is not: more blocks do not measure the first ones anew.

    Parameters
    ----------
    study, parameters
        The cell.
    server
        The server's version, as `write_server_version` returns it.
    code
        The digest of an earlier version's code, for the identity that the cell had by it; None:
        that of today's code.

    Raises
    ------
    InputError
        When the user's records or the study's notebook cannot be used.
    """
    parts = {
        "study": study,
        "parameters": parameters.list_identifying_levels(),
        "records": digest_records(parameters),
        "code": code or hash_code(study, parameters),
        "libraries": read_library_versions(study, parameters),
        "python": platform.python_version(),
        "server": server,
        "host": name_host(),
    }
    inherited = processes.read_inherited()
    if inherited:
        parts["inherited"] = inherited
    return _digest(parts)[:LENGTH]


def digest_records(parameters: CellParameters) -> str | None:
    """Return the digest of the user's records that a cell measures; None for a cell without any."""
    if not parameters.dataset_file:
        return None
    return own_records.digest_file(parameters.dataset_file, parameters.record_count)


def write_server_version(found: AvailableServer) -> str:
    """Return a server's version, with the digest of its container image, because a tag can move."""
    if found.image:
        return f"{found.version} in {found.image.digest}"
    return found.version


def hash_code(study: str, parameters: CellParameters) -> str:
    """Return the digest of the versions of a cell's code."""
    return digest_versions(read_versions(study, parameters))


def digest_versions(versions: Mapping[str, int | str]) -> str:
    """Return the digest of versions of units, which names a cell's code in results."""
    return _digest(dict(versions))


def read_library_versions(study: str, parameters: CellParameters) -> dict[str, str]:
    """Return the version of each library that does a cell's work; empty if it is not installed."""
    versions = {}
    for unit in find_units(study, parameters).values():
        for name in unit.libraries:
            versions[name] = _read_library_version(name)
    return versions


@cache
def _read_library_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
