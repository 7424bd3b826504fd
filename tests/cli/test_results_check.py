"""`benchbook results check`: what a campaign's file would change in the reference run."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from benchbook import cli, paths
from benchbook.analysis.runs import Analysis, Run
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.cli import compare, selection
from benchbook.cli.command import DONE, USAGE
from benchbook.results import files

CAMPAIGN = paths.reference().with_name("campaigns") / "2026-11-28T104800Z.parquet"


def describe(verdicts: Sequence[ClaimVerdict]) -> list[tuple[str, str, str, float]]:
    """Return each claim's verdict, its counts, and its estimate to nine digits."""
    return [(one.id, one.verdict, one.words, float(f"{one.estimate:.9g}")) for one in verdicts]


@pytest.fixture
def without_campaign(committed: Analysis) -> Analysis:
    """Return the reference run as it was before one campaign."""
    begun = {*files.read_table(CAMPAIGN)["started_at"].to_pandas()}
    means = committed.means
    return Analysis(means[~means["started_at"].isin(begun)])


def test_a_campaign_gives_the_verdicts_that_the_reference_run_has_with_it(
    committed: Analysis,
    without_campaign: Analysis,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(selection, "load_reference", lambda: Run("before", without_campaign))
    print_verdicts = compare.print_verdicts
    judged: list[Analysis] = []

    def observe(before: Analysis, after: Analysis, most: int) -> None:
        judged.extend([before, after])
        print_verdicts(before, after, most)

    monkeypatch.setattr(compare, "print_verdicts", observe)
    assert cli.main(["results", "check", str(CAMPAIGN)]) == DONE
    before, after = map(describe, (judged[0].verdicts, judged[1].verdicts))
    assert before != after
    assert str(after) == str(describe(committed.verdicts))
    cells = len(committed.means[["cell_id", "block"]].drop_duplicates()) - len(
        without_campaign.means[["cell_id", "block"]].drop_duplicates()
    )
    assert f"Not in the reference run: {cells} (" in capsys.readouterr().out


def test_a_file_of_the_reference_run_changes_nothing(
    committed: Analysis, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selection, "load_reference", lambda: Run("all", committed))
    assert cli.main(["results", "check", str(CAMPAIGN)]) == DONE
    counts, nothing = capsys.readouterr().out.split("\n\n")
    assert "Not in the reference run: 0" in counts
    assert nothing == "Nothing is new that counts: no verdict changes.\n"


def test_cells_of_other_versions_do_not_count(
    committed: Analysis,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(selection, "load_reference", lambda: Run("all", committed))
    table = files.read_table(CAMPAIGN)
    place = table.column_names.index("versions")
    others = pd.Series(['{"study": 99}'] * len(table))
    files.write_table(tmp_path / "other.parquet", table.set_column(place, "versions", [others]))
    assert cli.main(["results", "check", str(tmp_path / "other.parquet")]) == DONE
    assert "pooled with them: 0\n" in capsys.readouterr().out


def test_a_file_without_observations_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("a,b\n")
    assert cli.main(["results", "check", str(file)]) == USAGE
    assert "no observations that can be read" in capsys.readouterr().err
