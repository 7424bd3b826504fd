"""The results' folder: a file a cell and block, which its name tells with its state, and who may replace it.

Each file's footer is compared with its name once a process, and again only when the file was replaced; so are the
checksums of its pages, before its values are used. Damaged files are set aside with a line, and never removed; while a
run writes, they are only left out.
"""

import fcntl
import hashlib
import itertools
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TextIO, get_args

import numpy as np
import pyarrow as pa
from pyarrow.json import ParseOptions, ReadOptions, read_json

from benchbook import atomic, paths
from benchbook.digits import plural
from benchbook.results import files
from benchbook.results.files import DamagedError, Facts, write_table
from benchbook.results.schema import OBSERVATIONS, VALUES, merge_schemas, with_parameters

if TYPE_CHECKING:
    import pandas as pd

State = Literal["done", "failed", "skipped"]
STATES: Final[tuple[State, ...]] = get_args(State)

LOCK: Final = ".running"
"""The file that whoever replaces or moves a result's file holds the lock of."""

_SAYS: Final = 200
"""Characters that its holder may say of itself."""

_GLANCE_S: Final = 0.05

_WORD: Final = "[0-9A-Za-z_-]+"
"""What can name a cell's file, and the folder of its study."""

_NAME: Final = re.compile(rf"({_WORD})\.(0|[1-9][0-9]*)(?:\.(failed|skipped))?\.parquet")
_SUFFIX: Final = ".damaged"
_ASIDE: Final = re.compile(_NAME.pattern + re.escape(_SUFFIX) + r"(\.[0-9]+)?")
_ANY: Final = re.compile(r"[^.].*\.parquet", re.DOTALL)

_IDENTITY: Final = 20
"""Characters of a cell's identity."""

_PATH_PART: Final = r"(?:[\w.+@~%-]|\\u[0-9a-f]{4})+"
_PATH: Final = re.compile(
    r"(?:(?<=file://)|(?<![\w./~<)…]))(?!/(?:proc|sys|dev(?!/shm))/)"  # what the kernel tells is the same everywhere
    # As Python quotes them names may have spaces.
    rf"(?:(?<=')/[^':,;\n]*/(?=[^':,;/\n]+')|/(?:{_PATH_PART}/)+(?={_PATH_PART}))"
)
"""The folders in an absolute path, in a text or in JSON."""


class BusyError(RuntimeError):
    """Another run has the results' folder."""


class OtherValuesError(Exception):
    """Cells are already present with other values: says which."""


@dataclass(frozen=True)
class Whole:
    """A whole file."""

    path: Path
    facts: Facts

    @property
    def key(self) -> str:
        """Identity and block."""
        return f"{self.facts.cell_id}.{self.facts.block}"


Stamp = tuple[int, ...]
_seen: dict[Path, tuple[Stamp, Facts | str]] = {}
_verified: dict[Path, Stamp] = {}


def path(study: str, identity: str, block: int, state: State = "done") -> Path:
    """Return where a cell's file lies when it is in that state."""
    suffix = "" if state == "done" else f".{state}"
    return paths.results() / study / f"{identity}.{block}{suffix}.parquet"


def states(study: str) -> dict[str, State]:
    """Return the state of each of a study's written cells, by ``identity.block``: of what is damaged, none."""
    written = whole(study)
    by_key: dict[str, State] = {}
    for state in reversed(STATES):  # done outlives what an interrupted `write` left beside
        by_key |= {file.key: state for file in written if file.facts.state == state}
    return by_key


def without_paths(text: str) -> str:
    """Return a text, which may be JSON, with the last name alone of each path that it names on this or any machine."""
    return _PATH.sub("…/", text)


def write(cell: Mapping[str, object], values: "pd.DataFrame | pa.Table | None" = None, parameters: str = "{}") -> Path:
    """Write a cell's file under the name of its state, then remove those of its earlier states.

    Parameters
    ----------
    cell
        Columns of `CELLS`, at least ``study, cell_id, block, state``, and those of its study's parameters. Its reason
        and environment are written without paths.
    values
        What the study delivered. Where it states a column of `CELLS` itself, that stands; None for a cell without
        values, which becomes one row that says why.
    parameters
        All its parameters in JSON, by which a plan knows it.
    """
    texts = [name for name in ("reason", "environment") if cell.get(name) is not None]
    table = joined({**cell, **{name: without_paths(str(cell[name])) for name in texts}}, values)
    return _put_table(files.facts(table, parameters), table)


def take_in(
    table: pa.Table, state_parameters: Callable[[Mapping[str, object]], str], host: str | None = None
) -> tuple[int, int]:
    """Write the cells of observations that were measured before or elsewhere; those that are here already stay.

    Return how many cells were written, and how many were here already. With `host` they become cells of a host of that
    name. A cell's parameters in JSON are what `state_parameters` returns of its first row. Raises `ValueError` when the
    table lacks a column of `OBSERVATIONS`, or a row names no cell, and `OtherValuesError` when a finished cell is here
    with other values; nothing was written then.
    """
    missing = [name for name in OBSERVATIONS.names if name not in table.column_names]
    if missing:
        raise ValueError(f"it has no column {missing[0]!r}")
    schema = merge_schemas([table.schema])
    table = table.select(schema.names).cast(schema)
    cells = list(_cells(table if host is None else _of_host(table, host), state_parameters))
    known = {study: states(study) for study in {held.study for held, _ in cells}}
    new, other = [], []
    for held, rows in cells:
        state = known[held.study].get(f"{held.cell_id}.{held.block}")
        if state is None or (state != "done" and held.state == "done"):
            new.append((held, rows))
        elif state == held.state == "done":
            here = path(held.study, held.cell_id, held.block)
            if not verified([Whole(here, held)]):
                new.append((held, rows))
            elif not _have_equal_values(files.read(here), rows):
                other.append((held, rows))
    if other:
        held, rows = other[0]
        cell = f"{held.study} {held.cell_id}.{held.block} of {rows['host'][0].as_py()!r}"
        raise OtherValuesError(
            f"{plural(len(other), 'cell')} {'is' if len(other) == 1 else 'are'} already present with other values, "
            f"first {cell}: if another machine of this name measured them, add --as NAME to name it"
        )
    for held, rows in new:
        _put_table(held, rows)
    return len(new), len(cells) - len(new)


def _of_host(table: pa.Table, host: str) -> pa.Table:
    """Return cells as those of another host: its name is part of their identities."""
    identity_of: dict[str | None, str | None] = {None: None}
    for cell_id in table["cell_id"].unique().drop_null().to_pylist():
        identity_of[cell_id] = hashlib.sha256(f"{cell_id} {host}".encode()).hexdigest()[:_IDENTITY]
    identities = [identity_of[cell_id] for cell_id in table["cell_id"].to_pylist()]
    hosts = [host] * len(table)
    for name, column in (("cell_id", identities), ("host", hosts)):
        table = table.set_column(table.column_names.index(name), name, pa.array(column, pa.string()))
    return table


def _have_equal_values(here: pa.Table, given: pa.Table) -> bool:
    """Return whether two tables of one cell have the same values, in whatever order."""
    order = [(name, "ascending") for name in VALUES.names]
    here, given = (table.select(VALUES.names).sort_by(order) for table in (here, given))
    # Two NaN are equal to pandas, not to Arrow.
    return bool(here.equals(given) or here.to_pandas().equals(given.to_pandas()))


def keep(name: str, content: bytes) -> None:
    """Write a file of a results' folder elsewhere under the same name here: a cell's, or what was kept of a notebook.

    Raises `ValueError` when it is a cell's and does not hold one, and `benchbook.results.DamagedError` when it is, and
    not whole.
    """
    target = paths.results() / name
    if target.suffix == ".parquet":
        held = files.verify_content(content)
        _hold_name(held, name)
        _put(held, lambda path: atomic.write(path, content, durable=True))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def whole(study: str | None = None) -> list[Whole]:
    """Return the files that are whole, of one study or of all, sorted."""
    return [Whole(path, facts) for path, facts in _checked_files(study) if isinstance(facts, Facts)]


def verified(found: Collection[Whole]) -> list[Whole]:
    """Return the files whose values can be read; the others count as damaged from now on.

    A file takes half a millisecond, most of it outside Python, once a process.
    """
    with ThreadPoolExecutor() as pool:
        reads_well = [*pool.map(_is_verified, found)]
    return [*itertools.compress(found, reads_well)]


def _is_verified(file: Whole) -> bool:
    try:
        stamp = _stamp(file.path)
        if _verified.get(file.path) != stamp:
            files.verify(file.path)
            _verified[file.path] = stamp
    except FileNotFoundError:
        return False
    except DamagedError as error:
        _seen[file.path] = stamp, str(error)
        return False
    return True


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

    Raises `BusyError`, which says who has it, when the patience ends before that, and `OSError` when the folder takes
    nothing.
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


def _put(held: Facts, write: Callable[[Path], object]) -> Path:
    """Have a cell's file written, then remove those of its other states."""
    place: dict[str, Path] = {state: path(held.study, held.cell_id, held.block, state) for state in STATES}
    target = place.pop(held.state)
    write(target)
    if stale := [other for other in place.values() if other.exists()]:
        for other in stale:
            other.unlink()
        atomic.flush_folder(target.parent)
    return target


def _put_table(held: Facts, table: pa.Table) -> Path:
    return _put(held, lambda path: write_table(path, table, held))


def _cells(
    table: pa.Table, state_parameters: Callable[[Mapping[str, object]], str]
) -> Iterator[tuple[Facts, pa.Table]]:
    """Yield each cell's rows, without the columns of other studies' parameters, and its facts."""
    table = table.sort_by([(name, "ascending") for name in files.KEYS])  # stable: a cell's rows keep their order
    keys = table.select(files.KEYS).to_pandas()
    begins = np.flatnonzero((keys != keys.shift()).any(axis=1))
    for begin, end in itertools.pairwise([*begins, len(table)]):
        rows = table.slice(begin, end - begin)
        foreign = [name for name in rows.column_names if name not in OBSERVATIONS.names and not rows[name][0].is_valid]
        rows = rows.drop_columns(foreign)
        held = files.facts(rows, state_parameters(rows.slice(0, 1).to_pylist()[0]))
        _hold_name(held, f"row {begin}, sorted by cell,")
        yield held, rows


def _hold_name(held: Facts, where: str) -> None:
    """Raise `ValueError` when what a file says of itself cannot be its name."""
    words = re.fullmatch(_WORD, str(held.study)) and re.fullmatch(_WORD, str(held.cell_id))
    if not words or held.block is None or held.block < 0 or held.state not in STATES:
        raise ValueError(f"{where} is of no cell: {held.study} {held.cell_id}.{held.block}, {held.state}")


def joined(cell: Mapping[str, object], values: "pd.DataFrame | pa.Table | None" = None) -> pa.Table:
    """Return the values with their cell's columns: those of `OBSERVATIONS`, and those of its study's parameters."""
    schema = with_parameters(cell)
    if values is None:
        return _row(cell, schema)
    # Only now: it is slow to import, and who only reads states writes nothing.
    import pyarrow.compute as pc

    own = values if isinstance(values, pa.Table) else files.typed_with_parameters(values)
    schema = merge_schemas([schema, own.schema])
    columns = {column.name: pa.nulls(len(own), column.type) for column in schema}
    columns |= {name: own[name] for name in own.column_names}
    of_cell = pa.schema([field for field in schema if field.name not in VALUES.names])
    known = _row(cell, of_cell)
    for name in of_cell.names:
        value = known[name][0]
        whose = name in files.KEYS  # no study says whose the file is
        columns[name] = pa.repeat(value, len(own)) if whose else pc.coalesce(columns[name], value)
    return pa.table(columns).cast(schema)


def _row(cell: Mapping[str, object], schema: pa.Schema) -> pa.Table:
    """Return the cell as one row, by way of JSON: Arrow takes Python's values only with pandas, slow to import."""
    if unknown := sorted({*cell} - {*schema.names}):
        raise ValueError(f"the results have no column {', '.join(unknown)}")
    line = json.dumps(dict(cell), default=datetime.isoformat, allow_nan=False).encode()
    read = ReadOptions(use_threads=False, block_size=len(line) + 1)
    return read_json(BytesIO(line), read, ParseOptions(explicit_schema=schema))


def _entries(study: str | None = None) -> Iterator["os.DirEntry[str]"]:
    """Yield what lies in the folder of a study, or of each, by name."""
    folders = [paths.results() / study] if study else []
    if not study:
        with suppress(FileNotFoundError, NotADirectoryError):
            folders = sorted(path for path in paths.results().iterdir() if path.is_dir() and path.name[0] != ".")
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)


def _checked_files(study: str | None = None) -> Iterator[tuple[Path, Facts | str]]:
    for entry in _entries(study):
        if not (name := _NAME.fullmatch(entry.name)):
            continue
        path = Path(entry.path)
        try:
            stamp = _stamp(path)
            known = _seen.get(path)
            if known is None or known[0] != stamp:
                known = _seen[path] = stamp, _checked(path, name)
        except FileNotFoundError:
            continue  # a run has just replaced a failure by a success
        yield path, known[1]


def _stamp(path: Path) -> Stamp:
    """Return what tells a file from the one that replaces it; of a link to nothing the link's own."""
    stat = path.stat() if path.exists() else path.lstat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _checked(path: Path, name: re.Match[str]) -> Facts | str:
    """Return what a file holds; in words, why it is not what its name says."""
    try:
        try:
            facts = files.whole(path)
        except files.FormerError:
            files.convert(path)
            facts = files.whole(path)
    except (DamagedError, ValueError) as error:
        return str(error)
    except PermissionError as error:
        return f"it is of an earlier version of benchbook and cannot be converted: {error.strerror}"
    cell, block, state = name.groups()
    if (facts.study, facts.cell_id, facts.block, facts.state) != (path.parent.name, cell, int(block), state or "done"):
        return f"it holds {facts.study} {facts.cell_id}.{facts.block}, {facts.state}, not what its name says"
    return facts
