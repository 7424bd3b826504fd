"""What the papers measured on and with, this machine beside theirs."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import names
from benchbook.figures.caveats import caveats
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import of_study, paper_rows
from benchbook.figures.provenance import distinct, environments, versions
from benchbook.figures.tables import NOT_PRINTED, misprints

Environments = list[dict[str, Any]]


def _memory(where: Environments) -> str:
    return ", ".join(
        sorted({f"{environment['memory'] / 1e9:.1f} GB" for environment in where if environment.get("memory")})
    )


HERE: Final[dict[str, Callable[[Environments], str]]] = {
    "processor": lambda where: distinct(where, "cpu"),
    "processors": lambda where: distinct(where, "cores_usable"),
    "cores": lambda where: distinct(where, "cores"),
    "memory": _memory,
    "operating system": lambda where: distinct(where, "kernel"),
    "operating system, Ubuntu": lambda where: distinct(where, "kernel"),
    "Python": lambda where: distinct(where, "python"),
    "JVM": lambda where: f"none: {distinct(where, 'python')}" if where else "",
    "word length": lambda where: "64 bit" if "64" in distinct(where, "kernel") else "",
    "disk": lambda where: distinct(where, "file_system"),
    "workstations": lambda where: "1 (client and server on one machine)" if where else "",
    "Atop": lambda where: "none: the kernel's own counters" if where else "",
}
"""What stands in this machine's column for a row of the papers' set-up."""

PARTS: Final = {
    "bookstore": ("Section IV", ("processor", "word length", "JVM", "Apache Maven"), "Section IV: the machine"),
    "tcp": (
        "Section 4.2",
        ("workstations", "operating system", "network cards", "cables"),
        "Section 4.2: the machines",
    ),
    "drivers": ("Section 3.2", ("operating system", "processor", "memory", "heap"), "Section 3.2: the machine"),
    "crud": (
        "Section IV",
        ("virtual machines", "VMware", "operating system", "memory", "processors", "cores", "clock", "disk"),
        "Section IV: the virtual machines",
    ),
    "replication_1": ("Table I", (), "Table I: software"),
    "replication_2": ("Table II", (), "Table II: hardware"),
}
"""Source, rows (all when empty) and title of each set-up."""


def setup(evidence: Evidence, *, part: str) -> Exhibit:
    """Set one paper's set-up with this machine beside it."""
    study = part.partition("_")[0]
    source, wanted, about = PARTS[part]
    paper = paper_rows(evidence, study, source)
    paper = paper[paper["row"].isin(wanted)] if wanted else paper
    theirs = paper.assign(marked=paper["printed"].where(paper["note"] == "", paper["printed"] + " *"))
    mine = of_study(evidence, study)
    where, servers = environments(mine), {names.engine(key): text for key, text in versions(mine).items()}
    here = {row: HERE[row](where) if row in HERE else servers.get(row, "") for row in dict.fromkeys(theirs["row"])}
    frame = _nodes(theirs) if source.startswith("Table") else _list(theirs)
    frame["This machine"] = frame["Item"].map(here).replace("", NOT_PRINTED)
    extra = [
        {"Item": name, "This machine": text}
        for name, text in servers.items()
        if name not in here and source != "Table II"
    ]
    frame = pd.concat([frame, pd.DataFrame(extra)], ignore_index=True).fillna(NOT_PRINTED) if extra else frame
    told = caveats(mine).values() if source != "Table II" else ()  # which names no server
    notes = [*told] if where else ["not run in this profile"]
    return Exhibit(f"{study}, {about}, theirs and this one", frame, (*notes, *misprints(paper)))


def _nodes(theirs: pd.DataFrame) -> pd.DataFrame:
    """Return one column a node, as the paper sets it."""
    order = list(dict.fromkeys(theirs["row"]))
    table = theirs.pivot(index="row", columns="column", values="marked").reindex(order).fillna(NOT_PRINTED)
    table = table[[node for node in ("master", "slave", "client") if node in table]]
    return table.rename(columns=str.capitalize).rename_axis("Item").reset_index().rename_axis(None, axis=1)


def _list(theirs: pd.DataFrame) -> pd.DataFrame:
    """Return one column of what a section says."""
    told = theirs["column"] + ": " + theirs["marked"]
    texts = told.groupby(theirs["row"], sort=False).agg("; ".join)
    return pd.DataFrame({"Item": texts.index, "Published": texts.to_numpy()})


TABLES: Final[dict[str, Maker]] = {
    (f"{part}_setup" if "_" not in part else part.replace("_", "_table") + "_setup"): partial(setup, part=part)
    for part in PARTS
}
