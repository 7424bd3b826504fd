"""`make audit` tells apart: nothing is known, something is, and a source did not answer."""

import json
import os
import re
from pathlib import Path

import pytest

from benchbook import paths
from tools import audit

ASKED = {"dependencies": [{"name": "six", "version": "1.17.0", "vulns": []}]}
KNOWN = {
    "dependencies": [
        {"name": "six", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}
    ]
}
SKIPPED = {"dependencies": [{"name": "six", "skip_reason": "Dependency not found: six (1.17.0)"}]}
CLEAN = {"vulnerabilities": {}, "metadata": {"dependencies": {"total": 275}}}
HOLE = {"range": "<2", "severity": "high", "fixAvailable": {"name": "level", "version": "9.0.0"}}
HOLES = {"vulnerabilities": {"leveldown": HOLE}, "metadata": {"dependencies": {"total": 275}}}
REFUSED = {"message": "405 Method Not Allowed", "error": {"summary": ""}}


@pytest.mark.parametrize(
    ("pip_audit", "npm", "status", "line"),
    [
        (ASKED, CLEAN, 0, "requirements-dev.lock, 1 packages: nothing is known"),
        (KNOWN, REFUSED, 1, "requirements-dev.lock, 1 packages: six 1: PYSEC-1, mended in 1.1"),
        (ASKED, HOLES, 1, "harness/node, 275 packages: leveldown <2: high, mended in level 9.0.0"),
        (KNOWN, CLEAN, 1, "grading.lock, 1 packages: six 1: PYSEC-1, mended in 1.1"),
        (
            SKIPPED,
            CLEAN,
            3,
            (
                "audit.lock, 1 packages: could not be asked: 1 of them, the first: Dependency not"
                " found"
            ),
        ),
        (ASKED, REFUSED, 3, "stand_ins/rethinkdb: could not be asked: 405 Method Not Allowed"),
        ("no network", CLEAN, 3, "requirements-dev.lock: could not be asked: no network"),
    ],
)
def test_the_status_says_what_is_known_and_who_could_not_be_asked(
    pip_audit: object,
    npm: object,
    status: int,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name, says in (("pip-audit", pip_audit), ("npm", npm)):
        said = says if isinstance(says, str) else json.dumps(says)
        (tmp_path / name).write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert audit.main(str(tmp_path / "pip-audit")) == status
    assert line in capfd.readouterr().out


@pytest.mark.parametrize(
    ("lock", "program"), [("audit.lock", "pip-audit"), ("grading.lock", "nbgrader")]
)
def test_what_audits_and_marks_is_pinned_by_hash_and_installed_for_nothing_else(
    lock: str, program: str
) -> None:
    entries = re.split(r"\n(?=\S)", (paths.root() / "locks" / lock).read_text())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert any(entry.startswith(f"{program}==") for entry in entries)
    assert program not in (paths.root() / "locks" / "requirements-dev.lock").read_text()


def test_the_java_languages_artefacts_are_listed() -> None:
    if not (paths.harness("java") / "target" / "benchbook.jar").is_file():
        pytest.skip("the Java language is not installed with the suite")
    listed = audit.describe_java()
    assert "org.json:json:jar:" in listed
    assert "maven-" not in listed.partition("\n")[2]
