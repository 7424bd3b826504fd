"""The reference run: the README says what stands in its data, and it is judged where nothing ran."""

import ast
import contextlib
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from IPython.display import Markdown

import constructed
from benchbook import analysis, cli, grid, inputs, paths, results
from benchbook.analysis import DECIDED, Analysis, reference, run_diff
from benchbook.analysis.runs import Run
from benchbook.papers import exhibits, numbers
from benchbook.plots.names import STACKS
from benchbook.report import merge, words
from benchbook.studies import SLUGS, bookstore
from test_project import ROOT
from tools import crate
from tools import reference as making
from tools.reference import PAGE, machine_days, page

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


BOOKS, OBJECTS = "bookstore.round-trip.xml-slower", "tcp_ratios.n-100000.time-server.xml"
HEADLINES = [
    *(f"{BOOKS}.{cell}.n-10000" for cell in ("java.case-1", "java.case-2", "python.case-1")),
    *(f"{OBJECTS}-{codec}-json-jackson" for codec in ("jaxb", "xmldecoder")),
    *(f"drivers.{operation}.time.mapper-more.node.attributes-89.n-10000" for operation in ("insert", "find")),
    *(f"crud_ratios_replication.insert.{product}" for product in ("mongodb", "couchdb", "postgresql")),
    *(f"replication_ratios.{product}.cpu-time-primary" for product in ("mongodb", "rethinkdb")),
]
"""The key of each ratio of the README, in its order."""


@pytest.fixture(scope="module")
def committed() -> Analysis:
    return Run.of_reference().analysis


def test_a_headline_is_one_number_in_the_readme_and_by_the_command(committed: Analysis):
    found = [numbers.number(committed, key) for key in HEADLINES]
    assert [one.text for one in found] == [f"{value} ({low} to {high})" for value, low, high in SAID]


@pytest.mark.parametrize("study", SLUGS)
def test_no_two_comparisons_of_a_study_have_the_same_label(study: str, committed: Analysis):
    about = ["name", "language", "operation", "role", "metric", "a", "b", "label"]
    for table in (committed.comparisons, committed.tables, committed.aa):
        of_study = table[table["study"] == study]
        assert not of_study.duplicated(about).any()
    for compared in (run_diff.ratios, run_diff.values):
        changes = compared(committed, committed)
        assert not changes[changes["study"] == study].duplicated(about).any()


@pytest.mark.parametrize("name", [name for name in exhibits.FIGURES if (REFERENCE / f"{name}.csv").is_file()])
def test_no_two_marks_of_a_figure_have_the_same_label(name: str):
    points = pd.read_csv(REFERENCE / f"{name}.csv", dtype=str, keep_default_na=False)
    assert not points.duplicated(["panel", "level", "series", "source"]).any()


FINAL = {
    cell["id"]: cell["source"]
    for cell in nbformat.read(ROOT / "notebooks" / "99_merged_metrics.ipynb", as_version=4)["cells"]
}


@pytest.mark.parametrize("study", ["bookstore", "tcp", "drivers"])
def test_the_final_notebook_says_of_each_study_in_which_language_its_claims_were_judged(
    study: str, committed: Analysis
):
    verdicts = committed.verdicts[committed.verdicts["study"] == study]
    _, said = re.split(r"\bhere\b", FINAL[f"{study}-head"], maxsplit=1, flags=re.IGNORECASE)
    for language in verdicts.loc[verdicts["verdict"].isin(DECIDED), "language"].unique():
        assert STACKS[language] in said


@pytest.mark.parametrize("found", [True, False])
def test_the_committed_run_is_reported_as_it_ran_whatever_is_found_or_ran_here(
    found: bool, nothing_ran: Path, monkeypatch: pytest.MonkeyPatch
):
    if not found:  # no server, no lane: a plan of nothing
        monkeypatch.setattr(grid, "plan", lambda *_: grid.Plan([], []))
    merged = merge.merge(paths.REFERENCE)
    means = pd.read_parquet(REFERENCE / reference.MEANS)
    assert {cell.key for cell in merged.cells if cell.state == "done"} == {
        *means["cell_id"] + "." + means["block"].astype(str)
    }
    assert merge.ran(merged)["Values"].sum() == pq.read_metadata(REFERENCE / reference.REPETITIONS).num_rows
    assert merged.own.means.empty and not merged.reference
    assert merged.profile == "decide" and merged.folder != REFERENCE and words.absent(merged) == ""


def test_the_committed_page_of_verdicts_says_what_the_code_says_today(committed: Analysis):
    today = page("decide", committed.verdicts, [], pd.DataFrame()).splitlines()
    kept = (REFERENCE / PAGE).read_text().splitlines()
    rows = [line for line in today if line.startswith("| ")]
    assert len(rows) > len(committed.verdicts) and [row for row in rows if row not in kept] == []


def test_the_report_s_findings_are_the_numbers_of_their_keys_and_say_of_what(committed: Analysis, nothing_ran: Path):
    leads = {one.study: one for one in words.leads(merge.Merged("decide", [], Run("decide", committed), nothing_ran))}
    inserting = "drivers.insert.time.mapper-more.node.attributes-89.n-100000"
    for study, key in {"bookstore": HEADLINES[1], "tcp": HEADLINES[4], "drivers": inserting}.items():
        one = numbers.number(committed, key)
        value, low, high = one.parts
        assert leads[study].ratio == f"{value} times"
        assert leads[study].about.startswith(f"99 % interval {low} to {high}; {one.blocks} blocks")
    where = [leads[study].about.rpartition("; ")[2].rstrip(".") for study in ("bookstore", "tcp", "drivers", "crud")]
    assert where == ["n = 10,000, Java", "n = 100,000, Java", "n = 100,000, Node.js", "n = 100,000, Python"]


@pytest.mark.parametrize(("headline", "case", "language"), [(HEADLINES[1], 2, "java"), (HEADLINES[2], 1, "python")])
def test_notebook_01_says_each_ratio_once_and_beside_it_the_readme_s(
    headline: str, case: int, language: str, committed: Analysis, nothing_ran: Path
):
    """Its drawn cells are given one block of the reference run, as if it had been measured there."""
    asked = committed.comparisons.query(
        "name == @BOOKS and language == @language and label == @label",
        local_dict={"BOOKS": BOOKS, "language": language, "label": f"case={case}, n=10000"},
    )["settings"].iloc[0]
    rows = pd.read_parquet(REFERENCE / "repetitions.parquet", filters=[("study", "=", "bookstore"), ("block", "=", 5)])
    given = rows["parameters"].map(json.loads)
    telling = ("case", "n", "lane", "process", "keys", "json_codec", "xml_codec", "arm")
    rows = rows[[all(one.get(name) == asked.get(name) for name in telling) for one in given]]
    assert rows["cell_id"].nunique() == 1
    # It is from before there were rooms.
    parameters = {"room": "none", **json.loads(rows["parameters"].iloc[0])}
    names = {**parameters, "observations": rows[[name for name in rows if name in results.VALUES.names or name in (
        "format", "codec", "arm")]].reset_index(drop=True), "bookstore": bookstore}  # fmt: skip
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        shown = [last(cell.source, names) for cell in nbformat.read(ROOT / "notebooks" / "01_bookstore.ipynb", 4).cells
                 if "draw" in cell.metadata.get("tags", [])]  # fmt: skip
    (answer,) = [one.data for one in shown if isinstance(one, Markdown)]
    line = next(line for line in answer.splitlines() if "time, round trip, client" in line)
    times = rows[(rows["operation"] == "round_trip") & (rows["metric"] == "wall_time")]
    geometric = np.exp(np.log(times["value"]).groupby(times["format"]).mean())
    said = re.findall(r"([\d.]+) times as long", printed.getvalue()) + re.findall(r"\*\*([\d.]+)\*\*", line)
    assert [float(one) for one in said] == [pytest.approx(geometric["xml"] / geometric["json"], rel=0.03)]
    assert line.rstrip(" |").endswith(numbers.number(committed, headline).text)


def last(code: str, names: dict[str, Any]) -> Any:
    """Run a notebook cell and return the value of its last expression, which a notebook would show."""
    *before, end = ast.parse(code).body
    exec(compile(ast.Module(before, []), "notebook", "exec"), names)
    if isinstance(end, ast.Expr):
        return eval(compile(ast.Expression(end.value), "notebook", "eval"), names)
    exec(compile(ast.Module([end], []), "notebook", "exec"), names)
    return None


@pytest.mark.parametrize("study", SLUGS)
def test_a_grid_calls_the_profile_that_was_drawn_what_figures_reference_shows(study: str):
    grid_file = (ROOT / "papermill_params" / f"{study}.yaml").read_text()
    named = re.findall(r"# what figures/reference shows.*\n  (\w+):", grid_file)
    assert named == [reference.profile()]


def test_the_profile_that_the_readme_names_is_the_one_that_was_drawn():
    named = set(re.findall(r"\[(\w+) profile\]\(figures/reference\)", README))
    provenances = {*REFERENCE.glob("*.json")} - {REFERENCE / crate.METADATA}
    drawn = {json.loads(file.read_text())["profile"] for file in provenances}
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
    committed = claims(capsys, "--reference")
    assert cli.main(["claims", "--json", "--profile", "smoke"]) == cli.DONE
    printed = capsys.readouterr()
    mine = json.loads(printed.out)
    assert printed.err.startswith("benchbook: nothing of the profile smoke ran here: benchbook run --profile smoke")
    known = [one.id for one in analysis.claims() if not one.fact]
    assert [one["id"] for one in committed] == [one["id"] for one in mine] == known
    assert {tuple(one) for one in [*committed, *mine]} == {tuple(mine[0])}
    assert {one["verdict"] for one in mine} == {"not run", "not comparable"}
    assert any(one["blocks"] for one in committed)


def test_without_a_committed_run_the_command_says_what_to_do(
    nothing_ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(reference.paths, "reference", lambda: nothing_ran)
    assert cli.main(["claims", "--reference"]) == cli.USAGE
    assert "restore it from git" in capsys.readouterr().err
    (nothing_ran / reference.paths.LAID_OUT).touch()
    monkeypatch.setenv("BENCHBOOK_HOME", str(nothing_ran))
    assert cli.main(["claims", "--reference"]) == cli.USAGE
    said = capsys.readouterr().err
    assert "lay another folder out with benchbook init, and copy it from there" in said and "git" not in said


def test_claims_are_a_line_each_and_a_claim_alone_has_every_comparison(capsys: pytest.CaptureFixture[str]):
    def printed(*words: str) -> str:
        assert cli.main(["claims", "--reference", *words]) == cli.DONE
        return capsys.readouterr().out

    rows = claims(capsys, "--reference")
    every = printed()
    assert "\nin the reference run: " in every and "\nfacts, which cannot fail here and are not counted:\n" in every
    assert all(sum(str(one["id"]) in line.split() for line in every.splitlines()) == 1 for one in rows)
    assert all(str(one["words"]) in every for one in rows)
    one = next(row for row in rows if row["study"] == "drivers" and row["verdict"] == "undecided")
    alone = printed(str(one["id"]))
    words = " ".join(alone.split())
    assert words.startswith(f"{one['id']}: undecided (") and str(one["says"]) in words
    assert len(alone.splitlines()) > len(one["comparisons"])
    fact = next(one for one in analysis.claims() if one.fact)
    assert printed(fact.id).startswith(f"{fact.id}: a fact, counted nowhere: ")
    assert [row["id"] for row in claims(capsys, "--reference", "tcp", str(rows[0]["id"]))] == [
        row["id"] for row in rows if row["study"] == "tcp" or row is rows[0]
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tpc"], "no study and no claim 'tpc': did you mean 'tcp'?"),
        (["crud.insrt"], "did you mean 'crud.insert."),
        (["bookstore.round-trip.xml-slowr"], "did you mean 'bookstore.round-trip.xml-slower'?"),
        (["--verdict", "undecidd"], "no verdict 'undecidd': did you mean 'undecided'?"),
    ],
)
def test_a_claim_or_a_verdict_that_there_is_not_is_told_the_nearest(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["claims", "--reference", *words]) == cli.USAGE
    assert says in capsys.readouterr().err


def test_repetitions_and_block_means_are_kept_with_their_machine_days(nothing_ran: Path):
    rows = constructed.observations(("tcp",), blocks=3)
    rows["started_at"] += pd.to_timedelta(rows["block"] // 2, unit="D")
    for (cell_id, block), values in rows.groupby(["cell_id", "block"]):
        results.write({"study": "tcp", "cell_id": cell_id, "block": block, "state": "done"}, values)
    stored = analysis.stored_means()
    making.write(nothing_ran, {*rows["cell_id"]}, stored)
    pd.testing.assert_frame_equal(
        reference.means(nothing_ran)[stored.columns].iloc[: len(stored)], stored, check_dtype=False
    )
    kept = pq.read_table(nothing_ran / reference.REPETITIONS)
    assert kept.schema.remove_metadata() == results.OBSERVATIONS
    pd.testing.assert_frame_equal(analysis.block_means(kept.to_pandas()), stored, check_dtype=False)
    days = machine_days(analysis.measures(stored))
    assert [(one["machine_day"], one["blocks"]) for one in days] == [
        ("testhost 2026-01-02", [0, 1]),
        ("testhost 2026-01-03", [2]),
    ]


def test_no_flipped_bit_of_a_reference_run_changes_a_mean_silently(nothing_ran: Path, of_tcp: Path):
    whole, file = of_tcp.read_bytes(), nothing_ran / reference.MEANS
    file.write_bytes(whole)
    means, refused = reference.means(nothing_ran), 0
    for bit in random.Random(7).sample(range(8 * len(whole)), 60):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        try:
            pd.testing.assert_frame_equal(reference.means(nothing_ran), means)
        except inputs.InputError as error:
            assert "the reference run is damaged" in str(error)
            refused += 1
    assert refused > 30


@pytest.mark.parametrize("name", [reference.MEANS, reference.REPETITIONS])
def test_a_reference_run_that_is_cut_short_is_told_of_and_not_read(
    nothing_ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
):
    whole = (REFERENCE / name).read_bytes()
    (nothing_ran / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(inputs.InputError, match="the reference run is damaged"):
        reference.intact(name, nothing_ran)
    monkeypatch.setattr(reference.paths, "reference", lambda: nothing_ran)
    command = ["claims", "--reference"] if name == reference.MEANS else ["results", "import", str(nothing_ran / name)]
    assert cli.main(command) == cli.USAGE
    assert re.search("restore it from git|no observations that can be read", capsys.readouterr().err)


@pytest.fixture(scope="module")
def of_tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of one study's means: what is kept of them, and when it is made anew, is as it is of all."""
    file = tmp_path_factory.mktemp("of_tcp") / reference.MEANS
    making._write(file, pq.read_table(REFERENCE / reference.MEANS, filters=[("study", "=", "tcp")]))
    return file
