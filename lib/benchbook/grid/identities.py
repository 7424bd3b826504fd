"""A cell's identity: what would have to be equal for its result to be the same experiment."""

import hashlib
import json
import platform
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from benchbook import paths, processes, studies
from benchbook.datasets import own_records
from benchbook.grid.errors import GridError
from benchbook.grid.sources import Closure, closure, normal
from benchbook.inputs import contents, text
from benchbook.measure.environment import host
from benchbook.servers import Found

LENGTH = 20
"""Hexadecimal digits of an identity: enough that no two cells of a laboratory share one."""


def identity(study: str, parameters: BaseModel, server: str) -> str:
    """Return the identity of a cell.

    Parameters
    ----------
    study, parameters
        The cell.
    server
        The version of the server that it would use, as `server_version` gives it.

    Returns
    -------
    str
        A digest of the parameters with their arm, the contents of the records it was given, its own code (`code_hash`),
        the versions of the libraries and of Python, the server's version, the host, and what children inherit that
        could change a measured value, where that is set. Never of the number of blocks.

    Raises
    ------
    InputError
        When the records that it was given cannot be used.
    GridError
        When the study's notebook is none.
    """
    inherited = processes.inherited()
    return _digest(
        {
            "study": study,
            "parameters": parameters.model_dump(mode="json"),
            "records": records(parameters),
            "code": code_hash(study, parameters),
            "libraries": [*code(study, parameters).libraries, ("python", platform.python_version())],
            "server": server,
            "host": host(),
            **({"inherited": inherited} if inherited else {}),
        }
    )[:LENGTH]


def records(parameters: BaseModel) -> str | None:
    """Return the digest of the file of records that a cell was given; None when it was given none."""
    file: str | None = getattr(parameters, "dataset_file", None)
    return own_records.checked(file) if file else None


def server_version(found: Found) -> str:
    """Return a server's version; with a digest of its code when a stand-in of the suite would be started.

    A stand-in is a launcher of ours and packages that its lock file pins: where either changes, it is another server.
    """
    if found.source != "stand-in":
        return found.version
    launcher = found.programs["launcher"]
    files = sorted({launcher, found.programs["package"], *launcher.parent.glob("package-lock.json")})
    digests = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    return f"{found.version} {_digest(digests)[:LENGTH]}"


def code(study: str, parameters: BaseModel) -> Closure:
    """Return the suite's modules that a cell runs: its study's, what its parameters name, and what those import."""
    return closure(frozenset({f"benchbook.studies.{study}", *studies.load(study).modules(parameters)}))


def code_hash(study: str, parameters: BaseModel) -> str:
    """Return the digest of a cell's code: its notebook's without drawing, and that of its modules."""
    return _digest([_notebook_code(notebook(study)), code(study, parameters).digest])


def notebook(study: str) -> Path:
    """Return a study's notebook.

    Raises
    ------
    FileNotFoundError
        When there is none.
    """
    found = sorted(paths.notebooks().glob(f"[0-9][0-9]_{study}.ipynb"))
    if not found:
        raise FileNotFoundError(f"{paths.notebooks().name} has no notebook of the study {study}")
    return found[0]


NOTEBOOK_LIMIT: Final = 16 * 2**20
"""Bytes of the largest notebook that is read."""


@cache
def _notebook_code(path: Path) -> list[str]:
    name = f"{path.parent.name}/{path.name}"
    written = text(contents(path, NOTEBOOK_LIMIT, name), name)
    try:
        cells = json.loads(written)["cells"]
        code = [one for one in cells if one["cell_type"] == "code" and "draw" not in one["metadata"].get("tags", [])]
        sources = ["".join(cell["source"]) for cell in code]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise GridError(name, f"not a Jupyter notebook: {type(error).__name__}: {error}") from error
    return [_normal(source, f"{name}, code cell {number}") for number, source in enumerate(sources, 1)]


def _normal(source: str, where: str) -> str:
    try:
        return normal(source)
    except SyntaxError as error:
        raise GridError(where, f"line {error.lineno}: {error.msg} (only Python can be measured, no magics)") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise GridError(where, f"not Python that can be read: {error}") from error


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
