"""Which tests a process runs one after the other, to make once what they share: a product's servers, a fixture."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from benchbook import databases, registry, servers

SHARING: Final = {"announce", "deployed", "pair", "product"}
"""Fixtures of tests that run on servers; those of a product and topology are one group, whatever their files."""

LONGEST: Final = (
    *("test_setup", "test_lab", "test_runner", "test_hosts", "mongodb single", "mongodb pair", "test_explorer_server"),
    *("test_explorer", "placing", "test_suite", "test_secrets", "test_lessons", "test_figures", "test_reference"),
    *("mysql single", "mysql pair", "mariadb single", "mariadb pair", "postgresql single", "postgresql pair"),
    *("couchdb single", "couchdb pair", "test_report", "test_docs", "test_manuscript", "test_plugins", "test_quiet"),
)
"""Groups that begin first, for what ends last is waited for alone: those that take half a minute or more."""


def mark(items: list[pytest.Item]) -> None:
    """Give each test its group, and sort the groups: the longest first, then as they were collected."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    order = {name: number for number, name in enumerate(dict.fromkeys([*LONGEST, *map(of, items)]))}
    items.sort(key=lambda item: order[of(item)])


def of(item: pytest.Item) -> str:
    """Return a test's group."""
    marker = item.get_closest_marker("xdist_group")
    assert marker
    return str(marker.args[0])


def _group(item: pytest.Item) -> str:
    fixtures = {*getattr(item, "fixturenames", ())}
    if fixtures & SHARING:
        names = [*_texts(getattr(item, "callspec", None))]
        topology = "pair" if {"pair", "replicated", "bidirectional"} & {*names, *fixtures} else "single"
        for name in names:
            if name in registry.PRODUCTS or name in databases.NAMES:
                return f"{servers.product_of(name)} {topology}".replace("@", " ")  # what follows an @ would be its name
    return item.path.stem


def _texts(callspec: Any) -> Iterator[str]:
    """Yield the texts among a test's parameters, and in tuples and dictionaries that are parameters."""
    for value in callspec.params.values() if callspec else ():
        for text in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                yield text
