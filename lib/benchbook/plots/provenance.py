"""Provenance: the machine, dates, versions and profile that numbers come from.

`describe_provenance` is written beside each figure; `make_setup_table` sets what a paper measured
on and with, this machine beside it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pandas as pd

from benchbook import paths
from benchbook.analysis.quantities import DERIVED
from benchbook.analysis.runs import Analysis, read_reference_profile
from benchbook.plots import labels
from benchbook.plots.exhibit import Exhibit, list_misprints
from benchbook.plots.points import mark_misprints, select_printed, select_rows
from benchbook.registry.products import name_database
from benchbook.text.names import LANGUAGES
from benchbook.text.number_format import NOT_PRINTED, format_size
from benchbook.version import describe_version

Environments: TypeAlias = list[dict[str, Any]]
"""What cells record of the machines and programs that ran them, as JSON has it."""

Provenance: TypeAlias = dict[str, object]
"""The provenance of a figure, as in the file beside it."""

NOT_RECORDED: Final = "not recorded"


def list_environments(means: pd.DataFrame) -> Environments:
    """Return the distinct environments of cells, without what changes from moment to moment."""
    by_text = {}
    for text in means["environment"].dropna().unique():
        stable = json.loads(text)
        for key in (
            "load",
            "frequency_mhz",
            "fsyncs_per_s",
            "clock_step_s",
            "slowed_for_heat",
            "throttled_periods",
        ):
            stable.pop(key, None)
        by_text[json.dumps(stable, sort_keys=True)] = stable
    return [by_text[key] for key in sorted(by_text)]


def join_distinct(environments: Environments, key: str) -> str:
    """Return the values of one key, joined; empty when none is known."""
    values = [environment.get(key) for environment in environments]
    known = [str(value) for value in values if value not in (None, "")]
    return ", ".join(dict.fromkeys(known))


def describe_suites(suites: str) -> str:
    """Return in a few words which suites measured: ``benchbook 0.1.0 (9 commits)``.

    Parameters
    ----------
    suites
        As `join_distinct` lists them.
    """
    commits = suites.replace(NOT_RECORDED, "by a benchbook not recorded").split(", ")
    if len(commits) < 3:
        return ", ".join(commits)
    releases = dict.fromkeys(commit.partition(" (")[0] for commit in commits)
    return f"{' and '.join(releases)} ({len(commits)} commits)"


def describe_memory(environments: Environments) -> str:
    """Return how much memory the machines have."""
    sizes = [environment.get("memory") for environment in environments]
    return ", ".join(sorted({format_size(size) for size in sizes if size}))


def list_software(means: pd.DataFrame) -> dict[str, str]:
    """Return the versions of what ran the cells: Python, the JVM, Node.js, their heaps, the suite.

    The suite is the one that measured; where results do not record it, the one that draws.
    """
    environments = list_environments(means)
    versions = {"Python": join_distinct(environments, "python")}
    # The runtimes of the other languages, and the limits of their heaps.
    heaps = set()
    for language in sorted({*means["language"]} - {"python"}):
        name = "JVM" if language == "java" else LANGUAGES[language]
        rows = select_rows(means, language=language)
        known = {str(text).removeprefix(f"{name} ") for text in rows["runtime"].dropna()}
        versions[name] = ", ".join(sorted(known)) or NOT_RECORDED
        heaps |= {(name, limit) for limit in rows["heap_limit"].dropna()}
    limits = [f"{name} maximum: {format_size(limit)}" for name, limit in sorted(heaps)]
    versions["heap"] = ", ".join(limits)
    if environments:
        measured_by = join_distinct(environments, "suite")
        if measured_by:
            versions["suite"] = describe_suites(measured_by)
        else:
            versions["suite"] = f"{NOT_RECORDED}; this table is by {describe_version()}"
    return {name: text for name, text in versions.items() if text}


def find_time_span(means: pd.DataFrame) -> list[pd.Timestamp]:
    """Return when the first and the last value were begun to be measured; empty without values."""
    first = means["started_at"].dropna()
    return [first.min(), means["last_started_at"].max()] if len(first) else []


def describe_provenance(means: pd.DataFrame, run: str) -> Provenance:
    """Return the provenance of a figure: of its observations and the code that draws it.

    It has no date of drawing, so that the same results give the same file.

    Parameters
    ----------
    means
        The block means that are drawn.
    run
        The profile that ran, or `benchbook.paths.REFERENCE`.
    """
    derived_metrics = {derived.metric for derived in DERIVED}
    environments = list_environments(means)
    measured_by = join_distinct(environments, "suite")
    if environments and not measured_by:
        measured_by = NOT_RECORDED
    return {
        "profile": read_reference_profile() if run == paths.REFERENCE else run,
        "reference": run == paths.REFERENCE,
        "measured_by": measured_by,
        "drawn_by": describe_version(),
        "hosts": sorted({str(host) for host in means["host"].dropna().unique()}),
        "machine_days": sorted(means["machine_day"].dropna().unique()),
        "host_cpu": join_distinct(environments, "cpu"),
        "cores": join_distinct(environments, "cores_usable"),
        "kernel": join_distinct(environments, "kernel"),
        "python": join_distinct(environments, "python"),
        "file_system": join_distinct(environments, "file_system"),
        "measured": [f"{moment:%Y-%m-%d}" for moment in find_time_span(means)],
        "database_versions": labels.list_versions(means),
        "blocks": sorted({int(block) for block in means["block"].dropna().unique()}),
        "values": int(means.loc[~means["metric"].isin(derived_metrics), "rows"].sum()),
    }


SetupFacts: TypeAlias = Mapping[str, Callable[[Environments], str]]
"""This machine's text for a row of a paper's set-up, from the environments of its cells."""

MACHINE_FACTS: Final[dict[str, Callable[[Environments], str]]] = {
    "processor": lambda environments: join_distinct(environments, "cpu"),
    "processors": lambda environments: join_distinct(environments, "cores_usable"),
    "cores": lambda environments: join_distinct(environments, "cores"),
    "memory": describe_memory,
    "operating system": lambda environments: join_distinct(environments, "kernel"),
    "disk": lambda environments: join_distinct(environments, "file_system"),
}


def make_setup_table(
    analysis: Analysis,
    *,
    study: str,
    source: str,
    about: str,
    rows: Sequence[str] = (),
    nodes: Sequence[str] = (),
    facts: SetupFacts = MappingProxyType({}),
    hardware_only: bool = False,
) -> Exhibit:
    """Set the paper's set-up in a table, this machine's beside it.

    Parameters
    ----------
    source, rows
        The paper's section or table, and its rows; all rows when empty.
    about
        The set-up in words, for the title.
    nodes
        The columns of the paper's own table, where it has one per node.
    facts
        This machine's texts for rows that only this paper has.
    hardware_only
        Whether software is left out.
    """
    printed = select_printed(study, source)
    if rows:
        printed = select_rows(printed, row=rows)
    frame = _set_printed_setup(printed, nodes)

    means = select_rows(analysis.means, study=study)
    environments = list_environments(means)
    software: dict[str, str] = {}
    notes: list[str] = []
    if not hardware_only:
        versions = labels.list_versions(means)
        software = {name_database(name): text for name, text in versions.items()}
        software |= list_software(means)
        notes += labels.list_caveats(means).values()
    here = software | {row: fact(environments) for row, fact in {**MACHINE_FACTS, **facts}.items()}
    frame["This machine"] = frame["Item"].map(here).fillna("").replace("", NOT_PRINTED)

    # Software that the paper does not name has rows of its own.
    items = set(frame["Item"])
    extra = [
        {"Item": name, "This machine": text} for name, text in software.items() if name not in items
    ]
    if extra:
        frame = pd.concat([frame, pd.DataFrame(extra)], ignore_index=True).fillna(NOT_PRINTED)
    if not environments:
        notes = ["not run in this profile"]
    title = f"{about}, theirs and this one"
    return Exhibit(title, frame, (*notes, *list_misprints(printed)), source=source)


def _set_printed_setup(printed: pd.DataFrame, nodes: Sequence[str]) -> pd.DataFrame:
    """Return a paper's set-up as a table: one row per item, one column or one per node."""
    texts = printed.assign(text=mark_misprints(printed))
    if not nodes:
        texts["text"] = texts["column"] + ": " + texts["text"]
        joined = texts["text"].groupby(texts["row"], sort=False).agg("; ".join)
        return pd.DataFrame({"Item": joined.index, "Published": joined.to_numpy()})
    frame = texts.pivot(index="row", columns="column", values="text")
    frame = frame.reindex(list(dict.fromkeys(texts["row"]))).fillna(NOT_PRINTED)
    frame = frame[[node for node in nodes if node in frame]].rename(columns=str.capitalize)
    return frame.rename_axis("Item").reset_index().rename_axis(None, axis=1)
