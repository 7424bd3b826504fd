"""The site builds without a warning, its links and commands work, its numbers are right."""

import base64
import gzip
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb
import nbformat
import numpy as np
import pandas as pd
import pytest
from lxml import html

import dialect
from benchbook import cli
from benchbook.analysis.block_means import find_shared_blocks
from benchbook.analysis.claims import PaperComparisons
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import compute_interval
from benchbook.analysis.runs import Analysis
from benchbook.cli import command as command_line
from benchbook.explorer import questions
from benchbook.explorer import site as explorer
from benchbook.explorer.questions import Answers
from benchbook.explorer.text import describe_comparison
from benchbook.grid import expansion
from benchbook.results import schema
from benchbook.servers import processes
from benchbook.studies.catalogue import SLUGS, load_study
from browser import WatchedPage, find_refused_scripts, needs_browser, start_browser
from checkout import ROOT
from tools import pages
from tools import site as site_tool

CHANGELOG = ROOT / "CHANGELOG.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- run -->\n)?```(\w*)\n(.*?)```", re.DOTALL)


def blocks(page: Path) -> Iterator[tuple[bool, str, str]]:
    """Yield of each block of a page whether it is to be run, its language and its text."""
    for marked, language, text in BLOCK.findall(page.read_text()):
        yield bool(marked), language, text


def commands(page: Path) -> list[str]:
    """Return the benchbook commands that a page shows, as they are written."""
    shown = [text for _, language, text in blocks(page) if language in ("", "sh", "console")]
    lines = re.sub(r"\\\n", " ", "\n".join(shown)).splitlines()
    return [line for line in lines if re.match(r"(\.venv/bin/)?benchbook\b", line.strip())]


COMPARED = {
    "bookstore": "by keys",
    "crud": "database against database",
    "drivers": "by batch",
    "replication": "XML against JSON",
    "tcp": "by XML codec",
}
"""The comparison of each study whose answers tests look at: all of them take half a minute."""


def is_compared(pairs: PaperComparisons) -> bool:
    return COMPARED[pairs.study] == pairs.name


@pytest.fixture(scope="module")
def site(committed: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make site` does, with the explorer's answers to a few comparisons."""
    folder = tmp_path_factory.mktemp("site") / "in a folder"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "docs",
        str(folder),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as building:
        site_tool.write_report(folder / "report", "../index.html")
        for _ in explorer.write_answers(
            folder / explorer.ANSWERS, {"the reference run": committed}, is_compared
        ):
            pass
        said, _ = building.communicate()
    assert building.returncode == 0, said
    assert (folder / ".nojekyll").exists()
    return folder


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path):
    found = {}
    for page in site.rglob("*.html"):
        if "_static" not in page.parts:
            found[page] = html.parse(page, html.HTMLParser(huge_tree=True))
    assert {str(page.relative_to(site)) for page in found} > {
        *(
            "index.html",
            "report/index.html",
            "verdicts.html",
            "explorer.html",
            "lessons/1_units_and_clocks.html",
        ),
        *("tutorial.html", "reference/commands.html", "method.html"),
    }
    names = {
        page: {one.get("id") for one in tree.iter() if one.get("id")}
        for page, tree in found.items()
    }
    for page, tree in found.items():
        loaded = [
            one.get("src") or one.get("href")
            for one in tree.iter("script", "link", "img", "iframe")
        ]
        for address in filter(None, loaded):
            parts = urlsplit(address)
            assert parts.scheme == "data" or (page.parent / unquote(parts.path)).exists(), (
                f"{page.name}: {address}"
            )
        for link in (one.get("href") for one in tree.iter("a") if one.get("href")):
            parts = urlsplit(link)
            if not parts.scheme and not (parts.path == "" and parts.fragment == ""):
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                assert target.exists(), f"{page.name}: {link}"
                fragment = unquote(parts.fragment)
                assert not fragment or target not in names or fragment in names[target], (
                    f"{page.name}: {link}"
                )


def test_the_sidebar_of_each_page_leads_to_the_report(site: Path):
    for page in (site / "index.html", site / "verdicts.html", site / "reference" / "commands.html"):
        (tree,) = html.parse(page).getroot().find_class("sidebar-tree")
        (address,) = [
            link.get("href") for link in tree.iter("a") if link.text_content() == "Report"
        ]
        assert (page.parent / address).resolve() == (site / "report" / "index.html").resolve()


@pytest.fixture(scope="module")
def compared(committed: Analysis) -> dict[str, Answers]:
    """Return the answers of each study that the site has."""
    answers = {}
    for study in SLUGS:
        means = committed.studies[study]
        for pairs in filter(is_compared, questions.list_pairs(means)):
            answers[study] = questions.compute_answers(means, pairs)
    return answers


def test_an_answer_of_the_page_is_the_one_that_the_library_gives(
    site: Path, compared: dict[str, Answers]
):
    for study, of_study in compared.items():
        packed = re.search(r'"([^"]+)"\);', (site / "answers" / "0" / f"{study}-0.js").read_text())
        assert packed
        page = json.loads(gzip.decompress(base64.b64decode(packed[1])))
        names = [control["name"] for control in page["controls"]]
        by_choice = {}
        for shown in page["answers"]:
            options = zip(page["controls"], shown["at"], strict=True)
            by_choice[
                tuple(
                    control["options"][at]["value"] if at >= 0 else None for control, at in options
                )
            ] = shown
        assert len(by_choice) == len(of_study.answers)
        for answer in of_study.answers[:: max(1, len(of_study.answers) // 8)]:
            chosen = [answer.chosen[name] for name in names]
            shown = by_choice[
                tuple(
                    None if option is None else explorer.encode_option(option) for option in chosen
                )
            ]
            row = answer.comparison
            headline = describe_comparison(row)
            if answer.noisy:
                headline["open"] = explorer.NOISY_ANSWER
            assert shown["headline"] == headline
            if row.kind == "ratio":
                for name, number in (("ratio", row.estimate), ("low", row.low), ("high", row.high)):
                    assert shown[name] == (
                        pytest.approx(number, rel=1e-3) if np.isfinite(number) else None
                    )
            blocks = find_shared_blocks(answer.sides.values())
            a, b = (answer.sides[name].select_blocks(blocks).values for name in ("a", "b"))
            ratios = [
                np.nan if block["ratio"] is None else block["ratio"] for block in shown["blocks"]
            ]
            with np.errstate(divide="ignore", invalid="ignore"):
                assert ratios == pytest.approx(
                    [*np.where(b != 0, a / b, np.nan)], rel=1e-3, nan_ok=True
                )


@pytest.fixture(scope="module")
def running_browser() -> Iterator[Any]:
    """Yield the browser that all tests of the site share."""
    with start_browser() as browser:
        yield browser


@pytest.fixture
def browser(running_browser: Any) -> Iterator[Any]:
    """Yield the browser, and close the pages that a test opened."""
    yield running_browser
    for context in running_browser.contexts:
        context.close()


@needs_browser
@pytest.mark.parametrize(
    "name",
    ["index", "method", "verdicts", "explorer", "report/index", "lessons/1_units_and_clocks"],
)
def test_a_page_of_the_site_opens_without_an_error_and_reads_aloud(
    site: Path, browser: Any, name: str
):
    watched = WatchedPage(browser, "file:", "data:", "blob:")
    watched.page.goto((site / f"{name}.html").as_uri(), wait_until="load")
    assert watched.complaints == []
    if name == "report/index":
        counted = watched.count_rows()
        assert counted and all(table["said"] == table["all"] for table in counted)
        assert find_refused_scripts(site / f"{name}.html") == []
    assert watched.find_faults() == []


@needs_browser
def test_the_site_s_claims_are_filtered_sorted_and_addressed_and_fit_a_phone(
    site: Path, browser: Any, committed: Analysis
):
    claims = {claim.id: claim for claim in committed.verdicts}
    undecided = [claim.id for claim in claims.values() if claim.verdict == "undecided"]
    seen = "all => all.filter(one => one.checkVisibility()).map(one => one.id)"
    watched = WatchedPage(browser, "file:", "data:", width=390, height=844)
    address, page = (site / "verdicts.html").as_uri(), watched.page
    page.goto(address)
    anchors = page.locator("article :is(td, li) a[id]")
    assert sorted(anchors.evaluate_all("all => all.map(one => one.id)")) == sorted(claims)
    # A claim has some three lines: those that are decided have a ratio.
    assert page.evaluate("document.documentElement.scrollHeight") <= 90 * len(claims)
    page.get_by_label("Verdict").select_option("undecided")
    assert sorted(anchors.evaluate_all(seen)) == sorted(undecided)
    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Filter").fill(undecided[0])
    assert anchors.evaluate_all(seen) == [undecided[0]]
    page.get_by_label("Filter").fill("")
    page.get_by_label("Sort by").select_option("claim")
    says = page.locator("article tbody:has(a[id])").first.locator("tr td:nth-child(2)")
    texts = says.all_inner_texts()
    assert len(texts) > 2 and texts == sorted(texts, key=str.casefold)
    page.goto("about:blank")
    page.goto(f"{address}#{undecided[-1]}")
    assert page.locator(f"[id='{undecided[-1]}']").is_visible()
    assert [one for one in watched.complaints if one != "about:blank"] == []
    page.emulate_media(color_scheme="dark")
    assert watched.find_faults() == []


@needs_browser
def test_the_explorer_of_the_site_is_chosen_from_without_a_kernel(
    site: Path, browser: Any, compared: dict[str, Answers]
):
    watched = WatchedPage(browser, "file:", "data:", "blob:")
    page = watched.page
    page.goto((site / "explorer.html").as_uri())
    answer, figure = page.locator(".bb-answer"), page.locator(".bb-figure [role=img]")

    # A study and a side are chosen, then a setting by its link in the table; the address leads
    # back and there.
    page.get_by_label("Study", exact=True).select_option("crud")
    page.get_by_label("This", exact=True).select_option(label="MongoDB")
    page.wait_for_function(
        "() => document.querySelector('.bb-answer').innerText.includes('MongoDB took')"
    )
    assert "study=crud" in page.url and "a=mongodb" in page.url
    here = answer.inner_text()
    assert here.splitlines()[2] in figure.get_attribute("aria-label")
    page.get_by_role("row", name="two nodes, replicated").first.get_by_role("link").click()
    page.wait_for_function("was => document.querySelector('.bb-answer').innerText != was", arg=here)
    there = answer.inner_text()
    page.go_back()
    page.wait_for_function(
        "was => document.querySelector('.bb-answer').innerText === was", arg=here
    )
    page.go_forward()
    page.reload()
    page.wait_for_function(
        "was => document.querySelector('.bb-answer')?.innerText === was", arg=there
    )
    page.get_by_label("Filter", exact=True).fill("two nodes 10,000")
    page.locator(".filter").get_by_text("1 of ").wait_for()

    # A choice that can be had stands; of one that cannot, each control stands at the nearest.
    for study, of_study in compared.items():
        for answer in of_study.answers[:: max(1, len(of_study.answers) // 8)]:
            wanted = {
                name: explorer.encode_option(at)
                for name, at in answer.chosen.items()
                if at is not None
            }
            shown = dict(page.evaluate(SHOWN, [f"0/{study}-0.js", wanted]))
            assert (
                shown.items() <= wanted.items()
                and {"operation", "measure", "a", "b"} <= shown.keys()
            )
            missing = dict(
                page.evaluate(SHOWN, [f"0/{study}-0.js", {**wanted, "operation": "none"}])
            )
            assert missing["operation"] == of_study.options["operation"][0]

    assert watched.complaints == []
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert watched.find_faults() == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


SHOWN = """async ([file, wanted]) => explorer.ask(await explorer.answers(file), wanted).shown
    .map(({name, chosen}) => [name, chosen])"""
"""Where the page's controls stand for a choice."""


def test_the_reference_names_every_command_parameter_and_column(site: Path):
    def read_page(name: str) -> str:
        return " ".join(
            html.parse(site / "reference" / f"{name}.html").getroot().text_content().split()
        )

    assert all(f"benchbook {name}" in read_page("commands") for name in command_line.COMMANDS)
    parameters: list[str] = []
    for slug in SLUGS:
        parameters += load_study(slug).Parameters.model_fields
    assert all(name in read_page("parameters") for name in parameters)
    columns = read_page("observations")
    assert all(name in columns for name in (*schema.OBSERVATIONS.names, *schema.METRIC_UNITS))
    assert all(schema.name_parameter_column(name) in columns for name in parameters)


def test_each_lesson_has_a_page_of_all_that_students_get_and_the_guide_leads_to_it(site: Path):
    leads_to = {
        one.get("href") for one in html.parse(site / "teaching.html").find(".//article").iter("a")
    }
    for lesson in (ROOT / "notebooks" / "lessons").glob("*.ipynb"):
        assert f"lessons/{lesson.stem}.html" in leads_to
        page = html.parse(site / "lessons" / f"{lesson.stem}.html").getroot()
        cells = nbformat.read(lesson, 4).cells
        shown = [block.text_content().strip() for block in page.find_class("highlight-python")]
        assert shown == [cell.source for cell in cells if cell.cell_type == "code"]
        drawing = "\n".join(
            cell.source for cell in cells if "shown" in cell.metadata.get("tags", ())
        )
        assert drawing.count("lesson.draw") == len(
            page.findall('.//img[@alt="What the code above draws"]')
        )
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        said = page.text_content().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        assert all(
            title.replace("*", "") in said
            for title in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
        )
        assert prose.count("$$") == 2 * len(page.findall(".//math"))
        assert "A model answer" not in page.text_content()


def test_a_page_that_asks_for_what_there_is_not_is_refused():
    with pytest.raises(KeyError):
        pages.fill_page("<!-- reference: nothing -->")


def read_prose(page: Path) -> str:
    """Return a page's Markdown without tables and marks; of a notebook its cells of text."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = nbformat.reads(text, 4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"^(\|.*| *\d+\. |: )", "\n\n", text, flags=re.MULTILINE)


NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


@pytest.mark.parametrize("page", [*PAGES, CHANGELOG, *NOTEBOOKS], ids=lambda page: page.stem)
def test_no_page_has_a_word_of_the_dialect(page: Path):
    text = page.read_text(encoding="utf-8")
    assert dialect.find_dialect(read_prose(page) if page.suffix == ".ipynb" else text) == []


@pytest.mark.parametrize("page", [*PAGES, CHANGELOG], ids=lambda page: page.stem)
def test_no_sentence_of_a_page_is_too_long(page: Path):
    assert dialect.find_long_sentences(read_prose(page)) == []


def test_no_page_of_the_site_has_a_word_of_the_dialect(site: Path):
    for page in [*site.glob("*.html"), *site.glob("reference/*.html")]:
        if page.stem not in ("search", "genindex"):
            (article,) = html.parse(page).getroot().iter("article")
            for code in article.xpath(".//code | .//pre"):
                code.text = "CODE"
                code[:] = []
            assert dialect.find_dialect(article.text_content()) == [], page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_that_a_page_shows_is_taken_with_its_parameters(page: Path):
    parser = command_line.build_parser()
    for line in commands(page):
        try:
            asked = parser.parse_args(shlex.split(line.strip(), comments=True)[1:])
        except SystemExit as refused:
            assert not refused.code, f"{page.name}: {line}"
            continue
        # That one's file is made by what is run.
        if asked.command in ("plan", "run") and "dataset_file" not in line:
            assert expansion.choose_cells(asked.study, asked.profile, asked.where, asked.set), line
    for name in re.findall(r"(?<!`)`benchbook ([a-z]+)[^`\n]*`(?!`)", page.read_text()):
        assert name in command_line.COMMANDS, f"{page.name}: benchbook {name}"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """Run the marked blocks of all pages in reading order, in one folder with their files.

    Returned are by page the names that its Python has left behind; the folder is still the current
    one.
    """
    folder = tmp_path_factory.mktemp("pages")
    (folder / "figures").symlink_to(ROOT / "figures")
    own = {
        "BENCHBOOK_RESULTS": str(folder / "results"),
        "BENCHBOOK_HOME": str(ROOT),
        "MPLBACKEND": "agg",
    }
    names: dict[str, dict[str, Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        for name in ("tutorial", "own-data", "results", "extending"):
            marked = [
                (language, text)
                for run, language, text in blocks(ROOT / "docs" / f"{name}.md")
                if run
            ]
            assert marked, name
            for language, text in marked:
                for part in text.splitlines() if language == "sh" else [text]:
                    assert run(language, part, names.setdefault(name, {})) == 0, f"{name}: {part}"
        yield names


def run(language: str, text: str, names: dict[str, Any]) -> int:
    """Run a block of Python or a line of shell and return its exit status."""
    if language == "python":
        own: dict[str, Any] = {"__name__": "__main__"}
        exec(text, own)
        names |= own
        return 0
    words = shlex.split(text)
    if words[0] == "benchbook" and words[1] != "run":
        return cli.main(words[1:])
    few = ["--noisy", "--set", "blocks=2", "--set", "repetitions=2"]
    command = (
        [*processes.PYTHON, "-m", "benchbook.cli", *words[1:], *few]
        if words[0] == "benchbook"
        else words
    )
    return subprocess.run(command, check=False).returncode


def test_what_a_page_marks_to_be_run_runs(ran: dict[str, dict[str, Any]]):
    assert Path("round_trips.png").stat().st_size > 5_000
    assert Path("benchbook-ujson", "pyproject.toml").is_file()


def test_the_tutorial_s_ratio_is_that_of_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    times = pd.DataFrame(
        {
            "block": range(5),
            "json": [4.1, 3.9, 4.4, 4.0, 4.2],
            "xml": [19.0, 21.5, 20.2, 19.9, 23.0],
        }
    )
    times.melt("block", var_name="format", value_name="ms").to_csv("round_trips.csv")
    (code,) = [text for run, language, text in blocks(ROOT / "docs" / "tutorial.md")
               if run and language == "python" and "round_trips.csv" in text]  # fmt: skip
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(code, names)
    found = compute_interval(np.log(times["xml"] / times["json"]), ["one day"] * 5)
    assert [names["logs"].mean(), names["low"], names["high"]] == pytest.approx(
        [found.estimate, found.low, found.high]
    )


def test_a_ratio_by_hand_in_pandas_and_in_sql_is_the_report_s(
    ran: dict[str, dict[str, Any]], committed: Analysis
):
    table = Comparison.to_frame(row for row in committed.tables if row.study == "bookstore")
    rows = table[
        (table["operation"] == "round_trip")
        & (table["metric"] == "wall_time")
        & table["low"].notna()
    ]
    by = ["language", "case", "keys", "n", "json_codec"]
    settings = pd.DataFrame([*rows["settings"]], rows.index)[by]
    report = (
        rows.drop(columns=["n", "language"])
        .join(settings)
        .rename(columns={"estimate": "ratio"})
        .set_index(by)
        .sort_index()
    )
    by_hand = ran["results"]
    in_pandas = by_hand["ratios"].reset_index().set_index(by)[["ratio", "low", "high"]].sort_index()
    pd.testing.assert_frame_equal(
        in_pandas, report[["ratio", "low", "high"]], check_index_type=False
    )
    in_sql = duckdb.sql(by_hand["QUERY"]).df().set_index(by).sort_index()
    pd.testing.assert_series_equal(in_sql["ratio"], report["ratio"], check_index_type=False)
