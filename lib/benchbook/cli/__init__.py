"""The `benchbook` command.

Begin with `main` in `command`. It imports the module that answers a command, such as `plan`, and
turns errors into a line and an `exit_status`. Commands share `selection` and `output`.
"""

from benchbook.cli.command import main as main
