"""The `benchbook` command: its commands, its errors and its exit statuses.

A command is a module, such as `plan`: `add_options` adds its options, and `main` answers. It is imported only when it
is asked for. `selection` has the options that several share, `output` what several print, `execution` and `until` how
a run goes on.
"""

import argparse
import importlib
import os
import site
import sys
from collections.abc import Callable, Sequence
from errno import EDQUOT, ENOSPC
from typing import Final

from typing_extensions import override

from benchbook import processes, suite
from benchbook.folders import FolderError
from benchbook.inputs import InputError

COMMANDS: Final = {
    "init": "make a working folder with notebooks, grids, the papers' numbers and the reference run",
    "doctor": "show what can run here, and how to add the rest",
    "plan": "show how many cells there are, how many are done, and the time left",
    "run": "measure the cells that are not done",
    "report": "make the figures and report.html; does nothing when nothing changed",
    "claims": "show which claims of the papers hold",
    "explore": "open a page with every comparison of your results and of the reference run",
    "ask": "measure your own documents: JSON or XML, which database, which driver",
    "compare": "show which verdicts and ratios changed between two runs",
    "figure": "write a figure or a table for a manuscript: PDF, SVG, PNG, LaTeX, CSV",
    "number": "print a number with its interval, or write all of them as LaTeX macros",
    "results": "query, export or import the results",
    "servers": "keep servers up, fetch their images, or clean up after killed runs",
    "new": "make a package for your own codec, database or study, with a test",
}

_TOGETHER: Final = {"figure": "manuscript", "number": "manuscript"}
"""The modules of commands that share one; each other command has a module of its name."""

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOTHING_RUNS: Final = 3
INTERRUPTED: Final = 130
TERMINATED: Final = 143

_LONGEST: Final = 600
"""Characters of an error, which may repeat what a person gave."""


class UsageError(Exception):
    """The request is wrong; nothing was started."""


class NothingRanError(Exception):
    """No cell ran here of what a report or a figure shows."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (None: the process's own), and return its exit status.

    0 all done; 1 a cell failed; 2 usage, parameters, grid or SQL wrong (nothing was started); 3 nothing could run here,
    or nothing ran yet of what is to be shown; 130 and 143 when a signal stopped it.
    """
    if argv is None:
        _isolate()
        # Numpy would start threads for each processor, which spin for work that no command has for them.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = sys.argv[1:] if argv is None else argv
    try:
        asked = _parser(arguments).parse_args(arguments)
        # Whose process this is may have it start anew.
        asked.arguments = sys.argv[1:] if argv is None else None
        _, command = _command(asked.command)
        ended = command(asked)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk can still be told
        return ended
    except SystemExit as error:  # of argparse: 0 after --help, 2 after a usage error
        if isinstance(error.code, int):
            return error.code
        return USAGE if error.code else DONE
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
            if sys.stdout is not None:
                sys.stdout.flush()
        except (OSError, ValueError):
            _forget_output()
        if error.errno in (ENOSPC, EDQUOT):
            where = error.filename or "standard output or a temporary file"
            error = OSError(f"{where}: the disk is full: free some of it")
        return _print_error(error, FAILED)


def _print_error(error: Exception, ended: int) -> int:
    """Print why it ended, on one line, and return the exit status."""
    words = " ".join(str(error).split())
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
    def _check_value(self, action: argparse.Action, value: object) -> None:
        if value in ("scheduler", "worker"):
            instead = f"use Dask's own command, dask {value} (docs/hosts.md)"
            raise argparse.ArgumentError(action, f"there is no {value!r}: {instead}")
        if action.choices is not None and value not in action.choices:
            from benchbook import strict  # now: every command would wait for it

            raise argparse.ArgumentError(action, f"there is no {value!r}: {strict.nearest(str(value), action.choices)}")


def _parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of these arguments, which takes the options of the command in them alone; None: of all."""
    parser = _Parser(prog="benchbook", description="Rerun five published studies on this machine.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and the commit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if arguments is None or name in arguments:
            add_options, _ = _command(name)
            add_options(command)
    return parser


def _command(name: str) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]:
    """Return what adds a command's options, and what answers it."""
    module = importlib.import_module(f"benchbook.cli.{_TOGETHER.get(name, name)}")
    if name in _TOGETHER:
        return getattr(module, f"add_{name}_options"), getattr(module, name)
    return module.add_options, module.main
