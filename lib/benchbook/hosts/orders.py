"""What a run and a host's worker must have alike, and say to each other: an order out, news and a delivery back."""

import hashlib
import json
import platform
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

from typing_extensions import override

from benchbook import paths, plugins
from benchbook.grid import Cell
from benchbook.runner.progress import Listener, Summary

STOPPED: Final = "stopped"
"""Why a delivery ended that the run itself stopped."""

NEWS: Final = "benchbook-news"
"""Dask's topic of what workers tell while they measure."""

News: TypeAlias = tuple[str, str, tuple[Any, ...]]
"""The order's name, which method of `benchbook.runner.progress.Progress` it is for, and its arguments; a cell is given
as its number in the order."""


StudyBlock: TypeAlias = tuple[int, str]
"""A block of a study."""


@dataclass(frozen=True)
class Asked:
    """Which cells a run was asked for, as `benchbook.grid.plan` takes them."""

    studies: tuple[str, ...]
    profile: str
    where: tuple[str, ...]
    changes: tuple[str, ...]


class Plan:
    """A host's cells: each cell once, and where it stands in which blocks, so that many blocks are soon sent."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        by_identity = {cell.identity: replace(cell, state="todo") for cell in reversed(cells)}
        self.kinds = [*by_identity.values()]
        numbers = {identity: number for number, identity in enumerate(by_identity)}
        self._places: dict[StudyBlock, array[int]] = {}
        """By part the number of each of its cells and the cell's position there, one after the other."""
        for cell in cells:
            places = self._places.setdefault((cell.block, cell.study), array("i"))
            places.extend((numbers[cell.identity], cell.position))

    @property
    def parts(self) -> Collection[StudyBlock]:
        """Its parts, in the order in which they are run."""
        return self._places.keys()

    def cells(self, part: StudyBlock | None = None) -> list[Cell]:
        """Return the cells of a part, or all, as if nothing were done of them yet."""
        cells = []
        for block, study in self.parts if part is None else [part]:
            places = self._places[block, study]
            for number, position in zip(places[::2], places[1::2], strict=True):
                cells.append(replace(self.kinds[number], block=block, position=position))
        return sorted(cells, key=lambda cell: (cell.block, cell.position))


@dataclass(frozen=True)
class Order:
    """Cells of one study in one block, to be measured one after the other on one host."""

    name: str
    cells: tuple[Cell, ...]
    timeout_s: float
    patience_s: float | None
    left_s: float  # of the run's budget: no cell is begun later


@dataclass
class Delivery:
    """What became of an order: what was written of its cells, by their paths in the results' folder."""

    files: dict[str, bytes] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)
    ended: str | None = None  # why before its end; None: all of it was run


class Relay(Listener):
    """Tells the run what `benchbook.runner.progress.Progress` hears on one machine, of an order's cells."""

    def __init__(self, order: Order, tell: Callable[[News], None]) -> None:
        self._name = order.name
        self._numbers: Mapping[str, int] = {cell.key: number for number, cell in enumerate(order.cells)}
        self._tell = tell

    @override
    def begun(self, cell: Cell) -> None:
        self._say("begun", self._numbers[cell.key])

    @override
    def waiting(self, why: str, advice: str = "") -> None:
        self._say("waiting", why, advice)

    @override
    def ended(self, cell: Cell, state: str, seconds: float | None = None, reason: str = "") -> None:
        self._say("ended", self._numbers[cell.key], state, seconds, reason)

    @override
    def kept(self, cell: Cell, reason: str) -> None:
        self._say("kept", self._numbers[cell.key], reason)

    @override
    def visited(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Say nothing: how far the whole run is, only the runner knows."""

    def _say(self, method: str, *arguments: object) -> None:
        self._tell((self._name, method, arguments))


_FILES: Final = ("lib/benchbook/**/*.py", "harness/**/*.java", "harness/**/*.[jm]s", "harness/**/pom.xml")
_LISTS: Final = ("papermill_params/*.yaml", "data/claims/*.yaml", "harness/**/*lock*", "requirements.lock")
_NOT_OURS: Final = frozenset({"node_modules", "target", "__pycache__"})


def sameness() -> dict[str, str]:
    """Return by name what must be alike: digests of the suite's files, versions of Python and of each package."""
    versions = {f"package {package.name}": package.version for package in metadata.distributions()}
    versions.pop("package benchbook", None)
    versions["Python"] = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return versions | {f"file {name}": hashlib.sha256(content).hexdigest() for name, content in _contents(paths.root())}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """Return in words what differs there from here; nothing when all is alike."""
    unlike = [name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)]
    words = []
    for kind in ("Python", "package", "file"):
        if names := [name for name in unlike if name.startswith(kind)]:
            first = names[0].removeprefix(f"{kind} ")
            versions = f" {there.get(names[0], 'missing')}, here {here.get(names[0], 'missing')}"
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            words.append(f"{first}{' is another file' if kind == 'file' else versions}{more}")
    return "; ".join(words)


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    for pattern in (*_FILES, *_LISTS):
        for path in sorted(root.glob(pattern)):
            if path.is_file() and not _NOT_OURS & {*path.relative_to(root).parts}:
                yield str(path.relative_to(root)), path.read_bytes()
    notebooks = {f"notebooks/{path.name}": path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    for package in plugins.packages():
        folder = plugins.folder(package)
        notebooks |= {f"{package}/{path.name}": path for path in sorted(folder.glob("*.ipynb"))}
        for path in sorted((*folder.rglob("*.py"), *folder.glob("*.yaml"))):
            yield f"{package}/{path.relative_to(folder)}", path.read_bytes()
    # What was run in one, and what came out, is no matter.
    for name, path in notebooks.items():
        yield name, json.dumps([cell["source"] for cell in json.loads(path.read_text())["cells"]]).encode()
