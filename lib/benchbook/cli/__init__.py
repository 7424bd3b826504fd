"""The `benchbook` command: what it can be asked; each answer is imported only when it is."""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Final

from benchbook.cli import status
from benchbook.inputs import InputError

COMMANDS: Final = {
    "doctor": "what can run here: engine, lane, version, and why not",
    "plan": "the cells, their state, the time left",
    "run": "run what is not done",
    "report": "final notebook, figures, report.html; skipped when nothing changed",
    "claims": "every claim of the papers and its verdict",
    "results": "the merged table, as text, CSV, JSON or Parquet",
    "servers": "keep servers up, print addresses, stop on Ctrl-C",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv
        Its arguments; None: those of the process.

    Returns
    -------
    int
        Its exit status: 0 all done; 1 a cell failed; 2 usage, parameters, grid or SQL wrong (nothing was started); 3
        nothing could run here; 130 and 143 when a signal stopped it.
    """
    try:
        asked = _parser().parse_args(argv)
    except SystemExit as error:  # of argparse: 0 after --help, 2 after a usage error
        return int(error.code or 0)
    try:
        return int(importlib.import_module(f"benchbook.cli.{asked.command}").main(asked))
    except (status.UsageError, FileNotFoundError) as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return status.USAGE
    except KeyboardInterrupt:
        return status.INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return status.DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchbook", description="Rerun five published studies on this machine.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parts = {name: commands.add_parser(name, help=text, description=text) for name, text in COMMANDS.items()}
    for name in ("plan", "run"):
        _selecting(parts[name])
    for name in ("plan", "run", "report", "claims"):
        parts[name].add_argument("--profile", default="quick", metavar="P", help="the selection (default: quick)")
    for name in ("doctor", "plan", "claims"):
        parts[name].add_argument("--json", action="store_true", help="one array of objects and nothing else")
    parts["run"].add_argument("--timeout", type=_seconds, metavar="SECONDS", help="give a cell up after so long")
    _reading(parts["results"])
    _serving(parts["servers"])
    return parser


def _selecting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", nargs="*", metavar="STUDY", help="the studies (default: all)")
    parser.add_argument("--where", action="append", default=[], metavar="K=V,...", help="only cells like that")
    parser.add_argument("--set", action="append", default=[], metavar="K=V,...", help="other values of a parameter")


def _reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sql", default="SELECT * FROM observations", help='over observations, cells, "values"')
    parser.add_argument("--profile", metavar="P", help="observations of this profile only (default: all current ones)")
    parser.add_argument("--format", choices=["text", "csv", "json", "parquet"], default="text")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="as --format json")
    parser.add_argument("--output", metavar="FILE", help="write there (default: standard output)")


def _serving(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="up", required=True)
    up = verbs.add_parser("up", help=COMMANDS["servers"])
    up.add_argument("engine", metavar="ENGINE")
    up.add_argument("--topology", choices=["single", "replicated", "bidirectional"], default="single")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, not {text}")
    return seconds
