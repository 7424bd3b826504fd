"""On which servers a product's adapters passed the compliance tests, by the record that test runs write.

``pytest --record-compliance`` writes `data/compliance.csv`, a row a product, version and topology, and only of products
themselves: what passed on a stand-in says nothing of the product. No cell's code reads it: to add a row makes no
finished cell new.
"""

import csv
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

from benchbook import paths, registry, servers
from benchbook.deployment import Topology


class Passed(NamedTuple):
    """A test run's outcome on one product in one version and topology: every test of it passed."""

    product: str
    version: str  # as the server states it
    topology: Topology
    engines: tuple[str, ...]
    servers: str  # ``started`` by the tests, or ``given`` by address
    date: str  # ISO 8601
    engine_tests: int  # how many passed of those that ask every engine for the same,
    capability_tests: int  # for each capability, to be there or to fail as declared,
    study_tests: int  # and of the studies' cells


COLUMNS: Final = Passed._fields


def record() -> tuple[Passed, ...]:
    """Return the record, the rows of one product by version and topology."""
    return read(paths.compliance())


@cache
def read(path: Path) -> tuple[Passed, ...]:
    """Return the rows of a record."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    passed: list[Passed] = []
    for row in rows:
        topology, engines = cast("Topology", row["topology"]), tuple(row["engines"].split())
        tests = [int(row[name]) for name in COLUMNS if name.endswith("_tests")]
        passed.append(Passed(row["product"], row["version"], topology, engines, row["servers"], row["date"], *tests))
    return tuple(passed)


def write(path: Path, rows: list[Passed]) -> None:
    """Write a record with these rows beside those that are there; a row takes the place of one of the same servers."""
    read.cache_clear()
    by_servers = {row[:3]: row for row in (*(read(path) if path.exists() else ()), *rows)}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        order = sorted(by_servers.values(), key=lambda row: (registry.PRODUCTS.index(row.product), row))
        writer.writerows([" ".join(value) if isinstance(value, tuple) else value for value in row] for row in order)
    read.cache_clear()


def versions(engine: str, topology: Topology) -> list[str]:
    """Return the versions of its product on which an engine passed in that topology, the last recorded first."""
    return [row.version for row in reversed(record()) if engine in row.engines and row.topology == topology]


def untested(engine: str) -> str:
    """Return what of an engine never passed on a server of its product; empty when all did, or it has no product."""
    name = registry.parsed(engine).product
    if name not in registry.PRODUCTS:
        return ""
    known, topologies = registry.product(name), servers.topologies(name)
    lacking = [topology for topology in topologies if not versions(engine, topology)]
    if not lacking:
        return ""
    if len(lacking) < len(topologies):
        return f"the compliance tests of {known.title} passed, but not {' or '.join(lacking)}"
    where = f"only on its stand-in, {stand_in(name)}" if known.stand_in else "on no server"
    return f"the compliance tests of {known.title} passed {where}"


def stand_in(product: str) -> str:
    """Return the version of what stands in for a product; empty where nothing does."""
    substitute = registry.product(product).stand_in
    return substitute.version.removesuffix(" (stand-in)") if substitute else ""
