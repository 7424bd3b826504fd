"""What commands are asked about: some of a plan's cells; or a run that there is, a profile's or the committed one."""

import argparse
import os
from typing import TYPE_CHECKING

from benchbook import cli, networks, paths, processes, servers, studies
from benchbook.cli import output
from benchbook.networks import namespaces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchbook.analysis.runs import Run
    from benchbook.grid import Cell, Plan


def add_cells_options(parser: argparse.ArgumentParser, *, until_decided: bool = False) -> None:
    """Let a command be asked for some cells; and for those alone that undecided claims read."""
    parser.add_argument("study", nargs="*", metavar="STUDY", help="the studies (default: all)")
    parser.add_argument(
        "--where", action="append", default=[], metavar="K=V,...", help="only the cells with one of these levels"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="K=V,...", help="these levels instead of those of the profile"
    )
    if until_decided:
        text = "measure only for claims that are undecided, at most three blocks per day"
        parser.add_argument("--until-decided", action="store_true", help=text)
    parser.add_argument(
        "--profile", default="quick", metavar="P", help="smoke, quick, decide, evening, night or paper (default: quick)"
    )
    text = "start no servers in containers"
    parser.add_argument("--no-containers", action=_NoContainers, nargs=0, help=text)


class _NoContainers(argparse.Action):
    """Says so in the environment, where a plan's cells and their kernels know of it."""

    def __call__(self, *_: object) -> None:
        """Leave containers out."""
        from benchbook.servers.containers import LEFT_OUT, VARIABLE

        os.environ[VARIABLE] = LEFT_OUT


def planned(asked: argparse.Namespace) -> "Plan":
    """Return the plan that was asked for, and name damaged results; raises as `benchbook.grid.plan`."""
    from benchbook import grid  # here, for it is slow to import and not all commands need it

    plan = grid.plan(asked.study, asked.profile, asked.where, asked.set)
    output.report_damage(values=False)
    return plan


def at_networks(asked: argparse.Namespace, cells: "Sequence[Cell]") -> None:
    """Start this process anew where it may make the networks of the cells that are to run, if it may not here.

    Raises `benchbook.cli.UsageError` where others among them are of servers that are out of reach there.
    """
    todo = [cell for cell in cells if cell.state != "done" and not cell.missing]
    beside = [cell for cell in todo if cell.network == networks.NONE]
    if len(beside) == len(todo) or asked.arguments is None or namespaces.entitled():
        return
    for product, topology in dict.fromkeys((cell.product, cell.topology) for cell in beside if cell.product != "none"):
        found = servers.find(product, topology)
        if isinstance(found, servers.Found) and found.source in ("address", "container"):
            raise cli.UsageError(f"{product} cannot be reached from a user's networks: run its cells separately")
    networks.at_home([*processes.PYTHON, "-m", "benchbook.cli", *asked.arguments])


def print_hidden(asked: argparse.Namespace, *, in_full: bool = False) -> None:
    """Say which levels of the named studies' grids the profile leaves out, where none were asked for.

    `in_full`: with the levels, and not only the names of the parameters.
    """
    from benchbook import grid

    if asked.where or asked.set:
        return
    for slug in [slug for slug in asked.study if slug in studies.SLUGS]:
        here, hidden = grid.levels(slug, asked.profile), []
        for name, levels in grid.levels(slug, "paper").items():
            others = [str(level) for level in levels if level not in here[name]]
            if others and name not in ("repetitions", "blocks", "seed"):
                hidden.append(f"{name} {', '.join(others)}" if in_full else name)
        if hidden:
            listed = "; ".join(hidden) if in_full else ", ".join(hidden)
            advice = "--profile paper has all levels, --set takes any"
            print(f"Not in the profile {asked.profile} of {slug}: levels of {listed} ({advice})")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for a profile's results or for the committed run."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--profile", default="quick", metavar="P", help="smoke, quick, decide, evening, night or paper (default: quick)"
    )
    which.add_argument(
        "--reference", action="store_true", help="use the reference run instead of this machine's results"
    )


def run(asked: argparse.Namespace) -> "Run":
    """Return the run that was asked for.

    Raises `benchbook.cli.UsageError` when there is no committed run, and `benchbook.cli.NothingRanError` when nothing
    of the profile ran here.
    """
    from benchbook import grid, results  # here, for they are slow to import
    from benchbook.analysis.runs import Run

    if asked.reference:
        return committed()
    cells = grid.plan(studies.SLUGS, asked.profile).cells
    output.report_damage(values=True)
    if not results.finished(keys := grid.keys(cells)):
        raise nothing_ran(asked.profile, "add --reference")
    return Run.of_results(asked.profile, keys)


def committed() -> "Run":
    """Return the committed run, on a machine where nothing need have run.

    Raises `benchbook.cli.UsageError` when there is no committed run.
    """
    from benchbook.analysis import reference
    from benchbook.analysis.runs import Run

    if not (paths.reference() / reference.MEANS).is_file():
        missing = f"there is no {reference.MEANS} in {paths.reference()}"
        raise cli.UsageError(f"--reference: {missing}: {paths.remedy()}")
    return Run.of_reference()


def nothing_ran(profile: str, instead: str) -> cli.NothingRanError:
    """Return the error that nothing of a profile ran here, with what to do and what there is `instead`."""
    from benchbook import results

    reason = f"no cell of the profile {profile} ran here"
    if results.whole():
        reason += " (the results here are of other cells, other code or another machine)"
    return cli.NothingRanError(f"{reason}: benchbook run --profile {profile}, or {instead}")
