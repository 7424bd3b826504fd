"""Where CouchDB's stand-in comes from, and that it is named one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchbook import servers
from benchbook.deployment import Deployment
from benchbook.servers import address, programs
from standing import needed


@pytest.fixture(scope="module")
def pair() -> Iterator[Deployment]:
    needed("couchdb", "bidirectional")
    with servers.start("couchdb", "bidirectional") as running:
        yield running.deployment


def test_a_stand_in_is_named_one(pair: Deployment) -> None:
    found = servers.find("couchdb")
    assert isinstance(found, servers.Found)
    assert found.stand_in and found.source == "stand-in"
    assert {(one.stand_in, one.version) for one in pair.nodes} == {(True, found.version)}
    assert found.version.startswith("PouchDB 9.") and found.version.endswith("(stand-in)")
    assert "never" in pair.settings["primary"]["fsync"]


def test_by_its_address_it_is_a_stand_in_too(pair: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("primary", "replica"):
        monkeypatch.setenv(address.variable("couchdb", role), pair.node(role).url)
    with servers.session("couchdb", "bidirectional") as given:
        assert [(one.role, one.stand_in, one.pid) for one in given.nodes] == [
            ("primary", True, pair.nodes[0].pid),
            ("replica", True, pair.nodes[1].pid),
        ]
    found = servers.find("couchdb", "replicated")
    assert isinstance(found, servers.Found)
    assert (found.source, found.stand_in) == ("address", True)


def test_only_couchdb_goes_both_ways() -> None:
    with pytest.raises(servers.ServerError, match="mongodb runs single or replicated here, not 'bidirectional'"):
        servers.start("mongodb", "bidirectional")


@pytest.mark.parametrize(
    ("node_says", "packages", "why"),
    [(None, True, "no node on PATH"), ("v16.20.2", True, "is version 16.20.2"), ("v20.1.0", False, "no node_modules")],
)
def test_a_stand_in_that_is_missing_says_why_in_a_line(
    node_says: str | None, packages: bool, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if node_says:
        (tmp_path / "node").write_text(f"#!/bin/sh\necho {node_says}\n")
        (tmp_path / "node").chmod(0o755)
    package = tmp_path / "harness" / "node_modules" / "pouchdb" / "package.json"
    package.parent.mkdir(parents=True)
    if packages:
        package.write_text(json.dumps({"version": "9.0.0"}))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs.paths, "harness", lambda lane: tmp_path / "harness")
    missing = servers.find("couchdb")
    assert isinstance(missing, servers.Missing)
    assert why in missing.why and "BENCHBOOK_COUCHDB_URL" in missing.why and "\n" not in missing.why
