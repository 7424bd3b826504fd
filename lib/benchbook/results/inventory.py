"""What lies in the results' folder: files that are whole and hold what their names say, those that do not, and others.

Each file is held against its seal and its name once a process, and again only when it was replaced.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.results import seal
from benchbook.results.seal import DamagedError, Facts

_NAME: Final = re.compile(r"([0-9A-Za-z_-]+)\.(0|[1-9][0-9]*)(?:\.(failed|skipped))?\.parquet")
ASIDE: Final = ".damaged"
_ASIDE: Final = re.compile(_NAME.pattern + re.escape(ASIDE) + r"(\.[0-9]+)?")
_ANY: Final = re.compile(r"[^.].*\.parquet", re.DOTALL)


@dataclass(frozen=True)
class Held:
    """A whole file."""

    path: Path
    facts: Facts

    @property
    def key(self) -> str:
        """Identity and block."""
        return f"{self.facts.cell_id}.{self.facts.block}"


@dataclass(frozen=True)
class Damage:
    """A file under a cell's name that is not that cell's result, and why."""

    path: Path
    why: str


_Stamp = tuple[int, ...]
_seen: dict[str, tuple[_Stamp, Facts | str]] = {}


def whole(study: str | None = None) -> list[Held]:
    """Return the files that are whole, of one study or of all, sorted."""
    return [Held(path, found) for path, found in _found(study) if isinstance(found, Facts)]


def damaged() -> list[Damage]:
    """Return the files under cells' names that are not those cells' results."""
    return [Damage(path, found) for path, found in _found() if isinstance(found, str)]


def strangers() -> list[Path]:
    """Return what looks like results and has no result's name, such as copies: it is not read."""
    named = (entry for entry in _entries() if _ANY.match(entry.name))
    return [Path(one.path) for one in named if not _NAME.fullmatch(one.name) and not _ASIDE.fullmatch(one.name)]


def lost() -> set[str]:
    """Return the cells, each with its block, of which a file is damaged, or was and is set aside."""
    names = [entry.name for entry in _entries() if _ASIDE.fullmatch(entry.name)]
    return {".".join(name.split(".")[:2]) for name in [*names, *(one.path.name for one in damaged())]}


def _entries(study: str | None = None) -> Iterator["os.DirEntry[str]"]:
    for folder in [paths.results() / study] if study else _folders():
        try:
            with os.scandir(folder) as found:
                yield from sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue


def _folders() -> list[Path]:
    try:
        return sorted(path for path in paths.results().iterdir() if path.is_dir() and not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _found(study: str | None = None) -> Iterator[tuple[Path, Facts | str]]:
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


def _stamp(entry: "os.DirEntry[str]") -> _Stamp:
    facts = entry.stat(follow_symlinks=entry.is_symlink() and Path(entry.path).exists())
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _checked(path: Path, name: re.Match[str]) -> Facts | str:
    """Return what a file holds; in words, why it is not what its name says."""
    try:
        found = seal.whole(path)
    except DamagedError as error:
        return str(error)
    cell, block, state = name.groups()
    if (found.study, found.cell_id, found.block, found.state) != (path.parent.name, cell, int(block), state or "done"):
        return f"it holds {found.study} {found.cell_id}.{found.block}, {found.state}, not what its name says"
    return found
