"""`benchbook claims --since`: what changed for who has cited a verdict of a release."""

import csv
import json
import re
from pathlib import Path

import pytest

from benchbook import cli, paths
from benchbook.analysis.runs import Analysis, Run
from benchbook.cli import selection
from benchbook.cli.claims_since import COLUMNS
from benchbook.cli.command import DONE, USAGE
from checkout import ROOT


@pytest.fixture
def released(
    committed: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, str]]:
    """Keep today's verdicts as those of version 9.9.9, of which tests change some."""
    monkeypatch.setattr(paths, "released_verdicts", lambda: tmp_path)
    monkeypatch.setattr(selection, "load_reference", lambda: Run("reference", committed))
    return [{name: str(getattr(one, name)) for name in COLUMNS} for one in committed.verdicts]


def keep(rows: list[dict[str, str]], date: str = "2026-11-28") -> None:
    with (paths.released_verdicts() / "9.9.9.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["released", *COLUMNS])
        writer.writeheader()
        writer.writerows({"released": date, **row} for row in rows)


def test_the_same_verdicts_did_not_change(
    released: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    keep(released)
    assert cli.main(["claims", "--since", "9.9.9"]) == DONE
    assert capsys.readouterr().out == "0 verdicts of the reference run changed since 9.9.9.\n"


def test_a_changed_verdict_has_what_it_rested_on_and_what_was_changed(
    released: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "bookstore.marshal.xml-slower"
    (row,) = [row for row in released if row["id"] == name]
    now = dict(row)
    row |= {"verdict": "holds", "words": "4 of 4 for", "estimate": "99", "blocks": "16"}
    keep(released)
    assert cli.main(["claims", "--since", "9.9.9", "bookstore"]) == DONE
    count, change, of_all = capsys.readouterr().out.split("\n\n")
    assert count == "1 verdict of the reference run changed since 9.9.9."
    assert change.startswith(f"holds -> {now['verdict']}: {now['says']}\n")
    assert f"  comparisons: 4 of 4 for -> {now['words']}\n" in change
    assert re.search(r"^  ratio: 99(\.0)? -> \d", change, re.MULTILINE)
    assert re.search(r"^  measured: 16 blocks.* -> ", change, re.MULTILINE)
    assert "changed on 2026-11-29: Judged at 100 books or fewer, too" in change
    assert change.endswith(f"  {name}")
    assert of_all.startswith("Changed for all claims:\n  changed on 2026-11-29: A comparison is")
    # Nothing changed in another study, and a change before the release is not listed.
    assert cli.main(["claims", "--since", "9.9.9", "tcp"]) == DONE
    assert capsys.readouterr().out.startswith("0 verdicts")
    keep(released, "2026-11-29")
    assert cli.main(["claims", "--since", "9.9.9", name, "--json"]) == DONE
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["before"]["verdict"]) == (name, "holds")
    assert listed["after"]["verdict"] == now["verdict"] and listed["changes"] == []


def test_a_claim_that_was_added_or_removed_is_named(
    released: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    added, *others = released
    keep([*others, {**added, "id": "tcp.gone", "study": "tcp"}])
    assert cli.main(["claims", "--since", "9.9.9"]) == DONE
    listed = capsys.readouterr().out
    assert f"{added['verdict']} -> no claim: {added['says']}\n  tcp.gone\n" in listed
    assert f"no claim -> {added['verdict']}: {added['says']}\n" in listed


def test_an_unknown_version_or_claim_is_refused_with_the_nearest(
    released: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    keep(released)
    assert cli.main(["claims", "--since", "9.9.8"]) == USAGE
    assert "no verdicts of it are kept: did you mean '9.9.9'?" in capsys.readouterr().err
    assert cli.main(["claims", "--since", "9.9.9", "bookstor"]) == USAGE
    assert "did you mean 'bookstore' or" in capsys.readouterr().err


def test_each_release_with_verdicts_has_them_kept() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = dict(re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)", changelog, re.MULTILINE))
    # 0.2.0 had no file of verdicts.
    del released["0.2.0"]
    kept = {}
    for file in paths.released_verdicts().glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as opened:
            rows = [*csv.DictReader(opened)]
        kept[file.stem] = rows[0]["released"]
        assert [*rows[0]] == ["released", *COLUMNS]
        assert len({row["id"] for row in rows}) == len(rows) > 100
    assert kept == released
