"""The options that select what a command works on: some cells of a plan, or a run with results."""

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook import grid, paths
from benchbook.cli import output
from benchbook.cli.command import NoResultsError, UsageError
from benchbook.cli.kept_answers import KeptValue
from benchbook.grid import Cell, Plan
from benchbook.grid.cells import list_judged_results, list_result_keys
from benchbook.grid.expansion import list_levels
from benchbook.results.folder import open_results
from benchbook.servers import launcher, namespaces, networks, processes
from benchbook.servers.containers import CONTAINERS_VARIABLE, NO_CONTAINERS
from benchbook.servers.programs import AvailableServer
from benchbook.studies.catalogue import SLUGS

if TYPE_CHECKING:
    from benchbook.analysis.runs import Run

PROFILES_HELP = "smoke, quick, decide, evening, night or paper (default: quick)"


def add_cells_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select cells of a plan."""
    parser.add_argument("study", nargs="*", metavar="STUDY", help="the studies (default: all)")
    text = "only the cells with one of these levels"
    parser.add_argument("--where", action="append", default=[], metavar="K=V,...", help=text)
    text = "these levels instead of those of the profile"
    parser.add_argument("--set", action="append", default=[], metavar="K=V,...", help=text)
    text = "measure only for claims that are undecided, at most three blocks per day"
    parser.add_argument("--until-decided", action="store_true", help=text)
    parser.add_argument("--profile", default="quick", metavar="P", help=PROFILES_HELP)
    text = "start no servers in containers"
    parser.add_argument("--no-containers", action="store_true", help=text)


def load_plan(options: argparse.Namespace) -> Plan:
    """Return the plan of the selected cells, and name damaged results.

    Raises the errors of `benchbook.grid.make_plan`.
    """
    if options.no_containers:
        # By it plans and kernels know that containers are left out.
        os.environ[CONTAINERS_VARIABLE] = NO_CONTAINERS
    plan = grid.make_plan(options.study, options.profile, options.where, options.set)
    output.report_damage(values=False)
    return plan


def enter_networks(options: argparse.Namespace, cells: Sequence[Cell]) -> None:
    """Start this process again in a user namespace, if its cells need one for their networks.

    Raises `benchbook.cli.command.UsageError` when other cells need servers that cannot be
    reached from there.
    """
    todo = [cell for cell in cells if cell.state != "done" and not cell.missing]
    outside = [cell for cell in todo if cell.network == networks.NO_NETWORK]
    is_restartable = options.arguments is not None
    if len(outside) == len(todo) or not is_restartable or namespaces.can_make_namespaces():
        return
    deployments = {(cell.product, cell.topology): None for cell in outside}
    for product, topology in deployments:
        if product == "none":
            continue
        server = launcher.find_server(product, topology)
        if isinstance(server, AvailableServer) and server.source in ("address", "container"):
            reason = f"{product} cannot be reached from a user's networks"
            raise UsageError(f"{reason}: run its cells separately")
    networks.enter_user_namespace([*processes.PYTHON, "-m", "benchbook.cli", *options.arguments])


def print_hidden_levels(options: argparse.Namespace, *, in_full: bool = False) -> None:
    """Print which levels of the named studies' grids the profile leaves out.

    Parameters
    ----------
    in_full
        Whether to print the levels, too, and not only the parameters.
    """
    if options.where or options.set:
        return
    for slug in options.study:
        if slug not in SLUGS:
            continue
        here = list_levels(slug, options.profile)
        hidden = []
        for name, levels in list_levels(slug, "paper").items():
            others = [str(level) for level in levels if level not in here[name]]
            if others and name not in ("repetitions", "blocks", "seed"):
                hidden.append(f"{name} {', '.join(others)}" if in_full else name)
        if hidden:
            listed = "; ".join(hidden) if in_full else ", ".join(hidden)
            advice = "--profile paper has all levels, --set takes any"
            print(f"Not in the profile {options.profile} of {slug}: levels of {listed} ({advice})")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a profile's results or the reference run."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--profile", default="quick", metavar="P", help=PROFILES_HELP)
    text = "use the reference run instead of this machine's results"
    group.add_argument("--reference", action="store_true", help=text)


def load_run(options: argparse.Namespace) -> "Run":
    """Return the selected run.

    Raises `benchbook.cli.command.UsageError` when there is no reference run, and
    `benchbook.cli.command.NoResultsError` when no cell of the profile ran here.
    """
    if options.reference:
        return load_reference()
    run, has_cells, _ = load_profile(options)
    if not has_cells:
        raise make_no_results_error(options.profile, "add --reference")
    return run


def load_profile(options: argparse.Namespace) -> "tuple[Run, bool, int]":
    """Return a profile's run, whether a cell of it ran here, and how many finished are beyond it.

    Which results are judged follows from the plan, whose servers and code are looked at, and from
    all results. So it is kept for other command lines.
    """
    # Here, because it is slow to import, and plans do without.
    from benchbook.analysis.judged_tables import hash_results
    from benchbook.analysis.runs import Run

    kept = KeptValue(["run", options.profile], options.inputs) if options.inputs else None
    found = kept.load() if kept else None
    if kept and found:
        options.record_stamps = kept.records
        names, beyond, means_hash = found
        judged = {
            key: None if operations is None else frozenset(operations)
            for key, operations in names.items()
        }
        return Run.read_results(options.profile, judged, means_hash), True, beyond
    cells = grid.make_plan(SLUGS, options.profile).cells
    is_damaged = output.report_damage(values=True)
    results = open_results()
    of_plan = results.list_finished_files(list_result_keys(cells))
    judged = list_judged_results(cells)
    finished = results.list_finished_files(judged)
    beyond = len(finished) - len(of_plan)
    means_hash = hash_results(finished)
    # Each command names what is damaged.
    if kept and of_plan and not is_damaged:
        names = {key: operations and sorted(operations) for key, operations in judged.items()}
        kept.keep([names, beyond, means_hash])
    return Run.read_results(options.profile, judged, means_hash), bool(of_plan), beyond


def load_reference() -> "Run":
    """Return the reference run.

    Raises `benchbook.cli.command.UsageError` when there is none.
    """
    # Here, because they are slow to import, and plans do without.
    from benchbook.analysis.runs import MEANS_FILE, Run

    if not (paths.reference() / MEANS_FILE).is_file():
        reason = f"there is no {MEANS_FILE} in {paths.reference()}"
        raise UsageError(f"--reference: {reason}: {paths.suggest_restore()}")
    return Run.read_reference()


def make_no_results_error(profile: str, alternative: str) -> NoResultsError:
    """Return the error that no cell of a profile ran here, with the remedy and an alternative."""
    reason = f"no cell of the profile {profile} ran here"
    if open_results().list_files():
        reason += " (the results here are of other cells, other code or another machine)"
    return NoResultsError(f"{reason}: benchbook run --profile {profile}, or {alternative}")
