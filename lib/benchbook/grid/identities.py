"""A cell's identity: what would have to be equal for its result to be the same experiment.

Its code counts by the versions of the units that measure it (`benchbook.grid.units`), and by its notebook's code.
"""

import hashlib
import importlib.metadata
import json
import platform
from functools import cache
from pathlib import Path
from typing import Final

from benchbook import processes, studies
from benchbook.datasets import own_records
from benchbook.grid.units import cell_units, normalise, version
from benchbook.inputs import InputError, contents, text
from benchbook.measure.machine import host
from benchbook.servers import Found
from benchbook.studies.cell import CellParameters

LENGTH = 20
"""Hexadecimal digits of an identity: enough that no two cells of a laboratory share one."""

NOTEBOOK_LIMIT: Final = 16 * 2**20
"""Bytes of the largest notebook that is read."""


def identity(study: str, parameters: CellParameters, server: str) -> str:
    """Return the identity of a cell that would use a server of that version, as `server_version` gives it.

    It is a digest of the parameters with their arm, the contents of the records it was given, its own code
    (`code_hash`), the versions of its libraries and of Python, the server's version, the host, and what children
    inherit that could change a measured value, where that is set. Never of the number of blocks.

    Raises `InputError` when the records that it was given cannot be used, or the study's notebook is none.
    """
    inherited = processes.inherited()
    return _digest(
        {
            "study": study,
            "parameters": parameters.model_dump(mode="json"),
            "records": records(parameters),
            "code": code_hash(study, parameters),
            "libraries": library_versions(study, parameters),
            "python": platform.python_version(),
            "server": server,
            "host": host(),
            **({"inherited": inherited} if inherited else {}),
        }
    )[:LENGTH]


def records(parameters: CellParameters) -> str | None:
    """Return the digest of the file of records that a cell was given; None when it was given none."""
    return own_records.checked(parameters.dataset_file) if parameters.dataset_file else None


def server_version(found: Found) -> str:
    """Return a server's version.

    With the digest of the image that it would be started from, because a tag can move.
    """
    if found.image:
        return f"{found.version} in {found.image.digest}"
    return found.version


def code_hash(study: str, parameters: CellParameters) -> str:
    """Return the digest of a cell's code: its notebook's without drawing, and the versions of its units."""
    versions = {name: version(name) for name in cell_units(study, parameters)}
    return _digest([_notebook_code(studies.notebook(study)), versions])


def library_versions(study: str, parameters: CellParameters) -> dict[str, str]:
    """Return the version of each library that does a cell's work; empty for one that is not installed."""
    units = cell_units(study, parameters).values()
    return {name: _library_version(name) for unit in units for name in unit.libraries}


@cache
def _library_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


@cache
def _notebook_code(path: Path) -> list[str]:
    name = f"{path.parent.name}/{path.name}"
    written = text(contents(path, NOTEBOOK_LIMIT, name), name)
    try:
        cells = json.loads(written)["cells"]
        # Papermill gives a cell's parameters after this one; without it, the notebook's defaults would be measured.
        tagged = [cell["cell_type"] for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        sources = [
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "code" and "draw" not in cell["metadata"].get("tags", [])
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(name, f"not a Jupyter notebook: {type(error).__name__}: {error}") from error
    normal = []
    for number, source in enumerate(sources, 1):
        where = f"{name}, code cell {number}"
        try:
            normal.append(normalise(source))
        except SyntaxError as error:
            why = f"line {error.lineno}: {error.msg} (only Python can be measured, no magics)"
            raise InputError(where, why) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise InputError(where, f"not Python that can be read: {error}") from error
    if tagged != ["code"]:
        raise InputError(
            name,
            f"{len(tagged)} notebook cells have the tag parameters, and exactly one code cell must: "
            "give the code cell that sets the parameters the tag, and no other",
        )
    return normal


def _digest(what: object) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
