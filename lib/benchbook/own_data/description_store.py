"""Descriptions of large files on disk, so that a file is read once for all commands and cells.

A description is stored by the digest of the file's content, its options and the code that made it.
"""

import hashlib
import importlib.metadata
import json
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.files import suite_files
from benchbook.own_data.opened_file import FileDescription, KnownField, OpenedFile
from benchbook.schema import Field

_MIN_BYTES: Final = 2**20
"""Of a file whose description is stored; a smaller one is read at once."""

_LIBRARIES: Final = ("duckdb", "orjson", "pyarrow")
"""The libraries that read files."""


def load_description(file: OpenedFile) -> FileDescription | None:
    """Return the stored description of a file; None where there is none that can be used."""
    if len(file.data) < _MIN_BYTES:
        return None
    try:
        stored = json.loads(_locate(file).read_text(encoding="utf-8"))
        return FileDescription(
            **{
                **stored,
                "schema": tuple(map(Field.from_json, stored["schema"])),
                "fields": tuple(KnownField(**known) for known in stored["fields"]),
                "notes": tuple(stored["notes"]),
            }
        )
    except (OSError, ValueError, TypeError, LookupError):
        return None


def store_description(file: OpenedFile, description: FileDescription) -> None:
    """Store the description of a large file; without effect where nothing can be written."""
    if len(file.data) < _MIN_BYTES:
        return
    schema = [field.as_json for field in description.schema]
    with suppress(OSError):
        suite_files.write_file(_locate(file), json.dumps({**asdict(description), "schema": schema}))


def _locate(file: OpenedFile) -> Path:
    # The suffix is part of how a file is recognised.
    parts = [file.sha256, file.suffix, sorted(file.options.items()), _digest_code()]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return paths.results() / ".own" / "described" / f"{name}.json"


@cache
def _digest_code() -> str:
    """Return a digest of all code that describes files, and of its libraries' versions."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    for name in _LIBRARIES:
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()
