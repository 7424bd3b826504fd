"""`benchbook servers check`: run the contract suite through a product's adapters on its servers.

It is the suite of the tests. pytest runs it in a process of its own, and its option ``--check``
selects the tests of one product and topology. The servers are those at given addresses, else
servers that are started here.
"""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple
from xml.etree import ElementTree

from benchbook import paths
from benchbook.cli.command import DONE, FAILED, NOTHING_RUNS, UsageError
from benchbook.databases import catalogue
from benchbook.files.suite_files import TemporaryFolder
from benchbook.registry import products
from benchbook.results.folder import open_results
from benchbook.results.server_checks import CHECKS_FILE, ServerCheck, load_checks, record_check
from benchbook.servers import launcher, processes
from benchbook.servers.address import name_single_url_variable, name_url_variable
from benchbook.servers.deployment import Deployment
from benchbook.servers.errors import ServerError, quote_last_lines, scrub_passwords, strip_login

SUITE: Final = ("tests/databases/test_adapters.py", "tests/databases/test_capabilities.py")
"""The contract suite's files in the checkout."""

_DROP_PATIENCE_S: Final = 60.0
"""How long an interrupted suite may take to drop its database, in seconds."""


class ContractOutcome(NamedTuple):
    """The outcome of one test of the suite."""

    name: str  # With its parameters in brackets.
    state: Literal["passed", "failed", "cannot be done"]
    reason: str = ""

    @property
    def title(self) -> str:
        """What the test shows, in words."""
        return self.name.partition("[")[0].removeprefix("test_").replace("_", " ")


def check_servers(product: str, address: str | None) -> int:
    """Check a product in each topology, print the outcomes, and record them.

    Parameters
    ----------
    product
        Its name.
    address
        The address of a server, or the variable that has it; None: those in the product's own
        variables, else servers that are started here.
    """
    if not (paths.code_folder() / SUITE[0]).is_file():
        raise UsageError("the contract suite is not in the wheel: run this in a clone")
    if importlib.util.find_spec("pytest") is None:
        raise UsageError("the contract suite needs pytest: type BENCHBOOK_TESTS=1 make setup")
    results = open_results()
    # A damaged file is refused before the suite runs.
    load_checks(results)
    if address is not None:
        url = os.environ.get(address, address)
        if "://" not in url:
            raise UsageError(f"{address} is neither an address nor a variable that is set")
        # The launcher finds given servers there.
        os.environ[name_url_variable(product)] = url
        os.environ.pop(name_single_url_variable(product), None)

    # A product need not run here in all its topologies.
    checks = []
    for topology in launcher.list_topologies(product):
        try:
            with launcher.provide_servers(product, topology) as running:
                check = _check_deployment(running.deployment)
        except ServerError as error:
            print(f"{product}, {topology}: not checked: {error}", flush=True)
            continue
        record_check(results, check)
        checks.append(check)
    if not checks:
        return NOTHING_RUNS

    # What follows for results.
    print(f"recorded in {results.path / CHECKS_FILE}:")
    for check in checks:
        what = f"{product} {check.version}, {check.topology}"
        if check.failed:
            print(f"  {what}: not checked, because {len(check.failed)} failed: {check.failed[0]}")
        else:
            print(f"  {what}: checked; its cells are judged like all others")
    return FAILED if any(check.failed for check in checks) else DONE


def _check_deployment(deployment: Deployment) -> ServerCheck:
    """Run the suite on running servers, and print and return its outcome."""
    # A simulator says that it is one.
    product, version = deployment.product, deployment.nodes[0].version
    title = products.load_product(product).title
    if not re.match(r"\d", version):
        raise ServerError(f"the server calls itself {version!r}, which is no version of {title}")
    places = " and ".join(strip_login(node.url) for node in deployment.nodes)
    what = f"{title} {version}, {deployment.topology}, at {places}"
    print(f"{what}: the contract suite runs, which may take minutes", flush=True)

    # Its outcomes, in the order of the tests.
    outcomes = _run_suite(deployment)
    _print_outcomes(outcomes)
    _print_limitations(deployment)
    return ServerCheck(
        product=product,
        version=version,
        topology=deployment.topology,
        adapter=products.read_adapter_version(product),
        image_digest=deployment.settings.get("image_digest"),
        date=datetime.now(UTC).date().isoformat(),
        failed=tuple(outcome.name for outcome in outcomes if outcome.state == "failed"),
    )


def _run_suite(deployment: Deployment) -> list[ContractOutcome]:
    """Run the suite in a database of its own on these servers, and return its outcomes."""
    # It finds these servers as a user's, and no others. In CI, what cannot be done would fail, and
    # a user's options of pytest could leave tests out.
    environment = dict(os.environ)
    for name in os.environ:
        if name in ("CI", "PYTEST_ADDOPTS") or re.fullmatch(r"BENCHBOOK_\w+_URL", name):
            del environment[name]
    for node in deployment.nodes:
        environment[name_url_variable(deployment.product, node.role)] = node.url

    with TemporaryFolder("cell") as folder:
        report, log = folder / "report.xml", folder / "output"
        options = (
            f"--check={deployment.product}-{deployment.topology}",
            f"--junitxml={report}",
            *("-p", "no:cacheprovider"),
            # Warnings of a driver are not failures of its adapter.
            *("-W", "default"),
        )
        with log.open("wb") as output:
            suite = processes.spawn(
                [sys.executable, "-m", "pytest", *SUITE, *options],
                cwd=paths.code_folder(),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                death_signal=signal.SIGINT,
            )
            try:
                status = suite.wait()
            finally:
                # It drops its database when it is interrupted.
                processes.stop(suite, signal.SIGINT, _DROP_PATIENCE_S)
        # 0 is all passed, 1 is some failed.
        if status not in (0, 1):
            end = quote_last_lines(log.read_text(errors="replace"))
            raise ServerError(f"the contract suite cannot run:\n{end}")
        return [*_read_report(report, [node.url for node in deployment.nodes])]


def _read_report(report: Path, urls: Iterable[str]) -> Iterable[ContractOutcome]:
    """Yield the outcomes in a report of pytest's, without the passwords of these addresses."""
    states: dict[str, Literal["failed", "cannot be done"]] = {
        "failure": "failed",
        "error": "failed",
        "skipped": "cannot be done",
    }
    for test in ElementTree.parse(report).iter("testcase"):
        outcome = ContractOutcome(test.attrib["name"], "passed")
        for part in test:
            if part.tag in states:
                lines = scrub_passwords(part.attrib.get("message", ""), urls).splitlines()
                outcome = ContractOutcome(outcome.name, states[part.tag], lines[0] if lines else "")
        yield outcome


def _print_outcomes(outcomes: Iterable[ContractOutcome]) -> None:
    """Print a line for each test that passed or cannot be done, and for each failure."""
    counts: dict[ContractOutcome, int] = {}
    for outcome in outcomes:
        # Parameters are of interest where a test failed.
        name = outcome.name if outcome.state == "failed" else outcome.title
        shown = outcome._replace(name=name)
        counts[shown] = counts.get(shown, 0) + 1
    for outcome, count in counts.items():
        times = f" ({count} times)" if count > 1 else ""
        reason = f": {outcome.reason}" if outcome.reason else ""
        print(f"  {outcome.state}: {outcome.name}{times}{reason}")


def _print_limitations(deployment: Deployment) -> None:
    """Print the limitations that the adapters declare, which the suite has tested, too."""
    urls = {node.role: node.url for node in deployment.nodes}
    versions = [node.version for node in deployment.nodes]
    for name in catalogue.DATABASE_NAMES:
        if products.parse_name(name).product == deployment.product:
            limitations = catalogue.load_adapter(name).find_limitations(urls, versions)
            for capability, reason in limitations.items():
                print(f"  cannot be done, as declared: {capability} of {name}: {reason}")
