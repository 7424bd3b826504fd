"""`benchbook run --until-decided` and its plan: what is open, what a round costs, and when it is expected to end."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pandas as pd

from benchbook import cli, evidence, folders, grid, results
from benchbook.cli import output, selection
from benchbook.cli.execution import countdown, execute, patience_s
from benchbook.digits import plural
from benchbook.runner.batch import TIMEOUT_S, Batch
from benchbook.runner.progress import Progress
from benchbook.runner.rounds import Costs, Look, Rounds, sitting
from benchbook.runner.standing import Reading, Standing, State, readings, standings
from benchbook.stats.campaigns import FEWEST, sittings
from benchbook.stats.sequential import LOOKS

if TYPE_CHECKING:
    from benchbook.runner.progress import Summary


def plan(asked: argparse.Namespace) -> int:
    """Print where the claims stand and what a run until they are decided would take."""
    cells, read = asked_for(asked)
    means = finished(cells)
    current = standing_by(read, means)
    rounds = Rounds(cells, Costs(results.seconds()), means, sitting(means))
    if asked.json:
        print(output.as_json([_row(standing, rounds) for standing in current]))
    else:
        print(text(current, rounds))
    return cli.DONE


def run(asked: argparse.Namespace) -> int:
    """Run until all is decided or parked, or time is up."""
    left_s = countdown(asked.budget)
    folders.temporary()
    cells, read = asked_for(asked)
    selection.at_rooms(asked, cells)
    known = results.seconds()
    means = finished(cells)
    rounds = Rounds(cells, Costs(known), means, sitting(means))
    current = standing_by(read, means)
    print(text(current, rounds), flush=True)
    if not any(standing.cells for standing in current):
        return cli.DONE if any(standing.state != "not here" for standing in current) else cli.NOTHING_RUNS

    def work(summary: "Summary") -> None:
        def measure(chosen: Sequence[grid.Cell]) -> list[grid.Cell]:
            failed = len(summary.failed)
            with Progress(chosen, known) as progress:
                timeout_s, quiet_s = asked.timeout or TIMEOUT_S, patience_s(asked)
                Batch(chosen, progress, timeout_s, summary, lambda: left_s() <= 0, quiet_s).run()
            return [failure.cell for failure in summary.failed[failed:]]

        ended = rounds.run(judging(cells, read), measure, left_s)
        if left_s() <= 0:
            print("the budget is spent; the same command goes on from there")
        print(text(ended, rounds))

    return execute(asked, cells, [], work)


def asked_for(asked: argparse.Namespace) -> tuple[list[grid.Cell], list[Reading]]:
    """Return the cells that were asked for, and what the claims read of them."""
    cells = selection.planned(asked).cells
    return cells, readings(cells)


def finished(cells: Sequence[grid.Cell]) -> pd.DataFrame:
    """Return the block means of what is finished of a plan's cells: on their host alone."""
    return evidence.stored_means(cell.key for cell in cells if not cell.missing)


def standing_by(read: Sequence[Reading], means: pd.DataFrame) -> list[Standing]:
    """Return where the claims stand by block means of this host."""
    return standings(read, evidence.Evidence.of(means).contrasts, sitting=sitting(means))


def judging(cells: Sequence[grid.Cell], read: Sequence[Reading]) -> Look:
    """Return a function that judges the claims by the cells that are finished when it is called."""
    return lambda: standing_by(read, finished(cells))


def _row(standing: Standing, rounds: Rounds) -> dict[str, object]:
    look = rounds.next_look([standing])
    return {
        "id": standing.claim.id,
        "study": standing.claim.study,
        "lane": standing.lane,
        "state": standing.state,
        "verdict": standing.verdict,
        "blocks": standing.blocks,
        "campaigns": standing.campaigns,
        "open": [reading.contrast for reading in standing.open],
        "another_sitting": [reading.contrast for reading in standing.day],
        "cells": len(standing.cells),
        "next_look": look,
        "seconds": round(rounds.ahead([standing], lambda _: look).seconds) if look else None,
        "expected_blocks": standing.expected,
        "why": standing.why or None,
    }


def text(current: Sequence[Standing], rounds: Rounds) -> str:
    """Return in words where the claims stand, and what is ahead."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for standing in current:
        groups.setdefault((standing.claim.study, standing.lane), []).append(standing)
    table = [
        {
            "study": study,
            "lane": lane,
            **{state: sum(standing.state == state for standing in group) for state in get_args(State)},
            "open contrasts": sum(len(standing.open) for standing in group),
        }
        for (study, lane), group in groups.items()
    ]
    parked = [standing for standing in current if standing.state == "parked"]
    lines = [f"parked: {standing.claim.id} ({standing.lane}): {standing.why}" for standing in parked]
    lines += _days(current, rounds)
    lines += _ahead([standing for standing in current if standing.open], rounds)
    if not any(standing.cells for standing in current):
        lines += ["nothing is open now"]
    return "\n".join([output.as_text(table), *lines])


def _days(current: Sequence[Standing], rounds: Rounds) -> list[str]:
    """Return what is decided in few sittings alone, and what of it this sitting adds, in lines."""
    few = [standing for standing in current if standing.state == "decided" and sittings(standing.campaigns)]
    waiting = sum(standing.state == "another day" for standing in current)
    lines = []
    if few:
        days = FEWEST - min(standing.campaigns for standing in few)
        more = plural(days, "more day")
        lines = [f"decided in these sittings alone: {len(few)} claims; the same command on {more} judges them for days"]
    if waiting:
        lines += [f"open until another day: {waiting} claims, of which campaigns are the units"]
    if wanted := [replace(standing, open=()) for standing in current if standing.day]:
        block = rounds.one_round(wanted)
        lines += [f"one more block in this sitting: {len(wanted)} claims; {block.cells} cells, {block.words}"]
    return lines


def _ahead(current: Sequence[Standing], rounds: Rounds) -> list[str]:
    """Return what is still to be run and how long it takes, in lines."""
    look = rounds.next_look(current)
    if not current:
        return []
    if look is None:
        return [f"open: {len(current)} claims, of which all blocks have run"]
    next_round = rounds.one_round(current)
    to_look, expected, longest = (
        rounds.ahead(current, until)
        for until in (lambda _: look, lambda standing: standing.expected or LOOKS[-1], lambda _: LOOKS[-1])
    )
    end = f"{expected.about} if the estimates stay, " if all(standing.expected for standing in current) else ""
    return [
        f"open: {len(current)} claims; a round: {next_round.cells} cells, {next_round.words}",
        f"to the next look, after block {look}: {to_look.about}",
        f"to the end: {end}{longest.about} if nothing is decided",
    ]
