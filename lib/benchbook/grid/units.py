"""Versioned units: the code that measures a cell, and its version.

Every file whose code can move a measured value belongs to a unit of `UNITS`. One of a unit's files
has its ``VERSION``. ``units.json`` has that number and a digest of the unit's code. While the code
has that digest, the number is part of the identity of the unit's cells. A changed unit has its
digest there, so that a local change is measured anew. ``python -m tools.versions accept`` writes
the file, and a test fails where it differs from the code. A plug-in's package is a unit without a
committed digest, and so is its notebook.
"""

import ast
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.files.inputs import InputError
from benchbook.grid.code import normalise_code, read_notebook_code
from benchbook.registry import plugins
from benchbook.registry.papers import PAPERS
from benchbook.servers import networks
from benchbook.studies.catalogue import find_notebook, find_study_module, load_study
from benchbook.studies.cell import CellParameters

LIBRARY: Final = Path(paths.__file__).parent
COMMITTED: Final = Path(__file__).with_name("units.json")

PLUGIN_PREFIX: Final = "package "
"""How the name of a plug-in's unit begins, before its package."""

NOTEBOOK_SUFFIX: Final = " notebook"
"""How the name of the unit of a study's notebook ends, after its study."""


@dataclass(frozen=True)
class Unit:
    """Code that has one version."""

    # In the library, or as ``harness/...`` in the checkout; one of them has the version.
    files: tuple[str, ...] = ()
    # Other units that run with it.
    uses: tuple[str, ...] = ()
    # Distributions that do its work.
    libraries: tuple[str, ...] = ()
    # Of a notebook, which has no line for it.
    version: int | None = None


UNITS: Final = {
    # What every cell runs: its kernel, its clocks and meters, and what all studies share.
    "measure": Unit(
        (
            *("measure/__init__.py", "measure/meters.py", "measure/timing.py"),
            *(
                "studies/cell.py",
                "studies/language_cell.py",
                "studies/harness.py",
                "studies/levels.py",
                "schema.py",
            ),
            *("servers/deployment.py", "servers/processes.py"),
            *("runner/kernel.py", "runner/notebook.py", "runner/block_deployment.py"),
        ),
    ),
    # The papers' studies.
    **{slug: Unit((f"studies/{slug}.py",), paper.uses) for slug, paper in PAPERS.items()},
    # Their notebooks, without what draws and without the default levels.
    **{
        f"{slug}{NOTEBOOK_SUFFIX}": Unit(version=paper.notebook_version)
        for slug, paper in PAPERS.items()
    },
    # Data sets, and what generates them or takes a user's file in their place.
    "datasets": Unit(("datasets/dataset.py", "datasets/streams.py")),
    "books": Unit(("datasets/books.py",), ("datasets",)),
    "persons": Unit(("datasets/persons.py",), ("datasets",)),
    "players": Unit(("datasets/players.py",), ("datasets",)),
    "blog": Unit(("datasets/blog.py",), ("datasets",)),
    "phones": Unit(("datasets/phones.py",), ("datasets",)),
    "own_records": Unit(("own_data/*.py",), ("datasets",)),
    # Codecs.
    "formats": Unit(("codecs/__init__.py", "codecs/codec.py")),
    "json": Unit(("codecs/json_codec.py",), ("formats",)),
    "orjson": Unit(("codecs/orjson_codec.py",), ("json",), ("orjson",)),
    "msgspec": Unit(("codecs/msgspec_codec.py",), ("json",), ("msgspec",)),
    "etree": Unit(("codecs/tree_codec.py",), ("formats",)),
    "lxml": Unit(("codecs/lxml_codec.py",), ("etree",), ("lxml",)),
    "xsdata": Unit(("codecs/xsdata_codec.py",), ("lxml",), ("xsdata",)),
    # Databases: how servers are started, what all adapters share, and a folder for each product.
    "servers": Unit(
        (
            *("servers/launcher.py", "servers/fleet.py", "servers/programs.py"),
            *("servers/containers.py", "servers/address.py"),
        )
    ),
    "databases": Unit(
        (
            *("databases/adapter.py", "databases/catalogue.py", "databases/server_adapter.py"),
            *("studies/cell_database.py", "studies/update.py"),
        ),
        ("servers",),
        ("orjson",),
    ),
    "sql": Unit(("databases/sql.py", "databases/child_tables.py"), ("databases",)),
    "noop": Unit(("databases/noop.py",), ("databases",)),
    "mongodb": Unit(
        (
            "databases/mongodb/__init__.py",
            "databases/mongodb/adapter.py",
            "databases/mongodb/server.py",
        ),
        ("databases",),
        ("pymongo",),
    ),
    "mongoengine": Unit(("databases/mongodb/mongoengine.py",), ("mongodb",), ("mongoengine",)),
    "postgresql": Unit(("databases/postgresql/*.py",), ("sql",), ("psycopg",)),
    "mysql": Unit(("databases/mysql/*.py",), ("sql",), ("pymysql",)),
    "couchdb": Unit(("databases/couchdb/*.py",), ("databases",), ("urllib3",)),
    "rethinkdb": Unit(("databases/rethinkdb/*.py",), ("databases",), ("rethinkdb",)),
    # What cells run on that name it: an emulated network, sockets, another language.
    "networks": Unit(("servers/networks.py", "servers/namespaces.py")),
    "sockets": Unit(("sockets/*.py", "studies/bookstore_receiver.py"), libraries=("orjson",)),
    "java": Unit(
        ("harness/java/src/main/**/*", "harness/java/pom.xml", "harness/contract.schema.json")
    ),
    "node": Unit(
        ("harness/node/*.js", "harness/node/package-lock.json", "harness/contract.schema.json")
    ),
}
"""Every unit by its name."""


def list_modules(study: str, parameters: CellParameters) -> set[str]:
    """Return the modules that a cell imports: its study's, and those for its parameters."""
    return {find_study_module(study), *load_study(study).modules(parameters)}


def find_units(study: str, parameters: CellParameters) -> dict[str, Unit]:
    """Return the units that measure a cell, by name; a plug-in's package is one of them."""
    names = ["measure", f"{study}{NOTEBOOK_SUFFIX}"]
    names += [_find_unit(module) for module in list_modules(study, parameters)]
    # Parameters that every study may have.
    if parameters.dataset_file:
        names.append("own_records")
    if parameters.language != "python":
        names.append(parameters.language)
    if parameters.network_name != networks.NO_NETWORK:
        names.append("networks")
    # The units that these use, and so on.
    units: dict[str, Unit] = {}
    while names:
        name = names.pop()
        if name not in units:
            units[name] = UNITS[name] if name in UNITS else _make_plugin_unit(name)
            names += units[name].uses
    return units


def read_versions(study: str, parameters: CellParameters) -> dict[str, int | str]:
    """Return the versions of the units that measure a cell, by their names, sorted."""
    return {name: read_version(name) for name in sorted(find_units(study, parameters))}


def read_version(unit: str) -> int | str:
    """Return a unit's version; if its code is not as committed, the digest of its code."""
    code = digest_unit(unit)
    # A plug-in's unit has only its code.
    version, committed_code = read_committed().get(unit, (code, code))
    return version if committed_code == code else code


@cache
def read_committed() -> dict[str, tuple[int, str]]:
    """Return each unit's version, and the digest of the code that has it."""
    committed = json.loads(COMMITTED.read_text())
    return {unit: (version, code) for unit, (version, code) in committed.items()}


def digest_unit(unit: str) -> str:
    """Return the digest of a unit's code; comments, docstrings and layout do not count."""
    return _digest_files(tuple(list_files(unit)))


@cache
def _digest_files(paths: tuple[Path, ...]) -> str:
    code = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        if path.suffix == ".py":
            content = normalise_code(content.decode("utf-8")).encode()
        elif path.suffix == ".ipynb":
            content = json.dumps(read_notebook_code(path)).encode()
        code.update(f"{path.name}\n".encode() + content)
    # Enough hexadecimal digits that no two versions of a unit share them.
    return code.hexdigest()[:20]


def list_files(unit: str) -> list[Path]:
    """Return the files of a unit: installed, of a plug-in's package, or a notebook."""
    if unit.endswith(NOTEBOOK_SUFFIX):
        return [find_notebook(unit.removesuffix(NOTEBOOK_SUFFIX))]
    if unit not in UNITS:
        return sorted(plugins.find_folder(unit.removeprefix(PLUGIN_PREFIX)).rglob("*.py"))
    return [*_find_files(UNITS[unit].files, LIBRARY, paths.code_folder())]


@cache
def _find_files(patterns: tuple[str, ...], library: Path, code_folder: Path) -> tuple[Path, ...]:
    """Return the files of a unit of the suite, for which a plan asks once per cell."""
    files: list[Path] = []
    for pattern in patterns:
        folder = code_folder if pattern.startswith("harness/") else library
        files += sorted(path for path in folder.glob(pattern) if path.is_file())
    return tuple(files)


def _find_unit(module: str) -> str:
    """Return the unit of a module; for a plug-in's or a new module, the unit of its package."""
    top = module.partition(".")[0]
    if top != LIBRARY.name:
        return PLUGIN_PREFIX + top
    return map_modules().get(module) or PLUGIN_PREFIX + module.rpartition(".")[0]


@cache
def map_modules() -> dict[str, str]:
    """Return the unit of each of the library's modules that belongs to one."""
    units = {}
    for unit in UNITS:
        for path in list_files(unit):
            if path.suffix == ".py":
                parts = path.relative_to(LIBRARY).with_suffix("").parts
                units[".".join((LIBRARY.name, *parts)).removesuffix(".__init__")] = unit
    return units


@cache
def _make_plugin_unit(name: str) -> Unit:
    """Return the unit of a plug-in's notebook or package, which uses the units that it imports.

    A package's requirements are its libraries. Raises `InputError` when its code cannot be read.
    """
    if name.endswith(NOTEBOOK_SUFFIX):
        return Unit()
    package = name.removeprefix(PLUGIN_PREFIX)
    imported = set[str]()
    for path in list_files(name):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError) as error:
            raise InputError(package, f"its code cannot be read: {error}") from error
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module)
                imported.update(f"{node.module}.{alias.name}" for alias in node.names)
    uses = {unit for module, unit in map_modules().items() if module in imported}
    return Unit((), tuple(sorted(uses)), plugins.list_requirements(package))
