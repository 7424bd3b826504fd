"""Where numbers come from: machine, dates, versions and profile, as they stand beside each figure."""

import json
from typing import Any, Final, TypeAlias

import pandas as pd

from benchbook import paths
from benchbook.analysis import DERIVED, reference
from benchbook.digits import size
from benchbook.plots.names import versions
from benchbook.plots.points import where
from benchbook.suite import suite

Environments: TypeAlias = list[dict[str, Any]]
"""What cells say of the machines and programs that ran them, as JSON holds it."""

Provenance: TypeAlias = dict[str, object]
"""Where a figure's numbers come from, as it stands in the file beside it."""

RUNTIMES: Final = {"java": "JVM", "node": "Node.js"}
"""What runs the programs of other stacks, by language."""

NOT_TOLD: Final = "not recorded"
_DERIVED: Final = frozenset(derived.metric for derived in DERIVED)
_FLEETING: Final = {"load", "frequency_mhz", "fsyncs_per_s", "clock_step_s", "slowed_for_heat"}


def environments(means: pd.DataFrame) -> Environments:
    """Return the distinct environments that cells were measured in, without what differs from moment to moment."""
    by_text = {}
    for text in means["environment"].dropna().unique():
        stable = {key: value for key, value in json.loads(text).items() if key not in _FLEETING}
        by_text[json.dumps(stable, sort_keys=True)] = stable
    return [by_text[key] for key in sorted(by_text)]


def distinct(cells: Environments, key: str) -> str:
    """Return the values of one key, joined; empty when none is known."""
    return ", ".join({str(cell[key]): None for cell in cells if cell.get(key) not in (None, "")})


def measured_by(suites: str) -> str:
    """Return in a few words which suites measured, as `distinct` lists them: ``benchbook 0.1.0 (9 commits)``."""
    commits = suites.replace(NOT_TOLD, "by a benchbook not recorded").split(", ")
    releases = dict.fromkeys(commit.partition(" (")[0] for commit in commits)
    return ", ".join(commits) if len(commits) < 3 else f"{' and '.join(releases)} ({len(commits)} commits)"


def memory(cells: Environments) -> str:
    """Return how much memory the machines have."""
    return ", ".join(sorted({size(cell["memory"]) for cell in cells if cell.get("memory")}))


def software(means: pd.DataFrame) -> dict[str, str]:
    """Return what ran the cells, by its name in print: Python, the JVM and Node.js with their largest heaps, the suite.

    The suite is the one that measured; of results that do not tell it, the one at hand, and that it is.
    """
    cells = environments(means)
    named = {"Python": distinct(cells, "python")}
    for language, name in RUNTIMES.items():
        language_levels = where(means, language=language)
        known = sorted({str(text).removeprefix(f"{name} ") for text in language_levels["runtime"].dropna()})
        named[name] = ", ".join(known) if known or language_levels.empty else NOT_TOLD
    limited = (
        where(means, language=list(RUNTIMES))
        .dropna(subset=["heap_limit"])[["language", "heap_limit"]]
        .drop_duplicates()
    )
    limits = sorted((RUNTIMES[language], limit) for language, limit in limited.itertuples(index=False))
    named["heap"] = ", ".join(f"{name} maximum: {size(limit)}" for name, limit in limits)
    if cells:
        named["suite"] = distinct(cells, "suite") or f"{NOT_TOLD}; this table is by {suite()}"
    return {name: text for name, text in named.items() if text}


def span(means: pd.DataFrame) -> list[pd.Timestamp]:
    """Return when the first and the last value's measuring began; nothing without values."""
    first = means["started_at"].dropna()
    return [first.min(), means["last_started_at"].max()] if len(first) else []


def provenance(means: pd.DataFrame, run: str) -> Provenance:
    """Return what is written beside each figure, of observations and the code that draws them, not of the time.

    Parameters
    ----------
    means
        What was measured.
    run
        The profile that ran, or `benchbook.paths.REFERENCE`.
    """
    machine = environments(means)
    return {
        "profile": reference.profile() if run == paths.REFERENCE else run,
        "reference": run == paths.REFERENCE,
        "measured_by": distinct(machine, "suite") or (NOT_TOLD if machine else ""),
        "drawn_by": suite(),
        "hosts": sorted({str(host) for host in means["host"].dropna().unique()}),
        "machine_days": sorted(means["machine_day"].dropna().unique()),
        "host_cpu": distinct(machine, "cpu"),
        "cores": distinct(machine, "cores_usable"),
        "kernel": distinct(machine, "kernel"),
        "python": distinct(machine, "python"),
        "file_system": distinct(machine, "file_system"),
        "measured": [f"{moment:%Y-%m-%d}" for moment in span(means)],
        "database_versions": versions(means),
        "blocks": sorted({int(block) for block in means["block"].dropna().unique()}),
        "values": int(means.loc[~means["metric"].isin(_DERIVED), "rows"].sum()),
    }
