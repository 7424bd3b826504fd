"""`benchbook doctor`: what can run here, and how to add the rest."""

import argparse
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from benchbook import cli, databases, folders, grid, languages, networks, registry, servers, studies
from benchbook.cli import output
from benchbook.measure.machine import QUIET, environment, load, snapshot
from benchbook.servers import containers
from benchbook.servers.address import variables

if TYPE_CHECKING:
    import pandas as pd

Group: TypeAlias = Literal["ready", "Can be added with a command", "Needs a container or an address"]
Kind: TypeAlias = Literal["databases", "languages", "networks", "containers"]

EXPERIMENTAL: Final = "experimental"
Ask: TypeAlias = Callable[[str], tuple[servers.Found | None, str]]
"""Returns a product's server; asked several times, it looks once."""

_TITLES: Final = {"python": "Python", "java": "Java", "node": "Node.js"}
_WINDOW_S: Final = 1.0


@dataclass(frozen=True)
class Part:
    """Something that can run here, or could: a product, a language, a network, a container engine."""

    kind: Kind
    name: str  # ``MongoDB``
    group: Group
    version: str = ""
    to_add: str = ""  # what to do where it is not ready
    why: str = ""  # why it is not ready, or what to know about it
    is_at_fault: bool = False  # whether the user gave an address that does not work


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--missing", action="store_true", help="say how to add each missing part, and why it is missing"
    )
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print what can run here; 3 when no server and no study can."""
    ask = cache(_find)  # several databases run on one product
    rows = [_database(name, ask) for name in databases.NAMES]
    if asked.json:
        print(output.as_json(rows))
    else:
        parts = _parts(rows)
        print(_describe_missing(parts) if asked.missing else _describe_ready(parts))
    return cli.DONE if any(row["available"] for row in rows) else cli.NOTHING_RUNS


def as_frame() -> "pd.DataFrame":
    """Return what can run here and how to add the rest, for a notebook.

    Returns
    -------
    pandas.DataFrame
        One row per part, with the columns ``kind, part, ready, version, how to add it``.
    """
    import pandas as pd  # here, for it is slow to import

    ask = cache(_find)
    rows = []
    for part in _parts([_database(name, ask) for name in databases.NAMES]):
        is_ready = "yes" if part.group == "ready" else "no"
        rows.append((part.kind, part.name, is_ready, part.version, part.to_add))
    return pd.DataFrame(rows, columns=["kind", "part", "ready", "version", "how to add it"])


def _parts(rows: Iterable[dict[str, object]]) -> list[Part]:
    """Return all parts, those of a kind together."""
    return [*_products(rows), *_languages(), *_networks(), *_containers()]


def _database(name: str, ask: Ask) -> dict[str, object]:
    """Return whether a database can run: its driver imports, and its servers are found."""
    row: dict[str, object] = {"database": name, "available": False, "version": None, "from": None}
    experimental = registry.EXPERIMENTAL if registry.is_experimental(name) else ""
    try:
        databases.load(name)
    except databases.AdapterError as error:
        return {**row, "why": "; ".join(filter(None, (experimental, str(error))))}
    product = servers.product_of(name)
    if product == "none":
        return {**row, "available": True, "why": None}
    server, why = ask(product)
    if server:
        row |= {"available": True, "version": server.version, "from": server.source}
    return {**row, "why": "; ".join(filter(None, (experimental, why))) or None}


def _find(product: str) -> tuple[servers.Found | None, str]:
    """Return a product's single server, else its pair, else None; and why it has no single one."""
    single = servers.find(product)
    if isinstance(single, servers.Found):
        return single, ""
    pair = servers.find(product, "replicated")
    return (pair if isinstance(pair, servers.Found) else None), single.why


def _products(rows: Iterable[dict[str, object]]) -> list[Part]:
    """Return each product of the databases once, ready if one of its databases is."""
    by_product: dict[str, dict[str, object]] = {}
    for row in rows:
        product = servers.product_of(str(row["database"]))
        if product not in by_product or row["available"]:
            by_product[product] = row
    by_product.pop("none")
    parts = []
    for product, row in by_product.items():
        title = registry.product(product).title
        note = EXPERIMENTAL if registry.is_experimental(str(row["database"])) else ""
        if row["available"]:
            parts.append(Part("databases", title, "ready", str(row["version"]), why=note))
            continue
        group, to_add = _how_to_add(product)
        is_given = output.address_is_given(product)
        why = str(row["why"]) if is_given or _is_here(product) else note
        parts.append(Part("databases", title, group, "", to_add, why, is_given))
    return parts


def _is_here(product: str) -> bool:
    """Return whether a product's program or image is here, so that it is missing for another reason."""
    known = registry.product(product)
    if known.package and shutil.which(known.package.programs[0]):
        return True
    try:
        return known.image is not None and containers.find(known.image) is not None
    except servers.ServerError:
        return False


def _how_to_add(product: str) -> tuple[Group, str]:
    """Return the ways to add a product that is missing, and of which kind they are."""
    known = registry.product(product)
    ways = []
    if known.package:
        ways.append(known.package.get)
    if known.image:
        accepted = f" and export {'='.join(registry.ACCEPTED)}" if known.image.terms else ""
        ways.append(f"benchbook servers pull {product}{accepted}")
    ways.append(f"set {next(iter(variables(product, 'single').values()))}")
    driver = f"install benchbook[{product}], then " if registry.missing_driver(product) else ""
    group: Group = "Can be added with a command" if known.package else "Needs a container or an address"
    return group, f"{driver}{', or '.join(ways)}"


def _languages() -> list[Part]:
    """Return each language."""
    parts = [Part("languages", "Python", "ready", platform.python_version())]
    for name in languages.LANGUAGES[1:]:
        found = languages.find(name)
        if isinstance(found, languages.Found):
            version = found.version.removeprefix(f"{name} ")
            parts.append(Part("languages", _TITLES[name], "ready", version))
        else:
            parts.append(Part("languages", _TITLES[name], "Can be added with a command", to_add=found.why))
    return parts


def _networks() -> list[Part]:
    """Return each network that has a name."""
    parts = []
    for name in networks.NAMED:
        why = (networks.lacking(name) or "").removeprefix(f"network {name}: ")
        parts.append(
            Part(
                "networks",
                f"network {name}" if why else name,
                "Can be added with a command" if why else "ready",
                to_add=why,
            )
        )
    return parts


def _containers() -> list[Part]:
    """Return the container engine."""
    try:
        engine = containers.engine()
        present = [name for name, image in registry.images().items() if containers.find(image)]
    except servers.ServerError as error:
        return [Part("containers", "container engine", "Can be added with a command", to_add=str(error))]
    name, _, version = engine.name.partition(" ")
    images = f"images of {', '.join(present)}" if present else "no images"
    apart = "" if engine.shares_kernel else "; in a virtual machine, so its processes are not this machine's"
    return [Part("containers", f"{name} {version} ({images}{apart})", "ready")]


def _describe_ready(parts: Sequence[Part]) -> str:
    """Return what is ready, what to know before a run, and in the last lines the answer."""
    # What is ready, by kind.
    rows: list[dict[str, object]] = []
    counts = []
    for kind in dict.fromkeys(part.kind for part in parts):
        of_kind = [part for part in parts if part.kind == kind]
        ready = [part for part in of_kind if part.group == "ready"]
        listed = [" ".join(filter(None, [part.name, part.version, part.why])) for part in ready]
        rows.append({"": kind, "ready": ", ".join(listed) or "none"})
        if kind != "containers":
            counts.append(f"{len(ready)} of {len(of_kind)} {kind}")

    # What to know, and the answer.
    notes = [f"{part.name} does not run: {part.why}" for part in parts if part.is_at_fault] + _limits()
    answer = [f"Ready: {_can_run()}, with {', '.join(counts)}."]
    missing = [part.name for part in parts if part.group != "ready"]
    if missing:
        answer.append(f"Missing: {', '.join(missing)}. To add them: benchbook doctor --missing")
    blocks = [output.as_text(rows).partition("\n")[2], "\n".join(notes), "\n".join(answer)]
    return "\n\n".join(filter(None, blocks))


def _can_run() -> str:
    """Return which studies can run here."""
    able = {cell.study for cell in grid.plan(studies.SLUGS, "smoke").cells if not cell.missing}
    if able == {*studies.SLUGS}:
        return "all studies can run"
    return f"{', '.join(slug for slug in studies.SLUGS if slug in able)} can run"


def _describe_missing(parts: Sequence[Part]) -> str:
    """Return how to add each part that is missing, those that a command adds first."""
    texts = []
    missing = [part for part in parts if part.group != "ready"]
    for group in sorted({part.group for part in missing}):
        rows = [
            {"": f"  {part.name}", "to add": f"{part.to_add} ({part.why})" if part.why else part.to_add}
            for part in missing
            if part.group == group
        ]
        texts.append(f"{group}:\n{output.as_text(rows).partition(chr(10))[2]}")
    if any(part.why == EXPERIMENTAL for part in missing):
        texts.append(f"{EXPERIMENTAL}: its adapter never ran against the product.")
    return "\n\n".join(texts) or "Nothing is missing."


def _limits() -> list[str]:
    """Return what to know of this system before a run, each with the nearest remedy."""
    servers_folder = folders.temporary()
    machine = environment(servers_folder)
    lines = []
    if sys.platform != "linux":
        lines.append("This system does not tell PSS: memory_pss is left out, memory_rss stays (Linux tells both).")
        lines.append(
            "This system has no parent-death signal: a small shell ends the servers, and kernels start slower."
        )
    if machine["file_system_in_memory"]:
        lines.append(
            f"Servers keep their data in {servers_folder}, in memory: durability is not judged; set TMPDIR to a disk."
        )
    if machine["governor"] not in (None, "performance"):
        lines.append(f"The processors' governor is {machine['governor']}, so times vary: set it to performance.")
    before = snapshot()
    time.sleep(_WINDOW_S)
    others = load(before, snapshot(), [os.getpid()])
    if not others.quiet:
        lines.append(f"Busy: {others}. A run waits until they use less than {QUIET:g}: stop them, or add --noisy.")
    if machine["cores_usable"] < 2:
        lines.append("This machine has one processor: times include both client and servers.")
    return lines
