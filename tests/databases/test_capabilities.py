"""Every capability of every database works, or fails as its limitations declare.

The table of docs/databases.md has the same declarations.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

import stand_ins
from benchbook.databases import catalogue
from benchbook.databases.adapter import (
    Adapter,
    AdapterError,
    DuplicateKeyError,
    RefusedError,
    UnreachableError,
)
from benchbook.registry.products import PRODUCTS
from benchbook.schema import Field, Schema
from benchbook.servers import launcher
from benchbook.servers.deployment import Topology
from benchbook.servers.programs import AvailableServer
from cases import (
    CASES,
    COMMENTS,
    TYPED,
    Case,
    Deployed,
    Opened,
    assert_contents,
    make_awkward_records,
)
from checkout import ROOT
from shared_servers import is_given, skip_without, skip_without_plugin
from tools import capabilities
from tools.capabilities import CAPABILITIES
from waiting import PATIENCE_S

PAGE = ROOT / "docs" / "databases.md"
MB = 2**20
LONG = Schema("long", (Field("_id", "string"), Field("text", "string")))


class CapabilityTest:
    """A database, and its servers for tests that open it in another way."""

    def __init__(self, adapter: Adapter, deployed: Deployed, opened: Opened, case: Case) -> None:
        self.adapter, self.opened, self.deployment = adapter, opened, deployed(*case)

    def expect_kept(self, record: dict[str, Any], schema: Schema = TYPED) -> None:
        """Assert that a record is read equal."""
        self.adapter.create(schema)
        self.adapter.insert(record)
        assert list(self.adapter.read_all()) == [record]

    def open_elsewhere(self, **changes: Any) -> Adapter:
        """Return the database on a single node, the deployment's changed so."""
        node = replace(self.deployment.node(), **changes)
        return catalogue.open_adapter(
            self.adapter.name, replace(self.deployment, topology="single", nodes=(node,))
        )


def replicates(test: CapabilityTest) -> None:
    adapter = test.adapter
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    adapter.insert_many(COMMENTS.records)
    assert adapter.wait_for(adapter.position(), PATIENCE_S)
    wanted = {record["_id"]: dict(record) for record in COMMENTS.records}
    for role in ("primary", "replica"):
        assert {record["_id"]: record for record in adapter.read_all(role)} == wanted


def counts_received_bytes(test: CapabilityTest) -> None:
    test.adapter = test.opened(count_bytes=True)
    test.adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    (counter,) = test.adapter.list_counters("replica")
    assert counter.metric == "bytes_received" and test.adapter.list_counters("primary") == []
    before = counter.read()
    test.adapter.insert_many(COMMENTS.records)
    assert test.adapter.wait_for(test.adapter.position(), PATIENCE_S)
    content = 0
    for record in COMMENTS.records:
        content += sum(len(str(value)) for value in record.values())
    assert content < counter.read() - before < 10 * content


def has_a_replica_that_refuses_writes(test: CapabilityTest) -> None:
    with (
        pytest.raises(AdapterError, match=r"read-only|not primary"),
        test.open_elsewhere(url=test.deployment.node("replica").url) as replica,
    ):
        replica.create(TYPED)


def lets_durability_be_chosen(test: CapabilityTest) -> None:
    for durability in ("relaxed", "strict"):
        test.opened(durability=durability).create(TYPED)


def lets_constraints_be_left_out(test: CapabilityTest) -> None:
    orphan = {**COMMENTS.records[0], "article_id": "unknown"}
    test.adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    try:
        test.adapter.insert(orphan)
    except RefusedError as error:
        assert "foreign key" in str(error)
    else:
        assert "constraints" in test.adapter.limitations
    loose = test.opened(constraints=False)
    loose.create(COMMENTS.schema, parents=COMMENTS.parents)
    nameless = {**orphan, "title": None}
    loose.insert(nameless)
    assert_contents(loose, [nameless])
    with pytest.raises(DuplicateKeyError):
        loose.insert(nameless)


def finds_by_any_field(test: CapabilityTest) -> None:
    test.adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    test.adapter.insert_many(COMMENTS.records)
    found = test.adapter.find("article_id", COMMENTS.records[0]["article_id"])
    assert len(found) == 10


def tells_trailing_blanks_apart(test: CapabilityTest) -> None:
    test.adapter.create(TYPED)
    records = make_awkward_records()[:2]
    assert [record["text %s"] for record in records] == ["", " "]
    test.adapter.insert_many(records)
    if "find" not in test.adapter.limitations:
        assert [record["_id"] for record in test.adapter.find("text %s", "")] == [records[0]["_id"]]
    assert {record["text %s"] for record in test.adapter.read_all()} == {"", " "}


def keeps_nul_characters(test: CapabilityTest) -> None:
    test.expect_kept({**make_awkward_records()[0], "text %s": "a\0b"})


def keeps_large_integers(test: CapabilityTest) -> None:
    for number in (2**53 + 1, 2**63 - 1, -(2**63)):
        test.expect_kept({**make_awkward_records()[0], "whole": number})


def keeps_doubles(test: CapabilityTest) -> None:
    for number in (123456789.123456789, 5e-324, 1 / 3, 1.7976931348623157e308):
        test.expect_kept({**make_awkward_records()[0], "real": number})


def keeps_large_records(test: CapabilityTest) -> None:
    test.expect_kept({"_id": "one", "text": "x" * (17 * MB)}, LONG)


def refuses_a_wrong_password(test: CapabilityTest) -> None:
    parts = urlsplit(test.deployment.node().url)
    host = parts.netloc.rpartition("@")[2]
    url = parts._replace(netloc=f"{parts.username}:wrong-secret@{host}").geturl()
    with pytest.raises(UnreachableError, match=r"(?i)authentication failed|access denied") as told:
        test.open_elsewhere(url=url)
    assert f" at {host}: " in str(told.value)
    assert "wrong-secret" not in str(told.value)


def keeps_contents(test: CapabilityTest) -> None:
    test.expect_kept(make_awkward_records()[3])


CAPABILITY_TESTS: dict[str, Callable[[CapabilityTest], None]] = {
    "wait_for": replicates,
    "bytes_received": counts_received_bytes,
    "read_only_replica": has_a_replica_that_refuses_writes,
    "durability": lets_durability_be_chosen,
    "constraints": lets_constraints_be_left_out,
    "find": finds_by_any_field,
    "trailing_blanks": tells_trailing_blanks_apart,
    "nul_characters": keeps_nul_characters,
    "large_integers": keeps_large_integers,
    "doubles": keeps_doubles,
    "large_records": keeps_large_records,
    "passwords": refuses_a_wrong_password,
    "contents": keeps_contents,
}
"""The test of each; a key without an index is tested with indexes, in ``test_adapters.py``."""

PAIR_CAPABILITIES = ("wait_for", "bytes_received", "read_only_replica")
COMMON_CAPABILITIES = ("constraints", "durability")


def is_applicable(capability: str, name: str, topology: Topology) -> bool:
    """Return whether a capability is tested there: on pairs, on all, or on one node."""
    if name == "noop":
        return capability in ("contents", "constraints")
    if capability in stand_ins.find_limitations(name, topology):
        return False
    return capability in COMMON_CAPABILITIES or (capability in PAIR_CAPABILITIES) == (
        topology != "single"
    )


def list_capability_cases() -> list[tuple[Case, str]]:
    cases = []
    for case in CASES:
        cases += [
            (case, capability)
            for capability in CAPABILITY_TESTS
            if is_applicable(capability, *case)
        ]
    return cases


@pytest.mark.parametrize(
    ("case", "capability"),
    list_capability_cases(),
    ids=lambda one: "-".join(one) if isinstance(one, tuple) else one,
)
def test_a_capability_works_or_fails_as_declared(
    adapter: Adapter, deployed: Deployed, opened: Opened, case: Case, capability: str
) -> None:
    error = CAPABILITIES[capability].error or (AssertionError, pytest.fail.Exception, ValueError)
    if capability in adapter.limitations:
        assert adapter.limitations[capability]
        outcome: Any = pytest.raises(error)
    else:
        outcome = nullcontext()
    with outcome:
        CAPABILITY_TESTS[capability](CapabilityTest(adapter, deployed, opened, case))


@pytest.mark.parametrize("name", catalogue.DATABASE_NAMES)
def test_every_limitation_names_a_capability_that_is_tested(name: str) -> None:
    skip_without_plugin(name)
    adapter = catalogue.load_adapter(name)
    names = {*adapter.limitations, *adapter.first_versions}
    assert names <= set(CAPABILITIES)
    assert names <= {*CAPABILITY_TESTS, "reference_without_index"}
    assert all(why.strip() for why in adapter.limitations.values())


def list_limited_cases() -> list[Case]:
    """Return each database on one node, and one database per product and other topology."""
    cases: list[Case] = []
    products = set()
    for name, topology in CASES:
        product = (launcher.name_product(name), topology)
        if topology == "none" or "large_records" in stand_ins.find_limitations(name, topology):
            continue
        if topology == "single" or product not in products:
            cases.append((name, topology))
        products.add(product)
    return cases


@pytest.mark.parametrize("case", list_limited_cases(), ids="-".join)
def test_after_a_record_that_is_too_large_the_next_one_is_accepted(
    deployed: Deployed, case: Case
) -> None:
    for text in ("x" * (15 * MB), "x" * (17 * MB)):
        with catalogue.open_adapter(case[0], deployed(*case)) as adapter:
            if "large_records" not in adapter.limitations:
                return
            adapter.create(LONG)
            if len(text) < 16 * MB and adapter.product != "couchdb":
                adapter.insert({"_id": "large", "text": text})
                assert [len(record["text"]) for record in adapter.read_all()] == [len(text)]
                continue
            with pytest.raises(AdapterError):
                adapter.insert({"_id": "large", "text": text})
        with catalogue.open_adapter(case[0], deployed(*case)) as adapter:
            adapter.create(LONG)
            adapter.insert({"_id": "small", "text": "x"})
            assert len(adapter.read_all()) == 1


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_runs_here_or_is_skipped_with_its_reason(product: str) -> None:
    if not is_given(product):
        skip_without(product)
        assert isinstance(launcher.find_server(product), AvailableServer)


def test_the_page_has_the_adapters_limitations() -> None:
    assert capabilities.rewrite_page(PAGE.read_text()) == PAGE.read_text(), (
        "make it so: " + capabilities.BEGIN
    )


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="a line each"):
        capabilities.rewrite_page("# benchbook")
