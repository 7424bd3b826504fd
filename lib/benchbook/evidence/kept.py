"""What follows from results that have not changed, kept beside the checkout's other caches and read back by content.

A file's name holds a digest of all that its table follows from: the results, what the papers claim and print, and the
code and the libraries that judge them. Whatever changes of these, another file is asked for. A file that is damaged is
not read; all of them can be deleted at any time.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import benchbook
from benchbook import atomic, paths, plugins
from benchbook.results.folder import Whole

MOST: Final = 8
"""How many files of one kind are kept: of the reference run and of a few profiles."""

_LIBRARIES: Final = ("numpy", "pandas", "pyarrow", "scipy", "duckdb", "pydantic")
_NESTED: Final = b"benchbook.nested"
"""Where a table says which of its columns hold dictionaries and lists: these stand as JSON."""


class Kept:
    """Tables that follow from something, by their names: read back where they are kept, else made and kept.

    Parameters
    ----------
    follows_from
        Bytes that tell it from anything else.
    """

    def __init__(self, follows_from: bytes) -> None:
        self._key = hashlib.sha256(_judges() + follows_from).digest()

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return what follows from a file, by its bytes."""
        return cls(hashlib.sha256(path.read_bytes()).digest())

    @classmethod
    def of_results(cls, finished: Iterable[Whole]) -> Self:
        """Return what follows from results, by their files' names, sizes and times: they were held to be whole."""
        stats = ((result.path.parent.name, result.path.name, result.path.stat()) for result in finished)
        return cls(json.dumps(sorted((study, name, at.st_size, at.st_mtime_ns) for study, name, at in stats)).encode())

    def table(self, name: str, make: Callable[[], pd.DataFrame], more: str = "") -> pd.DataFrame:
        """Return a table: the one that is kept, else the one that `make` returns, which is kept from now on.

        `more` is what the table follows from besides.
        """
        if (known := self.read(name, more)) is None:
            known = make()
            self._write(name, more, known)
        return known

    def read(self, name: str, more: str = "") -> pd.DataFrame | None:
        """Return the table that is kept; None when there is none that can be read."""
        try:
            with pq.ParquetFile(self._path(name, more), page_checksum_verification=True) as file:
                return _frame(file.read())
        except (OSError, ValueError, KeyError, pa.ArrowException):
            return None

    def _write(self, name: str, more: str, frame: pd.DataFrame) -> None:
        content = BytesIO()
        pq.write_table(_table(frame), content, write_page_checksum=True)
        with suppress(OSError):  # a checkout that cannot be written keeps nothing
            atomic.write(self._path(name, more), content.getvalue())
        others = sorted(_folder().glob(f"{name}.*.kept"), key=lambda path: path.stat().st_mtime_ns)
        for path in others[:-MOST]:
            path.unlink(missing_ok=True)

    def _path(self, name: str, more: str) -> Path:
        return _folder() / f"{name}.{hashlib.sha256(self._key + more.encode()).hexdigest()}.kept"


def _folder() -> Path:
    return paths.root() / ".cache" / "evidence"


def _table(frame: pd.DataFrame) -> pa.Table:
    nested = [str(name) for name in frame if frame[name].dtype == object]
    table = pa.Table.from_pandas(frame.assign(**{name: frame[name].map(json.dumps) for name in nested}))
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _NESTED: json.dumps(nested).encode()})


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()
    columns: dict[str, Any] = {
        name: pd.Series([json.loads(text) for text in frame[name]], frame.index, object)
        for name in json.loads(table.schema.metadata[_NESTED])
    }
    return frame.assign(**columns)


def _judges() -> bytes:
    """Return a digest of what judges results: the code, the grids, what the papers claim and print, the libraries."""
    data = [*paths.claims().glob("*.yaml"), *paths.published().glob("*.csv"), *paths.grids().glob("*.yaml")]
    code = [Path(benchbook.__path__[0]), *map(plugins.folder, plugins.packages())]
    sources = sorted(path for folder in code for path in folder.rglob("*.py"))
    digest = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {metadata.version(library)}\n".encode())
    for path in [*sources, *sorted(data)]:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()
