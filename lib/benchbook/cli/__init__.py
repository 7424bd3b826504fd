"""The `benchbook` command.

Begin with `main` in `command`. It imports the module that answers a command, such as `plan`, and
turns errors into a line and an exit status. Commands share `selection` and `output`.
"""

import gc
import os
import site
import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command with these arguments and return its exit status.

    `benchbook.cli.command` says what each means. Without `argv` the arguments are those of this
    process.
    """
    if argv is None:
        _open_standard_streams()
        # What we write stays readable for us, whatever the umask.
        os.umask(os.umask(0o077) & 0o077)
        _isolate()
        # To look for cycles among what was just imported and read takes a sixth of a short command.
        gc.set_threshold(100_000)
        # Otherwise numpy starts threads on each processor, which wait actively. `os.environ` does
        # not get it, so that commands of the user, which `versus` runs, have the user's variables.
        if "OPENBLAS_NUM_THREADS" not in os.environ:
            os.putenv("OPENBLAS_NUM_THREADS", "1")
    # Here, because a module of PYTHONPATH may hide one of the standard library's.
    from benchbook.cli import command

    return command.main(argv)


def _open_standard_streams() -> None:
    """Replace standard streams that the caller closed, as cron does.

    Otherwise the next files that are opened get their numbers, and what a child prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Open until the process ends; numbers are given in ascending order.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _isolate() -> None:
    """Start this process again without ``PYTHON*`` variables and packages in the user's home.

    Kernels run without them, too. With them, cells would have the identity of other libraries than
    those that they are measured with.
    """
    has_variables = any(value and name.startswith("PYTHON") for name, value in os.environ.items())
    if not sys.flags.isolated and (has_variables or site.ENABLE_USER_SITE):
        os.execv(sys.executable, [sys.executable, "-I", "-m", "benchbook.cli", *sys.argv[1:]])
