"""The results' folder: which files are whole and hold what their names say, which do not, and who may replace them.

Each file is held against its checksum and its name once a process, and again only when it was replaced. Damaged files
are set aside, told of, and never removed; while a run writes, they are only left out.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from benchbook import paths
from benchbook.results import files
from benchbook.results.files import DamagedError, Facts

LOCK: Final = ".running"
"""The file that whoever replaces or moves a result's file holds the lock of."""

_SAYS: Final = 200
"""Characters that its holder may say of itself."""

_GLANCE_S: Final = 0.05

_NAME: Final = re.compile(r"([0-9A-Za-z_-]+)\.(0|[1-9][0-9]*)(?:\.(failed|skipped))?\.parquet")
_SUFFIX: Final = ".damaged"
_ASIDE: Final = re.compile(_NAME.pattern + re.escape(_SUFFIX) + r"(\.[0-9]+)?")
_ANY: Final = re.compile(r"[^.].*\.parquet", re.DOTALL)


class BusyError(RuntimeError):
    """Another run has the results' folder."""


@dataclass(frozen=True)
class Whole:
    """A whole file."""

    path: Path
    facts: Facts

    @property
    def key(self) -> str:
        """Identity and block."""
        return f"{self.facts.cell_id}.{self.facts.block}"


_seen: dict[str, tuple[tuple[int, ...], Facts | str]] = {}


def whole(study: str | None = None) -> list[Whole]:
    """Return the files that are whole, of one study or of all, sorted."""
    return [Whole(path, facts) for path, facts in _checked_files(study) if isinstance(facts, Facts)]


def damaged() -> dict[Path, str]:
    """Return the files under cells' names that are not those cells' results, each with why."""
    return {path: why for path, why in _checked_files() if isinstance(why, str)}


def strangers() -> list[Path]:
    """Return what looks like results and has no result's name, such as copies: it is not read."""
    named = (entry for entry in _entries() if _ANY.match(entry.name))
    return [Path(entry.path) for entry in named if not (_NAME.fullmatch(entry.name) or _ASIDE.fullmatch(entry.name))]


def lost() -> set[str]:
    """Return the cells, each with its block, of which a file is damaged, or was and is set aside."""
    names = [entry.name for entry in _entries() if _ASIDE.fullmatch(entry.name)]
    return {".".join(name.split(".")[:2]) for name in [*names, *(path.name for path in damaged())]}


def set_aside() -> list[str]:
    """Move damaged files out of their cells' names, and return a line for each.

    Only while no run replaces files: what was damaged may be whole by then.
    """
    reasons = damaged()
    if not reasons:
        return []
    try:
        with locked():
            return [_moved(path, why) for path, why in damaged().items()]
    except BusyError:
        why = "a run writes there at present"
    except OSError as error:
        why = f"it cannot be set aside: {error.strerror}"
    return [f"{path} is damaged ({damage}) and left out; {why}" for path, damage in reasons.items()]


def _moved(path: Path, why: str) -> str:
    """Move a file to the first name beside it that nothing has."""
    free, number = path.with_name(f"{path.name}{_SUFFIX}"), 1
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}{_SUFFIX}.{number}")
    try:
        path.rename(free)
    except OSError as error:
        return f"{path} is damaged ({why}) and left out; it cannot be set aside: {error.strerror}"
    return f"{path} is damaged ({why}): set aside as {free.name}, its cell will be measured again"


@contextmanager
def locked(patience_s: float = 0.0) -> Iterator[TextIO]:
    """Hold the lock, and yield where its holder says who it is; the system lets go of it however the process ends.

    Raises
    ------
    BusyError
        When another still holds it when the patience ends: says who.
    OSError
        When the folder takes nothing.
    """
    deadline = time.monotonic() + patience_s
    with _lock_file() as file:
        while not _taken(file):
            if time.monotonic() >= deadline:
                file.seek(0)
                who = file.read(_SAYS) or "another run"
                raise BusyError(f"{who} writes to {paths.results()}: wait for it, or stop it")
            time.sleep(_GLANCE_S)
        yield file


def _lock_file() -> TextIO:
    """Open the lock's file; nothing that waits when it is opened, and nothing elsewhere that a link leads to.

    Whoever can open it can hold it, reading or not: it is its owner's alone, also one that was made for all to read.
    """
    folder = paths.results()
    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(folder / LOCK, flags, 0o600)
    if os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "r+", errors="replace")


def _taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _entries(study: str | None = None) -> Iterator["os.DirEntry[str]"]:
    for folder in [paths.results() / study] if study else _folders():
        try:
            with os.scandir(folder) as entries:
                yield from sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue


def _folders() -> list[Path]:
    try:
        return sorted(path for path in paths.results().iterdir() if path.is_dir() and not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _checked_files(study: str | None = None) -> Iterator[tuple[Path, Facts | str]]:
    for entry in _entries(study):
        if not (name := _NAME.fullmatch(entry.name)):
            continue
        path = Path(entry.path)
        try:
            stamp = _stamp(entry)
            known = _seen.get(entry.path)
            if known is None or known[0] != stamp:
                known = _seen[entry.path] = stamp, _checked(path, name)
        except FileNotFoundError:
            continue  # a run has just replaced a failure by a success
        yield path, known[1]


def _stamp(entry: "os.DirEntry[str]") -> tuple[int, ...]:
    facts = entry.stat(follow_symlinks=entry.is_symlink() and Path(entry.path).exists())
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _checked(path: Path, name: re.Match[str]) -> Facts | str:
    """Return what a file holds; in words, why it is not what its name says."""
    try:
        facts = files.whole(path)
    except DamagedError as error:
        return str(error)
    cell, block, state = name.groups()
    if (facts.study, facts.cell_id, facts.block, facts.state) != (path.parent.name, cell, int(block), state or "done"):
        return f"it holds {facts.study} {facts.cell_id}.{facts.block}, {facts.state}, not what its name says"
    return facts
