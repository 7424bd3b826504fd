"""What the tests that share servers run on: pytest says it before them, and how they went after them."""

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from benchbook import compliance, paths, registry, servers
from benchbook.compliance import Passed
from benchbook.deployment import Topology
from standing import ADDRESSES, GIVEN, Used, found, is_given

PROPERTY: Final = "servers"
"""The property of a test's report that holds what the test ran on."""

KINDS: Final = ("engine_tests", "capability_tests", "study_tests")
"""The three kinds of tests that a product must pass."""

_KINDS: Final = {"test_engines": "engine_tests", "test_capabilities": "capability_tests"}
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

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
    ) -> None:
        """Say how the tests went on each product, and what of it is recorded."""
        counts: dict[tuple[str, str], dict[Topology, dict[str, set[str]]]] = {}
        for name, used in self._used.items():
            for one in used:
                where = "at its address" if one.given else "started here"
                what = f"{one.version}, {where}" if one.version else "no address fits"
                topologies = counts.setdefault((one.product, what), {})
                topologies.setdefault(one.topology, {}).setdefault(self._outcomes[name], set()).add(name)
        if counts:
            terminalreporter.section("servers that tests shared")
        for (product, what), topologies in sorted(counts.items()):
            said = [
                f"{topology} {', '.join(f'{len(some[one])} {one}' for one in _OUTCOMES if one in some)}"
                for topology, some in sorted(topologies.items())
            ]
            terminalreporter.line(f"{product} {what}: {'; '.join(said)}")
        if config.option.record_compliance:
            why, today = not_recorded(config, exitstatus), datetime.now(UTC).date().isoformat()
            rows = [] if why else self.passed(today)
            compliance.write(paths.compliance(), rows)
            said = ", ".join(f"{row.product} {row.version} {row.topology}" for row in rows)
            said = said or f"nothing, for {why or 'of no product all three kinds of tests passed'}"
            terminalreporter.line(f"recorded in {paths.compliance().name}: {said}")

    def passed(self, date: str) -> list[Passed]:
        """Return the record's rows: of products themselves, in each topology in which tests of all kinds passed.

        Of a product of which one test failed there is none, whatever the topology.
        """
        failed = {one.product for name, used in self._used.items() for one in used if self._outcomes[name] == "failed"}
        engines: dict[tuple[str, str, Topology, str], set[str]] = defaultdict(set)
        tests: dict[tuple[str, str, Topology, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for name, used in self._used.items():
            for one in used:
                if one.version and not one.stand_in and self._outcomes[name] == "passed":
                    key = (one.product, one.version, one.topology, "given" if one.given else "started")
                    tests[key][_KINDS.get(Path(name.partition("::")[0]).stem, "study_tests")].add(name)
                    engines[key] |= {one.engine} & set(registry.ENGINES)
        return [
            Passed(*key[:3], tuple(sorted(engines[key])), key[3], date, *(len(some[kind]) for kind in KINDS))
            for key, some in tests.items()
            if key[0] not in failed and all(some[kind] for kind in KINDS)
        ]


def not_recorded(config: pytest.Config, exitstatus: int) -> str:
    """Return why a run is not recorded; empty when it is: all tests of the files that it took ran."""
    chosen = config.option
    last_failed = getattr(chosen, "lf", False)
    if chosen.keyword or chosen.markexpr or chosen.deselect or last_failed or any("::" in one for one in config.args):
        return "some tests were left out: give whole files, or none"
    return "" if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else "the run did not end by itself"
