"""Commands as sides: each run is a process of its own, which a small launcher starts.

Time is the clock's around start and end of the process. User time, system time and peak memory are
the kernel's, of the command and the processes that it waited for.
"""

import hashlib
import json
import os
import select
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

from benchbook.files.suite_files import TemporaryFolder
from benchbook.servers import processes
from benchbook.sides import launcher
from benchbook.sides.question import (
    LETTERS,
    TIMEOUT_S,
    SideRun,
    SidesError,
    SidesQuestion,
    digest_values,
)

COMMAND_METRICS: Final = ("wall_time", "cpu_user", "cpu_system", "memory_peak")
"""What a run of a command has."""

_LAST_WORDS: Final = 200
"""Characters of a failed command's last line that an error repeats."""


class CommandRunner:
    """Runs commands.

    Parameters
    ----------
    commands
        One text per side, split into words as a shell does, but run without one.
    setup
        A command that runs once before each block, untimed.
    prepare
        A command that runs before each run, untimed.
    check
        Whether all sides must print the same.
    timeout_s
        Seconds after which a run is given up.
    """

    operation = "run"

    def __init__(
        self,
        commands: Sequence[str],
        *,
        setup: str | None = None,
        prepare: str | None = None,
        check: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.words = [split_command(command) for command in commands]
        self.setup = split_command(setup) if setup else []
        self.prepare = split_command(prepare) if prepare else []
        self.check = check
        self.timeout_s = timeout_s
        self._are_warm = False

    @contextmanager
    def start_block(self) -> Iterator[Callable[[int], SideRun]]:
        """Start a launcher, run the setup, and each side once if it is cold or the setup ran."""
        with TemporaryFolder("cell") as folder:
            with (folder / "launcher").open("wb") as log:
                process = processes.spawn(
                    # Without the module `site` it is smaller.
                    [*processes.PYTHON, "-S", str(launcher.__file__)],
                    env=dict(os.environ),
                    stdin=-1,
                    stdout=-1,
                    stderr=log,
                    death_signal=signal.SIGTERM,
                )
            try:
                block = CommandBlock(self, process, folder)
                if self.setup:
                    block.run_words("the setup", self.setup)
                if self.setup or not self._are_warm:
                    for side in range(len(self.words)):
                        block.run_side(side)
                    self._are_warm = True
                yield block.run_side
            finally:
                processes.stop(process, signal.SIGTERM)


class CommandBlock:
    """Runs the commands of one block, one after the other, by its launcher."""

    def __init__(self, runner: CommandRunner, process: Any, folder: Path) -> None:
        self._runner = runner
        self._process = process
        self._errors = folder / "errors"
        # The file with what a command prints; None: it is not read.
        self._output = folder / "printed" if runner.check else None
        self._printed: dict[str, int] = {}

    def run_side(self, side: int) -> SideRun:
        """Run a command; raises `SidesError` when it fails, hangs or prints something else."""
        if self._runner.prepare:
            self.run_words("what prepares a run", self._runner.prepare)
        reply = self.run_words(LETTERS[side], self._runner.words[side])
        if self._output:
            self._compare_printed(side, self._output)
        values = {metric: float(reply[metric]) for metric in COMMAND_METRICS}
        return SideRun(side, reply["began_at"], values)

    def run_words(self, name: str, words: Sequence[str]) -> Mapping[str, Any]:
        """Run a command and return the launcher's reply; raises `SidesError` when it fails."""
        files = {"output": str(self._output or os.devnull), "errors": str(self._errors)}
        request = {"words": words, "timeout_s": self._runner.timeout_s, **files}
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            # A launcher that was stopped takes its alarm when it continues.
            if not select.select([self._process.stdout], [], [], self._runner.timeout_s)[0]:
                self._process.send_signal(signal.SIGCONT)
            reply: Mapping[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            raise SidesError(f"{name} ({shlex.join(words)}): its launcher was killed") from error
        if reply["status"] != 0:
            raise SidesError(f"{name} ({shlex.join(words)}) {self._describe_failure(reply)}")
        return reply

    def _describe_failure(self, reply: Mapping[str, Any]) -> str:
        if reply["status"] is None:
            return f"did not end within {self._runner.timeout_s:g} s: it was killed"
        lines = self._errors.read_text(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        status = reply["status"]
        ended = f"ended with status {status}" if status > 0 else f"was killed by signal {-status}"
        return f"{ended}: {said[-1][-_LAST_WORDS:]}" if said else f"{ended}, without an error"

    def _compare_printed(self, side: int, output: Path) -> None:
        self._printed.setdefault(digest_file(output), side)
        if len(self._printed) > 1:
            first, other = (LETTERS[one] for one in self._printed.values())
            if first == other:
                raise SidesError(f"{first} does not print the same each time: leave out --check")
            raise SidesError(f"{other} does not print the same as {first}")


def digest_file(path: Path) -> str:
    """Return the digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def split_command(command: str) -> list[str]:
    """Return the words of a command; raises `ValueError` when it cannot be started."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{command!r}: {str(error).lower()}") from error
    if not words:
        raise ValueError("a command is empty")
    if shutil.which(words[0]) is None:
        raise ValueError(f"{words[0]!r} is missing, or is not a program that can be started")
    return words


def describe_commands(
    commands: Sequence[str], setup: str | None = None, prepare: str | None = None
) -> SidesQuestion:
    """Return commands as a question, which their digest names.

    The digest includes the working folder, and the programs and files that commands name.
    """
    untimed = [command for command in (setup, prepare) if command]
    split = [split_command(command) for command in [*commands, *untimed]]
    programs = [shutil.which(words[0]) for words in split]
    contents = []
    for word in chain.from_iterable(split):
        # A word may be too long for a name, and a file need not be readable.
        with suppress(OSError):
            if Path(word).is_file():
                contents.append(digest_file(Path(word)))
    digest = digest_values(commands, setup, prepare, str(Path.cwd()), programs, contents)
    return SidesQuestion(f"commands-{digest[:8]}", commands, digest)
