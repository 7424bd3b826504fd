"""Java and Node.js, the languages of papers: find their harness, and run a cell in it.

A harness is a program that answers one request with a line of JSON per repetition and one that
closes. ``harness/contract.schema.json`` describes request and answer, which are checked here. Begin
with `find_harness` and `run_cell`.
"""

import json
import os
import re
import selectors
import shutil
import subprocess
import sys
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

from benchbook import paths
from benchbook.measure import Reading
from benchbook.registry.products import name_package_manager
from benchbook.schema import Document, UnfitError
from benchbook.servers import processes
from benchbook.servers.deployment import is_older
from benchbook.servers.errors import scrub_passwords

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import pwd

PATIENCE_S: Final = 6 * 3600.0
"""Seconds that a whole cell may take, far more than the papers' largest."""

_JAVA: Final = 17
_NODE: Final = "20.19"

_NODE_HEAP: Final = "3072m"
"""Largest heap of Node.js by default: the paper's had 3 GB."""

_MAX_LINE: Final = 200
"""Characters of a wrong line in a message."""


class LanguageError(RuntimeError):
    """A harness failed, or broke the contract; the message has no password."""

    def __init__(self, message: str) -> None:
        super().__init__(scrub_passwords(message))


@dataclass(frozen=True)
class Harness:
    """A language that can run: the version of its program, and the command that starts it."""

    version: str
    command: tuple[str, ...]
    temporary_option: str | None = None
    """The option before a temporary folder, for a program that ignores ``TMPDIR``."""
    heap_option: str | None = None
    """The option before the megabytes of the largest heap, for a program that has its own."""

    def make_command(self, folder: str, heap: str = "default") -> tuple[str, ...]:
        """Return the command, with its temporary files in a folder, and a largest heap."""
        program, *arguments = self.command
        if self.temporary_option:
            arguments.insert(0, self.temporary_option + folder)
        if self.heap_option:
            size = _NODE_HEAP if heap == "default" else heap
            arguments.insert(0, self.heap_option + size.removesuffix("m"))
        return (program, *arguments)


@dataclass(frozen=True)
class MissingHarness:
    """A language that cannot run, with the reason and the remedy."""

    why: str


@dataclass(frozen=True)
class Section:
    """One timed section: an operation on some items, its start (UTC) and its readings."""

    operation: str
    count: int
    started_at: datetime
    readings: list[Reading]
    timed_out: list[Reading]
    """Readings of waits that ran out: the true values are larger."""
    arm: Mapping[str, str]
    """Columns that differ within the cell: `format` and `codec`, `driver` or `arm`; else empty."""


@dataclass(frozen=True)
class Repetition:
    """One timed pass."""

    number: int
    sections: list[Section]


@dataclass(frozen=True)
class Closing:
    """The last line of a complete answer."""

    repetitions: int
    driver: str
    """The library, with its version."""
    runtime: str
    """The program that ran it, such as the JVM, with its version."""
    heap_limit: int
    """The heap's largest size in bytes."""
    lost: str = ""
    """Why nothing could be measured after these repetitions; empty when all were."""


# Cached because it starts a program.
@cache
def find_harness(language: str) -> Harness | MissingHarness:
    """Return a language's harness, or why it cannot run; `LookupError` for Python."""
    if language not in _FINDERS:
        known = ", ".join(_FINDERS)
        raise LookupError(f"no harness for the language {language!r}: there are {known}")
    if not paths.harness("").is_dir():
        return MissingHarness(
            "this benchbook was installed without its other stacks, which come with a checkout"
        )
    return _FINDERS[language]()


def find_jar() -> Path:
    """Return the path of the Java harness, which `tools.artefacts` builds."""
    return paths.harness("java") / "target" / "benchbook.jar"


def _find_java() -> Harness | MissingHarness:
    java = shutil.which("java")
    if java is None:
        return MissingHarness(
            f"no Java {_JAVA} or newer on PATH:"
            f" get openjdk and maven from {name_package_manager()} or conda, then make setup"
        )
    # Check the version.
    output = _ask_program(java, "-XshowSettings:properties", "-version").stderr
    version = re.search(r'version "((\d+)[^"]*)"', output)
    if version is None or int(version[2]) < _JAVA:
        found = version[1] if version else "no JDK"
        return MissingHarness(f"{java} is {found}: Java {_JAVA} or newer is needed")
    # Check that the harness is built of its present sources.
    if not find_jar().is_file():
        return MissingHarness("harness/java is not built: make setup, with Maven (mvn) on PATH")
    if _is_stale(find_jar()):
        return MissingHarness(
            "harness/java changed after it was built: make setup, with Maven (mvn) on PATH"
        )
    # The command on PATH may only lead to it.
    home = re.search(r"java\.home = (.+)", output)
    if home:
        java = str(Path(home[1]) / "bin" / "java")
    # JAXB writes dates in the machine's time zone; the paper's were an hour east of Greenwich.
    command = (java, "-Duser.timezone=GMT+01:00", "-jar", str(find_jar()))
    return Harness(f"java {version[1]}", command, "-Djava.io.tmpdir=")


def _is_stale(jar: Path) -> bool:
    """Return whether a source of the Java harness is newer than its jar."""
    harness = paths.harness("java")
    sources = [harness / "pom.xml", *(harness / "src" / "main").rglob("*.java")]
    return any(source.stat().st_mtime > jar.stat().st_mtime for source in sources)


def _find_node() -> Harness | MissingHarness:
    harness = paths.harness("node")
    node = shutil.which("node")
    if node is None:
        return MissingHarness(
            f"no Node.js {_NODE} or newer on PATH: get nodejs and npm, then make setup"
        )
    output = _ask_program(node, "-p", "`${process.versions.node} ${process.execPath}`").stdout
    version, _, program = output.strip().partition(" ")
    if is_older(".".join(version.split(".")[:2]), _NODE):
        found = version or "no Node.js"
        return MissingHarness(f"{node} is {found}: MongoDB's driver needs {_NODE} or newer")
    if not (harness / "node_modules" / "mongoose").is_dir():
        return MissingHarness("harness/node is not installed: make setup, with npm on PATH")
    command = (program, "--expose-gc", str(harness / "harness.js"))
    return Harness(f"node {version}", command, heap_option="--max-old-space-size=")


_FINDERS: Final[Mapping[str, Callable[[], Harness | MissingHarness]]] = {
    "java": _find_java,
    "node": _find_node,
}

PROGRAMMING_LANGUAGES: Final = ("python", *_FINDERS)
"""Every language; Python needs no harness."""


def _ask_program(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a program that prints its version; a link may need files in the user's home."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        # A container's user may have no name.
        home = None
    return processes.run_command([program, *arguments], env=processes.make_environment(home))


def run_cell(
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
    first: int = 0,
    heap: str = "default",
) -> tuple[list[Repetition], Closing]:
    """Run a cell in another language, in a process that ends with this one; return its answer.

    ``harness/contract.schema.json`` describes the parameters, except `heap`: the largest heap of
    Node.js, as ``64m``.

    Raises
    ------
    LanguageError
        When the language is missing, or the request or an answer's line breaks the contract. Also
        when the harness reports an error, does not close its answer, or takes too long.
    UnfitError
        When the server or the mapper refuses a user's records.
    """
    harness = find_harness(language)
    if isinstance(harness, MissingHarness):
        raise LanguageError(harness.why)
    # Make the request, without what is not given.
    request: Document = {"study": study, "parameters": parameters, "folder": folder}
    optional: Document = {
        "data": data,
        "url": url,
        "replica_url": replica_url,
        "server": server,
        "database": database,
        "pids": list(pids) or None,
        "processors": list(processors) if processors else None,
        "first": first or None,
    }
    request |= {name: value for name, value in optional.items() if value is not None}
    _check_contract("request", request)
    # Run the harness, and read its answer as it comes.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(json.dumps(request).encode())
        stdin.seek(0)
        env = processes.make_environment(Path(folder), TMPDIR=folder)
        command = harness.make_command(folder, heap)
        process = processes.spawn(
            command, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
        )
        try:
            assert process.stdout is not None
            with process.stdout as lines:
                return _read_answer(_read_lines(lines))
        except LanguageError as error:
            raise LanguageError(f"{language}: {error}{_describe_end(process, stderr)}") from None
        finally:
            processes.stop(process)


def _read_answer(lines: Iterator[str]) -> tuple[list[Repetition], Closing]:
    """Return all repetitions and the closing line; `LanguageError` unless complete and in order."""
    repetitions: list[Repetition] = []
    for text in lines:
        line = _parse_line(text)
        count = len(repetitions)
        if isinstance(line, Closing):
            if line.repetitions != count:
                raise LanguageError(
                    f"it closed after {count} repetitions and counted {line.repetitions}"
                )
            return repetitions, line
        if line.number != count:
            raise LanguageError(f"repetition {line.number} came, {count} was due")
        repetitions.append(line)
    raise LanguageError(f"it ended after {len(repetitions)} repetitions without closing its answer")


def _read_lines(stream: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a pipe as they come; `LanguageError` when they take too long."""
    deadline, rest = time.monotonic() + PATIENCE_S, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise LanguageError(f"it did not end within {PATIENCE_S:g} s")
            read = stream.read1(2**16)  # type: ignore[attr-defined]
            if not read:
                break
            *whole, rest = (rest + read).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _parse_line(text: str) -> Repetition | Closing:
    """Return a line of an answer; `LanguageError` for an error or a breach of the contract."""
    try:
        line = json.loads(text)
    except ValueError:
        start = text.strip()[:_MAX_LINE]
        raise LanguageError(
            f"the harness printed a line that is not part of its answer: {start!r}"
        ) from None
    # An error.
    names = line if isinstance(line, dict) else ()
    if "error" in names:
        _check_contract("error", line)
        if line["error"]["type"] == UnfitError.__name__:
            raise UnfitError(line["error"]["message"])
        raise LanguageError(f"{line['error']['type']}: {line['error']['message']}")
    # The last line.
    if "closed" in names:
        _check_contract("closing", line)
        return Closing(**{name: value for name, value in line.items() if name != "closed"})
    # A repetition.
    _check_contract("repetition", line)
    sections = [_read_section(**section) for section in line["sections"]]
    return Repetition(line["repetition"], sections)


def _read_section(
    operation: str, count: int, started_at: str, values: list[Document], **arm: str
) -> Section:
    readings: list[Reading] = []
    timed_out: list[Reading] = []
    for value in values:
        of_wait = value.pop("timed_out", False)
        (timed_out if of_wait else readings).append(Reading(**value))
    start = datetime.fromisoformat(started_at)
    return Section(operation, count, start, readings, timed_out, arm)


def _check_contract(part: str, content: object) -> None:
    """Raise `LanguageError` unless the content is as the contract describes that part."""
    try:
        _compile_contract(part)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        why = error.message[:_MAX_LINE]
        raise LanguageError(f"the harness' {part} breaks the contract: {why}") from None


# Cached because each line is checked.
@cache
def _compile_contract(part: str) -> Callable[[object], object]:
    text = (paths.harness("") / "contract.schema.json").read_text(encoding="utf-8")
    schema = {**json.loads(text), "$ref": f"#/$defs/{part}"}
    check: Callable[[object], object] = fastjsonschema.compile(schema)
    return check


def _describe_end(process: "subprocess.Popen[bytes]", stderr: IO[bytes]) -> str:
    """Return how the harness ended, with the end of its error output; it has a moment to end."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(2.0)
    status = processes.stop(process)
    stderr.seek(0)
    words = stderr.read().decode(errors="replace").split()
    output = " ".join(words)[-500:]
    ended = ""
    if status > 0:
        ended = f" (exit status {status})"
    elif status < 0:
        ended = f" (killed by signal {-status})"
    return f"{ended}: {output}" if output else ended
