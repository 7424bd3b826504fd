"""The pages of docs/: they build without a warning, their links lead somewhere, and their commands run."""

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

from benchbook import cli, evidence, processes
from benchbook.evidence import Evidence
from benchbook.grid import points
from benchbook.results import schema
from benchbook.studies import SLUGS, load
from tools import pages

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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path):
    found = {page: html.parse(page) for page in site.rglob("*.html") if "_static" not in page.parts}
    assert {page.name for page in found} > {"index.html", "tutorial.html", "commands.html", "method.html"}
    names = {page: {one.get("id") for one in tree.iter() if one.get("id")} for page, tree in found.items()}
    for page, tree in found.items():
        loaded = [one.get("src") or one.get("href") for one in tree.iter("script", "link", "img", "iframe")]
        assert not [one for one in loaded if one and urlsplit(one).netloc], page.name
        for link in (one.get("href") for one in tree.iter("a") if one.get("href")):
            parts = urlsplit(link)
            if not parts.scheme and not (parts.path == "" and parts.fragment == ""):
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                assert target.exists(), f"{page.name}: {link}"
                fragment = unquote(parts.fragment)
                assert not fragment or target not in names or fragment in names[target], f"{page.name}: {link}"


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
            assert points.choose(asked.study, asked.profile, asked.where, asked.set), line
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
    by = ["lane", "case", "keys", "n", "json_codec"]
    report = round_trips(pd.read_parquet(REFERENCE)).set_index(by).sort_index()
    assert report["test"].str.contains("campaign").any() and not report["test"].str.contains("campaign").all()
    by_hand = ran["results"]
    in_pandas = by_hand["cells"][by].join(by_hand["ratios"]).set_index(by).sort_index()
    pd.testing.assert_frame_equal(in_pandas, report[["ratio", "low", "high"]])
    in_sql = duckdb.sql(by_hand["QUERY"]).df().set_index(by).sort_index()
    by_campaign = report["test"].str.contains("campaign")
    expected = in_sql["ratio_of_campaigns"].where(by_campaign, in_sql["ratio"])
    pd.testing.assert_series_equal(expected, report["ratio"], check_names=False, check_index_type=False)
