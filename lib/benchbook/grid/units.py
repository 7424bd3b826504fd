"""Versioned units: which code measures a cell, and which version of it.

Every file whose code can move a measured value belongs to a unit of `UNITS`. One of a unit's files states its
``VERSION``, and ``units.json`` has that number beside a digest of the unit's code. Where the code is as committed, the
number stands for it in the cell's identity. Where it differs its digest does, so that a local change is measured anew.
A plug-in has no committed digest: its package is a unit whose digest always stands.

``python -m tools.versions accept`` writes the file; a test fails where it differs from the code.
"""

import ast
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import benchbook
from benchbook import paths, plugins, studies
from benchbook.inputs import InputError
from benchbook.studies.cell import CellParameters

LIBRARY: Final = Path(benchbook.__path__[0])
COMMITTED: Final = Path(__file__).with_name("units.json")

DIGITS: Final = 20
"""Hexadecimal digits of a digest: enough that no two versions of a unit share one."""

PACKAGE: Final = "package "
"""How the name of a plug-in's unit begins, before its package."""

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Unit:
    """Code that has one version."""

    files: tuple[str, ...]  # in the library, or as ``harness/...`` in the checkout; one of them states the version
    uses: tuple[str, ...] = ()  # other units that run with it
    libraries: tuple[str, ...] = ()  # distributions that do its work


UNITS: Final = {
    # What every cell runs: its kernel, its clocks and meters, and what all studies share.
    "measure": Unit(
        (
            *("measure/__init__.py", "measure/meters.py", "measure/timing.py"),
            *("studies/cell.py", "studies/levels.py", "deployment.py", "schemas.py", "languages.py", "processes.py"),
            *("runner/fork_server.py", "runner/kernel.py", "runner/notebook.py", "runner/visit.py"),
        ),
    ),
    # The studies.
    "bookstore": Unit(("studies/bookstore.py",), ("books", "formats")),
    "tcp": Unit(("studies/tcp.py",), ("persons", "formats", "sockets")),
    "drivers": Unit(("studies/drivers.py", "workers.py"), ("players", "databases")),
    "crud": Unit(("studies/crud.py",), ("blog", "databases")),
    "replication": Unit(("studies/replication.py",), ("phones", "databases")),
    # Data sets, and what generates them or takes a user's file in their place.
    "datasets": Unit(("datasets/__init__.py", "datasets/streams.py")),
    "books": Unit(("datasets/books.py",), ("datasets",)),
    "persons": Unit(("datasets/persons.py",), ("datasets",)),
    "players": Unit(("datasets/players.py",), ("datasets",)),
    "blog": Unit(("datasets/blog.py",), ("datasets",)),
    "phones": Unit(("datasets/phones.py",), ("datasets",)),
    "own_records": Unit(
        ("datasets/own_records.py", "datasets/record_files.py", "datasets/inference.py"), ("datasets",)
    ),
    # Codecs.
    "formats": Unit(("formats/__init__.py",)),
    "json": Unit(("formats/json_codecs.py",), ("formats",)),
    "orjson": Unit(("formats/orjson_codec.py",), ("json",), ("orjson",)),
    "msgspec": Unit(("formats/msgspec_codec.py",), ("json",), ("msgspec",)),
    "etree": Unit(("formats/tree.py",), ("formats",)),
    "lxml": Unit(("formats/lxml_codec.py",), ("etree",), ("lxml",)),
    "xsdata": Unit(("formats/xsdata_codec.py",), ("lxml",), ("xsdata",)),
    # Databases: how servers are started, what all adapters share, and a folder for each product.
    "servers": Unit(("servers/*.py", "credentials.py")),
    "databases": Unit(
        (
            *("databases/adapter.py", "databases/__init__.py", "databases/connected.py"),
            "studies/cell_store.py",
        ),
        ("servers",),
        ("orjson",),
    ),
    "sql": Unit(("databases/sql.py", "databases/child_tables.py"), ("databases",)),
    "noop": Unit(("databases/noop.py",), ("databases",)),
    "mongodb": Unit(
        ("databases/mongodb/__init__.py", "databases/mongodb/adapter.py", "databases/mongodb/server.py"),
        ("databases",),
        ("pymongo",),
    ),
    "mongoengine": Unit(("databases/mongodb/mongoengine.py",), ("mongodb",), ("mongoengine",)),
    "postgresql": Unit(("databases/postgresql/*.py",), ("sql",), ("psycopg",)),
    "mysql": Unit(("databases/mysql/*.py",), ("sql",), ("pymysql",)),
    "couchdb": Unit(("databases/couchdb/*.py",), ("databases",), ("urllib3",)),
    "rethinkdb": Unit(("databases/rethinkdb/*.py",), ("databases",), ("rethinkdb",)),
    "couchbase": Unit(("databases/couchbase/*.py",), ("databases",), ("couchbase",)),
    "sqlserver": Unit(("databases/sqlserver/*.py",), ("sql",), ("pymssql",)),
    "arangodb": Unit(("databases/arangodb/*.py",), ("databases",), ("python-arango",)),
    # What cells run on that name it: an emulated network, sockets, another language.
    "networks": Unit(("networks/*.py",)),
    "sockets": Unit(("wire/*.py", "studies/bookstore_receiver.py"), libraries=("orjson",)),
    "java": Unit(("harness/java/src/main/**/*", "harness/java/pom.xml", "harness/contract.schema.json")),
    "node": Unit(("harness/node/*.js", "harness/node/package-lock.json", "harness/contract.schema.json")),
}
"""Every unit by its name."""


def cell_modules(study: str, parameters: CellParameters) -> set[str]:
    """Return the modules that a cell imports: its study's, and those that the study names for its parameters."""
    return {studies.module(study), *studies.load(study).modules(parameters)}


def cell_units(study: str, parameters: CellParameters) -> dict[str, Unit]:
    """Return the units that measure a cell, by name; a plug-in's package is one of them."""
    left = ["measure", *(_unit_of(module) for module in cell_modules(study, parameters))]
    # What any study's parameters may name.
    if parameters.dataset_file:
        left.append("own_records")
    if parameters.language != "python":
        left.append(parameters.language)
    if getattr(parameters, "network", "none") != "none":
        left.append("networks")
    # And what these use in turn.
    units: dict[str, Unit] = {}
    while left:
        name = left.pop()
        if name not in units:
            units[name] = UNITS[name] if name in UNITS else _package_unit(name)
            left.extend(units[name].uses)
    return units


@cache
def version(unit: str) -> int | str:
    """Return a unit's version; where its code is not as committed, the digest of its code."""
    committed, found = read_committed().get(unit), digest(unit)
    return committed[0] if committed and committed[1] == found else found


@cache
def read_committed() -> dict[str, tuple[int, str]]:
    """Return each unit's version, and the digest of the code that has it."""
    return {unit: (number, code) for unit, (number, code) in json.loads(COMMITTED.read_text()).items()}


def digest(unit: str) -> str:
    """Return the digest of a unit's code: of Python without comments, docstrings and layout."""
    code = hashlib.sha256()
    for path in source_files(unit):
        content = path.read_bytes()
        if path.suffix == ".py":
            content = normalise(content.decode("utf-8")).encode()
        code.update(f"{path.name}\n".encode() + content)
    return code.hexdigest()[:DIGITS]


def source_files(unit: str) -> list[Path]:
    """Return the files of a unit, or of a plug-in's package; none of those that are not installed here."""
    if unit not in UNITS:
        return sorted(plugins.folder(unit.removeprefix(PACKAGE)).rglob("*.py"))
    files: list[Path] = []
    for pattern in UNITS[unit].files:
        folder = paths.own() if pattern.startswith("harness/") else LIBRARY
        files += sorted(path for path in folder.glob(pattern) if path.is_file())
    return files


def normalise(code: str) -> str:
    """Return Python code in a form that comments, docstrings, layout and Python's own version do not change."""
    try:
        tree = ast.parse(code)
    # Python 3.11, when the garbage collector meanwhile ran what parses code, too, such as a traceback.
    except SystemError:
        tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return _write_node(tree)


def _write_node(node: object) -> str:
    """Return a node of a syntax tree as text, without empty fields: newer versions of Python have more of them."""
    if isinstance(node, ast.AST):
        fields = [_write_node(value) for _, value in ast.iter_fields(node) if value not in (None, [])]
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_write_node(one) for one in node)}]"
    return repr(node)


def _unit_of(module: str) -> str:
    """Return the unit that has a module; a plug-in's package, or the package of a module that no unit has yet."""
    top, _, _ = module.partition(".")
    if top != benchbook.__name__:
        return PACKAGE + top
    return units_by_module().get(module) or PACKAGE + module.rpartition(".")[0]


@cache
def units_by_module() -> dict[str, str]:
    """Return the unit of each of the library's modules that belongs to one."""
    units = {}
    for unit in UNITS:
        for path in source_files(unit):
            if path.suffix == ".py":
                parts = path.relative_to(LIBRARY).with_suffix("").parts
                units[".".join((benchbook.__name__, *parts)).removesuffix(".__init__")] = unit
    return units


@cache
def _package_unit(name: str) -> Unit:
    """Return the unit of a plug-in's package: it uses the units whose modules it imports, and what it requires.

    Raises `InputError` when its code cannot be read.
    """
    package, imported = name.removeprefix(PACKAGE), set[str]()
    for path in source_files(name):
        try:
            nodes = ast.walk(ast.parse(path.read_bytes()))
        except (SyntaxError, ValueError) as error:
            raise InputError(package, f"its code cannot be read: {error}") from error
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names]
                module = node.module if isinstance(node, ast.ImportFrom) else None
                imported |= {module, *(f"{module}.{name}" for name in names)} if module else {*names}
    uses = {unit for module, unit in units_by_module().items() if module in imported}
    return Unit((), tuple(sorted(uses)), plugins.requirements(package))
