"""The identity of a cell: results with the same identity are of the same experiment."""

import hashlib
import importlib.metadata
import json
import platform
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchbook.files.inputs import InputError, decode_utf8, read_bytes
from benchbook.grid.units import find_units, normalise_code, read_version
from benchbook.measure.machine import name_host
from benchbook.own_data import own_records
from benchbook.servers import processes
from benchbook.servers.programs import AvailableServer
from benchbook.studies.catalogue import find_notebook
from benchbook.studies.cell import CellParameters

LENGTH: Final = 20
"""Hexadecimal digits of an identity: enough that no two cells of a laboratory share one."""


def identify_cell(study: str, parameters: CellParameters, server: str) -> str:
    """Return the identity of a cell: a digest of all that may move what it measures.

    These are the parameters with their arm, the content of the user's records, the versions of
    code, libraries, Python and server, the host, and the variables that a child process inherits.
    The number of blocks is not: more blocks do not measure the first ones anew.

    Parameters
    ----------
    study, parameters
        The cell.
    server
        The server's version, as `write_server_version` returns it.

    Raises
    ------
    InputError
        When the user's records or the study's notebook cannot be used.
    """
    parts = {
        "study": study,
        "parameters": parameters.model_dump(mode="json"),
        "records": digest_records(parameters),
        "code": hash_code(study, parameters),
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
    """Return the digest of the user's file of records; None for a cell without one."""
    if not parameters.dataset_file:
        return None
    return own_records.digest_file(parameters.dataset_file)


def write_server_version(found: AvailableServer) -> str:
    """Return a server's version, with the digest of its container image, because a tag can move."""
    if found.image:
        return f"{found.version} in {found.image.digest}"
    return found.version


def hash_code(study: str, parameters: CellParameters) -> str:
    """Return the digest of a cell's code: of its notebook without drawing, and its units."""
    versions = {name: read_version(name) for name in find_units(study, parameters)}
    return _digest([_read_notebook_code(find_notebook(study)), versions])


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


@cache
def _read_notebook_code(path: Path) -> list[str]:
    """Return the normalised code of a notebook's cells that measure.

    Raises `InputError` when the file is not a notebook, has a cell that is not Python, or does not
    have exactly one cell of parameters.
    """
    name = f"{path.parent.name}/{path.name}"
    content = decode_utf8(read_bytes(path, 16 * 2**20, name), name)
    try:
        cells = json.loads(content)["cells"]
        parameter_cells = [cell for cell in cells if "parameters" in _list_tags(cell)]
        measuring = [
            cell for cell in cells if cell["cell_type"] == "code" and "draw" not in _list_tags(cell)
        ]
        sources = ["".join(cell["source"]) for cell in measuring]
        # Papermill inserts a cell's parameters after this one. Without it, the notebook's defaults
        # would be measured.
        has_parameters = [cell["cell_type"] for cell in parameter_cells] == ["code"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"not a Jupyter notebook: {type(error).__name__}: {error}"
        raise InputError(name, reason) from error
    code = [_normalise(source, name, number) for number, source in enumerate(sources, 1)]
    if not has_parameters:
        raise InputError(
            name,
            f"{len(parameter_cells)} notebook cells have the tag parameters, and exactly one code "
            "cell must: give the code cell that sets the parameters the tag, and no other",
        )
    return code


def _list_tags(cell: dict[str, Any]) -> list[str]:
    tags = cell["metadata"].get("tags", [])
    return tags if isinstance(tags, list) else []


def _normalise(source: str, notebook: str, number: int) -> str:
    """Return a notebook cell's code without what cannot move a measured value."""
    place = f"{notebook}, code cell {number}"
    try:
        return normalise_code(source)
    except SyntaxError as error:
        reason = f"line {error.lineno}: {error.msg} (only Python can be measured, no magics)"
        raise InputError(place, reason) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(place, f"not Python that can be read: {error}") from error


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
