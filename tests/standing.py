"""Servers that stand for a whole test run, announced as a runner does; and engines that are tampered with."""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchbook import lanes, registry, servers
from benchbook.databases import Engine
from benchbook.deployment import VARIABLE, Topology
from benchbook.studies import store

WHEELS = ("mongodb", "postgresql")
"""Products whose servers are installed with the suite; what else there is is used where it is found."""

LOCAL = tuple(
    name
    for name in registry.PRODUCTS
    if (known := registry.product(name)).package or (known.stand_in and known.stand_in.pairs)
)
"""Products that run here single and as pairs, or would if they were installed: of the others, a stand-in at best."""

PASSWORDS = ("p%ss", "p@ss:w/rd", "p%41ss", "pässwörd 漢", "with  two blanks", "o'clock\"\\n", "#?&=+[]", "s3cret")
"""What users may have for a password, and what quotes it: a driver, Python, JSON, an address."""

Outputs = set[tuple[str, str, str]]


@cache
def here(product: str) -> bool:
    """Return whether a product runs here, or must: one that is installed with the suite is never left out."""
    return product in ("none", *WHEELS) or isinstance(servers.find(product), servers.Found)


def needed(product: str, topology: Topology = "single") -> None:
    """Skip the test when the product is not here; never for one that is installed with the suite."""
    if product not in ("none", *WHEELS) and isinstance(missing := servers.find(product, topology), servers.Missing):
        pytest.skip(f"{product} is not installed with the suite: {missing.why}")


def lane_needed(lane: str, *tools: str) -> lanes.Found:
    """Skip the test where a lane cannot be built; where what builds it is on PATH, its lack is a failure."""
    if isinstance(found := lanes.find(lane), lanes.Missing):
        if "make setup" in found.why and all(map(shutil.which, tools)):
            pytest.fail(f"set-up has {' and '.join(tools)}, and built no lane {lane}: {found.why}")
        pytest.skip(f"lane {lane} is not installed with the suite: {found.why}")
    return found


@cache
def deployment_file(product: str, topology: Topology) -> Path:
    running = servers.start(product, topology)
    atexit.register(running.stop)
    path = Path(tempfile.mkdtemp()) / "deployment.json"
    path.write_text(running.deployment.to_json())
    return path


def announce(monkeypatch: pytest.MonkeyPatch, product: str, topology: Topology) -> None:
    """Let the next study find these servers."""
    if product != "none":
        needed(product, topology)
        monkeypatch.setenv(VARIABLE, str(deployment_file(product, topology)))


def tamper(monkeypatch: pytest.MonkeyPatch, change: Callable[[Engine], None]) -> None:
    """Let a study open an engine that `change` has laid its hand on."""
    real = store.databases.open

    @contextmanager
    def opened(*arguments: Any, **options: Any) -> Iterator[Engine]:
        with real(*arguments, **options) as engine:
            change(engine)
            yield engine

    monkeypatch.setattr(store.databases, "open", opened)


def outputs(frame: pd.DataFrame, repetition: int) -> Outputs:
    rows = frame[frame["repetition"] == repetition]
    assert not rows.duplicated(["operation", "role", "metric"]).any()
    return set(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
