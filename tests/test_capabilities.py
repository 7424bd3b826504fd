"""Every database is asked for every capability: what it does not declare as a gap works, and a gap fails as declared.

The table of docs/databases.md is made of the same declarations.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import products
from benchbook import databases, servers
from benchbook.databases import Adapter
from benchbook.deployment import Topology
from benchbook.schemas import Field, Schema
from cases import CASES, COMMENTS, TYPED, Case, Deployed, Opened, assert_contents, awkward
from standing import driver_needed, is_given, needed
from tools import capabilities as table
from tools.capabilities import CAPABILITIES
from waiting import PATIENCE_S

PAGE = Path(__file__).parents[1] / "docs" / "databases.md"
MB = 2**20
LONG = Schema("long", (Field("_id", "string"), Field("text", "string")))


class Asked:
    """A database, and what else a capability takes to be asked for."""

    def __init__(self, adapter: Adapter, deployed: Deployed, opened: Opened, case: Case) -> None:
        self.adapter, self.opened, self.deployment = adapter, opened, deployed(*case)

    def keeps(self, record: dict[str, Any], schema: Schema = TYPED) -> None:
        """Hold that a record comes back equal."""
        self.adapter.create(schema)
        self.adapter.insert(record)
        assert list(self.adapter.read_all()) == [record]

    def elsewhere(self, **changes: Any) -> Adapter:
        """Return the database on a single node, the deployment's changed so."""
        node = replace(self.deployment.node(), **changes)
        return databases.open(self.adapter.name, replace(self.deployment, topology="single", nodes=(node,)))


def replicates(asked: Asked) -> None:
    adapter = asked.adapter
    adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    adapter.insert_many(COMMENTS.records)
    assert adapter.wait_for(adapter.position(), PATIENCE_S)
    wanted = {record["_id"]: dict(record) for record in COMMENTS.records}
    for role in ("primary", "replica"):
        assert {record["_id"]: record for record in adapter.read_all(role)} == wanted


def counts_what_the_replica_receives(asked: Asked) -> None:
    asked.adapter = asked.opened(counted=True)
    asked.adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    (counter,) = asked.adapter.counters("replica")
    assert counter.metric == "bytes_received" and asked.adapter.counters("primary") == []
    before = counter.read()
    asked.adapter.insert_many(COMMENTS.records)
    assert asked.adapter.wait_for(asked.adapter.position(), PATIENCE_S)
    content = sum(len(str(value)) for record in COMMENTS.records for value in record.values())
    assert content < counter.read() - before < 10 * content


def has_a_replica_that_refuses_writes(asked: Asked) -> None:
    with (
        pytest.raises(databases.AdapterError, match=r"read-only|not primary"),
        asked.elsewhere(url=asked.deployment.node("replica").url) as replica,
    ):
        replica.create(TYPED)


def lets_durability_be_chosen(asked: Asked) -> None:
    for durability in ("relaxed", "strict"):
        asked.opened(durability=durability).create(TYPED)


def lets_constraints_be_left_out(asked: Asked) -> None:
    orphan = {**COMMENTS.records[0], "article_id": "unknown"}
    asked.adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    try:
        asked.adapter.insert(orphan)
    except databases.RefusedError as error:
        assert "foreign key" in str(error)
    else:
        assert "constraints" in asked.adapter.gaps
    loose = asked.opened(constraints=False)
    loose.create(COMMENTS.schema, parents=COMMENTS.parents)
    nameless = {**orphan, "title": None}
    loose.insert(nameless)
    assert_contents(loose, [nameless])
    with pytest.raises(databases.DuplicateKeyError):
        loose.insert(nameless)


def finds_by_any_field(asked: Asked) -> None:
    asked.adapter.create(COMMENTS.schema, parents=COMMENTS.parents)
    asked.adapter.insert_many(COMMENTS.records)
    found = asked.adapter.find("article_id", COMMENTS.records[0]["article_id"])
    assert len(found) == 10


def tells_trailing_blanks_apart(asked: Asked) -> None:
    asked.adapter.create(TYPED)
    records = awkward()[:2]
    assert [record["text %s"] for record in records] == ["", " "]
    asked.adapter.insert_many(records)
    if "find" not in asked.adapter.gaps:
        assert [record["_id"] for record in asked.adapter.find("text %s", "")] == [records[0]["_id"]]
    assert {record["text %s"] for record in asked.adapter.read_all()} == {"", " "}


def keeps_nul_characters(asked: Asked) -> None:
    asked.keeps({**awkward()[0], "text %s": "a\0b"})


def keeps_large_integers(asked: Asked) -> None:
    for number in (2**53 + 1, 2**63 - 1, -(2**63)):
        asked.keeps({**awkward()[0], "whole": number})


def keeps_doubles(asked: Asked) -> None:
    for number in (123456789.123456789, 5e-324, 1 / 3, 1.7976931348623157e308):
        asked.keeps({**awkward()[0], "real": number})


def keeps_large_records(asked: Asked) -> None:
    asked.keeps({"_id": "one", "text": "x" * (17 * MB)}, LONG)


def refuses_a_wrong_password(asked: Asked) -> None:
    parts = urlsplit(asked.deployment.node().url)
    host = parts.netloc.rpartition("@")[2]
    url = parts._replace(netloc=f"{parts.username}:wrong-secret@{host}").geturl()
    with pytest.raises(databases.UnreachableError, match=r"(?i)authentication failed|access denied") as told:
        asked.elsewhere(url=url)
    assert f" at {host}: " in str(told.value)
    assert "wrong-secret" not in str(told.value)


def keeps_what_it_is_given(asked: Asked) -> None:
    asked.keeps(awkward()[3])


ASKED: dict[str, Callable[[Asked], None]] = {
    "wait_for": replicates,
    "bytes_received": counts_what_the_replica_receives,
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
    "contents": keeps_what_it_is_given,
}
"""How each is asked for; a key without an index is asked for where indexes are, in ``test_adapters.py``."""

OF_PAIRS = ("wait_for", "bytes_received", "read_only_replica")
OF_ALL = ("constraints", "durability")


def applies(capability: str, name: str, topology: Topology) -> bool:
    """Return whether a capability is asked for there: of pairs, of all, or of one node alone."""
    if name == "noop":
        return capability in ("contents", "constraints")
    if capability in products.lacks(name, topology):
        return False
    return capability in OF_ALL or (capability in OF_PAIRS) == (topology != "single")


@pytest.mark.parametrize(
    ("case", "capability"),
    [(case, capability) for case in CASES for capability in ASKED if applies(capability, *case)],
    ids=lambda one: "-".join(one) if isinstance(one, tuple) else one,
)
def test_a_capability_is_there_or_asking_for_it_fails_as_declared(
    adapter: Adapter, deployed: Deployed, opened: Opened, case: Case, capability: str
) -> None:
    error = CAPABILITIES[capability].error or (AssertionError, pytest.fail.Exception, ValueError)
    if capability in adapter.gaps:
        assert adapter.gaps[capability]
        outcome: Any = pytest.raises(error)
    else:
        outcome = nullcontext()
    with outcome:
        ASKED[capability](Asked(adapter, deployed, opened, case))


@pytest.mark.parametrize("name", databases.NAMES)
def test_every_declared_gap_is_a_known_capability_that_is_asked_for(name: str) -> None:
    driver_needed(name)
    adapter = databases.load(name)
    gaps = {*adapter.lacks, *adapter.since}
    assert gaps <= set(CAPABILITIES)
    assert gaps <= {*ASKED, "reference_without_index"}
    assert all(why.strip() for why in adapter.lacks.values())


LIMITED = [case for case in CASES if case[1] != "none" and "large_records" not in products.lacks(*case)]


@pytest.mark.parametrize("case", LIMITED, ids="-".join)
def test_a_record_that_is_too_large_leaves_nothing_behind_and_the_next_one_is_taken(
    deployed: Deployed, case: Case
) -> None:
    for text in ("x" * (15 * MB), "x" * (17 * MB)):
        with databases.open(case[0], deployed(*case)) as adapter:
            if "large_records" not in adapter.gaps:
                return
            adapter.create(LONG)
            if len(text) < 16 * MB and adapter.product != "couchdb":
                adapter.insert({"_id": "large", "text": text})
                assert [len(record["text"]) for record in adapter.read_all()] == [len(text)]
                continue
            with pytest.raises(databases.AdapterError):
                adapter.insert({"_id": "large", "text": text})
        with databases.open(case[0], deployed(*case)) as adapter:
            adapter.create(LONG)
            adapter.insert({"_id": "small", "text": "x"})
            assert len(adapter.read_all()) == 1


@pytest.mark.parametrize("product", servers.PRODUCTS)
def test_a_product_is_here_or_is_skipped_once_with_its_reason(product: str) -> None:
    if not is_given(product):
        needed(product)
        assert isinstance(servers.find(product), servers.Found)


def test_the_page_says_what_the_adapters_declare() -> None:
    assert table.rewritten(PAGE.read_text()) == PAGE.read_text(), "make it so: " + table.BEGIN


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="a line each"):
        table.rewritten("# benchbook")
