"""The `benchbook` command: its commands, their parser, and how errors end it."""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from errno import EACCES, EAGAIN, EDQUOT, EEXIST, EMFILE, ENOSPC, ENOTDIR, EROFS
from typing import Final, TypeAlias

from typing_extensions import override

from benchbook import version
from benchbook.cli.kept_answers import KeptAnswer, is_kept, repeat_numbers
from benchbook.cli.stop_signals import StoppedError, raise_on_stop_signals
from benchbook.files.inputs import InputError
from benchbook.files.suite_files import FolderError
from benchbook.text.control_characters import escape_controls
from benchbook.text.suggestions import suggest_name

DONE: Final = 0
"""All is done."""

FAILED: Final = 1
"""A cell failed, or a file could not be written."""

USAGE: Final = 2
"""The usage, a parameter, a grid or SQL is wrong; nothing was started."""

NOTHING_RUNS: Final = 3
"""Nothing can run here, or nothing ran yet of what is to be shown."""

INTERRUPTED: Final = 130
"""Ctrl-C stopped it; after another signal it is 128 and the signal's number."""


class UsageError(Exception):
    """The request is wrong; nothing was started."""


class NoResultsError(Exception):
    """No cell ran here of what a report or a figure shows."""


AddOptions: TypeAlias = Callable[[argparse.ArgumentParser], None]
AnswerOptions: TypeAlias = Callable[[argparse.Namespace], int]

MAX_ERROR_LENGTH: Final = 600
"""Characters of an error, which may repeat what the user typed."""


@dataclass(frozen=True)
class Command:
    """A command's line in the help, and the functions of a module of `benchbook.cli` behind it."""

    text: str
    module: str
    add_options: str = "add_options"
    main: str = "main"

    def load(self) -> tuple[AddOptions, AnswerOptions]:
        """Return the function that adds the options, and the one that answers with a status."""
        module = importlib.import_module(f"benchbook.cli.{self.module}")
        return getattr(module, self.add_options), getattr(module, self.main)


COMMANDS: Final = {
    "init": Command(
        "make a working folder with notebooks, grids, the papers' numbers and the reference run",
        "new_folder",
        "add_init_options",
        "make_working_folder",
    ),
    "doctor": Command("show what can run here, and how to add the rest", "doctor"),
    "plan": Command("show how many cells there are, how many are done, and the time left", "plan"),
    "run": Command("measure the cells that are not done", "run"),
    "report": Command(
        "make the figures and report.html; does nothing when nothing changed",
        "report",
        "add_report_options",
        "write_report",
    ),
    "claims": Command("show which claims of the papers hold", "claims"),
    "explore": Command(
        "open a page with every comparison of your results and of the reference run",
        "explorer",
        "add_explore_options",
        "explore_results",
    ),
    "ask": Command(
        "measure your own documents: JSON or XML, which database, which driver",
        "explorer",
        "add_ask_options",
        "ask_questions",
    ),
    "versus": Command("compare any two commands of yours", "versus", main="compare_commands"),
    "compare": Command("show which verdicts and ratios changed between two runs", "compare"),
    "figure": Command(
        "write a figure or a table for a manuscript: PDF, SVG, PNG, LaTeX, CSV",
        "report",
        "add_figure_options",
        "write_figures",
    ),
    "number": Command(
        "print a number with its interval, or write all of them as LaTeX macros",
        "report",
        "add_number_options",
        "answer_number",
    ),
    "results": Command("query, export or import the results", "results"),
    "servers": Command(
        "keep servers up, fetch images, check adapters, or clean up after killed runs", "servers"
    ),
    "new": Command(
        "make a package for your own codec, database or study, with a test",
        "new_folder",
        "add_new_options",
        "make_package",
    ),
}
"""The commands by name, in the order of the help; a module is imported when it is needed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments and return its exit status.

    `benchbook.cli.command` says what each means. Without `argv` the arguments are those of this
    process.
    """
    arguments = sys.argv[1:] if argv is None else argv
    # A terminal need not have every character.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        # Only of a process of its own: a caller in this one may have changed anything.
        kept = KeptAnswer(arguments) if argv is None and is_kept(arguments) else None
        if kept and (kept.repeat() or repeat_numbers(arguments, kept.inputs)):
            return DONE
        options = build_parser(arguments).parse_args(arguments)
        # A command may start its own process again, with these arguments.
        options.arguments = sys.argv[1:] if argv is None else None
        options.written = []
        # By them, what several command lines have in common is kept, too.
        options.inputs = kept.inputs if kept else None
        options.record_stamps = None
        with raise_on_stop_signals():
            _, answer = COMMANDS[options.command].load()
            with kept.record() if kept else nullcontext():
                status = answer(options)
                sys.stdout.flush()  # now, while a full disk can still be reported
            if kept and status == DONE:
                kept.keep(options.written, options.record_stamps)
            return status
    except SystemExit as error:  # of argparse: 0 after --help, 2 after a usage error
        if isinstance(error.code, int):
            return error.code
        return USAGE if error.code else DONE
    except (UsageError, InputError, FileNotFoundError, FolderError) as error:
        return print_error(error, USAGE)
    except NoResultsError as error:
        return print_error(error, NOTHING_RUNS)
    except KeyboardInterrupt as error:
        print("benchbook: stopped", file=sys.stderr)
        return find_stop_status(error)
    except BrokenPipeError:  # the reader, such as head, has ended
        _discard_output()
        return DONE
    except OSError as error:  # a full disk, or missing permissions
        return _end_after_os_error(error)


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return a parser with all commands.

    Parameters
    ----------
    arguments
        Only commands that are among them have their options; None: all commands have.
    """
    parser = _Parser(prog="benchbook", description="Rerun five published studies on this machine.")
    parser.add_argument(
        "--version", action=_PrintVersion, nargs=0, help="print the version and the commit"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.text, description=command.text)
        if arguments is None or name in arguments:
            add_options, _ = command.load()
            add_options(subparser)
    return parser


def find_stop_status(interrupt: KeyboardInterrupt) -> int:
    """Return the exit status of a command that Ctrl-C or a signal stopped."""
    return interrupt.status if isinstance(interrupt, StoppedError) else INTERRUPTED


def print_error(error: Exception, status: int) -> int:
    """Print an error on one line, and return the exit status."""
    words = " ".join(str(error).split())
    if len(words) > MAX_ERROR_LENGTH:
        half = MAX_ERROR_LENGTH // 2
        words = f"{words[:half]} … {words[-half:]}"
    print(escape_controls(f"benchbook: {words}"), file=sys.stderr)
    return status


def _end_after_os_error(error: OSError) -> int:
    """Print an error of the system with its remedy, and return the exit status."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _discard_output()
    if error.errno in (ENOSPC, EDQUOT):
        where = error.filename or "standard output or a temporary file"
        error = OSError(f"{where}: the disk is full: free some of it")
    elif error.errno in (EMFILE, EAGAIN):
        option = "-n" if error.errno == EMFILE else "-u"
        error = OSError(f"{error}: raise the limit with ulimit {option}")
    elif error.errno in (EROFS, EACCES, EEXIST, ENOTDIR):
        remedy = "name another --output, or set BENCHBOOK_FIGURES or BENCHBOOK_RESULTS"
        error = OSError(f"{error}: write elsewhere ({remedy})")
    return print_error(error, FAILED)


def _discard_output() -> None:
    """Discard the rest of the output, which Python would try to print once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _PrintVersion(argparse.Action):
    """Prints the version, and in a checkout the commit, for which git is started only now."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it and end."""
        print(version.describe_version())
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """A parser whose errors name the nearest choice, such as the nearest command."""

    @override
    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            advice = suggest_name(str(value), action.choices)
            raise argparse.ArgumentError(action, f"there is no {value!r}: {advice}")
