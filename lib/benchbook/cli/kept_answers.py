"""Kept answers: what a command printed and wrote, while nothing changes that it follows from.

To read a run, compare and judge takes seconds, and most of them pass before a command does
anything: it imports, and finds out which cells the servers of today would measure. Begin with
`KeptAnswer`; a `KeptValue` is what several answers have in common.
"""

import hashlib
import io
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias, get_args

from typing_extensions import Buffer, override

from benchbook import paths, version
from benchbook.files import suite_files

KEPT_COMMANDS: Final = frozenset({"claims", "compare", "figure", "number"})
"""The commands whose answers are printed again; of `results` only the summary is."""

MAX_ANSWERS: Final = 200
"""The most answers that are kept: of those the oldest are removed."""

SESSION_VARIABLES: Final = frozenset(
    {"_", "OLDPWD", "PWD", "SHLVL", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "WINDOWID"}
)
"""Variables that differ between two terminals, and that no answer follows from."""

GENERATED_FOLDERS: Final = frozenset({"__pycache__", "node_modules", "results", "target"})
"""Folders beside sources that have none of their own; results are listed in another way."""

Stamp: TypeAlias = list[int] | None
"""A file's inode, size and times, all of which no change of it leaves alone; None: no file."""


class KeptValue:
    """A value in a file of JSON, which is right while its inputs are the same.

    It is a cache: one that is absent, damaged or of other inputs is written anew, and a folder that
    cannot be written costs only time. Nothing is kept where a plug-in is installed, because its
    code is not among the inputs.

    Parameters
    ----------
    key
        What the value is of.
    inputs
        As `hash_inputs` returns them.
    files
        Stamps of further files that it follows from.
    """

    def __init__(
        self, key: Sequence[object], inputs: str, files: Mapping[str, Stamp] | None = None
    ) -> None:
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        self._path = paths.kept_answers() / f"{name[:20]}.json"
        self._inputs = inputs
        self._files = files or {}
        # Stamps of users' files, by a value that is kept.
        self.records: Mapping[str, Stamp] | None = None

    def load(self) -> Any:
        """Return the value, or None where none is kept that is still right."""
        try:
            digest, _, content = self._path.read_text(encoding="utf-8").partition("\n")
            kept = json.loads(content)
            is_whole = digest == hashlib.sha256(content.encode()).hexdigest()
            stamps = {name: stamp_file(Path(name)) for name in kept["files"]}
            if not is_whole or kept["inputs"] != self._inputs or kept["files"] != stamps:
                return None
            self.records = kept["records"]
            is_same = self.records == {name: stamp_file(Path(name)) for name in kept["records"]}
            return kept["value"] if is_same else None
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def keep(
        self,
        value: object,
        written: Iterable[Path] = (),
        records: Mapping[str, Stamp] | None = None,
    ) -> None:
        """Keep the value; it is right while the files that were written stay as they are.

        Parameters
        ----------
        records
            As `stamp_records` returns them; None: they are stamped.
        """
        # Here, because it is slow to import, and to load a value does without.
        from benchbook.registry.plugins import PluginGroup, find_entries

        if any(find_entries(group) for group in get_args(PluginGroup)):
            return
        if records is None:
            records = stamp_records()
        stamps = {str(path.absolute()): stamp_file(path) for path in written}
        facts = {"inputs": self._inputs, "files": {**self._files, **stamps}, "records": records}
        content = json.dumps({**facts, "value": value})
        digest = hashlib.sha256(content.encode()).hexdigest()
        with suppress(OSError):
            suite_files.write_file(self._path, f"{digest}\n{content}")
            kept = sorted(self._path.parent.iterdir(), key=lambda file: file.stat().st_mtime)
            for file in kept[:-MAX_ANSWERS]:
                file.unlink()


class KeptAnswer:
    """The kept answer to a command line, on this terminal and in this folder.

    Parameters
    ----------
    arguments
        The command and its arguments. Those that are paths of files, or of folders of results,
        are among the inputs.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        streams = [(stream.isatty(), stream.encoding) for stream in (sys.stdout, sys.stderr)]
        asked = [*arguments, str(Path.cwd()), streams, shutil.get_terminal_size()]
        # Stamps of the files that the arguments name, before some of them are written.
        named = [path.absolute() for path in _list_paths(arguments) if not path.is_dir()]
        files = {str(path): stamp_file(path) for path in named}
        self.inputs = hash_inputs(arguments)
        self._value = KeptValue(asked, self.inputs, files)
        # Texts in order, each with whether it is of stderr.
        self._printed: list[tuple[bool, str]] = []

    def repeat(self) -> bool:
        """Print the answer again; return whether there is one that is still right."""
        printed = self._value.load()
        if printed is None:
            return False
        for is_error, text in printed:
            stream = sys.stderr if is_error else sys.stdout
            stream.buffer.write(text.encode("utf-8", "surrogateescape"))
            stream.flush()
        return True

    @contextmanager
    def record(self) -> Iterator[None]:
        """Record what is printed, while it is printed."""
        streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = (
            _wrap(stream, _Recorder(stream, self._printed, is_error=stream is sys.stderr))
            for stream in streams
        )
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = streams

    def keep(
        self, written: Iterable[Path] = (), records: Mapping[str, Stamp] | None = None
    ) -> None:
        """Keep what was recorded; the parameters are those of `KeptValue.keep`."""
        self._value.keep(self._printed, written, records)


def repeat_numbers(arguments: Sequence[str], inputs: str) -> bool:
    """Print the numbers of keys, where all are kept; return whether they are.

    A key that is asked for the first time is kept when one with the same first word was.
    """
    command, *rest = arguments
    if command != "number":
        return False
    keys = [argument for argument in rest if argument != "--reference"]
    run = paths.REFERENCE if "--reference" in rest else "quick"
    lines = []
    for key in keys:
        kept = find_kept_numbers(key, inputs, run)
        texts = kept.load() or {}
        if key not in texts:
            return False
        lines.append((key, *texts[key]))
    print_numbers(lines)
    return bool(keys)


def find_kept_numbers(key: str, inputs: str, run: str) -> KeptValue:
    """Return the kept texts, by key, of a run's numbers with the first word of a key."""
    return KeptValue(["numbers", key.partition(".")[0], run], inputs)


def print_numbers(lines: Iterable[tuple[str, str, str]]) -> None:
    """Print numbers, of each its key, text and description: on stdout only texts, for scripts."""
    for key, text, says in lines:
        print(text)
        print(f"{key}: {says}", file=sys.stderr)


class _Recorder(io.BufferedIOBase):
    """A stream that passes what is written on to another, and records it."""

    def __init__(self, stream: TextIO, printed: list[tuple[bool, str]], *, is_error: bool) -> None:
        self.name = "recorded"
        self._stream = stream
        self._printed = printed
        self._is_error = is_error

    @override
    def write(self, data: Buffer) -> int:
        text = bytes(data).decode("utf-8", "surrogateescape")
        self._printed.append((self._is_error, text))
        return self._stream.buffer.write(data)

    @override
    def flush(self) -> None:
        self._stream.buffer.flush()

    @override
    def writable(self) -> bool:
        return True

    @override
    def isatty(self) -> bool:
        return self._stream.isatty()

    @override
    def fileno(self) -> int:
        return self._stream.fileno()


def _wrap(stream: TextIO, recorder: _Recorder) -> io.TextIOWrapper:
    """Return a text stream on a recorder, as the recorded one writes texts."""
    return io.TextIOWrapper(
        recorder,
        stream.encoding,
        "replace",
        write_through=True,
        line_buffering=bool(stream.line_buffering),
    )


def is_kept(arguments: Sequence[str]) -> bool:
    """Return whether the answer to a command line is kept.

    A query with ``--sql`` may answer differently each time, and help needs no working folder.
    """
    is_help = bool({"-h", "--help"} & {*arguments})
    return [*arguments] == ["results"] or (not is_help and bool({*arguments[:1]} & KEPT_COMMANDS))


def hash_inputs(arguments: Sequence[str]) -> str:
    """Return a digest of all that the answer to a command line follows from.

    A file is compared by its `stamp_file`. Servers and languages are asked for their versions,
    unless the answer is of other runs than this machine's. Whether networks can be used is not
    asked: what was measured in one counts without it.
    """
    facts: list[object] = [sys.version, version.describe_version(), platform.uname()]
    variables = sorted({*os.environ} - SESSION_VARIABLES)
    facts += [f"{name}={os.environ[name]}" for name in variables]
    for place in sys.path:
        facts += sorted(found.name for found in Path(place).glob("*.dist-info"))

    # The code, its data, and the reference run.
    files: list[Path] = [paths.papers(), *paths.notebooks().glob("*.ipynb")]
    folders = [Path(paths.__file__).parent, paths.harness(""), paths.grids(), paths.reference()]
    folders += [paths.claims(), paths.findings(), paths.published_numbers()]
    for folder in (*folders, paths.released_verdicts()):
        for parent, names, found in os.walk(folder):
            names[:] = {*names} - GENERATED_FOLDERS
            files += [Path(parent, name) for name in found]

    # The results here and in folders that the arguments name.
    for folder in (paths.results(), *_list_paths(arguments)):
        files += [*folder.glob("*.parquet"), *folder.glob("*/*.parquet*")]
    facts += [(str(file), stamp_file(file)) for file in sorted({*files})]

    # What this machine would measure with.
    if "--reference" not in arguments and "compare" not in arguments[:1]:
        # Here, because the other commands do without.
        from benchbook.measure.machine import digest_machine_id, name_host
        from benchbook.registry.products import PRODUCTS
        from benchbook.servers import launcher
        from benchbook.studies import harness

        facts += [name_host(), digest_machine_id()]
        for topology in ("single", "replicated"):
            facts += [launcher.find_server(product, topology) for product in PRODUCTS]
        facts += [harness.find_harness(language) for language in harness.PROGRAMMING_LANGUAGES[1:]]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def stamp_records() -> Mapping[str, Stamp]:
    """Return the stamps of users' files: their cells count while a file has the same records."""
    # Here, as in `KeptValue.keep`.
    from benchbook.results.folder import open_results

    stamps = {}
    for result in open_results().list_files():
        records = json.loads(result.facts.parameters or "{}").get("dataset_file")
        for name in {records, str(records).rpartition("#")[0]} - {None, ""}:
            stamps[name] = stamp_file(Path(name))
    return stamps


def _list_paths(arguments: Sequence[str]) -> list[Path]:
    """Return the arguments, and the values of options, that are paths of something."""
    named = [Path(argument.rpartition("=")[2]) for argument in arguments]
    return [path for path in named if stamp_file(path)]


def stamp_file(path: Path) -> Stamp:
    """Return the stamp of a file; no content is read."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
