"""The reference run: the README has its numbers, and it is judged on any machine."""

import ast
import contextlib
import io
import json
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from IPython.display import Markdown

import constructed
from benchbook import cli, grid, paths
from benchbook.analysis import run_diff
from benchbook.analysis.block_means import (
    average_repetitions,
    compute_block_means,
    load_block_means,
)
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import MeasuredClaim
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import (
    MEANS_FILE,
    REPETITIONS_FILE,
    Analysis,
    Run,
    check_reference_file,
    load_reference_means,
    read_reference_profile,
)
from benchbook.analysis.verdicts import VERDICTS
from benchbook.cli.command import DONE, USAGE
from benchbook.files import inputs
from benchbook.papers import exhibits, numbers
from benchbook.plots import claim_lines, ratio_plot
from benchbook.plots.claim_lines import write_line
from benchbook.report import merged_run
from benchbook.report.crate import METADATA
from benchbook.report.run_files import write_parquet, write_run
from benchbook.report.text import (
    list_absent_products,
    write_answer,
    write_headlines,
    write_languages,
)
from benchbook.results import files
from benchbook.results.folder import open_results
from benchbook.results.schema import VALUES
from benchbook.studies import bookstore
from benchbook.studies.catalogue import SLUGS
from checkout import ROOT
from tools.reference import PAGE, list_machine_days, render_page

REFERENCE = ROOT / "figures" / "reference"
ABSOLUTE = re.compile(r"""(?:^|[\s"'(=>:])(/(?!(?:proc|sys|dev)/)[\w.+@~-]+/[\w.+@~-][^\s"'<]*)""")
README = (ROOT / "README.md").read_text()
STUDIES = [
    row.strip("| ").split(" | ") for row in re.findall(r"^\| \[0\d_.*$", README, re.MULTILINE)
]
"""The README's table of studies: notebook, question, ratio, the paper's, verdict."""


def absolute_paths(folder: Path) -> set[str]:
    """Return all paths of a machine in a folder's files; in tables, those in their texts."""
    texts = [file.read_text() for file in folder.iterdir() if file.suffix != ".parquet"]
    # Regular expressions of the page's scripts look like paths.
    texts = [re.sub("<script>.*?</script>", "", text, flags=re.DOTALL) for text in texts]
    for file in folder.glob("*.parquet"):
        schema = pq.read_schema(file)
        names = [field.name for field in schema if str(field.type).endswith("string")]
        # As dictionaries, which have each text once.
        table = pq.read_table(file, columns=names, read_dictionary=names)
        for name in names:
            for chunk in table[name].chunks:
                texts += filter(None, chunk.dictionary.to_pylist())
    found = set()
    for text in texts:
        found |= set(ABSOLUTE.findall(text))
    return found


def test_the_reference_run_contains_no_path_of_its_machine():
    assert absolute_paths(REFERENCE) == set()


BOOKS = "bookstore.round-trip.xml-slower"


@pytest.mark.parametrize(("study", "row"), zip(SLUGS, STUDIES, strict=True), ids=SLUGS)
def test_the_readme_has_each_study_s_headline_and_the_verdict_on_its_claim(
    study: str, row: list[str], committed: Analysis
):
    notebook, _, here, paper, verdict = row
    line = write_line(exhibits.judge_headline(committed, study))
    assert study in notebook and f" {line.here} " in here
    assert paper == (line.published or "no number")
    assert verdict == line.verdict


@pytest.mark.parametrize(
    ("study", "same"), [("crud", {"b": "PostgreSQL (tables)"}), ("drivers", {"attributes": 6})]
)
def test_a_smaller_run_has_the_reference_run_s_main_comparison_at_its_sizes_and_its_ratio_beside(
    study: str, same: dict[str, object], committed: Analysis
):
    means = committed.means
    small = Analysis(means[(means["study"] == study) & (means["n"] <= 1000)])
    here, there = (exhibits.judge_headline(run, study) for run in (small, committed))
    assert here.n == 1000 < there.n
    for claim in (here, there):
        ((name, level),) = same.items()
        assert getattr(claim, name, None) == level or f"{name}={level}" in claim.label
    merged: Any = SimpleNamespace(analysis=small, reference=committed, profile="quick")
    (headline,) = [one for one in write_headlines(merged) if one.study == study]
    line = write_line(there)
    assert f"in the reference run {line.here} at {line.place}" in headline.about


def test_the_table_of_verdicts_in_the_readme_counts_the_verdicts(committed: Analysis):
    counts = claim_lines.count_verdicts(committed.verdicts)
    counts = counts[["study", "claims", *VERDICTS]]
    counts = counts.loc[:, (counts != 0).any()]  # a column without claims is left out
    rows = [[str(cell or "–") for cell in row] for row in counts.itertuples(index=False)]
    section = README.partition("## Does it hold?")[2].partition("\n## ")[0]
    table = [
        line.strip("| ").replace("**", "").split(" | ")
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    assert table == [[*counts], *rows]
    assert f"The papers make {counts['claims'].iloc[-1]} testable claims." in section


def test_the_readme_names_of_each_study_a_claim_that_does_not_hold(committed: Analysis):
    failed = claim_lines.list_failed(committed.verdicts)
    first = {claim.study: claim for claim in reversed(failed)}
    listed = re.findall(r"^- \*\*.*?(?=^- |\n\n)", README, re.MULTILINE | re.DOTALL)
    assert len(listed) == len(first) > 0
    assert f"\n{len(failed)} claims do not hold " in README
    for claim, said in zip(sorted(first.values(), key=failed.index), listed, strict=True):
        line = write_line(claim)
        text = " ".join(said.split())
        assert text.startswith(f"- **{claim.study}:** {line.says}. ") and line.here in text


@pytest.fixture(scope="module")
def comparisons(committed: Analysis) -> list[list[Comparison]]:
    """Return every list of comparisons of the reference run, also of the run with itself."""
    changes = [
        run_diff.compare_ratios(committed, committed),
        run_diff.compare_values(committed, committed),
    ]
    return [committed.comparisons, committed.tables, committed.aa, *changes]


@pytest.mark.parametrize("study", SLUGS)
def test_no_two_comparisons_of_a_study_have_the_same_label(
    study: str, comparisons: list[list[Comparison]]
):
    about = ["name", "language", "operation", "role", "metric", "a", "b", "label"]
    for rows in comparisons:
        table = Comparison.to_frame(row for row in rows if row.study == study)
        assert not table.duplicated(about).any()


@pytest.mark.parametrize(
    "name", [name for name in exhibits.FIGURES if (REFERENCE / f"{name}.csv").is_file()]
)
def test_no_two_marks_of_a_figure_have_the_same_label(name: str):
    points = pd.read_csv(REFERENCE / f"{name}.csv", dtype=str, keep_default_na=False)
    assert not points.duplicated(["panel", "level", "series", "source"]).any()


@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("found", [True, False])
def test_the_reference_run_is_reported_as_it_ran_on_any_machine(
    found: bool, nothing_ran: Path, monkeypatch: pytest.MonkeyPatch
):
    if not found:  # no server, no language: a plan of nothing
        monkeypatch.setattr(grid, "make_plan", lambda *_, **__: grid.Plan([], []))
    merged = merged_run.merge_run(paths.REFERENCE)
    means = pd.read_parquet(REFERENCE / MEANS_FILE)
    assert {cell.key for cell in merged.cells if cell.state == "done"} == {
        *means["cell_id"] + "." + means["block"].astype(str)
    }
    assert (
        merged_run.count_cells(merged)["Values"].sum()
        == pq.read_metadata(REFERENCE / REPETITIONS_FILE).num_rows
    )
    assert merged.own.means.empty and not merged.reference
    assert (
        merged.profile == "decide"
        and merged.folder != REFERENCE
        and list_absent_products(merged) == ""
    )


def test_the_committed_page_of_verdicts_is_what_the_code_writes_today(committed: Analysis):
    today = render_page(
        "decide", committed.verdicts, committed.comparisons, [], pd.DataFrame()
    ).splitlines()
    kept = (REFERENCE / PAGE).read_text().splitlines()
    rows = [line for line in today if line.startswith("| ")]
    assert len(rows) > len(committed.verdicts) and [row for row in rows if row not in kept] == []


@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("study", SLUGS)
def test_a_headline_has_the_same_number_in_report_figure_claims_and_command(
    study: str, committed: Analysis, nothing_ran: Path
):
    of_study = numbers.list_kindred(committed, study)
    one = of_study[f"{study}.headline"]
    claim = exhibits.judge_headline(committed, study)
    assert one.text == write_line(claim).here == of_study[claim.id].text
    value, low, high = one.parts
    merged = merged_run.MergedRun("decide", [], Run("decide", committed), nothing_ran)
    lead = write_headlines(merged)[SLUGS.index(study)]
    assert (lead.claim, lead.verdict, lead.ratio) == (claim.id, claim.verdict, value)
    assert lead.after.startswith(f" ({low} to {high}) times ")
    assert lead.about.endswith(f"in the reference run {one.text}")
    assert lead.measured.endswith(ratio_plot.describe_place(claim))
    answer = write_answer(merged, study)
    assert f"**{lead.ratio}**" in answer
    assert answer.endswith(f"{lead.about}; {lead.measured}.")
    drawn = exhibits.FIGURES["overview"](committed).frame
    assert claim.estimate in drawn.loc[drawn["source"] == "here", "value"].tolist()


def test_a_study_s_page_names_the_languages_and_libraries_of_its_data(
    committed: Analysis, nothing_ran: Path
):
    merged = merged_run.MergedRun("decide", [], Run("decide", committed), nothing_ran)
    said = write_languages(merged, "bookstore")
    assert (
        said
        == "Measured in Java (Jackson, JAXB, MOXy), as the paper, and in Python (lxml, orjson)."
    )
    assert "Node.js" in write_languages(
        merged, "drivers"
    ) and "as the paper" not in write_languages(merged, "replication")


@pytest.mark.usefixtures("judged_once")
def test_a_study_that_did_not_run_shows_its_question_and_its_command(nothing_ran: Path):
    nothing = Run("quick", Analysis(constructed.observations(("bookstore",))))
    said = write_answer(merged_run.MergedRun("quick", [], nothing, nothing_ran), "tcp")
    assert said.startswith("**The paper asks:**") and "`benchbook run tcp --profile quick`" in said
    assert write_languages(merged_run.MergedRun("quick", [], nothing, nothing_ran), "tcp") == ""


@pytest.fixture(scope="module")
def first_block() -> pd.DataFrame:
    """Return the first block of bookstore's cells in the reference run."""
    chosen = [("study", "=", "bookstore"), ("block", "=", 0)]
    return pd.read_parquet(REFERENCE / REPETITIONS_FILE, filters=chosen)


@pytest.mark.parametrize(("case", "language"), [(2, "java"), (1, "python")])
def test_notebook_01_shows_each_ratio_once_beside_the_reference_run(
    case: int, language: str, committed: Analysis, first_block: pd.DataFrame, nothing_ran: Path
):
    """Its drawn cells get one block of the reference run, as if it had been measured there."""
    of_claim = [row for row in committed.comparisons if row.name == BOOKS]
    (compared,) = [
        row for row in of_claim if (row.language, row.label) == (language, f"case={case}, n=10000")
    ]
    asked = compared.settings
    rows = first_block
    for name in ("case", "n", "language", "process", "keys", "json_codec", "xml_codec"):
        rows = rows[rows[name] == asked[name]]
    rows = rows[rows["cell_arm"] == "a"]
    # One machine's, as a folder of results has them.
    rows = rows[rows["host"] == rows["host"].iloc[0]]
    assert rows["cell_id"].nunique() == 1
    parameters = {"dataset_file": None, **bookstore.Parameters.read_levels(rows.iloc[0])}
    columns = {*VALUES.names, "format", "codec", "arm"}
    observations = rows[[name for name in rows if name in columns]].reset_index(drop=True)
    names = {**parameters, "observations": observations, "bookstore": bookstore}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        cells = nbformat.read(ROOT / "notebooks" / "01_bookstore.ipynb", 4).cells
        drawing = [cell for cell in cells if "draw" in cell.metadata.get("tags", [])]
        shown = {cell.id: run_cell(cell.source, names) for cell in drawing if cell.id != "sizes"}
    assert isinstance(shown["answer"], Markdown)
    answer = shown["answer"].data
    line = next(line for line in answer.splitlines() if line.startswith("| time, round trip |"))
    times = rows[(rows["operation"] == "round_trip") & (rows["metric"] == "wall_time")]
    geometric = np.exp(np.log(times["value"]).groupby(times["format"]).mean())
    said = re.findall(r"([\d.]+) times as long", printed.getvalue()) + re.findall(
        r"\*\*([\d.]+)\*\*", line
    )
    assert [float(one) for one in said] == [
        pytest.approx(geometric["xml"] / geometric["json"], rel=0.03)
    ]
    assert line.rstrip(" |").endswith(
        numbers.list_kindred(committed, "bookstore")[f"{BOOKS}.{language}.case-{case}.n-10000"].text
    )


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run a notebook cell and return the value of its last expression."""
    *before, end = ast.parse(code).body
    exec(compile(ast.Module(before, []), "notebook", "exec"), names)
    if isinstance(end, ast.Expr):
        return eval(compile(ast.Expression(end.value), "notebook", "eval"), names)
    exec(compile(ast.Module([end], []), "notebook", "exec"), names)
    return None


@pytest.mark.parametrize("study", SLUGS)
def test_a_grid_says_which_profile_figures_reference_shows(study: str):
    grid_file = (ROOT / "papermill_params" / f"{study}.yaml").read_text()
    named = re.findall(r"# what figures/reference shows.*\n  (\w+):", grid_file)
    assert named == [read_reference_profile()]


def test_the_profile_that_the_readme_names_is_the_one_that_was_drawn():
    named = set(re.findall(r"\[(\w+) profile\]\(figures/reference\)", README))
    provenances = {*REFERENCE.glob("*.json")} - {REFERENCE / METADATA}
    drawn = {json.loads(file.read_text())["profile"] for file in provenances}
    assert named == drawn


@pytest.fixture
def nothing_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    return tmp_path


def claims(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, object]]:
    assert cli.main(["claims", "--json", *options]) == DONE
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_the_reference_run_is_judged_on_a_machine_without_results(
    nothing_ran: Path, capsys: pytest.CaptureFixture[str]
):
    committed = claims(capsys, "--reference")
    assert cli.main(["claims", "--json", "--profile", "smoke"]) == DONE
    printed = capsys.readouterr()
    mine = json.loads(printed.out)
    assert printed.err.startswith(
        "benchbook: no cell of the profile smoke ran here: benchbook run --profile smoke"
    )
    judged = [one for one in load_claims() if isinstance(one, MeasuredClaim) and not one.fact]
    known = [one.id for one in judged]
    assert [one["id"] for one in committed] == [one["id"] for one in mine] == known
    assert {tuple(one) for one in [*committed, *mine]} == {tuple(mine[0])}
    assert {one["verdict"] for one in mine} == {"not run"}
    assert any(one["blocks"] for one in committed)


def test_without_a_reference_run_the_command_says_what_to_do(
    nothing_ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(paths, "reference", lambda: nothing_ran)
    assert cli.main(["claims", "--reference"]) == USAGE
    assert "restore it from git" in capsys.readouterr().err
    (nothing_ran / paths.LAYOUT_FILE).touch()
    monkeypatch.setenv("BENCHBOOK_HOME", str(nothing_ran))
    assert cli.main(["claims", "--reference"]) == USAGE
    said = capsys.readouterr().err
    assert (
        "lay another folder out with benchbook init, and copy it from there" in said
        and "git" not in said
    )


@pytest.mark.usefixtures("judged_once")
def test_a_study_has_one_line_per_claim_and_a_claim_shows_every_comparison(
    capsys: pytest.CaptureFixture[str],
):
    def print_claims(*words: str) -> str:
        assert cli.main(["claims", "--reference", *words]) == DONE
        return capsys.readouterr().out

    rows = claims(capsys, "--reference")
    summary = print_claims()
    assert summary.startswith("Does it hold? Claims by study and verdict, in the reference run:\n")
    failed = {str(one["id"]) for one in rows if one["verdict"] == "does not hold"}
    assert {
        line.split()[-1] for line in summary.splitlines() if line.startswith("does not hold ")
    } == failed
    every = print_claims(*SLUGS)
    assert "\nFacts, which cannot fail here and are not counted: bookstore." in every
    assert all(
        sum(str(one["id"]) in line.split() for line in every.splitlines()) == 1 for one in rows
    )
    assert all(str(one["words"]) in every and str(one["says"]).rstrip(".") in every for one in rows)
    one = next(row for row in rows if row["study"] == "drivers" and row["verdict"] == "undecided")
    alone = print_claims(str(one["id"]))
    text = " ".join(alone.split())
    assert text.startswith(
        f"undecided {str(one['says']).rstrip('.')} {one['words']}; {one['needs']} "
    )
    assert len(alone.splitlines()) > len(one["comparisons"])
    fact = next(one for one in load_claims() if one.fact)
    assert " ".join(print_claims(fact.id).split()).startswith(
        f"fact, not counted {fact.says} In the paper: {fact.where}."
    )
    assert [row["id"] for row in claims(capsys, "--reference", "tcp", str(rows[0]["id"]))] == [
        row["id"] for row in rows if row["study"] == "tcp" or row is rows[0]
    ]


@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tpc"], "no study and no claim 'tpc': did you mean 'tcp'?"),
        (["crud.insrt"], "did you mean 'crud.insert."),
        (["bookstore.round-trip.xml-slowr"], "did you mean 'bookstore.round-trip.xml-slower'?"),
        (["--verdict", "undecidd"], "no verdict 'undecidd': did you mean 'undecided'?"),
    ],
)
def test_an_unknown_claim_or_verdict_is_answered_with_the_nearest_name(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["claims", "--reference", *words]) == USAGE
    assert says in capsys.readouterr().err


def test_repetitions_and_block_means_are_kept_with_their_machine_days(nothing_ran: Path):
    rows = constructed.observations(("tcp",), blocks=3)
    rows["started_at"] += pd.to_timedelta(rows["block"] // 2, unit="D")
    for (cell_id, block), values in rows.groupby(["cell_id", "block"]):
        open_results().write_cell(
            {"study": "tcp", "cell_id": cell_id, "block": block, "state": "done"}, values
        )
    stored = load_block_means(open_results())
    write_run(nothing_ran, {*rows["cell_id"]})
    pd.testing.assert_frame_equal(
        load_reference_means(nothing_ran)[stored.columns].iloc[: len(stored)],
        stored,
        check_dtype=False,
    )
    kept = pq.read_table(nothing_ran / REPETITIONS_FILE)
    assert files.has_result_columns(kept.schema.remove_metadata())
    pd.testing.assert_frame_equal(average_repetitions(kept.to_pandas()), stored, check_dtype=False)
    days = list_machine_days(compute_block_means(stored))
    assert [(one["machine_day"], one["blocks"]) for one in days] == [
        ("testhost 2026-01-02", [0, 1]),
        ("testhost 2026-01-03", [2]),
    ]


def test_no_flipped_bit_of_a_reference_run_changes_a_mean_silently(nothing_ran: Path, of_tcp: Path):
    whole, file = of_tcp.read_bytes(), nothing_ran / MEANS_FILE
    file.write_bytes(whole)
    means, refused = load_reference_means(nothing_ran), 0
    for bit in random.Random(7).sample(range(8 * len(whole)), 30):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        try:
            pd.testing.assert_frame_equal(load_reference_means(nothing_ran), means)
        except inputs.InputError as error:
            assert "the reference run is damaged" in str(error)
            refused += 1
    assert refused > 15


@pytest.mark.parametrize("name", [MEANS_FILE, REPETITIONS_FILE])
def test_a_truncated_reference_run_is_reported_and_not_read(
    nothing_ran: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
):
    whole = (REFERENCE / name).read_bytes()
    (nothing_ran / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(inputs.InputError, match="the reference run is damaged"):
        check_reference_file(nothing_ran / name)
    monkeypatch.setattr(paths, "reference", lambda: nothing_ran)
    command = (
        ["claims", "--reference"]
        if name == MEANS_FILE
        else ["results", "import", str(nothing_ran / name)]
    )
    assert cli.main(command) == USAGE
    assert re.search(
        "restore it from git|no observations that can be read", capsys.readouterr().err
    )


@pytest.fixture(scope="module")
def of_tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the means of one study, written as the means of all studies are."""
    file = tmp_path_factory.mktemp("of_tcp") / MEANS_FILE
    write_parquet(file, pq.read_table(REFERENCE / MEANS_FILE, filters=[("study", "=", "tcp")]))
    return file
