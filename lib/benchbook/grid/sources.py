"""Which code a study runs: the static import closure of its module, read from the sources without importing them.

Followed are import statements wherever they stand, strings that name a module of the suite (registries, ``python -m``),
and, where a module imports by a computed name, every module of its package. Of a package that is only passed through on
the way to one of its modules, what it imports at the top counts, and nothing else.
"""

import ast
import hashlib
import importlib.metadata
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import benchbook

_SOURCE: Final = Path(benchbook.__path__[0])
_NAME: Final = re.compile(r"(benchbook(?:\.\w+)+)(?::\w+)?")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Source:
    """One module's source: its digest without comments and docstrings, and the names that it imports."""

    name: str
    package: str
    digest: str
    top: frozenset[str]
    anywhere: frozenset[str]
    dynamic: bool


@dataclass(frozen=True)
class Closure:
    """A study's code: the suite's modules, a digest of them all, and the versions of the libraries they import."""

    modules: frozenset[str]
    digest: str
    libraries: tuple[tuple[str, str], ...]


@cache
def closure(name: str) -> Closure:
    """Return the static import closure of one of the suite's modules."""
    whole = _reached(name)
    found = {**{parent: True for each in whole for parent in _parents(each)}, **dict.fromkeys(whole, False)}
    libraries: set[str] = set()
    for module, passed in found.items():
        imported = source(module).top if passed else source(module).anywhere
        libraries.update(each.partition(".")[0] for each in imported if not each.startswith("benchbook"))
    digests = "".join(f"{module} {source(module).digest}\n" for module in sorted(found))
    versions = tuple((each, _version(each)) for each in sorted(libraries - sys.stdlib_module_names))
    return Closure(frozenset(found), hashlib.sha256(digests.encode()).hexdigest(), versions)


def normal(code: str) -> str:
    """Return code in a form that comments, docstrings and layout do not change."""
    return _normal(ast.parse(code))


def _normal(tree: ast.Module) -> str:
    """Do `normal` on a tree, which loses its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


@cache
def source(name: str) -> Source:
    """Read one of the suite's modules."""
    path = _path(name)
    assert path is not None
    text = path.read_text(encoding="utf-8")
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(text)
    anywhere = frozenset(_imports(tree, package, deep=True))
    top, dynamic = frozenset(_imports(tree, package, deep=False)), _computes(tree)
    digest = hashlib.sha256(_normal(tree).encode()).hexdigest()
    return Source(name, package, digest, top, anywhere, dynamic)


def _reached(name: str) -> set[str]:
    """Return the modules that are imported by name, from `name` on."""
    found: set[str] = set()
    open_ = [name]
    while open_:
        module = open_.pop()
        if module in found:
            continue
        found.add(module)
        here = source(module)
        open_ += [each for each in here.anywhere if _path(each)]
        open_ += [each for parent in _parents(module) for each in source(parent).top if _path(each)]
        if here.dynamic:
            open_ += _siblings(here.package)
    return found


def _imports(node: ast.AST, package: str, *, deep: bool) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from _from(child, package)
        elif deep and isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield from (match[1] for match in [_NAME.fullmatch(child.value)] if match)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif deep or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(child, package, deep=deep)


def _from(node: ast.ImportFrom, package: str) -> Iterator[str]:
    above = package.rsplit(".", node.level - 1)[0] if node.level else ""
    base = ".".join(part for part in (above, node.module) if part)
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        yield inner if _path(inner) else base


def _computes(tree: ast.AST) -> bool:
    """Return whether the module imports others by names that it computes."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    names = {"import_module", "__import__"}
    return any(
        getattr(call.func, "attr", getattr(call.func, "id", "")) in names and not isinstance(call.args[0], ast.Constant)
        for call in calls
    )


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _siblings(package: str) -> list[str]:
    path = _path(package)
    assert path is not None
    return [f"{package}.{file.stem}" for file in path.parent.glob("*.py") if file.stem != "__init__"]


@cache
def _path(name: str) -> Path | None:
    """Return the file of one of the suite's modules; None when it has none of that name."""
    if name != "benchbook" and not name.startswith("benchbook."):
        return None
    stem = _SOURCE.joinpath(*name.split(".")[1:])
    return next((path for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if path.is_file()), None)


@cache
def _version(library: str) -> str:
    """Return the version of the distribution that holds an importable name."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        holders = _distributions().get(library, [])
        return " ".join(f"{holder} {importlib.metadata.version(holder)}" for holder in sorted(set(holders)))


_distributions = cache(importlib.metadata.packages_distributions)  # reads every installed package's files
