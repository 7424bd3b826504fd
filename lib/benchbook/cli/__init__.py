"""The `benchbook` command: what it can be asked; each answer is imported only when it is."""

import argparse
import importlib
import os
import re
import site
import sys
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from benchbook import processes, suite
from benchbook.folders import FolderError
from benchbook.inputs import InputError

COMMANDS: Final = {
    "doctor": "what can run here: engines, implementations, versions, and why not",
    "plan": "the cells, their state, the time left",
    "run": "run what is not done",
    "power": "how blocks and repetitions vary, the best number of repetitions, what an hour would decide",
    "report": "final notebook, figures, report.html; skipped when nothing changed",
    "claims": "every claim of the papers and its verdict",
    "explore": "a page to look at any contrast, claim one's own, measure cells and one's own documents",
    "compare": "what changed between two runs, or since the reference run, beyond noise",
    "figure": "a figure or a table for a manuscript: PDF, SVG, PNG, LaTeX, CSV",
    "number": "one number with its interval and provenance, or all of them as LaTeX macros",
    "results": "the merged table, as text, CSV, JSON, Parquet or DuckDB",
    "scheduler": "be the scheduler that joins a lab's workers and runs, by credentials that it makes; stop on Ctrl-C",
    "worker": "measure on this machine for runs elsewhere, which send blocks by a Dask scheduler; stop on Ctrl-C",
    "servers": "keep servers up, print addresses, stop on Ctrl-C",
    "new": "a codec, an engine or a study of one's own, as a package that runs and has its test",
}

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOTHING_RUNS: Final = 3
INTERRUPTED: Final = 130
TERMINATED: Final = 143

LONGEST_CELL_S: Final = 30 * 86_400
"""Seconds that a cell can be given: thirty days."""

_LONGEST: Final = 600
"""Characters of an error: what a person gave may stand in it, and may be long."""


class UsageError(Exception):
    """What was asked cannot be done as asked; nothing was started."""


class NothingRanError(Exception):
    """Of what a report or a figure is asked for, nothing ran here."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (None: the process's own), and return its exit status.

    0 all done; 1 a cell failed; 2 usage, parameters, grid or SQL wrong (nothing was started); 3 nothing could run here,
    or nothing ran yet of what is to be shown; 130 and 143 when a signal stopped it.
    """
    if argv is None:
        _isolate()
    try:
        asked = _parser().parse_args(argv)
    except SystemExit as error:  # of argparse: 0 after --help, 2 after a usage error
        return int(error.code or 0)
    try:
        ended = int(importlib.import_module(f"benchbook.cli.{asked.command}").main(asked))
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk can still be told
        return ended
    except (UsageError, InputError, FileNotFoundError, FolderError) as error:
        return _print_error(error, USAGE)
    except NothingRanError as error:
        return _print_error(error, NOTHING_RUNS)
    except KeyboardInterrupt:
        print("benchbook: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        _forget_output()
        return DONE
    except OSError as error:  # a disk that is full, a file that is not ours
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            _forget_output()
        return _print_error(error, FAILED)


def _print_error(error: Exception, ended: int) -> int:
    """Print why it ended, on one line without anything that a terminal would obey, and return the exit status."""
    words = re.sub(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(error)).strip()
    words = re.sub(r"(\S{80})\S{80,}", r"\1…", words)
    if len(words) > _LONGEST:
        words = f"{words[: _LONGEST // 2]} … {words[-_LONGEST // 2 :]}"
    print(f"benchbook: {words}", file=sys.stderr)
    return ended


def _forget_output() -> None:
    """Send what is still to be printed nowhere, for Python would try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _isolate() -> None:
    """Start anew as the kernels are, deaf to ``PYTHON*`` and to packages in the user's home, where there is either.

    With them, cells would get the identity of other libraries than those that they are measured with.
    """
    steered = any(value and name.startswith("PYTHON") for name, value in os.environ.items())
    if not sys.flags.isolated and (steered or site.ENABLE_USER_SITE):
        os.execv(sys.executable, [*processes.PYTHON, "-m", "benchbook.cli", *sys.argv[1:]])


class _Version(argparse.Action):
    """Says which code this is: its version, and in a checkout its commit, which git is asked for only now."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it and end."""
        print(suite.suite())
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Says of a word that is none of its choices, a command above all, which one is nearest."""

    @override
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from benchbook import strict  # now: every command would wait for it

            raise argparse.ArgumentError(action, f"there is no {value!r}: {strict.nearest(value, action.choices)}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="benchbook", description="Rerun five published studies on this machine.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print version and commit, and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parts = {name: commands.add_parser(name, help=text, description=text) for name, text in COMMANDS.items()}
    for name in ("plan", "run", "power"):
        _selecting(parts[name])
    for name in ("plan", "run"):
        text = "block by block only what open claims read, until each is decided or more blocks would not decide it"
        parts[name].add_argument("--until-decided", action="store_true", help=text)
    for name in ("plan", "run", "power"):
        parts[name].add_argument("--profile", default="quick", metavar="P", help="the selection (default: quick)")
    for name in ("doctor", "plan", "power"):
        parts[name].add_argument("--json", action="store_true", help="one array of objects and nothing else")
    parts["run"].add_argument("--timeout", type=_seconds, metavar="SECONDS", help="give a cell up after so long")
    text = "with --until-decided: end after so long, such as 3h, 90m or 1h30m"
    parts["run"].add_argument("--budget", type=_duration, metavar="TIME", help=text)
    text = "measure beside other processes: do not wait until they rest, mark the cells and repeat none"
    parts["run"].add_argument("--noisy", action="store_true", help=text)
    text = "measure on the workers of a lab's scheduler, such as tls://lab:8786 (benchbook scheduler starts one)"
    parts["run"].add_argument("--hosts", metavar="SCHEDULER", help=text)
    text = "with --hosts: measure here, with servers on those workers: primary=HOST,replica=HOST"
    parts["run"].add_argument("--place", metavar="ROLE=HOST,...", help=text)
    parts["worker"].add_argument("--listen", metavar="ADDRESS", help="this machine's address for the lab")
    parts["worker"].add_argument("scheduler", metavar="SCHEDULER", help="its address, such as tls://lab:8786")
    text = "this machine's address for the lab (default: 127.0.0.1:8786, which no other machine reaches)"
    parts["scheduler"].add_argument("address", metavar="ADDRESS", nargs="?", default="127.0.0.1", help=text)
    for name in ("run", "worker", "scheduler"):
        text = "the file of the lab's credentials (default: .cache/lab.pem, which benchbook scheduler makes)"
        parts[name].add_argument("--credentials", metavar="FILE", help=text)
    for name in ("run", "worker"):
        text = "trust whoever reaches a scheduler at tcp://, which asks for no credentials, to run any code here"
        parts[name].add_argument("--unprotected", action="store_true", help=text)
    _reading(parts["results"])
    _serving(parts["servers"])
    for name in ("claims", "explore", "compare", "figure", "number", "new", "report"):
        importlib.import_module(f"benchbook.cli.{name}").add_options(parts[name])
    return parser


def _selecting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", nargs="*", metavar="STUDY", help="the studies (default: all)")
    parser.add_argument("--where", action="append", default=[], metavar="K=V,...", help="only cells like that")
    parser.add_argument("--set", action="append", default=[], metavar="K=V,...", help="other values of a parameter")


def _reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sql", help='over observations, cells, "values" (default: a summary, or into a file all)')
    parser.add_argument("--profile", metavar="P", help="observations of this profile only (default: all current ones)")
    forms = ["text", "csv", "json", "parquet", "duckdb"]
    parser.add_argument("--format", choices=forms, help="the form (default: what the file's name says, else text)")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="as --format json")
    parser.add_argument("--output", metavar="FILE", help="write there (default: standard output)")
    verbs = parser.add_subparsers(dest="verb", metavar="{import,export}")
    text = "take in cells that were measured before or elsewhere: of results' folders, or Parquet files of observations"
    taking = verbs.add_parser("import", help=text, description=text)
    taking.add_argument("path", nargs="+", metavar="PATH")
    text = "write every finished cell, whatever its code and host, to a file: CSV, JSON, Parquet or DuckDB by its name"
    giving = verbs.add_parser("export", help=text, description=text)
    giving.add_argument("path", metavar="PATH")


def _serving(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="up", required=True)
    up = verbs.add_parser("up", help=COMMANDS["servers"])
    up.add_argument("engine", metavar="ENGINE")
    up.add_argument("--topology", choices=["single", "replicated", "bidirectional"], default="single")


def _duration(text: str) -> float:
    parts = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?", text)
    hours, minutes, seconds = (float(part or 0) for part in parts.groups()) if parts else (0.0, 0.0, 0.0)
    if not (total := 3600 * hours + 60 * minutes + seconds):
        raise argparse.ArgumentTypeError(f"a time above 0, such as 3h, 90m or 1h30m, not {text}")
    return total


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= LONGEST_CELL_S:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, up to {LONGEST_CELL_S:,}, not {text}")
    return seconds
