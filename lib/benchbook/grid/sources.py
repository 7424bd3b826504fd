"""Which code a cell runs: all that its modules import, as the import graph has it, and a digest of those sources.

Of what is imported by a name that is made up at run time (an adapter, a codec) the graph knows nothing: the study names
it, as `benchbook.studies` says, and the test suite holds that against what cells really load. A package's own module
counts with any module of it. `benchbook.registry` and `benchbook.studies` only list what there is, so that they count
for no cell: what is added to them changes none that was there.
"""

import ast
import hashlib
import importlib.metadata
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import grimp

import benchbook

_SOURCE: Final = Path(benchbook.__path__[0])
_LISTS: Final = frozenset({"benchbook.registry", "benchbook.studies"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Closure:
    """Some modules and all that they import.

    Parameters
    ----------
    modules
        The suite's.
    digest
        Of their sources, without comments, docstrings and layout.
    libraries
        The versions of the other packages that they import.
    """

    modules: frozenset[str]
    digest: str
    libraries: tuple[tuple[str, str], ...]


@cache
def closure(roots: frozenset[str]) -> Closure:
    """Return the closure of some of the suite's modules."""
    graph, found, open_ = _graph(), set[str](), [*roots]
    libraries: set[str] = set()
    while open_:
        module = open_.pop()
        if module in found or module in _LISTS:
            continue
        found.add(module)
        imported = graph.find_modules_directly_imported_by(module)
        libraries.update(name for name in imported if not name.startswith("benchbook"))
        open_ += [name for name in imported if name.startswith("benchbook")]
        open_ += [parent for parent in [module.rpartition(".")[0]] if parent]
    digests = "".join(f"{module} {_digest(module)}\n" for module in sorted(found))
    versions = tuple((name, _version(name)) for name in sorted(libraries - sys.stdlib_module_names))
    return Closure(frozenset(found), hashlib.sha256(digests.encode()).hexdigest(), versions)


def normal(code: str) -> str:
    """Return code in a form that comments, docstrings and layout do not change."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        "benchbook", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


@cache
def _digest(module: str) -> str:
    """Return the digest of one of the suite's modules."""
    stem = _SOURCE.joinpath(*module.split(".")[1:])
    path = next(path for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if path.is_file())
    return hashlib.sha256(normal(path.read_text(encoding="utf-8")).encode()).hexdigest()


@cache
def _version(library: str) -> str:
    """Return the version of the distribution that holds an importable name."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        holders = _distributions().get(library, [])
        return " ".join(f"{holder} {importlib.metadata.version(holder)}" for holder in sorted(set(holders)))


_distributions = cache(importlib.metadata.packages_distributions)  # reads every installed package's files
