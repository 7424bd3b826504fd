"""A cell's identity: what would have to be equal for its result to be the same experiment.

Which code a cell runs: all that its modules import, as the import graph has it, and a digest of those sources. Of what
is imported by a name that is made up at run time (an adapter, a codec) the graph knows nothing: the study names it, as
`benchbook.studies` says, and the test suite holds that against what cells really load. A package's own module counts
with any module of it. `benchbook.plugins`, `benchbook.registry` and `benchbook.studies` only list what there is, and a
database's folder says in its own module what is known of it before a server runs: they count for no cell.

Reading sources would take a command longer than all else that a plan needs. So what was read of them is kept beside the
checkout's other caches, by their contents: a file that can be deleted at any time.
"""

import ast
import hashlib
import importlib.metadata
import json
import platform
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ValidationError

import benchbook
from benchbook import atomic, paths, plugins, processes, studies
from benchbook.datasets import own_records
from benchbook.inputs import InputError, contents, text
from benchbook.measure.machine import host
from benchbook.servers import Found
from benchbook.studies.cell import CellParameters

if TYPE_CHECKING:
    import grimp

LENGTH = 20
"""Hexadecimal digits of an identity: enough that no two cells of a laboratory share one."""

NOTEBOOK_LIMIT: Final = 16 * 2**20
"""Bytes of the largest notebook that is read."""

_GRAPHS: Final = 4
"""How many import graphs are kept: of the code as it was lately, alone and with plug-ins."""

_DIGESTS: Final = 4_000
"""How many modules' digests are kept."""

_SUITE: Final = ("benchbook",)
_SOURCE: Final = Path(benchbook.__path__[0])
_LISTS: Final = frozenset({"benchbook.plugins", "benchbook.registry", "benchbook.studies"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Closure:
    """Some of the suite's modules and all that they import."""

    modules: frozenset[str]
    digest: str  # of their sources, without comments, docstrings and layout
    libraries: tuple[tuple[str, str], ...]  # names and versions of the other packages that they import


def identity(study: str, parameters: CellParameters, server: str) -> str:
    """Return the identity of a cell that would use a server of that version, as `server_version` gives it.

    It is a digest of the parameters with their arm, the contents of the records it was given, its own code
    (`code_hash`), the versions of the libraries and of Python, the server's version, the host, and what children
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
            "libraries": [*code(study, parameters).libraries, ("python", platform.python_version())],
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
    """Return the digest of a cell's code: its notebook's without drawing, and that of its modules."""
    return _digest([_notebook_code(studies.notebook(study)), code(study, parameters).digest])


def code(study: str, parameters: CellParameters) -> Closure:
    """Return the suite's modules that a cell runs: its study's, what its parameters name, and what those import."""
    return closure(frozenset({studies.module(study), *studies.load(study).modules(parameters)}))


@cache
def closure(roots: frozenset[str]) -> Closure:
    """Return the closure of some of the suite's modules, and of those of the plug-ins that are named."""
    packages = tuple(sorted({*_SUITE, *(root.partition(".")[0] for root in roots)}))
    imports = _imports(packages)
    modules, libraries, left = set[str](), set[str](), set(roots)
    while left:
        module = left.pop()
        modules.add(module)
        imported = set(imports[module])
        own = {name for name in imported if name.partition(".")[0] in packages}
        libraries |= imported - own
        package = {name for name in [module.rpartition(".")[0]] if name}
        left |= {name for name in (own | package) - modules if not _lists(name)}
    digests = "".join(f"{module} {_module_digest(module)}\n" for module in sorted(modules))
    _keep()
    versions = tuple((name, _version(name)) for name in sorted(libraries - sys.stdlib_module_names))
    return Closure(frozenset(modules), hashlib.sha256(digests.encode()).hexdigest(), versions)


def _lists(module: str) -> bool:
    """Return whether a module only says what there is, so that no cell runs it."""
    a_database = module.startswith("benchbook.databases.")
    return module in _LISTS or (a_database and any(name.startswith(f"{module}.") for name in _imports(_SUITE)))


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
            normal.append(_normal(source))
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


def _normal(code: str) -> str:
    """Return code in a form that comments, docstrings and layout do not change."""
    try:
        tree = ast.parse(code)
    # Python 3.11, when the garbage collector meanwhile ran what parses code, too, such as a traceback.
    except SystemError:
        tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _digest(what: object) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


class _Kept(BaseModel):
    """What was read of sources, now or by an earlier process, each by a digest of all that it follows from."""

    imports: dict[str, dict[str, list[str]]] = {}
    digests: dict[str, str] = {}
    stored: int = 0  # how many of both the file holds


@cache
def _kept() -> _Kept:
    """Return what is kept: nothing when the file is damaged, or of another version."""
    content = atomic.read_cache(paths.sources())
    try:
        return _Kept() if content is None else _Kept.model_validate_json(content)
    except ValidationError:
        return _Kept()


def _keep() -> None:
    """Keep what was read anew, if anything was; a checkout that cannot be written keeps nothing."""
    kept = _kept()
    if kept.stored == len(kept.imports) + len(kept.digests):
        return
    kept.imports = dict([*kept.imports.items()][-_GRAPHS:])
    kept.digests = dict([*kept.digests.items()][-_DIGESTS:])
    kept.stored = len(kept.imports) + len(kept.digests)
    atomic.write_cache(paths.sources(), kept.model_dump_json().encode())


@cache
def _imports(packages: tuple[str, ...]) -> dict[str, list[str]]:
    """Return what each module imports, of the suite's and of the plug-ins' beside it that are named."""
    follows_from = hashlib.sha256(f"{platform.python_version()} {importlib.metadata.version('grimp')}".encode())
    for package in packages:
        folder = Path(benchbook.__path__[0]) if package == "benchbook" else plugins.folder(package)
        for path in sorted(folder.rglob("*.py")):
            follows_from.update(f"{package} {path.relative_to(folder)} ".encode())
            follows_from.update(hashlib.sha256(path.read_bytes()).digest())
    graphs = _kept().imports
    if (key := follows_from.hexdigest()) not in graphs:
        graph = _graph(packages)
        own = sorted(module for module in graph.modules if module.partition(".")[0] in packages)
        graphs[key] = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in own}
    return graphs[key]


def _graph(packages: tuple[str, ...]) -> "grimp.ImportGraph":
    # Only where nothing is kept: it is slow to import.
    import grimp

    try:
        return grimp.build_graph(
            *packages, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
        )
    except (SyntaxError, grimp.exceptions.GrimpException) as error:
        raise InputError(", ".join(packages), f"its code cannot be read: {error}") from error


@cache
def _module_digest(module: str) -> str:
    """Return the digest of one of the suite's modules, or of a plug-in's."""
    package, *rest = module.split(".")
    stem = (_SOURCE if package == "benchbook" else plugins.folder(package)).joinpath(*rest)
    path = next(path for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if path.is_file())
    source = path.read_bytes()
    key = hashlib.sha256(platform.python_version().encode() + source).hexdigest()
    digests = _kept().digests
    if key not in digests:
        digests[key] = hashlib.sha256(_normal(source.decode("utf-8")).encode()).hexdigest()
    return digests[key]


@cache
def _version(library: str) -> str:
    """Return the version of the distribution that holds an importable name."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        # `packages_distributions` would take seven times as long.
        held = (f"\n{library}/", f"\n{library}.py,")
        holders = set()
        for distribution in importlib.metadata.distributions():
            files = f"\n{distribution.read_text('RECORD') or ''}"
            if any(file in files for file in held):
                holders.add(f"{distribution.metadata['Name']} {distribution.version}")
        return " ".join(sorted(holders))
