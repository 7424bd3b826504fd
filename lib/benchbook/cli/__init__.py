"""The `benchbook` command: what it can be asked; each answer is imported only when it is.

In come the words of a command line; out go what is printed or written, and an exit status. Begin with `main`, then with
a command's own module, such as `plan`: `add_options` says what it takes, and `main` answers. `selection` has what
several are asked about, `output` what several print, `execution` and `until` how a run goes on.
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
    "init": "lay out a working folder: notebooks, grids, the papers' numbers, the reference run",
    "doctor": "what can run here: engines, implementations, versions, and why not",
    "plan": "the cells, their state, the time left",
    "run": "run what is not done",
    "report": "final notebook, figures, report.html; skipped when nothing changed",
    "claims": "every claim of the papers and its verdict",
    "explore": "your results beside the reference run, as a page: every comparison, with its blocks",
    "ask": "what your own documents cost: JSON or XML, which store, which driver",
    "compare": "what changed between two runs, or since the reference run, beyond noise",
    "figure": "a figure or a table for a manuscript: PDF, SVG, PNG, LaTeX, CSV",
    "number": "one number with its interval and provenance, or all of them as LaTeX macros",
    "results": "the merged table, as text, CSV, JSON, Parquet or DuckDB",
    "servers": "keep servers up, print addresses, stop on Ctrl-C; clean servers of yours",
    "new": "a codec, an engine or a study of one's own, as a package that runs and has its test",
}

_TOGETHER: Final = {"figure": "manuscript", "number": "manuscript"}
"""The modules of commands that stand beside another, under their own names; each of the others has one to itself."""

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOTHING_RUNS: Final = 3
INTERRUPTED: Final = 130
TERMINATED: Final = 143

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
            instead = f"start Dask's, dask {value} (docs/hosts.md)"
            raise argparse.ArgumentError(action, f"there is no {value!r}: {instead}")
        if action.choices is not None and value not in action.choices:
            from benchbook import strict  # now: every command would wait for it

            raise argparse.ArgumentError(action, f"there is no {value!r}: {strict.nearest(str(value), action.choices)}")


def _parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of these arguments, which takes the options of the command in them alone; None: of all."""
    parser = _Parser(prog="benchbook", description="Rerun five published studies on this machine.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print version and commit, and end")
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
