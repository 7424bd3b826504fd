"""The papers' own stacks, Java and Node: which of them can run here, and a cell that is run on one.

A harness answers one request, both as `harness/contract.schema.json` says, which is checked here: a line of JSON
a repetition, and one that closes. In come a study, a cell's parameters, its files and servers; out come its
`Repetition` objects, each with what it timed, and how it closed. Begin with `find` and `run`.
"""

import json
import os
import pwd
import re
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import IO, Final

import fastjsonschema

from benchbook import paths, processes
from benchbook.measure import Reading
from benchbook.schemas import Document
from benchbook.scrubbing import scrubbed

_NODE: Final = "20.19"

PATIENCE_S: Final = 6 * 3600.0
"""How long a whole cell may take: far longer than the largest of the papers."""

_MOMENT_S: Final = 2.0

_NOISE: Final = 200
"""Characters of a line that is none of the contract's, in a message."""

_TAIL: Final = 500
"""Characters of the error output in a message."""


class LanguageError(RuntimeError):
    """A harness failed, or said something that the contract does not know; the message holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(scrubbed(message))


@dataclass(frozen=True)
class Found:
    """A language that can run: the version of its program, and the command that starts it."""

    version: str
    command: tuple[str, ...]
    temporary: str | None = None
    """The program's option before a folder of temporary files, where it is deaf to ``TMPDIR``."""

    def started(self, folder: str) -> tuple[str, ...]:
        """Return the command, with its temporary files in a folder."""
        program, *arguments = self.command
        return (program, *([self.temporary + folder] if self.temporary else []), *arguments)


@dataclass(frozen=True)
class Missing:
    """A language that cannot run, and why, with what would help."""

    why: str


@dataclass(frozen=True)
class Section:
    """What was timed at once: an operation on so many items, begun at a time (UTC), and all that was read around it."""

    operation: str
    count: int
    started_at: datetime
    readings: list[Reading]
    timed_out: list[Reading]
    """Those of waits that ran out: the true values are larger."""
    arm: Mapping[str, str]
    """The columns that tell its arm from others of the cell: `format` and `codec`, `driver`, `arm`; empty without."""


@dataclass(frozen=True)
class Repetition:
    """One timed pass."""

    number: int
    sections: list[Section]


@dataclass(frozen=True)
class Closing:
    """The last line, all went well: how many repetitions came before it, and what worked, with its version."""

    repetitions: int
    driver: str
    """The library."""
    runtime: str
    """What ran it, such as the JVM."""
    heap_limit: int
    """Bytes that its heap may grow to."""
    lost: str = ""
    """Why nothing more could be measured after those; empty when all was."""


@cache  # it starts the program
def find(language: str) -> Found | Missing:
    """Return a language's harness, or why it cannot run here; raises `LookupError` for Python, which needs none."""
    if language not in _FINDERS:
        raise LookupError(f"no harness for the language {language!r}: there are {', '.join(_FINDERS)}")
    if not paths.harness("").is_dir():
        return Missing("this benchbook was installed without its other stacks, which come with a checkout")
    return _FINDERS[language]()


def jar() -> Path:
    """Return where the Java language's harness lies once it is built (`tools.artefacts`)."""
    return paths.harness("java") / "target" / "benchbook.jar"


def _java() -> Found | Missing:
    if (java := shutil.which("java")) is None:
        return Missing("no Java 17 or newer on PATH: get openjdk and maven from apt-get or conda, then make setup")
    output = _output(java, "-XshowSettings:properties", "-version").stderr
    version = re.search(r'version "((\d+)[^"]*)"', output)
    if version is None or int(version[2]) < 17:
        return Missing(f"{java} is {version[1] if version else 'no JDK'}: Java 17 or newer is needed")
    if not jar().is_file():
        return Missing("harness/java is not built: make setup, with Maven (mvn) on PATH")
    if _is_stale(jar()):
        return Missing("harness/java changed after it was built: make setup, with Maven (mvn) on PATH")
    if home := re.search(r"java\.home = (.+)", output):
        java = str(Path(home[1]) / "bin" / "java")
    # JAXB writes dates in the machine's time zone, the paper's were an hour east of Greenwich
    command = (java, "-Duser.timezone=GMT+01:00", "-jar", str(jar()))
    return Found(f"java {version[1]}", command, "-Djava.io.tmpdir=")


def _is_stale(built: Path) -> bool:
    """Return whether a source of the Java harness is newer than its jar, so that its version would be another's."""
    harness = paths.harness("java")
    sources = [harness / "pom.xml", *(harness / "src" / "main").rglob("*.java")]
    return any(source.stat().st_mtime > built.stat().st_mtime for source in sources)


def _node() -> Found | Missing:
    harness = paths.harness("node")
    if (node := shutil.which("node")) is None:
        return Missing(f"no Node.js {_NODE} or newer on PATH: get nodejs and npm, then make setup")
    output = _output(node, "-p", "`${process.versions.node} ${process.execPath}`").stdout
    version, _, program = output.strip().partition(" ")
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < tuple(map(int, _NODE.split("."))):
        return Missing(f"{node} is {version or 'no Node.js'}: MongoDB's driver needs {_NODE} or newer")
    if not (harness / "node_modules" / "mongoose").is_dir():
        return Missing("harness/node is not installed: make setup, with npm on PATH")
    command = (
        program,
        "--expose-gc",
        "--max-old-space-size=3072",
        str(harness / "harness.js"),
    )  # the paper's heap: 3 GB
    return Found(f"node {version}", command)


_FINDERS: Final[Mapping[str, Callable[[], Found | Missing]]] = {"java": _java, "node": _node}

LANGUAGES: Final = ("python", *_FINDERS)
"""Every language; Python needs no harness."""


def _output(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Return what a program says of itself: what is on PATH may only lead to it, by files in the user's own home."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container's user may have no name
        home = None
    return processes.answer([program, *arguments], env=processes.environment(home))


def run(
    language: str,
    study: str,
    parameters: Document,
    folder: str,
    *,
    data: str | None = None,
    url: str | None = None,
    replica_url: str | None = None,
    database: str | None = None,
    pids: Sequence[int] = (),
    processors: Sequence[int] | None = None,
    server: Document | None = None,
) -> tuple[list[Repetition], Closing]:
    """Run a cell on another stack, in a process of its own that never outlives this one; return its answer.

    What is asked of it is described in ``harness/contract.schema.json``. Raises `LanguageError` when the language is
    not here, the request breaks the contract, or the harness reports an error, prints what is no line of its answer,
    ends without closing it, or takes too long.
    """
    harness = find(language)
    if isinstance(harness, Missing):
        raise LanguageError(harness.why)
    given: Document = {"data": data, "url": url, "replica_url": replica_url, "server": server}
    given |= {"database": database}
    given |= {"pids": list(pids) or None, "processors": list(processors) if processors else None}
    request: Document = {"study": study, "parameters": parameters, "folder": folder}
    request |= {name: value for name, value in given.items() if value is not None}
    _check("request", request)
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(json.dumps(request).encode())
        stdin.seek(0)
        env = processes.environment(Path(folder), TMPDIR=folder)
        process = processes.spawn(harness.started(folder), env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)
        try:
            assert process.stdout is not None
            with process.stdout as lines:
                return _answer(_lines(lines))
        except LanguageError as error:
            raise LanguageError(f"{language}: {error}{_last_words(process, stderr)}") from None
        finally:
            processes.stop(process)


def _answer(lines: Iterator[str]) -> tuple[list[Repetition], Closing]:
    """Return all repetitions and the closing line, in order and complete."""
    repetitions: list[Repetition] = []
    for text in lines:
        line = _parsed(text)
        if isinstance(line, Repetition):
            if line.number != len(repetitions):
                raise LanguageError(f"repetition {line.number} came, {len(repetitions)} was due")
            repetitions.append(line)
        elif line.repetitions != len(repetitions):
            raise LanguageError(f"it closed after {len(repetitions)} repetitions and counted {line.repetitions}")
        else:
            return repetitions, line
    raise LanguageError(f"it ended after {len(repetitions)} repetitions without closing its answer")


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """Return the lines of a pipe as they come; raises `LanguageError` when they take too long."""
    deadline, rest = time.monotonic() + PATIENCE_S, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise LanguageError(f"it did not end within {PATIENCE_S:g} s")
            if not (read := stream.read1(2**16)):  # type: ignore[attr-defined]
                break
            *whole, rest = (rest + read).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _parsed(text: str) -> Repetition | Closing:
    """Return a line of an answer; raises `LanguageError` for the harness' error, or a line that breaks the contract."""
    try:
        line = json.loads(text)
    except ValueError:
        raise LanguageError(f"the harness printed what is no line of its answer: {text.strip()[:_NOISE]!r}") from None
    names = line if isinstance(line, dict) else ()
    if "error" in names:
        _check("error", line)
        raise LanguageError(f"{line['error']['type']}: {line['error']['message']}")
    if "closed" in names:
        _check("closing", line)
        return Closing(**{name: value for name, value in line.items() if name != "closed"})
    _check("repetition", line)
    sections = [_section(**section) for section in line["sections"]]
    return Repetition(line["repetition"], sections)


def _section(operation: str, count: int, started_at: str, values: list[Document], **arm: str) -> Section:
    readings: dict[bool, list[Reading]] = {False: [], True: []}
    for value in values:
        readings[value.pop("timed_out", False)].append(Reading(**value))
    return Section(operation, count, datetime.fromisoformat(started_at), readings[False], readings[True], arm)


def _check(what: str, content: object) -> None:
    """Raise `LanguageError` unless it is as the contract describes that."""
    try:
        _validator(what)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        raise LanguageError(f"the harness' {what} breaks the contract: {error.message[:_NOISE]}") from None


@cache  # it is asked of every line
def _validator(what: str) -> Callable[[object], object]:
    schema = json.loads((paths.harness("") / "contract.schema.json").read_text(encoding="utf-8"))
    check: Callable[[object], object] = fastjsonschema.compile({**schema, "$ref": f"#/$defs/{what}"})
    return check


def _last_words(process: "subprocess.Popen[bytes]", stderr: IO[bytes]) -> str:
    """Return how the harness ended and the end of what it said, once it has ended; it gets a moment to do so."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_MOMENT_S)
    status = processes.stop(process)
    stderr.seek(0)
    output = " ".join(stderr.read().decode(errors="replace").split())[-_TAIL:]
    ended = f" (exit status {status})" if status > 0 else ""
    if status < 0:
        ended = f" (killed by signal {-status})"
    return f"{ended}: {output}" if output else ended
