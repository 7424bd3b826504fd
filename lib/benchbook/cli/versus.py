"""`benchbook versus`: compare any two commands."""

import argparse
from typing import Final

from rich.console import Console

from benchbook.cli import output
from benchbook.cli.command import DONE, FAILED, NoResultsError, UsageError, print_error
from benchbook.results.folder import BusyError
from benchbook.sides.answer import NoBlocksError, read_answer
from benchbook.sides.measurement import BLOCKS
from benchbook.sides.question import SMALLEST, TIMEOUT_S, SidesError
from benchbook.sides.versus import compare_sides

JSON_FIELDS: Final = {
    "side": "a",
    "over": "b",
    "metric": "metric",
    "unit": "unit",
    "mean": "mean_a",
    "mean_over": "mean_b",
    "ratio": "estimate",
    "low": "low",
    "high": "high",
    "blocks": "blocks",
    "machine_days": "machine_days",
    "smallest": "margin",
    "differs": "stands",
    "reason": "reason",
}
"""The fields of a comparison in JSON, with their names there."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook versus`."""
    text = "commands to compare with the first one; or only the name of an earlier question"
    parser.add_argument("side", nargs="+", metavar="COMMAND", help=text)
    text = "the question's name: blocks of other days are found by it"
    parser.add_argument("--name", metavar="NAME", help=text)
    text = "a command that runs once before each block of runs, untimed"
    parser.add_argument("--setup", metavar="COMMAND", help=text)
    text = "a command that runs before each run, untimed"
    parser.add_argument("--prepare", metavar="COMMAND", help=text)
    text = "end with an error unless all commands print the same"
    parser.add_argument("--check", action="store_true", help=text)
    text = f"blocks to measure (default: {BLOCKS}; an interval needs 5)"
    parser.add_argument("--blocks", type=int, default=BLOCKS, metavar="N", help=text)
    text = "the smallest difference that matters to you (default: 5%%)"
    parser.add_argument("--smallest", type=parse_share, metavar="P", help=text)
    text = f"seconds after which a run is killed, which is an error (default: {TIMEOUT_S:g})"
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, metavar="S", help=text)
    text = "do not wait until other programs are quiet"
    parser.add_argument("--noisy", action="store_true", help=text)
    output.add_json_option(parser)


def parse_share(text: str) -> float:
    """Return a share, of a number with ``%`` or of a fraction."""
    parts = 100 if text.endswith("%") else 1
    try:
        share = float(text.removesuffix("%")) / parts
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 100%, such as 5% (got {text})")
    return share


def compare_commands(options: argparse.Namespace) -> int:
    """Measure commands and print the answer, or print that of a name."""
    try:
        if len(options.side) == 1:
            if options.name or options.smallest:
                raise UsageError("--name and --smallest belong to a measurement: give two commands")
            answer = read_answer(options.side[0])
        else:
            with Console(stderr=True).status("") as status:
                answer = compare_sides(
                    options.side,
                    name=options.name,
                    setup=options.setup,
                    prepare=options.prepare,
                    check=options.check,
                    blocks=options.blocks,
                    smallest=options.smallest or SMALLEST,
                    timeout_s=options.timeout,
                    waits=not options.noisy,
                    show=status.update,
                )
    except ValueError as error:
        raise UsageError(str(error)) from error
    except NoBlocksError as error:
        raise NoResultsError(f"{error.args[0]}; to measure, give two commands") from error
    except (SidesError, BusyError) as error:
        return print_error(error, FAILED)
    if not options.json:
        print(answer)
        return DONE
    rows: list[dict[str, object]] = []
    for row in (*answer.comparisons, answer.check, answer.going_first):
        values = {name: output.to_json_value(getattr(row, of)) for name, of in JSON_FIELDS.items()}
        rows.append({"question": answer.name, **values})
    print(output.format_json(rows))
    return DONE
