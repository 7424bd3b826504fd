"""The site: it builds without a warning, its links lead somewhere, its commands run, its numbers are the explorer's."""

import base64
import gzip
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

import duckdb
import nbformat
import numpy as np
import pandas as pd
import pytest
from lxml import html

from benchbook import cli, evidence, processes
from benchbook.evidence import Evidence
from benchbook.evidence.sides import shared
from benchbook.explorer import contrasts
from benchbook.explorer import site as explorer
from benchbook.explorer.contrasts import Asked
from benchbook.explorer.sources import Source
from benchbook.grid import expansion
from benchbook.results import schema
from benchbook.studies import SLUGS, load
from browsers import Watched, needs_browser, started
from tools import pages
from tools import site as beside

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = ROOT / "figures" / "reference" / "repetitions.parquet"
BLOCK = re.compile(r"(<!-- run -->\n)?```(\w*)\n(.*?)```", re.DOTALL)


def blocks(page: Path) -> Iterator[tuple[bool, str, str]]:
    """Yield of each block of a page whether it is to be run, its language and its text."""
    for marked, language, text in BLOCK.findall(page.read_text()):
        yield bool(marked), language, text


def commands(page: Path) -> list[str]:
    """Return the benchbook commands that a page shows, as they are written."""
    shown = [text for _, language, text in blocks(page) if language in ("", "sh", "console")]
    lines = [line for text in shown for line in re.sub(r"\\\n", " ", text).splitlines()]
    return [line for line in lines if re.match(r"(\.venv/bin/)?benchbook\b", line.strip())]


COMPARED = {
    "bookstore": "by keys",
    "crud": "engine against engine",
    "drivers": "by batch",
    "replication": "XML against JSON",
    "tcp": "by xml codec",
}
"""The comparison of each study whose answers tests look at: all of them take half a minute."""


def is_compared(study: str, comparison: str) -> bool:
    return COMPARED[study] == comparison


@pytest.fixture(scope="module")
def source() -> Source:
    return Source.of_reference()


@pytest.fixture(scope="module")
def site(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, as `make site` does, with the explorer's answers to one comparison a study."""
    folder = tmp_path_factory.mktemp("site") / "in a folder"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as building:
        beside.report(folder / "report", "../index.html")
        for _ in explorer.write_answers(folder / explorer.ANSWERS, [source], is_compared):
            pass
        said, _ = building.communicate()
    assert building.returncode == 0, said
    assert (folder / ".nojekyll").exists()
    return folder


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path):
    found = {page: html.parse(page, html.HTMLParser(huge_tree=True)) for page in site.rglob("*.html")
             if "_static" not in page.parts}  # fmt: skip
    assert {str(page.relative_to(site)) for page in found} > {
        *("index.html", "report/index.html", "verdicts.html", "explorer.html", "lessons/1_units_and_clocks.html"),
        *("tutorial.html", "reference/commands.html", "method.html"),
    }
    names = {page: {one.get("id") for one in tree.iter() if one.get("id")} for page, tree in found.items()}
    for page, tree in found.items():
        loaded = [one.get("src") or one.get("href") for one in tree.iter("script", "link", "img", "iframe")]
        for address in filter(None, loaded):
            parts = urlsplit(address)
            assert parts.scheme == "data" or (page.parent / unquote(parts.path)).exists(), f"{page.name}: {address}"
        for link in (one.get("href") for one in tree.iter("a") if one.get("href")):
            parts = urlsplit(link)
            if not parts.scheme and not (parts.path == "" and parts.fragment == ""):
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                assert target.exists(), f"{page.name}: {link}"
                fragment = unquote(parts.fragment)
                assert not fragment or target not in names or fragment in names[target], f"{page.name}: {link}"


def test_the_sidebar_of_each_page_leads_to_the_report(site: Path):
    for page in (site / "index.html", site / "verdicts.html", site / "reference" / "commands.html"):
        (tree,) = html.parse(page).getroot().find_class("sidebar-tree")
        (address,) = [link.get("href") for link in tree.iter("a") if link.text_content() == "Report"]
        assert (page.parent / address).resolve() == (site / "report" / "index.html").resolve()


Questions: TypeAlias = list[tuple[dict[str, Any], Asked]]
"""What is wanted, and the question that `contrasts.ask` makes of it."""


@pytest.fixture(scope="module")
def questions(source: Source) -> dict[str, Questions]:
    """Return some questions of each study, and last one that cannot be had."""
    asked = {}
    for study, name in COMPARED.items():
        measured = source.measured(study)
        pairs = contrasts.everything(measured, name).pairs
        every = [*(dict(chosen) for chosen, _ in pairs[:: len(pairs) // 8]), {"operation": "none", "n": 10}]
        asked[study] = [(wanted, contrasts.ask(measured, name, wanted)) for wanted in every]
    return asked


def test_an_answer_of_the_page_is_the_one_that_the_library_gives(site: Path, questions: dict[str, Questions]):
    for study, of_study in questions.items():
        packed = re.search(r'"([^"]+)"\);', (site / "answers" / "0" / f"{study}-0.js").read_text())
        assert packed
        answers = json.loads(gzip.decompress(base64.b64decode(packed[1])))
        names = [control["name"] for control in answers["controls"]]
        by_choice = {}
        for contrast in answers["contrasts"]:
            options = zip(answers["controls"], contrast["at"], strict=True)
            by_choice[tuple(control["options"][at]["value"] if at >= 0 else None for control, at in options)] = contrast
        assert len(by_choice) == len(answers["contrasts"])
        for wanted, asked in of_study[:-1]:
            answer = contrasts.answer(asked.pair)
            shown = by_choice[
                tuple(None if wanted[name] is None else explorer.as_value(wanted[name]) for name in names)
            ]
            assert shown["headline"] == vars(explorer.headline(answer))
            for name in ("ratio", "low", "high"):
                number = getattr(answer.row, name)
                assert shown[name] == (pytest.approx(number, rel=1e-3) if np.isfinite(number) else None)
            sides = asked.pair.sides
            blocks = shared(sides.values())
            assert [block["number"] for block in shown["blocks"]] == [*(blocks + 1)]
            ratios = [np.nan if block["ratio"] is None else block["ratio"] for block in shown["blocks"]]
            with np.errstate(divide="ignore", invalid="ignore"):
                expected = sides["a"].of(blocks) / sides["b"].of(blocks)
            assert ratios == pytest.approx([*np.where(np.isfinite(expected), expected, np.nan)], rel=1e-3, nan_ok=True)


@needs_browser
def test_the_explorer_of_the_site_is_chosen_from_without_a_kernel(site: Path, questions: dict[str, Questions]):
    with started() as browser:
        watched = Watched(browser, "file:", "data:", "blob:")
        page = watched.page
        page.goto((site / "explorer.html").as_uri())
        answer, figure = page.locator(".bb-answer"), page.locator(".bb-figure [role=img]")

        # A study and a side are chosen, then a setting by its link in the table; the address leads back and there.
        page.get_by_label("Study", exact=True).select_option("crud")
        page.get_by_label("This", exact=True).select_option(label="MongoDB")
        page.wait_for_function("() => document.querySelector('.bb-answer').innerText.includes('MongoDB took')")
        assert "study=crud" in page.url and "a=mongodb" in page.url
        here = answer.inner_text()
        assert here.splitlines()[2] in figure.get_attribute("aria-label")
        page.get_by_role("row", name="two nodes, replicated").first.get_by_role("link").click()
        page.wait_for_function("was => document.querySelector('.bb-answer').innerText != was", arg=here)
        there = answer.inner_text()
        page.go_back()
        page.wait_for_function("was => document.querySelector('.bb-answer').innerText === was", arg=here)
        page.go_forward()
        page.reload()
        page.wait_for_function("was => document.querySelector('.bb-answer')?.innerText === was", arg=there)
        page.get_by_label("Filter", exact=True).fill("AMD two nodes 10,000")
        page.get_by_text("1 of ").wait_for()

        # What each control offers and stands at, whatever is wanted, as `contrasts.ask` has it.
        for study, of_study in questions.items():
            for wanted, asked in of_study:
                operation, *measure = asked.quantity
                chosen = {"operation": operation, "measure": tuple(measure), "a": asked.a, "b": asked.b} | asked.factors
                expected = [[name, explorer.as_value(chosen[name]), [*map(explorer.as_value, options)]]
                            for name, options in asked.options.items()]  # fmt: skip
                named = {name: explorer.as_value(value) for name, value in wanted.items() if value is not None}
                assert page.evaluate(SHOWN, [f"0/{study}-0.js", named]) == expected, (study, wanted)

        assert watched.complaints == []
        for width, scheme in ((1280, "light"), (390, "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert watched.faults() == []
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width


SHOWN = """async ([file, wanted]) => explorer.ask(await explorer.answers(file), wanted).shown
    .map(({name, chosen, choices}) => [name, chosen, choices.map(choice => choice.value)])"""
"""What the page shows of its controls for a choice."""


def test_the_reference_names_every_command_parameter_and_column(site: Path):
    def said(name: str) -> str:
        return " ".join(html.parse(site / "reference" / f"{name}.html").getroot().text_content().split())

    assert all(f"benchbook {name}" in said("commands") for name in cli.COMMANDS)
    assert all(name in said("parameters") for slug in SLUGS for name in load(slug).Parameters.model_fields)
    columns = said("observations")
    assert all(name in columns for name in (*schema.OBSERVATIONS.names, *schema.UNITS))


def test_each_lesson_has_a_page_of_all_that_students_get_and_the_guide_leads_to_it(site: Path):
    leads_to = {one.get("href") for one in html.parse(site / "teaching.html").find(".//article").iter("a")}
    for lesson in (ROOT / "notebooks" / "lessons").glob("*.ipynb"):
        assert f"lessons/{lesson.stem}.html" in leads_to
        page = html.parse(site / "lessons" / f"{lesson.stem}.html").getroot()
        cells = nbformat.read(lesson, 4).cells
        shown = [block.text_content().strip() for block in page.find_class("highlight-python")]
        assert shown == [cell.source for cell in cells if cell.cell_type == "code"]
        drawing = "\n".join(cell.source for cell in cells if "shown" in cell.metadata.get("tags", ()))
        assert drawing.count("lesson.draw") == len(page.findall('.//img[@alt="What the code above draws"]'))
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        said = page.text_content().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        assert all(title.replace("*", "") in said for title in re.findall(r"^#+ (.*)$", prose, re.MULTILINE))
        assert prose.count("$$") == 2 * len(page.findall(".//math"))
        assert "A model answer" not in page.text_content()


def test_a_page_that_asks_for_what_there_is_not_is_refused():
    with pytest.raises(KeyError):
        pages.filled("<!-- reference: nothing -->")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_that_a_page_shows_is_taken_with_its_parameters(page: Path):
    parser = cli._parser()
    for line in commands(page):
        try:
            asked = parser.parse_args(shlex.split(line.strip(), comments=True)[1:])
        except SystemExit as refused:
            assert not refused.code, f"{page.name}: {line}"
            continue
        if asked.command in ("plan", "run") and "dataset_file" not in line:  # that one's file is made by what is run
            assert expansion.choose(asked.study, asked.profile, asked.where, asked.set), line
    for name in re.findall(r"(?<!`)`benchbook ([a-z]+)[^`\n]*`(?!`)", page.read_text()):
        assert name in cli.COMMANDS, f"{page.name}: benchbook {name}"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """Run what pages mark to be run, in the order in which they are read, in one folder: later blocks take its files.

    Returned are by page the names that its Python has left behind; the folder is still the current one.
    """
    folder = tmp_path_factory.mktemp("pages")
    (folder / "figures").symlink_to(ROOT / "figures")
    own = {"BENCHBOOK_RESULTS": str(folder / "results"), "BENCHBOOK_HOME": str(ROOT), "MPLBACKEND": "agg"}
    names: dict[str, dict[str, Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        for name in ("tutorial", "own-data", "results", "extending"):
            marked = [(language, text) for run, language, text in blocks(ROOT / "docs" / f"{name}.md") if run]
            assert marked, name
            for language, text in marked:
                for part in text.splitlines() if language == "sh" else [text]:
                    assert run(language, part, names.setdefault(name, {})) == 0, f"{name}: {part}"
        yield names


def run(language: str, text: str, names: dict[str, Any]) -> int:
    """Run a block of Python, or a line of a shell's, and return its exit status; what only asks, in this process."""
    if language == "python":
        exec(text, own := {"__name__": "__main__"})
        names |= own
        return 0
    words = shlex.split(text)
    if words[0] == "benchbook" and words[1] != "run":
        return cli.main(words[1:])
    few = ["--noisy", "--set", "blocks=2", "--set", "repetitions=2"]
    command = [*processes.PYTHON, "-m", "benchbook.cli", *words[1:], *few] if words[0] == "benchbook" else words
    return subprocess.run(command, check=False).returncode


def test_what_a_page_marks_to_be_run_runs(ran: dict[str, dict[str, Any]]):
    assert Path("round_trips.png").stat().st_size > 5_000
    assert Path("benchbook-ujson", "pyproject.toml").is_file()


def round_trips(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what the report says of the round trips of study bookstore, a row a cell's parameters."""
    table = Evidence.of(rows[rows["study"] == "bookstore"]).comparisons
    table = table[(table["operation"] == "round_trip") & (table["metric"] == "wall_time")]
    settings = pd.DataFrame([*table["settings"]], table.index)
    return table.join(settings[["lane", "case", "keys", "json_codec"]])


def test_the_tutorial_s_ratio_of_one_s_own_data_is_the_report_s(ran: dict[str, dict[str, Any]]):
    own = evidence.stored_means()
    (row,) = round_trips(own[own["parameters"].str.contains("phones.csv")]).to_dict("records")
    by_hand = ran["tutorial"]
    here = [float(np.exp(by_hand[name])) for name in ("low", "high")]
    assert [float(np.exp(by_hand["logs"].mean())), *here] == pytest.approx([row["ratio"], row["low"], row["high"]])


def test_a_ratio_by_hand_in_pandas_and_in_sql_is_the_report_s(ran: dict[str, dict[str, Any]]):
    by = ["host", "lane", "case", "keys", "n", "json_codec"]
    report = round_trips(pd.read_parquet(REFERENCE)).set_index(by).sort_index()
    report = report[report["low"].notna()]
    by_hand = ran["results"]
    in_pandas = by_hand["cells"][by].join(by_hand["ratios"]).set_index(by).sort_index()
    pd.testing.assert_frame_equal(in_pandas, report[["ratio", "low", "high"]])
    in_sql = duckdb.sql(by_hand["QUERY"]).df().set_index(by).sort_index()
    by_campaign = report["test"].str.contains("campaign")
    expected = in_sql["ratio_of_campaigns"].where(by_campaign, in_sql["ratio"])
    pd.testing.assert_series_equal(expected, report["ratio"], check_names=False, check_index_type=False)


def test_a_ratio_by_hand_over_campaigns_is_the_report_s(ran: dict[str, dict[str, Any]], tmp_path: Path):
    """Each block of the reference run is given a campaign of its own but the first two, which share one."""
    by, by_hand = ["host", "lane", "case", "keys", "n", "json_codec"], ran["results"]
    rows = pd.read_parquet(REFERENCE, filters=[("study", "=", "bookstore")])
    rows["campaign"] = "day " + rows["block"].clip(lower=1).astype(str)
    report = round_trips(rows).set_index(by).sort_index()
    report = report[report["low"].notna()]
    by_campaign = report["test"].str.contains("campaign")
    assert by_campaign.any() and not by_campaign.all()
    logs = by_hand["logs"].reset_index()
    logs = logs.assign(campaign="day " + logs["block"].clip(lower=1).astype(str)).set_index(
        ["host", "parameters", "campaign", "block"]
    )[0]
    of_a_cell = logs.groupby(["host", "parameters"]).filter(lambda blocks: len(blocks) > 1)
    ratios = of_a_cell.groupby(["host", "parameters"]).apply(by_hand["ratio"]).unstack()
    in_pandas = by_hand["cells"][by].join(ratios).set_index(by).sort_index()
    pd.testing.assert_frame_equal(in_pandas[by_campaign], report.loc[by_campaign, ["ratio", "low", "high"]])
    rows.to_parquet(file := tmp_path / "days.parquet")
    in_sql = duckdb.sql(by_hand["QUERY"].replace("figures/reference/repetitions.parquet", str(file))).df()
    in_sql = in_sql.set_index(by).sort_index()["ratio_of_campaigns"]
    expected = report.loc[by_campaign, "ratio"]
    pd.testing.assert_series_equal(in_sql[by_campaign], expected, check_names=False, check_index_type=False)
