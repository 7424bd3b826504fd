"""`benchbook doctor`: what can run here, and what would help where it cannot."""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Final

from benchbook import cli, databases, folders, lanes, registry, rooms, servers
from benchbook.cli import output
from benchbook.measure.machine import QUIET, environment, load, snapshot
from benchbook.servers import containers

_WINDOW_S: Final = 1.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print what can run here; 3 when no server and no study can."""
    ask = cache(_servers)  # of a product several engines run on
    engines = [_engine(name, ask) for name in databases.NAMES]
    if asked.json:
        print(output.as_json(engines))
    else:
        shown = [row | {"available": "yes" if row["available"] else "no"} for row in engines]
        print(output.as_text(shown))
        print()
        print(output.as_text(_lanes()))
        print("".join(f"\n{line}" for line in [_containers(), _rooms(), *_limits()]))
    return cli.DONE if any(row["available"] for row in engines) else cli.NOTHING_RUNS


def _engine(name: str, ask: Callable[[str], tuple[servers.Found | None, str]]) -> dict[str, object]:
    """Return whether an engine can run: its driver imports, and its servers are found."""
    row: dict[str, object] = {"engine": name, "available": False, "version": None, "from": None}
    experimental = registry.EXPERIMENTAL if registry.is_experimental(name) else ""
    try:
        databases.load(name)
    except databases.EngineError as error:
        return {**row, "why": "; ".join(filter(None, (experimental, str(error))))}
    product = servers.product_of(name)
    if product == "none":
        return {**row, "available": True, "why": None}
    server, why = ask(product)
    if server is not None:
        row |= {"available": True, "version": server.version, "from": server.source}
    return {**row, "why": "; ".join(filter(None, (experimental, why))) or None}


def _servers(product: str) -> tuple[servers.Found | None, str]:
    """Return a product's single server, else its pair, else None, and why it has no single one."""
    single = servers.find(product)
    if isinstance(single, servers.Found):
        return single, ""
    pair = servers.find(product, "replicated")
    return (pair if isinstance(pair, servers.Found) else None), single.why


def _containers() -> str:
    """Return which container engine is here, and whose images."""
    try:
        engine = containers.engine()
        images = registry.images()
        present = [product for product, image in images.items() if containers.find(image)]
    except servers.ServerError as error:
        return f"containers: {error}"
    where = "" if engine.shares_kernel else ", in a virtual machine: servers' processes are not this machine's"
    lacking = [product for product in images if product not in present]
    more = f"; benchbook servers pull {' '.join(lacking)}" if lacking else ""
    return f"containers: {engine.name}{where}; images of {', '.join(present) or 'no product'}{more}"


def _rooms() -> str:
    """Return which rooms can be made here, and why not the others."""
    names: dict[str, list[str]] = {"": []}
    for name in rooms.NAMED:
        names.setdefault((rooms.lacking(name) or "").removeprefix(f"room {name}: "), []).append(name)
    made = ", ".join(names.pop(""))
    how = f" ({'as root' if os.geteuid() == 0 else 'in a user namespace'})" if made else ""
    return "; ".join([f"rooms: {made or 'none'}{how}", *(f"{', '.join(of)}: {why}" for why, of in names.items())])


def _lanes() -> list[dict[str, object]]:
    """Return whether each lane can run."""
    rows: list[dict[str, object]] = [
        {"lane": "python", "available": "yes", "version": platform.python_version(), "why": None}
    ]
    for name in lanes.LANES[1:]:
        lane = lanes.find(name)
        version, why = (lane.version, None) if isinstance(lane, lanes.Found) else (None, lane.why)
        rows.append({"lane": name, "available": "no" if why else "yes", "version": version, "why": why})
    return rows


def _limits() -> list[str]:
    """Return what this system lacks, a line each with the nearest remedy."""
    servers_folder = folders.temporary()
    machine = environment(servers_folder)
    lines = []
    if sys.platform != "linux":
        lines.append("PSS is not told by this system: memory_pss is left out, memory_rss stands (Linux tells both)")
        lines.append("no parent-death signal here: a small shell ends the servers, and kernels start anew, slower")
    if machine["file_system_in_memory"]:
        lines.append(
            f"servers keep their data in {servers_folder}, in memory: durability is not judged; set TMPDIR to a disk"
        )
    if machine["governor"] not in (None, "performance"):
        lines.append(f"the processors' governor is {machine['governor']}: times vary; set it to performance")
    before = snapshot()
    time.sleep(_WINDOW_S)
    beside = load(before, snapshot(), [os.getpid()])
    if not beside.quiet:
        advice = "stop them, or run with --noisy, which marks its cells"
        lines.append(f"{beside}: a run waits until it is less than {QUIET:g}; {advice}")
    if machine["cores_usable"] < 2:
        lines.append("one processor: client and servers share it; times include both")
    return lines or ["nothing is missing on this system"]
