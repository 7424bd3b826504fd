"""Codecs, databases and studies of other packages, which announce them as entry points.

A package names them in its ``pyproject.toml``, as ``benchbook new`` writes it::

    [project.entry-points."benchbook.codecs.json"]
    ujson = "benchbook_ujson.codec:codec"

What is announced lies in a package of its own, not in a single module: its code belongs to its cells' identity.
"""

import importlib
import importlib.util
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from benchbook.inputs import InputError

Group = Literal["codecs.json", "codecs.xml", "databases", "studies"]
"""What can be announced, each in the entry-point group ``benchbook.<group>``."""

_INSTALL: Final = "install the library that holds it, as by uv pip install --python .venv/bin/python"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?")


class Announced(NamedTuple):
    """Where something lies that a package announces."""

    module: str
    attribute: str  # empty: the module itself
    distribution: str  # the package that announces it

    @property
    def package(self) -> str:
        """The importable package that holds it."""
        return self.module.partition(".")[0]

    def load(self) -> Any:
        """Import and return it; `InputError` when that fails."""
        try:
            module = importlib.import_module(self.module)
            return getattr(module, self.attribute) if self.attribute else module
        except (ImportError, AttributeError, SyntaxError) as error:
            lacking = str(error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
            # of its own package a module is missing for another reason
            advice = f": {_INSTALL} {lacking}" if lacking not in ("", self.package) else ""
            raise InputError(self.distribution, f"{self.module} cannot be loaded: {error}{advice}") from error


@cache
def announced(group: Group) -> dict[str, Announced]:
    """Return what installed packages announce in a group, by name and in the names' order."""
    by_name: dict[str, Announced] = {}
    for entry in sorted(metadata.entry_points(group=f"benchbook.{group}"), key=lambda entry: entry.name):
        distribution = entry.dist.name if entry.dist else entry.value
        by_name[entry.name] = Announced(entry.module, entry.attr or "", distribution)
    return by_name


def added(group: Group, own: tuple[str, ...]) -> dict[str, Announced]:
    """Return what is announced in a group beside the suite's own names.

    Raises `InputError` when a name is taken, or none that a grid or a command can hold.
    """
    if group == "databases":
        _refuse_former_group()
    by_name = announced(group)
    for name, entry in by_name.items():
        if name in own:
            raise InputError(entry.distribution, f"{name!r} of benchbook.{group} is a name of benchbook's own")
        if not _NAME.fullmatch(name):
            raise InputError(
                entry.distribution, f"benchbook.{group} {name!r}: a name is of small letters, digits and _"
            )
    return by_name


def _refuse_former_group() -> None:
    """Raise `InputError` where a package announces adapters in the group of version 0.2, which is not read any more."""
    for entry in metadata.entry_points(group="benchbook.engines"):
        distribution = entry.dist.name if entry.dist else entry.value
        raise InputError(distribution, "it announces benchbook.engines: did you mean benchbook.databases?")


def folder(package: str) -> Path:
    """Return the folder of a plug-in's package, which is not imported.

    Raises `InputError` when there is no such package, or it is a single module.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(package, "a plug-in lies in a package, a folder with an __init__.py, and there is none here")
    return Path(next(iter(spec.submodule_search_locations)))


def packages() -> list[str]:
    """Return the names of all packages that announce something."""
    return sorted({entry.package for group in get_args(Group) for entry in announced(group).values()})


def requirements(package: str) -> tuple[str, ...]:
    """Return the names of the distributions that the package of a plug-in requires, without benchbook."""
    entries = [entry for group in get_args(Group) for entry in announced(group).values()]
    announcing = {entry.distribution for entry in entries if entry.package == package}
    required = [text for name in announcing for text in metadata.requires(name) or ()]
    return tuple(sorted({re.split(r"[^\w.-]", text)[0] for text in required} - {"benchbook"}))
