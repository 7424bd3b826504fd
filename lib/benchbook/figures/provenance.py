"""Where a figure's numbers come from: machine, dates, versions, profile."""

import json
from typing import Any, Final

import pandas as pd

from benchbook.evidence import DERIVED
from benchbook.figures.caveats import marked

_DERIVED: Final = frozenset(one.metric for one in DERIVED)


def environments(observations: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the distinct environments that cells were measured in, without what differs from moment to moment."""
    if "environment" not in observations:
        return []
    fleeting = {"load", "frequency_mhz", "fsyncs_per_s", "clock_step_s"}
    found = {}
    for text in observations["environment"].dropna().unique():
        stable = {key: value for key, value in json.loads(text).items() if key not in fleeting}
        found[json.dumps(stable, sort_keys=True)] = stable
    return [found[key] for key in sorted(found)]


def distinct(environments_: list[dict[str, Any]], key: str) -> str:
    """Return the values of one key, joined; empty when none is known."""
    values = {str(environment[key]): None for environment in environments_ if environment.get(key) not in (None, "")}
    return ", ".join(values)


def versions(observations: pd.DataFrame) -> dict[str, str]:
    """Return the versions of each engine's servers, those of stand-ins marked."""
    rows = observations.dropna(subset=["engine", "engine_version"])
    rows = rows[rows["engine_version"] != ""]
    found = rows.groupby("engine")["engine_version"].agg(lambda some: ", ".join(sorted(set(some))))
    return marked({str(engine): str(text) for engine, text in found.items()}, rows)


def span(observations: pd.DataFrame) -> list[pd.Timestamp]:
    """Return when the first and the last value's measuring began; nothing without values."""
    first = observations["started_at"].dropna()
    last = observations["last_started_at"].dropna() if "last_started_at" in observations else first
    return [first.min(), last.max()] if len(first) else []


def provenance(observations: pd.DataFrame, profile: str) -> dict[str, Any]:
    """Return what is written beside each figure; it depends on the observations only, never on when it was drawn."""
    where = environments(observations)
    stored = observations[~observations["metric"].isin(_DERIVED)]
    return {
        "profile": profile,
        "host_cpu": distinct(where, "cpu"),
        "cores": distinct(where, "cores_usable"),
        "kernel": distinct(where, "kernel"),
        "python": distinct(where, "python"),
        "file_system": distinct(where, "file_system"),
        "measured": [f"{moment:%Y-%m-%d}" for moment in span(observations)],
        "engine_versions": versions(observations),
        "blocks": sorted({int(block) for block in observations["block"].dropna()}),
        "values": int(stored["rows"].sum()) if "rows" in stored else len(stored),
    }
