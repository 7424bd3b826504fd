"""A folder as an RO-Crate (w3id.org/ro/crate): its files, and its columns' meanings.

Begin with `describe_folder`. The metadata is JSON-LD: a list of entities that name each other.
"""

import csv
import hashlib
import json
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pyarrow.parquet as pq

from benchbook import paths

METADATA: Final = "ro-crate-metadata.json"
DICTIONARY: Final = "dictionary.csv"
LICENSE: Final = "https://spdx.org/licenses/MIT"

Entity: TypeAlias = dict[str, Any]
"""An entity's properties; ``@id`` is its name and ``@type`` what it is."""

_SPECIFICATION: Final = "https://w3id.org/ro/crate/1.3"
_TYPES: Final = {".parquet": "application/vnd.apache.parquet", ".md": "text/markdown"}


@dataclass(frozen=True)
class Meaning:
    """One line of the data dictionary."""

    kind: str  # ``metric``, ``value``, ``cell`` or ``block mean``
    name: str
    unit: str
    meaning: str

    def to_entity(self) -> Entity:
        """Return the column or metric as an entity."""
        kind = "metric" if self.kind == "metric" else "column"
        entity: Entity = {
            "@id": f"#{kind}-{self.name}",
            "@type": "PropertyValue",
            "name": self.name,
            "description": self.meaning,
        }
        if self.unit:
            entity["unitText"] = self.unit
        return entity


def load_dictionary() -> list[Meaning]:
    """Return the meaning of each column and metric."""
    with (paths.root() / "data" / DICTIONARY).open(newline="", encoding="utf-8") as file:
        return [Meaning(**row) for row in csv.DictReader(file)]


def refer_to(entities: Sequence[Entity]) -> list[Entity]:
    """Return references to entities, as a property of another has them."""
    return [{"@id": entity["@id"]} for entity in entities]


def describe_folder(
    folder: Path,
    about: Entity,
    others: Sequence[Entity] = (),
    contents: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the metadata of a folder and of all files in it, as JSON-LD.

    Parameters
    ----------
    folder
        The folder, with all of its files.
    about
        What is said of the folder: name, description, licence and date, and what else is known.
    others
        Entities that `about` refers to.
    contents
        What files have, by their names.
    """
    meanings = load_dictionary()
    metrics = [one.to_entity() for one in meanings if one.kind == "metric"]
    columns = {one.name: one.to_entity() for one in meanings if one.kind != "metric"}
    files = []
    read = dict[str, Entity]()
    for path in sorted({*folder.iterdir()} - {folder / METADATA}):
        file: Entity = {
            "@id": path.name,
            "@type": "File",
            "name": path.name,
            "encodingFormat": _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0],
            "contentSize": str(path.stat().st_size),
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        if path.name in contents:
            file["description"] = contents[path.name]
        if path.suffix == ".parquet":
            of_file = {name: columns[name] for name in pq.read_schema(path).names}
            file["variableMeasured"] = refer_to([*of_file.values()])
            read |= of_file
        files.append(file)

    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        **about,
        "variableMeasured": refer_to(metrics),
        "hasPart": refer_to(files),
    }
    metadata = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "name": "Metadata",
        "conformsTo": {"@id": _SPECIFICATION},
        "about": {"@id": "./"},
    }
    graph = [root, metadata, *others, *metrics, *read.values(), *files]
    crate = {"@context": f"{_SPECIFICATION}/context", "@graph": graph}
    return json.dumps(crate, indent=1, ensure_ascii=False) + "\n"
