"""The reference run: the README says what stands in its data, and it is judged where nothing ran."""

import json
import random
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import constructed
from benchbook import cli, evidence, inputs, results
from benchbook.evidence import reference
from benchbook.report.reference import campaigns
from test_project import ROOT

REFERENCE = ROOT / "figures" / "reference"
ABSOLUTE = re.compile(r"""(?:^|[\s"'(=>:])(/(?!(?:proc|sys|dev)/)[\w.+@~-]+/[\w.+@~-][^\s"'<]*)""")
README = (ROOT / "README.md").read_text()
NUMBER = r"(\d+(?:,\d{3})*(?:\.\d+)?)"
SAID = [
    tuple(text.replace(",", "") for text in found)
    for row in re.findall(r"^\| \[0\d_.*$", README, re.MULTILINE)
    for found in re.findall(rf"{NUMBER} \({NUMBER} to {NUMBER}\)", row)
]


def absolute_paths(folder: Path) -> set[str]:
    """Return all paths of a machine in a folder's files; in tables, those in their texts."""
    texts = [file.read_text() for file in folder.iterdir() if file.suffix != ".parquet"]
    for file in folder.glob("*.parquet"):
        table = pq.read_table(file)
        columns = [table[field.name] for field in table.schema if str(field.type).endswith("string")]
        texts += [text for column in columns for text in column.unique().drop_null().to_pylist()]
    return {path for text in texts for path in ABSOLUTE.findall(text)}


def test_the_committed_run_names_no_path_of_the_machine_that_it_was_made_on():
    assert absolute_paths(REFERENCE) == set()


@pytest.fixture(scope="module")
def drawn() -> pd.DataFrame:
    tables = (pd.read_csv(file) for file in sorted(REFERENCE.glob("*ratios*.csv")))
    return pd.concat([table.loc[table["source"] == "here", ["value", "low", "high"]] for table in tables])


def test_the_readme_gives_ratios_with_their_intervals():
    assert len(SAID) >= 10


@pytest.mark.parametrize("said", SAID, ids=" ".join)
def test_a_ratio_of_the_readme_is_drawn(said: tuple[str, str, str], drawn: pd.DataFrame):
    alike = pd.Series(data=True, index=drawn.index)
    for name, text in zip(("value", "low", "high"), said, strict=True):
        decimals = len(text.partition(".")[2])
        alike &= (drawn[name] - float(text)).abs() <= 0.5000001 * 10**-decimals
    assert alike.any(), f"{said[0]} ({said[1]} to {said[2]}) is in no figure's data"


def test_the_profile_that_the_readme_names_is_the_one_that_was_drawn():
    named = set(re.findall(r"\[(\w+) profile\]\(figures/reference\)", README))
    drawn = {json.loads(file.read_text())["profile"] for file in REFERENCE.glob("*.json")}
    assert named == drawn


@pytest.fixture
def nothing_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    return tmp_path


def claims(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, object]]:
    assert cli.main(["claims", "--json", *options]) == cli.DONE
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_the_committed_run_is_judged_on_a_machine_where_nothing_ran(
    nothing_ran: Path, capsys: pytest.CaptureFixture[str]
):
    committed, mine = claims(capsys, "--reference"), claims(capsys, "--profile", "smoke")
    assert [one["id"] for one in committed] == [one["id"] for one in mine] == [one.id for one in evidence.claims()]
    assert {tuple(one) for one in [*committed, *mine]} == {tuple(mine[0])}
    assert any(one["host"] for one in committed)
    assert not any(one["host"] for one in mine)


def test_without_a_committed_run_the_command_says_what_to_do(
    nothing_ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(reference.paths, "reference", lambda: nothing_ran)
    assert cli.main(["claims", "--reference"]) == cli.USAGE
    assert "restore it from git" in capsys.readouterr().err


def test_repetitions_and_block_means_are_kept_with_their_campaigns(nothing_ran: Path):
    days = {0: "2026-11-22T08:00:00Z", 1: "2026-11-22T08:00:00Z", 2: "2026-11-23T09:00:00Z"}
    rows = constructed.observations(("tcp",), blocks=3)
    rows["campaign"] = rows["block"].map(days)
    for (cell_id, block), values in rows.groupby(["cell_id", "block"]):
        results.write({"study": "tcp", "cell_id": cell_id, "block": block, "state": "done"}, values)
    stored = evidence.stored_means()
    reference.write(nothing_ran, {*rows["cell_id"]}, stored)
    pd.testing.assert_frame_equal(
        reference.means(nothing_ran)[stored.columns].iloc[: len(stored)], stored, check_dtype=False
    )
    kept = pq.read_table(nothing_ran / reference.REPETITIONS)
    assert kept.schema.remove_metadata() == results.OBSERVATIONS
    pd.testing.assert_frame_equal(evidence.block_means(kept.to_pandas()), stored, check_dtype=False)
    assert [(one["start"], one["blocks"]) for one in campaigns(stored)] == [(days[0], [0, 1]), (days[2], [2])]


@pytest.mark.parametrize("name", [reference.MEANS, reference.REPETITIONS])
def test_a_reference_run_with_a_flipped_bit_or_cut_short_is_told_of_and_not_read(
    nothing_ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
):
    whole = (REFERENCE / name).read_bytes()
    for bit in random.Random(7).sample(range(8 * len(whole)), 100):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (nothing_ran / name).write_bytes(flipped)
        with pytest.raises(inputs.InputError, match="the reference run is damaged"):
            reference.intact(name, nothing_ran)
    (nothing_ran / name).write_bytes(whole[: len(whole) // 2])
    monkeypatch.setattr(reference.paths, "reference", lambda: nothing_ran)
    command = ["claims", "--reference"] if name == reference.MEANS else ["results", "import", str(nothing_ran / name)]
    assert cli.main(command) == cli.USAGE
    assert re.search("restore it from git|no observations that can be read", capsys.readouterr().err)
