"""The reference run: the README says what stands in its data, and it is judged where nothing ran."""

import ast
import contextlib
import io
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import lxml.html
import nbformat
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from IPython.display import Markdown

import constructed
from benchbook import cli, evidence, grid, inputs, paths, results
from benchbook.evidence import Counts, Evidence, arms, changes, reference
from benchbook.evidence import kept as kept_evidence
from benchbook.evidence.contrasts import judged as judge_anew
from benchbook.evidence.judge import NOT_TESTABLE
from benchbook.evidence.kept import Kept
from benchbook.evidence.runs import Run
from benchbook.explorer import contrasts, site
from benchbook.explorer.sources import Source
from benchbook.papers import exhibits, numbers
from benchbook.plots.names import STACKS
from benchbook.plots.points import each
from benchbook.report import merge, show, words
from benchbook.report.show import Shown
from benchbook.stats.campaigns import FEWEST
from benchbook.studies import SLUGS, bookstore
from test_project import ROOT
from tools import crate
from tools import reference as making
from tools.reference import PAGE, campaigns, page

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


XML, MAPPER, REPLICATED = "XML against JSON", "mapper against driver", "replicated against single"
BOOKS, BOTH = "bookstore.round-trip.xml-slower", {"process": "together"}
OBJECTS, JACKSON = "tcp_ratios.n-100000.time-server.xml", {"n": 100_000, "b": "jackson", **BOTH}
PRIMARY = {"measure": ("primary", "cpu_time"), "n": 10_000, **BOTH}
MANY = {"n": 10_000, "attributes": 89, "a": "mongoose", "b": "mongoclient", **BOTH}
HEADLINES: list[tuple[str, str, dict[str, Any]]] = [
    (f"{BOOKS}.java.case-1.n-10000", XML, {"operation": "round_trip", "lane": "java", "case": 1, "n": 10_000}),
    (f"{BOOKS}.java.case-2.n-10000", XML, {"operation": "round_trip", "lane": "java", "case": 2, "n": 10_000}),
    (
        f"{BOOKS}.python.vm-amd-epyc.case-1.n-10000",
        XML,
        {"operation": "round_trip", "lane": "python", "case": 1, "n": 10_000},
    ),
    (f"{OBJECTS}-jaxb-json-jackson", XML, {"a": "jaxb", **JACKSON}),
    (f"{OBJECTS}-xmldecoder-json-jackson", XML, {"a": "xmldecoder", **JACKSON}),
    ("drivers.insert.time.mapper-more.node.attributes-89.n-10000", MAPPER, {"operation": "insert", **MANY}),
    ("drivers.find.time.mapper-more.node.attributes-89.n-10000", MAPPER, {"operation": "find", **MANY}),
    *(
        (f"crud_ratios_replication.insert.{name}", REPLICATED, {"operation": "insert", "engine": engine, "n": 1000})
        for name, engine in (
            ("mongodb", "mongodb"),
            ("couchdb", "couchdb"),
            ("postgresql", "postgresql+relational"),
        )
    ),
    *(
        (f"replication_ratios.{engine}.cpu-time-primary", XML, {"engine": engine, **PRIMARY})
        for engine in ("mongodb", "rethinkdb")
    ),
]
"""Of each ratio of the README, in its order: its key, and what of the explorer, and of the report's tests, it is."""


@pytest.fixture(scope="module")
def source() -> Source:
    return Source.of_reference()


@pytest.fixture(scope="module")
def committed() -> Evidence:
    return Run.of_reference().evidence


def asked(source: Source, key: str, comparison: str, wanted: dict[str, Any]) -> contrasts.Asked:
    measured = source.measured(key.partition(".")[0].partition("_")[0])
    return contrasts.ask(measured, comparison, wanted)


def labels(shown: Shown) -> list[str]:
    """Return what a page's table says of each comparison: the pair, the quantity and the settings."""
    rows = lxml.html.fragment_fromstring(shown.data, create_parent="div").xpath("//tr[@class='numbers']")
    return [" | ".join(cell.text_content() for cell in row[:2]) for row in rows]


@pytest.mark.parametrize("study", SLUGS)
def test_no_two_rows_of_a_table_of_comparisons_have_the_same_label(study: str, committed: Evidence):
    of_study = labels(show.comparisons(committed.compared(study), ""))
    assert len(of_study) > 80
    assert [label for label, count in Counter(of_study).items() if count > 1] == []


def test_no_two_rows_of_identical_arms_or_of_changes_have_the_same_label(committed: Evidence):
    assert not [
        label for label, count in Counter(labels(show.comparisons(arms(committed.means), ""))).items() if count > 1
    ]
    for changed in (changes.ratios, changes.values):
        table = changed(committed, committed)
        assert not table.duplicated(["study", "what", "settings"]).any()


@pytest.mark.parametrize("name", [name for name in exhibits.FIGURES if (REFERENCE / f"{name}.csv").is_file()])
def test_no_two_marks_of_a_figure_have_the_same_label(name: str):
    points = pd.read_csv(REFERENCE / f"{name}.csv", dtype=str, keep_default_na=False)
    assert not points.duplicated(["panel", "level", "series", "source"]).any()


FINAL = {
    cell["id"]: cell["source"]
    for cell in nbformat.read(ROOT / "notebooks" / "99_merged_metrics.ipynb", as_version=4)["cells"]
}
METHOD = " ".join((ROOT / "docs" / "method.md").read_text().split())


@pytest.mark.parametrize("study", ["bookstore", "tcp", "drivers"])
def test_the_final_notebook_says_of_each_study_in_which_language_its_claims_were_judged(
    study: str, committed: Evidence
):
    outcomes = committed.outcomes[committed.outcomes["study"] == study]
    _, said = re.split(r"\bhere\b", FINAL[f"{study}-head"], maxsplit=1, flags=re.IGNORECASE)
    for language in outcomes.loc[outcomes["verdict"] != NOT_TESTABLE, "lane"].unique():
        assert STACKS[language] in said


def test_the_final_notebook_and_the_page_of_methods_have_the_same_units():
    assert FEWEST == 5
    for said in (FINAL["methods"], METHOD):
        assert "From five campaigns on" in said
        assert "F-test" not in said


def test_the_simulated_errors_are_not_called_those_of_the_reference_run_whose_schedule_is_another(
    committed: Evidence,
):
    counts = Counts.of(committed.outcomes)
    _, said = METHOD.split("**How often a verdict is wrong.**")
    said, _ = said.split("**Several products.**")
    assert "schedule of the reference run" not in said
    assert max(counts.by_sittings) == 4
    assert f"{counts.in_sittings} of its {counts.decided} decided claims rest on at most four sittings" in said


def test_a_headline_is_one_number_in_readme_report_explorer_and_command(source: Source, committed: Evidence):
    said = [f"{value} ({low} to {high})" for value, low, high in SAID]
    found = [numbers.number(committed, key) for key, _, _ in HEADLINES]
    assert [one.text for one in found] == said
    tests = [committed.comparisons[committed.comparisons["comparison"] == name] for _, name, _ in HEADLINES]
    for one, asked_for, table, text in zip(found, HEADLINES, tests, said, strict=True):
        assert one.confidence == 0.95
        question = asked(source, *asked_for)
        assert {name: question.factors.get(name, level) for name, level in asked_for[2].items()} == asked_for[2]
        answer = contrasts.answer(question.pair)
        (row,) = [row for row in each(table) if row.settings == question.pair.common and row.study == one.studies[0]
                  and row.host == question.pair.host
                  and (row.operation, row.role, row.metric) == question.quantity
                  and (row.side_a, row.side_b) == (question.a, question.b)]  # fmt: skip
        for value in ((row.ratio, row.low, row.high), (answer.row.ratio, answer.row.low, answer.row.high)):
            assert value == pytest.approx((one.value, one.low, one.high))
        assert show.TEMPLATES.filters["estimate"](row) == text
        value, _, ends = text.partition(" (")
        headline = site.headline(answer)
        assert headline.ratio == value and headline.between.startswith(f"95 % interval {ends[:-1]}, over")
        assert text in row.words and text in answer.words


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
    assert merged.beside.empty and merged.own.means.empty
    assert merged.profile == "decide" and merged.folder != REFERENCE and words.absent(merged) == ""


def test_the_committed_page_of_verdicts_says_what_the_code_says_today(committed: Evidence):
    today = page("decide", committed.outcomes, {}, [], pd.DataFrame()).splitlines()
    kept = (REFERENCE / PAGE).read_text().splitlines()
    rows = [[line.split(" | ")[:5] for line in lines if line.startswith("| ")] for lines in (today, kept)]
    assert len(rows[0]) > 147 and [row for row in rows[0] if row not in rows[1]] == []


def test_the_report_s_findings_are_the_readme_s_numbers_and_say_of_what(committed: Evidence, nothing_ran: Path):
    leads = {one.study: one for one in words.leads(merge.Merged("decide", [], Run("decide", committed), nothing_ran))}
    inserting = "drivers.insert.time.mapper-more.node.attributes-89.n-100000"
    named = {"bookstore": HEADLINES[1][0], "tcp": HEADLINES[4][0], "drivers": inserting}
    for study, key in named.items():
        one = numbers.number(committed, key)
        value, low, high = one.parts
        assert leads[study].ratio == f"{value} times"
        assert leads[study].about.startswith(f"95 % interval {low} to {high}, {one.blocks} blocks; ")
    assert [one.about.rpartition("; ")[2] for one in leads.values()] == [
        "n = 10,000, Java",
        "n = 100,000, Java",
        "n = 100,000, Node.js",
        "n = 100,000, Python",
        "mean over n = 2,000 to 10,000, Python",
    ]
    drawn = exhibits.FIGURES["overview"](committed).frame.query("source == 'here'").set_index("level")
    key = "drivers: mapper / driver, insert, time (n = 100,000, Node.js)"
    assert drawn.loc[key, "value"] == numbers.number(committed, named["drivers"]).value


def test_what_a_claim_was_judged_by_is_another_number_and_says_so(committed: Evidence):
    key = HEADLINES[0][0]
    told, judged = (numbers.number(committed, one) for one in (key, f"{key}.judged"))
    assert told.value != judged.value and told.blocks > judged.blocks and judged.confidence > 0.95
    assert "case=1, n=10000, Java" in told.says
    assert told.says.endswith(f"{told.blocks} blocks, 95 % interval")
    assert judged.says.endswith("5 blocks, when it was judged, repeated interval")


@pytest.mark.parametrize(("place", "case", "lane"), [(1, 2, "java"), (2, 1, "python")])
def test_notebook_01_says_each_ratio_once_and_beside_it_the_readme_s(
    place: int, case: int, lane: str, source: Source, committed: Evidence, nothing_ran: Path
):
    """Its drawn cells are given one block of the reference run, as if it had been measured there."""
    question = asked(source, *HEADLINES[place])
    side, quantity = question.pair.sides["a"], [("study", "=", "bookstore"), ("block", "=", 5)]
    rows = pd.read_parquet(REFERENCE / "repetitions.parquet", filters=[*quantity, ("cell_id", "=", side.cells[0])])
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
    assert [float(one) for one in said] == [pytest.approx(geometric["xml"] / geometric["json"], rel=0.02)]
    assert line.rstrip(" |").endswith(numbers.number(committed, HEADLINES[place][0]).text)


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
    (nothing_ran / reference.paths.LAID_OUT).touch()
    monkeypatch.setenv("BENCHBOOK_HOME", str(nothing_ran))
    assert cli.main(["claims", "--reference"]) == cli.USAGE
    said = capsys.readouterr().err
    assert "lay another folder out with benchbook init, and copy it from there" in said and "git" not in said


def test_claims_are_a_line_each_and_with_their_ids_or_in_full_all_that_was_found(capsys: pytest.CaptureFixture[str]):
    def printed(*words: str) -> str:
        assert cli.main(["claims", "--reference", *words]) == cli.DONE
        return capsys.readouterr().out

    rows = claims(capsys, "--reference")
    every, full = printed(), printed("--full")
    assert " decided in the reference run" in every and " decided in the reference run" in full
    assert len(every.splitlines()) < len(rows) + 30 < len(full.splitlines()) / 5
    assert [line.split()[-1] for line in every.splitlines() if line.split()[-1:] in [[one["id"]] for one in rows]] == [
        one["id"] for one in rows
    ]
    one = next(row for row in rows if row["study"] == "drivers" and row["verdict"] == "contradicted")
    of_drivers, of_one = printed("drivers", "--verdict", "contradicted,direction-only"), printed(str(one["id"]))
    assert {row["id"] for row in rows if str(row["id"]) in of_drivers.split()} == {
        row["id"] for row in rows if row["study"] == "drivers" and row["verdict"] in ("contradicted", "direction only")
    }
    words = " ".join(of_one.split())
    assert words.startswith(f"{one['id']}: ") and str(one["says"]) in words and str(one["why"]) in words
    assert [row["id"] for row in claims(capsys, "--reference", "tcp", str(rows[0]["id"]))] == [
        row["id"] for row in rows if row["study"] == "tcp" or row is rows[0]
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tpc"], "no study and no claim 'tpc': did you mean 'tcp'?"),
        (["crud.insrt"], "did you mean 'crud.insert."),
        (["bookstore.size.xml-lager"], "did you mean 'bookstore.size.xml-larger'?"),
        (["--verdict", "contradictd"], "no verdict 'contradictd': did you mean 'contradicted'?"),
    ],
)
def test_a_claim_or_a_verdict_that_there_is_not_is_told_the_nearest(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["claims", "--reference", *words]) == cli.USAGE
    assert says in capsys.readouterr().err


def test_repetitions_and_block_means_are_kept_with_their_campaigns(nothing_ran: Path):
    days = {0: "2026-11-22T08:00:00Z", 1: "2026-11-22T08:00:00Z", 2: "2026-11-23T09:00:00Z"}
    rows = constructed.observations(("tcp",), blocks=3)
    rows["campaign"] = rows["block"].map(days)
    for (cell_id, block), values in rows.groupby(["cell_id", "block"]):
        results.write({"study": "tcp", "cell_id": cell_id, "block": block, "state": "done"}, values)
    stored = evidence.stored_means()
    making.write(nothing_ran, {*rows["cell_id"]}, stored)
    pd.testing.assert_frame_equal(
        reference.means(nothing_ran)[stored.columns].iloc[: len(stored)], stored, check_dtype=False
    )
    kept = pq.read_table(nothing_ran / reference.REPETITIONS)
    assert kept.schema.remove_metadata() == results.OBSERVATIONS
    pd.testing.assert_frame_equal(evidence.block_means(kept.to_pandas()), stored, check_dtype=False)
    assert [(one["start"], one["blocks"]) for one in campaigns(stored)] == [(days[0], [0, 1]), (days[2], [2])]


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


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_tcp: Path) -> Path:
    """A checkout of this test alone, with its own reference run, of one study, and its own cache."""
    for name in ("papermill_params", "data/claims", "data/published", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "figures" / "reference").mkdir(parents=True)
    shutil.copy(of_tcp, tmp_path / "figures" / "reference")
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    return tmp_path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[pd.DataFrame]:
    """What was judged anew."""
    found: list[pd.DataFrame] = []

    def judging(means: pd.DataFrame, **of: object) -> pd.DataFrame:
        found.append(means)
        return judge_anew(means, **of)  # type: ignore[arg-type]

    monkeypatch.setattr(evidence, "judged", judging)
    return found


def kept(checkout: Path) -> list[Path]:
    return sorted((checkout / ".cache" / "evidence").iterdir())


def test_evidence_of_unchanged_results_is_kept_and_read_back_as_it_was(
    checkout: Path, judged: list[pd.DataFrame], capsys: pytest.CaptureFixture[str]
):
    shutil.copy(REFERENCE / reference.MEANS, checkout / "figures" / "reference")  # all studies: every kind of column
    first, again = claims(capsys, "--reference"), claims(capsys, "--reference")
    assert first == again and len(judged) == 1
    new, old = Evidence.of(reference.means()), Run.of_reference().evidence
    for name in ("means", "controls", "comparisons", "contrasts", "verdicts", "outcomes"):
        pd.testing.assert_frame_equal(getattr(old, name), getattr(new, name))
        assert old.known(name) is not None
    every = numbers.numbers(Run.of_reference().evidence)
    assert repr(numbers.numbers(Run.of_reference().evidence)) == repr(every), "a second time they are read"
    assert repr(numbers.numbers(new)) == repr(every), "and as they are without being kept"
    assert numbers.number(Run.of_reference().evidence, "claims.decided") == every["claims.decided"]


DAMAGES = ("deleted", "cut short", "a flipped bit", "nothing in it", "a folder")
"""What may become of what is kept; it can be deleted at any time."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_kept_evidence_that_is_damaged_is_made_anew(
    checkout: Path, judged: list[pd.DataFrame], damage: str, capsys: pytest.CaptureFixture[str]
):
    first = claims(capsys, "--reference")
    for path in kept(checkout):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        changed = {"cut short": content[:-9], "a flipped bit": content, "nothing in it": b""}
        if damage in changed:
            path.write_bytes(changed[damage])
        elif damage in ("deleted", "a folder"):
            path.unlink()
            if damage == "a folder":
                path.mkdir()
    assert claims(capsys, "--reference") == first and len(judged) == 2


def test_what_judges_and_what_is_judged_decide_which_evidence_is_read(
    checkout: Path, judged: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch
):
    assert Run.of_reference().evidence.known("outcomes") is None
    Run.of_reference().evidence.outcomes.head()
    assert Run.of_reference().evidence.known("outcomes") is not None
    file = checkout / "data" / "claims" / "tcp.yaml"
    file.write_text(file.read_text() + "# another word\n")
    assert Run.of_reference().evidence.known("outcomes") is None, "other claims"
    Run.of_reference().evidence.outcomes.head()
    monkeypatch.setattr(kept_evidence.platform, "python_version", lambda: "9.9.9")
    assert Run.of_reference().evidence.known("outcomes") is None, "another interpreter"
    monkeypatch.undo()


def test_a_result_that_is_measured_again_is_judged_again(checkout: Path, judged: list[pd.DataFrame]):
    rows = constructed.observations(("tcp",), blocks=2)
    every = {*rows["cell_id"]}

    def write(some: pd.DataFrame) -> None:
        for (cell_id, block), values in some.groupby(["cell_id", "block"]):
            results.write({"study": "tcp", "cell_id": cell_id, "block": block, "state": "done"}, values)

    write(rows)
    first = Run.of_results("tcp", every).evidence.means
    assert Run.of_results("tcp", every).evidence.known("means") is not None
    write(rows[rows["cell_id"] == rows["cell_id"].iloc[0]].assign(value=lambda table: table["value"] * 2))
    assert Run.of_results("tcp", every).evidence.known("means") is None
    assert not Run.of_results("tcp", every).evidence.means["value"].equals(first["value"])


def test_a_checkout_that_cannot_be_written_judges_every_time_and_a_few_files_of_a_kind_are_kept(
    checkout: Path, judged: list[pd.DataFrame], capsys: pytest.CaptureFixture[str]
):
    (checkout / ".cache").write_text("in the way")
    assert claims(capsys, "--reference") == claims(capsys, "--reference") and len(judged) == 2
    (checkout / ".cache").unlink()
    for number in range(kept_evidence.MOST + 3):
        Kept(str(number).encode()).table("one", lambda: pd.DataFrame({"a": [1]}))
    assert len(kept(checkout)) == kept_evidence.MOST
    assert Kept(str(number).encode()).read("one") is not None
