"""`benchbook power`: how a study's measurements vary, the best number of repetitions, what an hour would decide."""

import argparse
from dataclasses import asdict

from benchbook import cli, evidence, grid, results
from benchbook.cli import output, selection
from benchbook.cli.until import asked_for
from benchbook.runner.costs import Costs
from benchbook.runner.power import HOUR_S, decided_within, powers
from benchbook.runner.rounds import Rounds
from benchbook.runner.standing import standings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    selection.add_options(parser)
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print it, a row a study and lane."""
    cells, read = asked_for(asked)
    means = evidence.stored_means(grid.keys(cells))
    known = results.seconds()
    variations = powers(read, means, known)
    current = standings(read, evidence.Evidence.of(means).contrasts)
    hour = decided_within(HOUR_S, current, Rounds(cells, Costs(known)))
    decided: dict[tuple[str, str], list[str]] = {}
    for standing in hour:
        decided.setdefault((standing.claim.study, standing.lane), []).append(standing.claim.id)
    rows = []
    for power in variations:
        numbers = {name: output.plain(value, digits=3) for name, value in asdict(power).items()}
        rows.append(numbers | {"decided_in_an_hour": decided.get((power.study, power.lane), [])})
    if asked.json:
        print(output.as_json(rows))
        return cli.DONE
    if not rows:
        print("nothing of this profile has run in two blocks: benchbook run first")
        return cli.DONE
    print(output.as_text([row | {"decided_in_an_hour": len(row["decided_in_an_hour"])} for row in rows]))
    names = ", ".join(f"{standing.claim.id} ({standing.lane})" for standing in hour)
    print(f"the next hour would decide {len(hour)} claims if estimates stay{': ' if hour else ''}{names}")
    return cli.DONE
