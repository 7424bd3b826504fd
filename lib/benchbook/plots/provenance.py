"""Where numbers come from: machine, dates, versions and profile, beside each figure and beside the papers' set-ups."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import pandas as pd

from benchbook.digits import NOT_PRINTED, size
from benchbook.evidence import DERIVED, Evidence
from benchbook.plots import names
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.names import versions
from benchbook.plots.points import paper, where
from benchbook.plots.tables import misprints
from benchbook.suite import suite

Environments = list[dict[str, Any]]

RUNTIMES: Final = {"java": "JVM", "node": "Node.js"}
"""What runs the programs of other stacks, by lane."""

NOT_TOLD: Final = "not recorded"
_DERIVED: Final = frozenset(derived.metric for derived in DERIVED)
_FLEETING: Final = {"load", "frequency_mhz", "fsyncs_per_s", "clock_step_s", "slowed_for_heat"}


def environments(observations: pd.DataFrame) -> Environments:
    """Return the distinct environments that cells were measured in, without what differs from moment to moment."""
    if "environment" not in observations:
        return []
    by_text = {}
    for text in observations["environment"].dropna().unique():
        stable = {key: value for key, value in json.loads(text).items() if key not in _FLEETING}
        by_text[json.dumps(stable, sort_keys=True)] = stable
    return [by_text[key] for key in sorted(by_text)]


def distinct(cells: Environments, key: str) -> str:
    """Return the values of one key, joined; empty when none is known."""
    return ", ".join({str(cell[key]): None for cell in cells if cell.get(key) not in (None, "")})


def memory(cells: Environments) -> str:
    """Return how much memory the machines have."""
    return ", ".join(sorted({size(cell["memory"]) for cell in cells if cell.get("memory")}))


def software(means: pd.DataFrame) -> dict[str, str]:
    """Return what ran the cells, by its name in print: Python, the JVM and Node.js with their largest heaps, the suite.

    The suite is the one that measured; of results that do not tell it, the one at hand, and that it is.
    """
    cells = environments(means)
    named = {"Python": distinct(cells, "python")}
    for lane, name in RUNTIMES.items():
        of_lane = where(means, lane=lane)
        known = sorted({str(text).removeprefix(f"{name} ") for text in of_lane["runtime"].dropna()})
        named[name] = ", ".join(known) if known or of_lane.empty else NOT_TOLD
    limited = where(means, lane=list(RUNTIMES)).dropna(subset=["heap_limit"])[["lane", "heap_limit"]].drop_duplicates()
    limits = sorted((RUNTIMES[lane], limit) for lane, limit in limited.itertuples(index=False))
    named["heap"] = ", ".join(f"{name} maximum: {size(limit)}" for name, limit in limits)
    if cells:
        named["suite"] = distinct(cells, "suite") or f"{NOT_TOLD}; this table is by {suite()}"
    return {name: text for name, text in named.items() if text}


def span(observations: pd.DataFrame) -> list[pd.Timestamp]:
    """Return when the first and the last value's measuring began; nothing without values."""
    first = observations["started_at"].dropna()
    last = observations["last_started_at"].dropna() if "last_started_at" in observations else first
    return [first.min(), last.max()] if len(first) else []


def provenance(means: pd.DataFrame, profile: str) -> dict[str, Any]:
    """Return what is written beside each figure, of observations and the code that draws them, not of the time."""
    machine = environments(means)
    return {
        "profile": profile,
        "measured_by": distinct(machine, "suite"),
        "drawn_by": suite(),
        "hosts": sorted({str(host) for host in means["host"].dropna()}),
        "campaigns": sorted({str(start) for start in means["campaign"].dropna() if start}),
        "host_cpu": distinct(machine, "cpu"),
        "cores": distinct(machine, "cores_usable"),
        "kernel": distinct(machine, "kernel"),
        "python": distinct(machine, "python"),
        "file_system": distinct(machine, "file_system"),
        "measured": [f"{moment:%Y-%m-%d}" for moment in span(means)],
        "engine_versions": versions(means),
        "blocks": sorted({int(block) for block in means["block"].dropna()}),
        "values": int(means.loc[~means["metric"].isin(_DERIVED), "rows"].sum()),
    }


HERE: Final[dict[str, Callable[[Environments], str]]] = {
    "processor": lambda cells: distinct(cells, "cpu"),
    "processors": lambda cells: distinct(cells, "cores_usable"),
    "cores": lambda cells: distinct(cells, "cores"),
    "memory": memory,
    "operating system": lambda cells: distinct(cells, "kernel"),
    "operating system, Ubuntu": lambda cells: distinct(cells, "kernel"),
    "Python": lambda cells: distinct(cells, "python"),
    "word length": lambda cells: "64 bit" if "64" in distinct(cells, "kernel") else "",
    "disk": lambda cells: distinct(cells, "file_system"),
    "workstations": lambda cells: "1 (client and server on one machine)" if cells else "",
    "Atop": lambda cells: "none: the kernel's own counters" if cells else "",
}
"""What stands in this machine's column for a row of the papers' set-up."""


def setup(evidence: Evidence, *, study: str, source: str, about: str, rows: Sequence[str] = ()) -> Exhibit:
    """Set what a paper measured on and with, this machine beside it.

    Parameters
    ----------
    source, rows
        Where the paper describes it, and which rows; all when empty. A table has a column a node.
    about
        What it is, for the title.
    """
    printed = paper(evidence, study, source)
    printed = where(printed, row=rows) if rows else printed
    means = where(evidence.means, study=study)
    machine, servers = environments(means), {names.engine(key): text for key, text in versions(means).items()}
    marked = printed.assign(marked=printed["printed"].where(printed["note"] == "", printed["printed"] + " *"))
    frame = _nodes(marked) if source.startswith("Table") else _list(marked)
    named = servers | software(means)
    here = {row: HERE[row](machine) if row in HERE else named.get(row, "") for row in frame["Item"]}
    frame["This machine"] = frame["Item"].map(here).replace("", NOT_PRINTED)
    caveats = list(names.caveats(means).values())
    if source == "Table II":  # which names no software
        named, caveats = {}, []
    if extra := [{"Item": name, "This machine": text} for name, text in named.items() if name not in here]:
        frame = pd.concat([frame, pd.DataFrame(extra)], ignore_index=True).fillna(NOT_PRINTED)
    notes = caveats if machine else ["not run in this profile"]
    return Exhibit(f"{study}, {about}, theirs and this one", frame, (*notes, *misprints(printed)))


def _nodes(printed: pd.DataFrame) -> pd.DataFrame:
    """Return one column a node, as the paper sets it."""
    order = list(dict.fromkeys(printed["row"]))
    table = printed.pivot(index="row", columns="column", values="marked").reindex(order).fillna(NOT_PRINTED)
    table = table[[node for node in ("master", "slave", "client") if node in table]]
    return table.rename(columns=str.capitalize).rename_axis("Item").reset_index().rename_axis(None, axis=1)


def _list(printed: pd.DataFrame) -> pd.DataFrame:
    """Return one column of what a section says."""
    marked = printed["column"] + ": " + printed["marked"]
    texts = marked.groupby(printed["row"], sort=False).agg("; ".join)
    return pd.DataFrame({"Item": texts.index, "Published": texts.to_numpy()})
