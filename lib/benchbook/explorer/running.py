"""Cells measured from a page: the same command as in a terminal, in a process of its own, and how far it is."""

import asyncio
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, get_args

from pydantic import BaseModel

from benchbook import grid, processes, rooms, studies
from benchbook.evidence.claims import several
from benchbook.evidence.published import CellSettings, text
from benchbook.inputs import InputError

PROFILE: Final = "quick"
_EVERY_S: Final = 0.5
_COLOURED: Final = ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")
_NOT_ASKED: Final = ("arm", "dataset_file", "timeout_s", "seed")


@dataclass(frozen=True)
class Request:
    """Some cells of a study."""

    study: str
    settings: CellSettings  # of one parameter several as a tuple or by commas; others are as in `PROFILE`
    blocks: int = 5  # how often each cell is measured, at different times
    noisy: bool = False  # do not wait until the machine is quiet

    @property
    def changes(self) -> list[str]:
        """The settings as ``--set`` takes them."""
        named = {**self.settings, "blocks": self.blocks}
        return [f"{name}={','.join(map(text, several(setting)))}" for name, setting in named.items()]

    @property
    def arguments(self) -> list[str]:
        """What the command line is asked."""
        sets = [part for change in self.changes for part in ("--set", change)]
        noisy = ["--noisy"] if self.noisy else []
        return ["run", self.study, "--profile", PROFILE, "--where", "arm=a", *sets, *noisy]

    @property
    def command(self) -> str:
        """The same in a terminal."""
        return shlex.join(["benchbook", *self.arguments])

    def cells(self) -> list[grid.Cell]:
        """Return its cells, done or not.

        Raises
        ------
        benchbook.inputs.InputError
            When a value is wrong, with the nearest right one; or when all refuse the records that they were given.
        """
        return grid.plan([self.study], PROFILE, ["arm=a"], self.changes)

    def refused(self) -> list[grid.LeftOut]:
        """Return which of its cells refuse the records that they were given, and why."""
        absent = grid.left_out([self.study], PROFILE, ["arm=a"], self.changes)
        return [left_out for left_out in absent if left_out.refused]


@dataclass(frozen=True)
class Control:
    """One parameter that a page asks for, and its values; no options where it is any whole number."""

    name: str
    values: tuple[object, ...]  # one, or those of both sides where these differ
    options: tuple[object, ...]


def controls(study: str, *given: CellSettings) -> list[Control]:
    """Return the parameters of a study that can be changed, at the values given or their defaults.

    Parameters
    ----------
    study
        Its slug.
    given
        Parameters of the cells of each side. Of repetitions, which do not tell sides apart, the first's stand.
    """
    controls = []
    model: type[BaseModel] = studies.load(study).Parameters
    for name, field in model.model_fields.items():
        values = tuple(dict.fromkeys(parameters.get(name, field.default) for parameters in given or ({},)))
        options = (False, True) if field.annotation is bool else get_args(field.annotation)
        if name == "room":
            # Those that have a name, and what a side had.
            options = tuple(dict.fromkeys((rooms.NONE, *rooms.NAMED, *values)))
        if name in _NOT_ASKED or len(options) == 1 or (not options and field.annotation is not int):
            continue
        controls.append(Control(name, values[:1] if name == "repetitions" else values, tuple(options)))
    return controls


def requests(study: str, chosen: Mapping[str, tuple[object, ...]], blocks: int) -> list[Request]:
    """Return what is to be measured of parameters of which some have a value for each of two sides.

    Where one has, its values are measured in turn, block by block, as one request. Where several have, most of their
    combinations are neither side: each side is a request of its own.
    """
    apart = sum(len(values) > 1 for values in chosen.values())
    if apart <= 1:
        return [Request(study, chosen, blocks)]
    return [Request(study, {name: values[min(side, len(values) - 1)] for name, values in chosen.items()}, blocks)
            for side in (0, 1)]  # fmt: skip


class Run:
    """Requests that are measured one after the other; what fails leaves the others alone.

    Parameters
    ----------
    requests
        What to measure.
    tell
        Called with this object whenever something changed, from another thread, and once when all have ended.
    """

    def __init__(self, requests: Sequence[Request], tell: Callable[["Run"], None]) -> None:
        self.requests = requests
        self.lines: list[str] = []
        self.status: int | None = None
        """The worst exit status, once nothing runs any more."""
        self._tell = tell
        self._statuses: list[int] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def start(self) -> "Run":
        """Start measuring; from the main thread, for what runs dies with the thread that started it.

        Raises
        ------
        benchbook.inputs.InputError
            As `Request.cells`, of the last request, when none can be measured; nothing was started.
        """
        self._cells: list[grid.Cell] = []
        self._left: list[Request] = []
        for request in self.requests:
            try:
                self._cells += [cell for cell in request.cells() if not cell.missing]
                self._left.append(request)
            except InputError:
                # the others are measured, and the answer says what kept this one from it
                if request is self.requests[-1] and not self._left:
                    raise
        with suppress(RuntimeError):  # no loop runs: `wait` does what is due
            self._loop = asyncio.get_running_loop()
        self._next()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self._cells)

    @property
    def done(self) -> int:
        """How many of them are finished."""
        return sum(cell.path.is_file() for cell in self._cells)

    def stop(self) -> None:
        """Stop as Ctrl-C does: what is finished is kept, and the same requests go on from there."""
        self._left = []
        if self.status is None:
            os.killpg(self._process.pid, signal.SIGINT)

    def wait(self) -> int:
        """Return the exit status when all has ended; only where no event loop runs."""
        while (due := self._due.get()) is not None:
            due()
        return self.status or 0

    def _next(self) -> None:
        if not self._left:
            self.status = max(self._statuses, default=0)
            self._tell(self)
            self._due.put(None)
            return
        command = [*processes.PYTHON, "-m", "benchbook.cli", *self._left.pop(0).arguments]
        # Jupyter's kernels are told to colour what they print, which a page would show as it is sent.
        plain = {name: value for name, value in os.environ.items() if name not in _COLOURED}
        self._process = processes.spawn(
            command, env=plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, death_signal=signal.SIGTERM
        )
        threading.Thread(target=self._read, args=[self._process], daemon=True).start()

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout
        for line in process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip())
            self._tell(self)
        self._statuses.append(process.wait())
        if self._loop is None:
            self._due.put(self._next)
        else:
            self._loop.call_soon_threadsafe(self._next)

    def _watch(self) -> None:
        former = -1
        while self.status is None:
            if (done := self.done) != former:
                former = done
                self._tell(self)
            time.sleep(_EVERY_S)
