"""The reference run as an RO-Crate (w3id.org/ro/crate): what each file is, and what each column means."""

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
    """A line of the data dictionary."""

    kind: str
    """Of what it is: ``metric``, ``value``, ``cell`` or ``block mean``."""
    name: str
    unit: str
    meaning: str


def dictionary() -> list[Meaning]:
    """Return what each column and metric means."""
    with (paths.root() / "data" / "dictionary.csv").open(newline="", encoding="utf-8") as file:
        return [Meaning(**row) for row in csv.DictReader(file)]


def described(folder: Path, days: Sequence[str]) -> str:
    """Return the crate's metadata, as JSON-LD.

    Parameters
    ----------
    folder
        The reference run's, with all of its files.
    days
        When it was measured, by ISO 8601.
    """
    cited: dict[str, Any] = yaml.safe_load((paths.root() / "CITATION.cff").read_text(encoding="utf-8"))
    crate = ROCrate()
    crate.name = f"benchbook {cited['version']}: the reference run"
    crate.description = cited["abstract"].strip()
    crate.license = _LICENSE
    crate.keywords = cited["keywords"]
    crate.datePublished = max(days)
    for number, author in enumerate(cited["authors"]):
        crate.root_dataset.append_to("author", crate.add(Person(crate, f"#author-{number}", {"name": author["name"]})))
    crate.root_dataset["temporalCoverage"] = f"{min(days)}/{max(days)}"
    meanings = {}
    for line in dictionary():
        is_metric = line.kind == "metric"
        properties = {"@type": "PropertyValue", "name": line.name, "description": line.meaning}
        if line.unit:
            properties["unitText"] = line.unit
        name = f"#{'metric' if is_metric else 'column'}-{line.name}"
        meanings[is_metric, line.name] = crate.add(ContextEntity(crate, name, properties))
    crate.root_dataset["variableMeasured"] = [entity for (metric, _), entity in meanings.items() if metric]
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
