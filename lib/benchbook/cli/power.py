"""`benchbook power`: how a study's measurements vary, the best number of repetitions, what an hour would decide."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchbook import cli, evidence, grid, results
from benchbook.cli import output, selection
from benchbook.cli.until import asked_for, look
from benchbook.runner.costs import Costs
from benchbook.runner.power import HOUR_S, Power, decided_within, powers
from benchbook.runner.rounds import Rounds
from benchbook.runner.standing import Standing


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
    current = look(cells, read, means)
    hour = decided_within(HOUR_S, current, Rounds(cells, Costs(known)))
    rows = [_row(power) | {"decided_in_an_hour": _of(hour, power)} for power in variations]
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


def _row(power: Power) -> dict[str, Any]:
    """Return the numbers, as JSON has them: no NaN."""
    return {name: _plain(value) for name, value in asdict(power).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3) if not math.isnan(value) else None
    return value


def _of(hour: Sequence[Standing], power: Power) -> list[str]:
    return [
        standing.claim.id for standing in hour if (standing.claim.study, standing.lane) == (power.study, power.lane)
    ]
