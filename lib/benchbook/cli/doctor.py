"""`benchbook doctor`: what can run here, which claims that answers, and how to add the rest."""

import argparse
import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import pandas as pd

from benchbook import grid
from benchbook.cli import output
from benchbook.cli.command import DONE, NOTHING_RUNS
from benchbook.databases import catalogue
from benchbook.databases.adapter import AdapterError
from benchbook.files import suite_files
from benchbook.measure.control_groups import read_cpu_quota
from benchbook.measure.load import MAX_QUIET_LOAD, compute_load, take_snapshot
from benchbook.measure.machine import describe_environment
from benchbook.plots import labels
from benchbook.registry import products
from benchbook.report import answerable_claims
from benchbook.report.answerable_claims import AnsweredClaims, ClaimAnswers, Lever
from benchbook.results.server_checks import is_unchecked
from benchbook.servers import containers, launcher, networks
from benchbook.servers.address import name_url_variables
from benchbook.servers.errors import ServerError
from benchbook.servers.programs import AvailableServer
from benchbook.studies import harness
from benchbook.studies.catalogue import SLUGS
from benchbook.text import names

ComponentGroup: TypeAlias = Literal[
    "ready", "Can be added with a command", "Needs a container or an address"
]
FindServer: TypeAlias = Callable[[str], tuple[AvailableServer | None, str]]
"""Returns a product's server, or None and why it has none."""


@dataclass(frozen=True)
class Component:
    """A product, a language, a network or a container engine, which may be ready or missing."""

    kind: Literal["databases", "languages", "networks", "containers"]
    name: str  # ``MongoDB``
    group: ComponentGroup
    version: str = ""
    to_add: str = ""  # what to do where it is not ready
    why: str = ""  # why it is not ready, or what to know about it
    is_at_fault: bool = False  # whether the user gave an address that does not work


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = "say how to add each missing part, and why it is missing"
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--missing", action="store_true", help=text)
    text = "count the testable claims that this machine can answer with a profile (decide), with"
    text += " minutes per block and what would add more"
    asked.add_argument("--claims", nargs="?", const="decide", metavar="PROFILE", help=text)
    output.add_json_option(parser)


def main(options: argparse.Namespace) -> int:
    """Print which parts can run here; the status is 3 when no server and no study can."""
    if options.claims is not None:
        return _print_answers(options.claims, as_json=options.json)
    with output.show_activity("trying what can run here"):
        rows = _list_databases()
        if options.json:
            text = output.format_json(rows)
        else:
            describe = _describe_missing if options.missing else _describe_ready
            text = describe(_list_components(rows))
    print(text)
    return DONE if any(row["available"] for row in rows) else NOTHING_RUNS


def as_frame() -> pd.DataFrame:
    """Describe for a notebook which parts can run here and how to add the rest.

    Returns
    -------
    pandas.DataFrame
        One row per part, with the columns ``kind, part, ready, version, how to add it``.
    """
    rows = []
    for component in _list_components(_list_databases()):
        is_ready = "yes" if component.group == "ready" else "no"
        row = component.kind, component.name, is_ready, component.version, component.to_add
        rows.append(row)
    return pd.DataFrame(rows, columns=["kind", "part", "ready", "version", "how to add it"])


def _print_answers(profile: str, *, as_json: bool) -> int:
    """Print which testable claims this machine can answer with a profile, and what adds more."""
    with output.show_activity("looking for each claim's cells"):
        machine = answerable_claims.read_machine()
        durations = answerable_claims.load_durations()
        answers = answerable_claims.find_answers(profile, machine, durations)
    if as_json:
        print(output.format_json(_list_answer_rows(answers)))
        return DONE
    now = f"{len(answers.now.claims)} of {answers.testable} testable claims"
    print(f"This machine can answer {now} with the profile {profile}.\n")
    to_add = ["", *(_describe_levers(row, profile) for row in answers.added), ""]
    rows = []
    for row, text in zip(answers.list_rows(), to_add, strict=True):
        rows.append({**row, "to add": text})
    print(output.format_table(rows), end="\n\n")
    total = f"There are {answers.comparisons:,} comparisons."
    print(f"Each line adds to those above it. {total} {answerable_claims.RULE}")
    print("\n".join(answers.describe_rest()))
    return DONE


def _list_answer_rows(answers: ClaimAnswers) -> list[dict[str, object]]:
    """Return one row for what can be answered now, one per lever, one per reason of the rest."""
    rows = [_list_answer_fields(row, answers.profile) for row in (answers.now, *answers.added)]
    for reason, claims in answers.never.items():
        rows.append({**dict.fromkeys(rows[0]), "claims": claims, "why_no_answer": reason})
    return rows


def _list_answer_fields(row: AnsweredClaims, profile: str) -> dict[str, object]:
    return {
        "levers": [lever.title for lever in row.levers],
        "to_add": _describe_levers(row, profile),
        "claims": row.claims,
        "in_paper_language": row.in_paper_language,
        "comparisons": row.comparisons,
        "minutes_a_block": row.minutes,
        "untimed_cells": row.untimed_cells,
        "why_no_answer": None,
    }


def _describe_levers(row: AnsweredClaims, profile: str) -> str:
    """Return the commands or steps that add the levers of a row."""
    parts = [_describe_lever(lever) for lever in row.levers if lever.kind != "network"]
    if answerable_claims.CONTAINERS in row.levers:
        brought = [need.name for need in row.needs if need.kind == "product"]
        parts += [f"benchbook servers pull {name}" for name in brought]
    # No profile has the networks in which each role has a processor.
    for need, studies in row.needs.items():
        if need.kind == "network":
            options = ("--profile", profile, "--set", f"network={need.name}")
            parts.append(" ".join(["benchbook run", *studies, *options]))
    return ", then ".join(parts)


def _describe_lever(lever: Lever) -> str:
    if lever.kind == "product":
        return _describe_adding(lever.name)[1]
    if lever.kind == "language":
        found = harness.find_harness(lever.name)
        return found.why if isinstance(found, harness.MissingHarness) else ""
    if lever.kind == "processors":
        return f"a machine with {lever.processors} processors"
    if lever.kind == "containers":
        return _check_containers().to_add
    if lever.kind == "commit":
        return "install libeatmydata (Debian: libeatmydata1), and CouchDB itself, not its image"
    network = answerable_claims.RATE_NETWORK
    if lever.kind == "delay":
        network = answerable_claims.DELAY_NETWORK
    return _find_network_fault(network)


def _list_databases() -> list[dict[str, object]]:
    """Return one row per database: whether it can run, its version and source, or why not."""
    find_server = cache(_find_server)  # several databases run on one product
    return [_check_database(name, find_server) for name in catalogue.DATABASE_NAMES]


def _list_components(databases: Iterable[dict[str, object]]) -> list[Component]:
    """Return all components, those of a kind together."""
    return [*_list_products(databases), *_list_languages(), *_list_networks(), _check_containers()]


def _check_database(name: str, find_server: FindServer) -> dict[str, object]:
    """Return whether a database can run: its driver imports, and its servers are found."""
    row: dict[str, object] = {"database": name, "available": False, "version": None, "from": None}
    try:
        catalogue.load_adapter(name)
    except AdapterError as error:
        return {**row, "why": str(error)}
    product = launcher.name_product(name)
    if product == "none":
        return {**row, "available": True, "why": None}
    server, reason = find_server(product)
    if server:
        row |= {"available": True, "version": server.version, "from": server.source}
    note = labels.UNCHECKED if is_unchecked(name) else ""
    return {**row, "why": "; ".join(filter(None, (note, reason))) or None}


def _find_server(product: str) -> tuple[AvailableServer | None, str]:
    """Return a product's single server, otherwise its pair, and why it has no single server."""
    single = launcher.find_server(product)
    if isinstance(single, AvailableServer):
        return single, ""
    pair = launcher.find_server(product, "replicated")
    return (pair if isinstance(pair, AvailableServer) else None), single.why


def _list_products(rows: Iterable[dict[str, object]]) -> list[Component]:
    """Return each product of the databases once, ready if one of its databases is."""
    row_of: dict[str, dict[str, object]] = {}
    for row in rows:
        product = launcher.name_product(str(row["database"]))
        if product not in row_of or row["available"]:
            row_of[product] = row
    row_of.pop("none")
    components = []
    for product, row in row_of.items():
        title = products.load_product(product).title
        if row["available"]:
            note = labels.UNCHECKED if is_unchecked(str(row["database"])) else ""
            ready = Component("databases", title, "ready", str(row["version"]), why=note)
            components.append(ready)
            continue
        group, to_add = _describe_adding(product)
        is_given = output.is_address_given(product)
        reason = str(row["why"]) if is_given or _is_installed(product) else ""
        components.append(Component("databases", title, group, "", to_add, reason, is_given))
    return components


def _is_installed(product: str) -> bool:
    """Return whether a product's program or image is here: then another reason is the cause."""
    known = products.load_product(product)
    if known.package and shutil.which(known.package.programs[0]):
        return True
    try:
        return known.image is not None and containers.find_image(known.image) is not None
    except ServerError:
        return False


def _describe_adding(product: str) -> tuple[ComponentGroup, str]:
    """Return which kind of addition a missing product needs, and how to make it."""
    remedy = products.find_missing_plugin(product)
    if remedy:
        return "Can be added with a command", remedy
    known = products.load_product(product)
    group: ComponentGroup = "Needs a container or an address"
    ways = []
    if known.package:
        group = "Can be added with a command"
        ways.append(known.package.describe_installing())
    if known.image:
        ways.append(f"benchbook servers pull {product}")
    ways.append(f"set {next(iter(name_url_variables(product, 'single').values()))}")
    return group, ", or ".join(ways)


def _list_languages() -> list[Component]:
    components = [Component("languages", "Python", "ready", platform.python_version())]
    for name in harness.PROGRAMMING_LANGUAGES[1:]:
        title = names.LANGUAGES[name]
        found = harness.find_harness(name)
        if isinstance(found, harness.Harness):
            version = found.version.removeprefix(f"{name} ")
            components.append(Component("languages", title, "ready", version))
        else:
            components.append(
                Component("languages", title, "Can be added with a command", to_add=found.why)
            )
    return components


def _list_networks() -> list[Component]:
    components = []
    for name in networks.NAMED_NETWORKS:
        fault = _find_network_fault(name)
        if fault:
            missing = Component(
                "networks", f"network {name}", "Can be added with a command", to_add=fault
            )
            components.append(missing)
        else:
            components.append(Component("networks", name, "ready"))
    return components


def _find_network_fault(name: str) -> str:
    """Return why a network cannot be made here, without its name; empty when it can."""
    return (networks.find_network_fault(name) or "").removeprefix(f"network {name}: ")


def _check_containers() -> Component:
    try:
        engine = containers.find_engine()
        images = products.load_images()
        present = [name for name, image in images.items() if containers.find_image(image)]
    except ServerError as error:
        return Component(
            "containers", "container engine", "Can be added with a command", to_add=str(error)
        )
    name, _, version = engine.name.partition(" ")
    note = f"images of {', '.join(present)}" if present else "no images"
    if not engine.shares_kernel:
        note += "; in a virtual machine, so its processes are not this machine's"
    return Component("containers", f"{name} {version} ({note})", "ready")


def _describe_ready(components: Sequence[Component]) -> str:
    """Return the checks: parts that are ready, warnings before a run, and studies that can run."""
    # What is ready, by kind.
    rows: list[dict[str, object]] = []
    counts = []
    for kind in dict.fromkeys(component.kind for component in components):
        of_kind = [component for component in components if component.kind == kind]
        ready = [component for component in of_kind if component.group == "ready"]
        names = [" ".join(filter(None, [one.name, one.version, one.why])) for one in ready]
        rows.append({"": kind, "ready": ", ".join(names) or "none"})
        if kind != "containers":
            counts.append(f"{len(ready)} of {len(of_kind)} {kind}")
    table = output.format_table(rows).partition("\n")[2]

    # What to know before a run.
    faults = [component for component in components if component.is_at_fault]
    notes = [f"{component.name} does not run: {component.why}" for component in faults]
    notes += _list_limits()

    # Which studies can run.
    runnable = {cell.study for cell in grid.make_plan(SLUGS, "smoke").cells if not cell.missing}
    studies = f"{', '.join(slug for slug in SLUGS if slug in runnable)} can run"
    if runnable == {*SLUGS}:
        studies = "all studies can run"
    answer = [f"Ready: {studies}, with {', '.join(counts)}."]
    missing = [component.name for component in components if component.group != "ready"]
    if missing:
        answer.append(f"Missing: {', '.join(missing)}. To add them: benchbook doctor --missing")
    return "\n\n".join(filter(None, [table, "\n".join(notes), "\n".join(answer)]))


def _describe_missing(components: Sequence[Component]) -> str:
    """Return how to add each missing component, those that a command adds first."""
    texts = []
    missing = [component for component in components if component.group != "ready"]
    for group in sorted({component.group for component in missing}):
        rows = []
        for component in missing:
            if component.group == group:
                reason = f" ({component.why})" if component.why else ""
                rows.append({"": f"  {component.name}", "to add": f"{component.to_add}{reason}"})
        table = output.format_table(rows).partition("\n")[2]
        texts.append(f"{group}:\n{table}")
    return "\n\n".join(texts) or "Nothing is missing."


def _list_limits() -> list[str]:
    """Return warnings about this system before a run, each with its remedy."""
    servers_folder = suite_files.find_temporary_folder()
    machine = describe_environment(servers_folder)
    lines = []

    # What this system and its disk cannot do.
    if sys.platform != "linux":
        lines.append(
            "This system does not tell PSS: "
            "memory_pss is left out, memory_rss stays (Linux tells both)."
        )
        lines.append(
            "This system has no parent-death signal: "
            "a small shell ends the servers, and kernels start slower."
        )
    if machine["file_system_in_memory"]:
        where = f"Servers keep their data in {servers_folder}, in memory"
        lines.append(f"{where}: durability is not judged; set TMPDIR to a disk.")

    # What disturbs times.
    governor = machine["governor"]
    if governor not in (None, "performance"):
        reason = f"The processors' governor is {governor}, so times vary"
        lines.append(f"{reason}: set it to performance.")
    before = take_snapshot()
    time.sleep(1.0)
    others = compute_load(before, take_snapshot(), [os.getpid()])
    if not others.is_quiet:
        limit = f"A run waits until they use less than {MAX_QUIET_LOAD:g}"
        lines.append(f"Busy: {others}. {limit}: stop them, or add --noisy.")
    quota = read_cpu_quota()
    if quota < math.inf:
        reason = f"A CPU quota allows the time of {quota:g} processors"
        lines.append(f"{reason}: cells during which it stops a process are noisy; raise it.")
    if machine["cores_usable"] < 2:
        lines.append("This machine has one processor: times include both client and servers.")
    return lines
