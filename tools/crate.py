"""The reference run as an RO-Crate (w3id.org/ro/crate): its files and its columns' meanings."""

import csv
import hashlib
import json
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as parquet
import yaml
from rocrate.model import ContextEntity, Person
from rocrate.rocrate import ROCrate

from benchbook import paths

METADATA: Final = "ro-crate-metadata.json"
_TYPES: Final = {".parquet": "application/vnd.apache.parquet", ".md": "text/markdown"}
_LICENSE: Final = "https://spdx.org/licenses/MIT"


@dataclass(frozen=True)
class Meaning:
    """One line of the data dictionary."""

    kind: str
    """One of ``metric``, ``value``, ``cell`` or ``block mean``."""
    name: str
    unit: str
    meaning: str


def load_dictionary() -> list[Meaning]:
    """Return the meaning of each column and metric."""
    with (paths.root() / "data" / "dictionary.csv").open(newline="", encoding="utf-8") as file:
        return [Meaning(**row) for row in csv.DictReader(file)]


def describe_crate(folder: Path, days: Sequence[str]) -> str:
    """Return the crate's metadata, as JSON-LD.

    Parameters
    ----------
    folder
        The folder of the reference run, with all of its files.
    days
        The days on which it was measured, as ISO 8601.
    """
    cited: dict[str, Any] = yaml.safe_load(
        (paths.root() / "CITATION.cff").read_text(encoding="utf-8")
    )
    crate = ROCrate()
    crate.name = f"benchbook {cited['version']}: the reference run"
    crate.description = cited["abstract"].strip()
    crate.license = _LICENSE
    crate.keywords = cited["keywords"]
    crate.datePublished = max(days)
    for number, author in enumerate(cited["authors"]):
        crate.root_dataset.append_to(
            "author", crate.add(Person(crate, f"#author-{number}", {"name": author["name"]}))
        )
    crate.root_dataset["temporalCoverage"] = f"{min(days)}/{max(days)}"
    meanings = {}
    for line in load_dictionary():
        is_metric = line.kind == "metric"
        properties = {"@type": "PropertyValue", "name": line.name, "description": line.meaning}
        if line.unit:
            properties["unitText"] = line.unit
        name = f"#{'metric' if is_metric else 'column'}-{line.name}"
        meanings[is_metric, line.name] = crate.add(ContextEntity(crate, name, properties))
    crate.root_dataset["variableMeasured"] = [
        entity for (metric, _), entity in meanings.items() if metric
    ]
    for path in sorted({*folder.iterdir()} - {folder / METADATA}):
        file = crate.add_file(
            path,
            path.name,
            properties={
                "encodingFormat": _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0],
                "contentSize": str(path.stat().st_size),
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            },
        )
        if path.suffix == ".parquet":
            names = parquet.read_schema(path).names
            file["variableMeasured"] = [meanings[False, name] for name in names]
    return json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False) + "\n"
