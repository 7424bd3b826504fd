"""One cell on another stack: start its harness, ask, and read the answer line by line until it closes."""

import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from benchbook import processes
from benchbook.lanes import contract
from benchbook.lanes.contract import Closing, LaneError, Repetition
from benchbook.lanes.toolchains import Missing, find

PATIENCE_S: Final = 6 * 3600.0
"""How long a whole cell may take unless it is told otherwise: far longer than the largest of the papers."""

_MOMENT_S: Final = 2.0

_TAIL: Final = 500
"""Characters of the error output in a message."""


def run(
    lane: str,
    study: str,
    parameters: dict[str, Any],
    folder: str,
    *,
    data: str | None = None,
    url: str | None = None,
    replica_url: str | None = None,
    pids: Sequence[int] = (),
    patience_s: float = PATIENCE_S,
) -> tuple[list[Repetition], Closing]:
    """Run a cell on another stack, in a process of its own that never outlives this one.

    Parameters
    ----------
    lane
        ``java`` or ``node``.
    study, parameters, folder, data, url, replica_url, pids
        The request: see ``harness/contract.schema.json``.
    patience_s
        How long the whole may take, in seconds.

    Returns
    -------
    tuple
        Every repetition, and the line that closes.

    Raises
    ------
    LaneError
        When the lane is not here, the harness reports an error, prints what is no line of its answer, ends without
        closing it, or takes too long.
    """
    found = find(lane)
    if isinstance(found, Missing):
        raise LaneError(found.why)
    asked = contract.request(
        study, parameters, folder, data=data, url=url, replica_url=replica_url, pids=list(pids) or None
    )
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(asked)
        stdin.seek(0)
        env = processes.environment(Path(folder), TMPDIR=folder)
        process = processes.spawn(found.started(folder), env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)
        try:
            assert process.stdout is not None
            with process.stdout as lines:
                return _answer(_lines(lines, patience_s))
        except LaneError as error:
            raise LaneError(f"{lane}: {error}{_said(process, stderr)}") from None
        finally:
            processes.stop(process)


def _answer(lines: Iterator[str]) -> tuple[list[Repetition], Closing]:
    """Return all repetitions and the closing line, in order and complete."""
    repetitions: list[Repetition] = []
    for text in lines:
        told = contract.line(text)
        if isinstance(told, Repetition):
            if told.number != len(repetitions):
                raise LaneError(f"repetition {told.number} came, {len(repetitions)} was due")
            repetitions.append(told)
        elif told.repetitions != len(repetitions):
            raise LaneError(f"it closed after {len(repetitions)} repetitions and counted {told.repetitions}")
        else:
            return repetitions, told
    raise LaneError(f"it ended after {len(repetitions)} repetitions without closing its answer")


def _lines(stream: IO[bytes], patience_s: float) -> Iterator[str]:
    """Return the lines of a pipe as they come; raises `LaneError` when they take too long."""
    deadline, rest = time.monotonic() + patience_s, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise LaneError(f"it did not end within {patience_s:g} s")
            if not (read := stream.read1(2**16)):  # type: ignore[attr-defined]
                break
            *whole, rest = (rest + read).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _said(process: "subprocess.Popen[bytes]", stderr: IO[bytes]) -> str:
    """Return how the harness ended and the end of what it said, once it has ended; it gets a moment to do so."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_MOMENT_S)
    status = processes.stop(process)
    stderr.seek(0)
    said = " ".join(stderr.read().decode(errors="replace").split())[-_TAIL:]
    ended = f" (exit status {status})" if status > 0 else f" (killed by signal {-status})" if status < 0 else ""
    return f"{ended}: {said}" if said else ended
