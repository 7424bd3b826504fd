"""The results' folder: one file per cell and block, named by its identity, block and state.

Begin with `open_results`, which returns a `ResultsFolder`. Footers are compared with the files'
names, and checksums are verified before values are used: once per process, and again when a file
was replaced. Damaged files are set aside and never removed; while a run writes, they are left out.
"""

import itertools
import json
import math
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import fcntl

import pyarrow as pa
from pyarrow.json import ParseOptions, ReadOptions, read_json

from benchbook import paths
from benchbook.files import suite_files
from benchbook.files.inputs import FileKindError
from benchbook.results import files
from benchbook.results.files import STATES, CellFacts, CellState, DamagedError, write_table
from benchbook.results.schema import VALUES, build_schema, merge_schemas

if TYPE_CHECKING:
    import pandas as pd

_WORD: Final = "[0-9A-Za-z_-]+"
"""Characters of the name of a cell's file, and of its study's folder."""

_NAME: Final = re.compile(rf"({_WORD})\.(0|[1-9][0-9]*)(?:\.(failed|skipped))?\.parquet")
_SUFFIX: Final = ".damaged"
_ASIDE: Final = re.compile(_NAME.pattern + re.escape(_SUFFIX) + r"(\.[0-9]+)?")

_PATH_PART: Final = r"(?:[\w.+@~%-]|\\u[0-9a-f]{4})+"
_PATH: Final = re.compile(
    # Paths of the kernel are the same everywhere.
    r"(?:(?<=file://)|(?<![\w./~<)…]))(?!/(?:proc|sys|dev(?!/shm))/)"
    # In quotes, as Python writes them, names may have spaces.
    rf"(?:(?<=')/[^':,;\n]*/(?=[^':,;/\n]+')|/(?:{_PATH_PART}/)+(?={_PATH_PART}))"
)
"""The folders in an absolute path, in a text or in JSON."""

WITH_PATHS: Final = ("reason", "environment")
"""The columns whose texts may name files of the machine that measured."""


class BusyError(RuntimeError):
    """Another run holds the lock of the results' folder."""


Operations: TypeAlias = frozenset[str] | None
"""Operations of a result that count; None: all of them."""


@dataclass(frozen=True)
class ResultFile:
    """A file of a cell that is not damaged."""

    path: Path
    facts: CellFacts
    # Those that count.
    operations: Operations = None

    @property
    def key(self) -> str:
        """Identity and block."""
        return f"{self.facts.cell_id}.{self.facts.block}"


Stamp = tuple[int, ...]
_seen: dict[Path, tuple[Stamp, CellFacts | str]] = {}
_verified: dict[Path, Stamp] = {}


@dataclass(frozen=True)
class ResultsFolder:
    """The files of cells in one folder: of this process, or of another run."""

    path: Path

    def locate_file(self, study: str, identity: str, block: int, state: CellState = "done") -> Path:
        """Return the path of a cell's file in a state."""
        suffix = "" if state == "done" else f".{state}"
        return self.path / study / f"{identity}.{block}{suffix}.parquet"

    def list_files(self, study: str | None = None) -> list[ResultFile]:
        """Return the files that are not damaged, of one study or of all, sorted."""
        found = []
        for path, facts in self._check_files(study):
            if isinstance(facts, CellFacts):
                found.append(ResultFile(path, facts))
        return found

    def list_finished_files(
        self, identities: Iterable[str] | Mapping[str, Operations] | None = None
    ) -> list[ResultFile]:
        """Return the files of finished cells.

        Parameters
        ----------
        identities
            ``identity`` for all blocks of a cell, ``identity.block`` for one, perhaps each with the
            operations that count; None for all cells.
        """
        done = [file for file in self.list_files() if file.facts.state == "done"]
        if identities is None:
            return done
        operations_of = map_operations(identities)
        chosen = []
        for file in done:
            name = file.facts.cell_id if file.facts.cell_id in operations_of else file.key
            if name in operations_of:
                chosen.append(replace(file, operations=operations_of[name]))
        return chosen

    def list_states(self, study: str) -> dict[str, CellState]:
        """Return the state of each cell of a study that is written and not damaged.

        By ``identity.block``.
        """
        written = sorted(self.list_files(study), key=lambda file: STATES.index(file.facts.state))
        # An interrupted `write_cell` may leave an earlier state; the better one counts.
        return {file.key: file.facts.state for file in reversed(written)}

    def list_refusals(self, study: str) -> dict[str, str]:
        """Return why servers refused a user's records, by the identity of a cell that tried."""
        reasons = {}
        for file in self.list_files(study):
            # A cell that was skipped for another reason has never begun.
            if file.facts.state == "skipped" and file.facts.started_at is not None:
                reasons[file.facts.cell_id] = str(files.read_table(file.path)["reason"][0].as_py())
        return reasons

    def list_noisy_cells(self, keys: Iterable[str]) -> dict[str, float]:
        """Return the noisy ones of some finished cells, each with the processors that others used.

        Cells are named ``identity.block``.
        """
        loads = {}
        for file in verify_files(self.list_finished_files(keys)):
            row = files.read_first_row(file.path, ["noisy", "background_load"])
            if row["noisy"]:
                load = row["background_load"]
                loads[file.key] = math.inf if load is None else load
        return loads

    def list_durations(self) -> dict[tuple[str, str], float]:
        """Return the last duration of each finished cell, in seconds.

        By study and parameters in JSON.
        """
        timed = [
            file.facts for file in self.list_finished_files() if not math.isnan(file.facts.took_s)
        ]
        timed.sort(key=lambda facts: facts.ended_at or 0.0)
        return {(facts.study, str(facts.parameters)): facts.took_s for facts in timed}

    def find_damaged_files(self) -> dict[Path, str]:
        """Return the damaged files, each with the reason."""
        return {path: why for path, why in self._check_files() if isinstance(why, str)}

    def find_unknown_files(self) -> list[Path]:
        """Return Parquet files without the name of a result, such as copies, which are not read."""
        unknown = []
        for entry in self._scan_folders():
            # A copy may have a further ending; a hidden file is being written.
            is_parquet = ".parquet" in entry.name and not entry.name.startswith(".")
            is_result = _NAME.fullmatch(entry.name) or _ASIDE.fullmatch(entry.name)
            if is_parquet and not is_result:
                unknown.append(Path(entry.path))
        return unknown

    def find_lost_cells(self) -> set[str]:
        """Return the cells with a damaged file, or one that is set aside, as ``identity.block``."""
        names = [entry.name for entry in self._scan_folders() if _ASIDE.fullmatch(entry.name)]
        return {
            ".".join(name.split(".")[:2])
            for name in [*names, *(path.name for path in self.find_damaged_files())]
        }

    def _scan_folders(self, study: str | None = None) -> Iterator["os.DirEntry[str]"]:
        """Yield the entries of the folder of a study, or of all, by name."""
        names = [study] if study else []
        if not study:
            with suppress(FileNotFoundError, NotADirectoryError):
                names = sorted(path.name for path in self.path.iterdir() if path.name[0] != ".")
        for name in names:
            # Not every name is a folder's.
            with (
                suppress(FileNotFoundError, NotADirectoryError),
                os.scandir(self.path / name) as entries,
            ):
                yield from sorted(entries, key=lambda entry: entry.name)

    def _check_files(self, study: str | None = None) -> Iterator[tuple[Path, CellFacts | str]]:
        for entry in self._scan_folders(study):
            name = _NAME.fullmatch(entry.name)
            if name is None:
                continue
            path = Path(entry.path)
            try:
                stamp = _stamp(path)
                known = _seen.get(path)
                if known is None or known[0] != stamp:
                    known = _seen[path] = stamp, _check(path, name)
            except FileNotFoundError:
                continue  # a run has just replaced it
            yield path, known[1]

    def write_cell(
        self,
        cell: Mapping[str, object],
        values: "pd.DataFrame | pa.Table | None" = None,
        parameters: str = "{}",
    ) -> Path:
        """Write a cell's file under the name of its state, then remove those of its earlier states.

        Parameters
        ----------
        cell
            Columns of `CELLS`, at least ``study, cell_id, block, state``, and those of its study's
            parameters. Paths in its reason and environment are shortened.
        values
            What the study delivered; its own columns of `CELLS` take precedence. None for a cell
            without values, which becomes one row with the reason.
        parameters
            All its parameters in JSON, as a plan has them.
        """
        texts = [name for name in WITH_PATHS if cell.get(name) is not None]
        table = join_cell(
            {**cell, **{name: shorten_paths(str(cell[name])) for name in texts}}, values
        )
        return self.replace_table(files.collect_facts(table, parameters), table)

    def replace_table(self, facts: CellFacts, table: pa.Table) -> Path:
        """Write the file of a cell, and remove those of its other states; return its path."""
        return self._replace(facts, lambda path: write_table(path, table, facts))

    def receive_file(self, name: str, content: bytes) -> None:
        """Write a file from the results' folder of another host: of a cell, or of a notebook.

        Raises
        ------
        ValueError
            When a cell's file has no valid name.
        DamagedError
            When a cell's file is damaged.
        """
        target = self.path / name
        if target.suffix == ".parquet":
            facts = files.verify_content(content)
            check_name(facts, name)
            self._replace(facts, lambda path: suite_files.write_file(path, content, durable=True))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def _replace(self, facts: CellFacts, write: Callable[[Path], object]) -> Path:
        """Write the file of a cell, then remove those of its other states."""
        place: dict[str, Path] = {
            state: self.locate_file(facts.study, facts.cell_id, facts.block, state)
            for state in STATES
        }
        target = place.pop(facts.state)
        write(target)
        stale = [other for other in place.values() if other.exists()]
        if stale:
            for other in stale:
                other.unlink()
            suite_files.flush_folder(target.parent)
        return target

    def set_damaged_aside(self) -> list[str]:
        """Rename damaged files, and return a line for each.

        Only while no run writes, because it may replace them.
        """
        reasons = self.find_damaged_files()
        if not reasons:
            return []
        try:
            with self.lock():
                return [_set_aside(path, why) for path, why in self.find_damaged_files().items()]
        except BusyError:
            why = "a run writes there at present"
        except OSError as error:
            why = f"it cannot be set aside: {error.strerror}"
        return [
            f"{path} is damaged ({damage}) and left out; {why}" for path, damage in reasons.items()
        ]

    @contextmanager
    def lock(self, patience_s: float = 0.0) -> Iterator[TextIO]:
        """Hold the lock of the folder; yield the file in which its holder writes who it is.

        The system releases the lock when the process ends.

        Parameters
        ----------
        patience_s
            How long to wait for another holder, in seconds.

        Raises
        ------
        BusyError
            When another run still holds the lock; the message names it.
        OSError
            When the folder is not writable.
        """
        deadline = time.monotonic() + patience_s
        with _open_lock(self.path / ".running") as file:
            while not _try_lock(file):
                if time.monotonic() >= deadline:
                    file.seek(0)
                    who = file.read(200) or "another run"
                    raise BusyError(f"{who} writes to {self.path}: wait for it, or stop it")
                time.sleep(0.05)
            yield file


def open_results() -> ResultsFolder:
    """Return the results' folder of this process, which ``BENCHBOOK_RESULTS`` can move."""
    return ResultsFolder(paths.results())


def map_operations(
    identities: Iterable[str] | Mapping[str, Operations],
) -> Mapping[str, Operations]:
    """Return the operations that count of each identity; of a list, all operations."""
    return identities if isinstance(identities, Mapping) else dict.fromkeys(identities)


def shorten_paths(text: str) -> str:
    """Return a text or JSON in which each absolute path is only its last name."""
    return _PATH.sub("…/", text)


def verify_files(found: Collection[ResultFile]) -> list[ResultFile]:
    """Return the files whose checksums are right; the others count as damaged from now on.

    A file takes half a millisecond, once per process, most of it outside Python.
    """
    with ThreadPoolExecutor() as pool:
        reads_well = [*pool.map(_is_verified, found)]
    return [*itertools.compress(found, reads_well)]


def _is_verified(file: ResultFile) -> bool:
    try:
        stamp = _stamp(file.path)
        if _verified.get(file.path) != stamp:
            files.verify_file(file.path)
            _verified[file.path] = stamp
    except FileNotFoundError:
        return False
    except DamagedError as error:
        _seen[file.path] = stamp, str(error)
        return False
    return True


def _set_aside(path: Path, why: str) -> str:
    """Rename a damaged file to the first free name, and return a line about it."""
    free, number = path.with_name(f"{path.name}{_SUFFIX}"), 1
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}{_SUFFIX}.{number}")
    try:
        path.rename(free)
    except OSError as error:
        return f"{path} is damaged ({why}) and left out; it cannot be set aside: {error.strerror}"
    return f"{path} is damaged ({why}): set aside as {free.name}, its cell will be measured again"


def _open_lock(path: Path) -> TextIO:
    """Open the lock's file, never a pipe or a link.

    Any process that can open it can hold the lock, so only its owner may: that holds for a file
    that was made readable for all, too. Raises `OSError` when another kind of file is in its place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FileKindError(f"{path} is not a regular file: remove it")
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    if os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "r+", errors="replace")


def _try_lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check_name(facts: CellFacts, where: str) -> None:
    """Raise `ValueError` when the facts of a cell cannot be its file's name."""
    words = re.fullmatch(_WORD, str(facts.study)) and re.fullmatch(_WORD, str(facts.cell_id))
    if not words or facts.block is None or facts.block < 0 or facts.state not in STATES:
        raise ValueError(
            f"{where} is of no cell: {facts.study} {facts.cell_id}.{facts.block}, {facts.state}"
        )


def join_cell(
    cell: Mapping[str, object], values: "pd.DataFrame | pa.Table | None" = None
) -> pa.Table:
    """Return values with the columns of their cell and of its parameters."""
    schema = build_schema(cell)
    if values is None:
        return _build_row(cell, schema)
    # Here, because it is slow to import, and only writing needs it.
    import pyarrow.compute as pc

    # The columns of both, with the study's values.
    own = values if isinstance(values, pa.Table) else files.build_inferred_table(values)
    schema = merge_schemas([schema, own.schema])
    columns = {column.name: pa.nulls(len(own), column.type) for column in schema}
    columns |= {name: own[name] for name in own.column_names}

    # What the cell knows, where the study states nothing else.
    of_cell = pa.schema([field for field in schema if field.name not in VALUES.names])
    known = _build_row(cell, of_cell)
    for name in of_cell.names:
        value = known[name][0]
        # A study does not state which cell the file is of.
        if name in files.CELL_KEYS:
            columns[name] = pa.repeat(value, len(own))
        else:
            columns[name] = pc.coalesce(columns[name], value)
    return pa.table(columns).cast(schema)


def _build_row(cell: Mapping[str, object], schema: pa.Schema) -> pa.Table:
    """Return a cell as one row.

    It is read from JSON, because Arrow imports pandas for Python's values, which is slow.
    """
    line = json.dumps(dict(cell), default=datetime.isoformat, allow_nan=False).encode()
    read = ReadOptions(use_threads=False, block_size=len(line) + 1)
    parse = ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    return read_json(BytesIO(line), read, parse)


def _stamp(path: Path) -> Stamp:
    """Return a file's stamp, which its replacement does not have; of a dead link its own."""
    stat = path.stat() if path.exists() else path.lstat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _check(path: Path, name: re.Match[str]) -> CellFacts | str:
    """Return the facts of a file, or the reason why it is not what its name says."""
    try:
        try:
            facts = files.read_facts(path)
        except files.FormerError:
            files.convert_file(path)
            facts = files.read_facts(path)
    except (DamagedError, ValueError) as error:
        return str(error)
    except PermissionError as error:
        return f"it is of an earlier version of benchbook and cannot be converted: {error.strerror}"
    # A file under another cell's name would count as that cell.
    cell, block, state = name.groups()
    stated = facts.study, facts.cell_id, facts.block, facts.state
    if stated != (path.parent.name, cell, int(block), state or "done"):
        content = f"{facts.study} {facts.cell_id}.{facts.block}, {facts.state}"
        return f"it holds {content}, not what its name says"
    return facts
