"""Codecs, databases and studies of other packages, which announce them as entry points.

A package names them in its ``pyproject.toml``, as ``benchbook new`` writes it::

    [project.entry-points."benchbook.codecs.json"]
    ujson = "benchbook_ujson.codec:make_codec"

A plug-in is a package, not a single module, because its code belongs to its cells' identity.
"""

import importlib
import importlib.util
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from benchbook.files.inputs import InputError

PluginGroup = Literal["codecs.json", "codecs.xml", "databases", "studies"]
"""What can be announced, each in the entry-point group ``benchbook.<group>``."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?")


class PluginEntry(NamedTuple):
    """The place of an object that a package announces."""

    module: str
    attribute: str  # Empty: the module itself.
    distribution: str  # The package that announces it.

    @property
    def package(self) -> str:
        """The importable package that has it."""
        return self.module.partition(".")[0]

    def load(self) -> Any:
        """Import and return the object; `InputError` when that fails."""
        try:
            module = importlib.import_module(self.module)
            return getattr(module, self.attribute) if self.attribute else module
        except (ImportError, AttributeError, SyntaxError) as error:
            why = f"{self.module} cannot be loaded: {error}"
            library = str(getattr(error, "name", None) or "").partition(".")[0]
            # A module of the plug-in itself, or of benchbook, is missing for another reason.
            is_missing = isinstance(error, ModuleNotFoundError)
            if is_missing and library not in ("", "benchbook", self.package):
                command = f"uv pip install --python .venv/bin/python {library}"
                why += f": install the library that holds it, as by {command}"
            raise InputError(self.distribution, why) from error


@cache
def find_entries(group: PluginGroup) -> dict[str, PluginEntry]:
    """Return the entries of installed packages in a group, by name, sorted."""
    entries: dict[str, PluginEntry] = {}
    for entry in sorted(metadata.entry_points(group=f"benchbook.{group}"), key=lambda e: e.name):
        distribution = entry.dist.name if entry.dist else entry.value
        entries[entry.name] = PluginEntry(entry.module, entry.attr or "", distribution)
    return entries


def list_plugins(group: PluginGroup, own: tuple[str, ...]) -> dict[str, PluginEntry]:
    """Return the entries of a group; their names are checked.

    Raises `InputError` when a name is taken, or cannot be used in a grid or a command.
    """
    entries = find_entries(group)
    for name, entry in entries.items():
        why = ""
        if name in own:
            why = f"{name!r} of benchbook.{group} is a name of benchbook's own"
        elif not _NAME.fullmatch(name):
            why = f"benchbook.{group} {name!r}: a name is of small letters, digits and _"
        if why:
            raise InputError(entry.distribution, why)
    return entries


def find_folder(package: str) -> Path:
    """Return the folder of a plug-in's package, without importing it.

    Raises `InputError` when there is no such package, or it is a single module.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        why = "a plug-in must be a package, a folder with an __init__.py: there is none here"
        raise InputError(package, why)
    return Path(next(iter(spec.submodule_search_locations)))


def list_requirements(package: str) -> tuple[str, ...]:
    """Return the distributions that a plug-in's package requires, without benchbook."""
    # The distributions that announce the package, then what these require.
    announcing = set()
    for group in get_args(PluginGroup):
        for entry in find_entries(group).values():
            if entry.package == package:
                announcing.add(entry.distribution)
    required = set()
    for distribution in announcing:
        for text in metadata.requires(distribution) or ():
            required.add(re.split(r"[^\w.-]", text)[0])
    return tuple(sorted(required - {"benchbook"}))
