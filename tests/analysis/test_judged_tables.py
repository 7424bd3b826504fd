"""The verdicts of a run on disk are those that would be judged now."""

import json
from pathlib import Path

import pandas as pd
import pytest

from benchbook import paths
from benchbook.analysis import judged_tables
from benchbook.analysis.judged_tables import JudgedTables, Tables
from benchbook.analysis.runs import Analysis
from benchbook.registry.plugins import PluginEntry


@pytest.fixture
def kept(committed: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the tables of the committed run in a folder; return their file."""
    monkeypatch.setattr(paths, "judged_tables", lambda: tmp_path)
    load("same", committed)
    return tmp_path / "run.json"


def load(means: str, judged: Analysis | None) -> Tables:
    """Return the run's tables; without `judged` it is an error to judge them."""

    def judge() -> Tables:
        assert judged, "the tables were judged again"
        return judged.comparisons, judged.verdicts

    return JudgedTables("run", means).load(judge)


def test_the_tables_on_disk_equal_those_that_were_judged(committed: Analysis, kept: Path) -> None:
    comparisons, verdicts = load("same", None)
    # As texts, because NaN is not NaN.
    assert str(comparisons) == str(committed.comparisons)
    assert str(verdicts) == str(committed.verdicts)


@pytest.mark.parametrize("folder", ["claims", "published_numbers", "grids"])
def test_tables_are_judged_again_when_what_they_follow_from_changes(
    kept: Path, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="judged again"):
        load("other means", None)
    other = tmp_path / "other"
    other.mkdir()
    for file in getattr(paths, folder)().iterdir():
        (other / file.name).write_bytes(file.read_bytes() + b"\n")
    monkeypatch.setattr(paths, folder, lambda: other)
    with pytest.raises(AssertionError, match="judged again"):
        load("same", None)


@pytest.mark.parametrize("damage", ["", "[]", "null", '{"inputs": 1}', '{"inputs'])
def test_a_damaged_file_is_judged_again_and_written_anew(
    committed: Analysis, kept: Path, damage: str
) -> None:
    whole = kept.read_text(encoding="utf-8")
    kept.write_text(damage, encoding="utf-8")
    load("same", committed)
    assert kept.read_text(encoding="utf-8") == whole


def test_a_file_without_a_table_is_judged_again(committed: Analysis, kept: Path) -> None:
    whole = json.loads(kept.read_text(encoding="utf-8"))
    kept.write_text(json.dumps({**whole, "comparisons": [{}]}), encoding="utf-8")
    comparisons, _ = load("same", committed)
    assert len(comparisons) == len(committed.comparisons)


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(
    committed: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setattr(paths, "judged_tables", lambda: occupied / "judged")
    assert len(load("same", committed)[1]) == len(committed.verdicts)


def test_nothing_is_kept_while_a_plug_in_is_installed(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"mine": PluginEntry("mine", "", "mine")}
    monkeypatch.setattr(judged_tables, "find_entries", lambda group: entry)
    with pytest.raises(AssertionError, match="judged again"):
        load("same", None)


def test_block_means_on_disk_are_those_that_were_computed_or_are_computed_anew(
    committed: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "judged_tables", lambda: tmp_path / "judged")
    computed = []

    def load_means(digest: str) -> pd.DataFrame:
        def compute() -> pd.DataFrame:
            computed.append(digest)
            return committed.means

        return JudgedTables("run", digest).load_means(compute)

    load_means("one")
    pd.testing.assert_frame_equal(load_means("one"), committed.means)
    load_means("two")
    assert computed == ["one", "two"]

    (file,) = (tmp_path / "judged").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:40], whole[:-1]):
        file.write_bytes(damaged)
        load_means("two")
        assert computed.pop() == "two"
        assert file.read_bytes() == whole
