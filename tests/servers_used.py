"""What the tests that share servers run on: pytest says it before them, and how they went after them."""

from collections import Counter, defaultdict
from typing import Final

import pytest

from benchbook import registry, servers
from benchbook.deployment import Topology
from standing import ADDRESSES, GIVEN, Used, found, is_given

PROPERTY: Final = "servers"
"""The property of a test's report that holds what the test ran on."""

_OUTCOMES: Final = ("passed", "failed", "skipped")


def header() -> list[str]:
    """Return a line a product that is here, or was given by its address: its version, and where it is."""
    lines = [line for product in registry.PRODUCTS if (line := _given(product) if is_given(product) else _own(product))]
    return ["servers that tests share:", *(f"  {line}" for line in lines)]


def _own(product: str) -> str:
    one = found(product, "single")
    return "" if isinstance(one, servers.Missing) else f"{product} {one.version}, started here"


def _given(product: str) -> str:
    sought = {topology: found(product, topology) for topology in servers.topologies(product)}
    said = [
        f"{topology} {one.version if isinstance(one, servers.Found) else f'skipped ({one.why})'}"
        for topology, one in sought.items()
    ]
    return f"{product} at {', '.join(name for name in ADDRESSES[product] if name in GIVEN)}: {'; '.join(said)}"


class Counts:
    """Counts the outcomes of tests by what they ran on."""

    def __init__(self) -> None:
        self._used: dict[str, set[Used]] = {}
        self._outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a phase of a test, which has passed where none did otherwise."""
        self._used[report.nodeid] = {Used(*one) for name, one in report.user_properties if name == PROPERTY}
        if not report.passed or report.nodeid not in self._outcomes:
            self._outcomes[report.nodeid] = report.outcome

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how the tests went on each product."""
        counts: dict[tuple[str, str], dict[Topology, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for name, used in self._used.items():
            for one in used:
                where = "at its address" if one.given else "started here"
                what = f"{one.version}, {where}" if one.version else "no address fits"
                counts[one.product, what][one.topology][self._outcomes[name]] += 1
        if counts:
            terminalreporter.section("servers that tests shared")
        for (product, what), topologies in sorted(counts.items()):
            said = [
                f"{topology} {', '.join(f'{some[one]} {one}' for one in _OUTCOMES if some[one])}"
                for topology, some in sorted(topologies.items())
            ]
            terminalreporter.line(f"{product} {what}: {'; '.join(said)}")
