"""What a paper measured on and with, and this machine beside it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import pandas as pd

from benchbook.analysis import Analysis
from benchbook.digits import NOT_PRINTED
from benchbook.plots import names
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import misprints, paper, starred, where
from benchbook.plots.provenance import Environments, distinct, environments, memory, software

Facts: TypeAlias = Mapping[str, Callable[[Environments], str]]
"""What stands in this machine's column for a row of a paper's set-up, made of the environments of its cells."""

HERE: Final[Facts] = {
    "processor": lambda cells: distinct(cells, "cpu"),
    "processors": lambda cells: distinct(cells, "cores_usable"),
    "cores": lambda cells: distinct(cells, "cores"),
    "memory": memory,
    "operating system": lambda cells: distinct(cells, "kernel"),
    "disk": lambda cells: distinct(cells, "file_system"),
}


def setup(
    analysis: Analysis,
    *,
    study: str,
    source: str,
    about: str,
    rows: Sequence[str] = (),
    nodes: Sequence[str] = (),
    here: Facts = MappingProxyType({}),
    hardware_alone: bool = False,
) -> Exhibit:
    """Set what a paper measured on and with, this machine beside it.

    Parameters
    ----------
    source, rows
        Where the paper describes it, and which rows; all when empty.
    about
        What it is, for the title.
    nodes
        The columns of the paper's own table, where it has one a node.
    here
        What of this machine stands beside rows that this paper alone has.
    hardware_alone
        Whether no software stands there.
    """
    printed = paper(analysis, study, source)
    printed = where(printed, row=rows) if rows else printed
    means = where(analysis.means, study=study)
    machine, servers = environments(means), {names.database(key): text for key, text in names.versions(means).items()}
    named = {} if hardware_alone else servers | software(means)
    caveats = [] if hardware_alone else list(names.caveats(means).values())
    marked = printed.assign(marked=starred(printed))
    if nodes:
        order = list(dict.fromkeys(marked["row"]))
        frame = marked.pivot(index="row", columns="column", values="marked").reindex(order).fillna(NOT_PRINTED)
        frame = frame[[node for node in nodes if node in frame]].rename(columns=str.capitalize)
        frame = frame.rename_axis("Item").reset_index().rename_axis(None, axis=1)
    else:
        texts = (marked["column"] + ": " + marked["marked"]).groupby(marked["row"], sort=False).agg("; ".join)
        frame = pd.DataFrame({"Item": texts.index, "Published": texts.to_numpy()})
    facts = {row: fact(machine) for row, fact in {**HERE, **here}.items()}
    frame["This machine"] = frame["Item"].map(named | facts).fillna("").replace("", NOT_PRINTED)
    items = set(frame["Item"])
    extra = [{"Item": name, "This machine": text} for name, text in named.items() if name not in items]
    if extra:
        frame = pd.concat([frame, pd.DataFrame(extra)], ignore_index=True).fillna(NOT_PRINTED)
    notes = caveats if machine else ["not run in this profile"]
    return Exhibit(f"{study}, {about}, theirs and this one", frame, (*notes, *misprints(printed)))
