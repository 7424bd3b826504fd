"""Where CouchDB comes from: its own program, else its stand-in, which is named one."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchbook import registry, servers
from benchbook.deployment import Deployment
from benchbook.servers import address, programs
from standing import needed, present, stood_in, why_missing


@pytest.fixture(scope="module")
def pair() -> Iterator[Deployment]:
    with stood_in():
        needed("couchdb", "bidirectional")
        with servers.start("couchdb", "bidirectional") as running:
            yield running.deployment


@pytest.mark.parametrize("linked", [False, True])
def test_couchdb_itself_goes_before_and_its_version_is_read_beside_its_program_which_is_not_run(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``couchdb --version`` would start it."""
    program, library = tmp_path / "couchdb" / "bin" / "couchdb", tmp_path / "couchdb" / "lib"
    for name in ("couch-3.9.1", "couch_log-1.2.3", "jiffy-9.9.9"):
        (library / name).mkdir(parents=True)
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "couchdb").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "links" if linked else program.parent), prepend=os.pathsep)
    found = present("couchdb", "bidirectional")
    assert (found.version, found.source, found.stand_in) == ("3.9.1", "path", False)
    assert not (tmp_path / "started").exists()

    (library / "couch-3.9.1").rmdir()
    monkeypatch.setenv("PATH", str(program.parent))
    known = registry.product("couchdb")
    assert known.package
    nowhere = replace(known, package=replace(known.package, places=()))
    monkeypatch.setattr(registry, "product", lambda _: nowhere)
    reason = why_missing("couchdb")
    assert f"{program} has no ../lib/couch-" in reason and "nor its stand-in" in reason


def test_a_stand_in_is_named_one(pair: Deployment) -> None:
    with stood_in():
        server = present("couchdb")
    assert server.stand_in and server.source == "stand-in"
    assert {(node.stand_in, node.version) for node in pair.nodes} == {(True, server.version)}
    assert "never" in pair.settings["primary"]["fsync"]


def test_by_its_address_it_is_a_stand_in_too(pair: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("primary", "replica"):
        monkeypatch.setenv(address.variable("couchdb", role), pair.node(role).url)
    with servers.session("couchdb", "bidirectional") as given:
        assert [(one.role, one.stand_in, one.pid) for one in given.nodes] == [
            ("primary", True, pair.nodes[0].pid),
            ("replica", True, pair.nodes[1].pid),
        ]
    found = present("couchdb", "replicated")
    assert (found.source, found.stand_in) == ("address", True)
    assert found.version.startswith("PouchDB 9.") and found.version.endswith("(stand-in)")


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
    with stood_in():
        reason = why_missing("couchdb")
    assert why in reason and "BENCHBOOK_COUCHDB_URL" in reason and "\n" not in reason
