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

FORMER_GROUP: Final = "benchbook.engines"
"""The group of adapters in version 0.2."""

FORMER_NAMES: Final = {
    "benchbook.deployment": "benchbook.servers.deployment",
    "benchbook.folders": "benchbook.files.suite_files",
    "benchbook.formats": "benchbook.codecs",
    "benchbook.inputs": "benchbook.files.inputs",
    "benchbook.languages": "benchbook.studies.harness",
    "benchbook.networks": "benchbook.servers.networks",
    "benchbook.plugins": "benchbook.registry.plugins",
    "benchbook.processes": "benchbook.servers.processes",
    "benchbook.schemas": "benchbook.schema",
    "benchbook.scrubbing": "benchbook.servers.errors",
    "benchbook.strict": "benchbook.files.yaml_file",
    "benchbook.wire": "benchbook.sockets",
    "benchbook.workers": "benchbook.servers.processes",
    "benchbook.codecs.json_codecs": "benchbook.codecs.json_codec",
    "benchbook.codecs.json_codec.plain": "benchbook.codecs.json_codec.simplify",
    "benchbook.codecs.tree": "benchbook.codecs.tree_codec",
    "benchbook.codecs.tree_codec.encoded": "benchbook.codecs.tree_codec.encode_text",
    "benchbook.databases.connected": "benchbook.databases.server_adapter",
    "benchbook.databases.adapter.GapError": "benchbook.databases.adapter.UnsupportedError",
    "benchbook.measure.client_meters": "benchbook.measure.make_client_meters",
    "benchbook.measure.timed": "benchbook.measure.time_action",
    "benchbook.registry.Image": "benchbook.registry.products.Image",
    "benchbook.registry.Package": "benchbook.registry.products.Package",
    "benchbook.registry.Product": "benchbook.registry.products.Product",
    "benchbook.servers.ServerError": "benchbook.servers.errors.ServerError",
    "benchbook.servers.session": "benchbook.servers.launcher.open_deployment",
    "benchbook.servers.address.Answer": "benchbook.servers.address.ServerInfo",
    "benchbook.servers.address.variable": "benchbook.servers.address.name_url_variable",
    "benchbook.servers.fleet.At": "benchbook.servers.fleet.RunAt",
    "benchbook.servers.fleet.USER": "benchbook.servers.fleet.USER_NAME",
    "benchbook.servers.fleet.await_true": "benchbook.servers.fleet.await_condition",
    "benchbook.servers.fleet.new_password": "benchbook.servers.fleet.make_password",
    "benchbook.servers.fleet.served": "benchbook.servers.fleet.start_roles",
    "benchbook.servers.programs.Found": "benchbook.servers.programs.AvailableServer",
    "benchbook.studies.harness.run": "benchbook.studies.harness.run_cell",
}
"""The new names of modules of version 0.2, and of functions and classes, that plug-ins import.

For one release: a plug-in that cannot be loaded gets the new name. Some modules moved and were
renamed, so a plug-in is told in two steps.
"""

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
            remedy = self._find_remedy(error)
            if remedy:
                why = f"{why}: {remedy}"
            raise InputError(self.distribution, why) from error

    def _find_remedy(self, error: Exception) -> str:
        """Return the new name, or how to install a library; else an empty text."""
        if not isinstance(error, ImportError):
            return ""
        new_name = find_new_name(error)
        if new_name:
            return f"did you mean {new_name!r}?"
        if isinstance(error, ModuleNotFoundError):
            library = str(error.name or "").partition(".")[0]
            # A module of the plug-in itself, or of benchbook, is missing for another reason.
            if library not in ("", "benchbook", self.package):
                command = f"uv pip install --python .venv/bin/python {library}"
                return f"install the library that holds it, as by {command}"
        return ""


def find_new_name(error: ImportError) -> str | None:
    """Return the new name of a module, or of its function or class, of version 0.2; else None."""
    if isinstance(error, ModuleNotFoundError):
        return FORMER_NAMES.get(str(error.name))
    for former, new in FORMER_NAMES.items():
        module, _, name = former.rpartition(".")
        # Before Python 3.12 only the message has the name.
        if module == error.name and f"'{name}'" in error.msg:
            return new
    return None


@cache
def find_entries(group: PluginGroup) -> dict[str, PluginEntry]:
    """Return the entries of installed packages in a group, by name, sorted."""
    entries: dict[str, PluginEntry] = {}
    for entry in sorted(metadata.entry_points(group=f"benchbook.{group}"), key=lambda e: e.name):
        distribution = _read_distribution(entry)
        entries[entry.name] = PluginEntry(entry.module, entry.attr or "", distribution)
    return entries


def list_plugins(group: PluginGroup, own: tuple[str, ...]) -> dict[str, PluginEntry]:
    """Return the entries of a group; their names are checked.

    Raises `InputError` when a name is taken, or cannot be used in a grid or a command.
    """
    # The group that adapters had in version 0.2.
    if group == "databases":
        for former in metadata.entry_points(group=FORMER_GROUP):
            why = f"it announces {FORMER_GROUP}: did you mean benchbook.databases?"
            raise InputError(_read_distribution(former), why)
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


def _read_distribution(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


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
