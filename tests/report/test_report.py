"""The final notebook runs on any subset of the studies, and its page loads nothing."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import lxml.html
import nbformat
import pandas as pd
import pyarrow as pa
import pytest
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from PIL import Image
from test_reference import absolute_paths

import constructed
from background_load import Others
from benchbook import cli, grid, paths
from benchbook.analysis.runs import REPETITIONS_FILE, Analysis, load_folder_means
from benchbook.analysis.verdicts import VerdictCounts
from benchbook.cli.command import DONE, FAILED, USAGE
from benchbook.explorer.documents import request_cells
from benchbook.explorer.replies import answer_questions
from benchbook.papers import exhibits, findings, numbers
from benchbook.plots.provenance import describe_suites
from benchbook.registry.papers import PAPERS
from benchbook.report import build, merged_run, sections, tables, text
from benchbook.report.artefact import APPENDIX, write_artefact
from benchbook.report.tables import MAX_WHOLE_ROWS
from benchbook.report.text import describe_durability
from benchbook.results import files
from benchbook.results import folder as results_folder
from benchbook.results.folder import open_results
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.text.number_format import format_count, format_estimate
from browser import (
    WatchedPage,
    find_refused_scripts,
    is_dark_on_white,
    needs_browser,
    parse_page,
    start_browser,
)
from tools import reference as reference_tool
from waiting import comes_true, is_gone

MAT = "/home/cat/mat"
ENVIRONMENT = constructed.MACHINE | {"inherited": {"LD_LIBRARY_PATH": f"/opt/lib:{MAT}"}}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Send results and figures to a temporary folder; the notebook and grids are the project's."""
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setenv("BENCHBOOK_HOME", str(paths.root()))
    return tmp_path


def run_smoke_cells(study: str, *changes: str) -> None:
    """Run the smoke cells of a study without servers, and write their results."""
    for cell in grid.make_plan([study], "smoke", (), changes).cells:
        columns = {
            "study": study,
            "cell_id": cell.identity,
            "block": cell.block,
            "position": cell.position,
        }
        columns |= {
            "host": "here",
            "arm": cell.arm,
            "state": "done",
            "environment": json.dumps(ENVIRONMENT),
        }
        columns |= cell.parameters.as_columns()
        open_results().write_cell(
            columns, load_study(study).run(cell.parameters), cell.combination[1]
        )


def write_failed_cell(study: str) -> None:
    """Write of a study's first smoke cell that it failed."""
    (cell, *_) = grid.make_plan([study], "smoke").cells
    columns = {"study": study, "cell_id": cell.identity, "block": 0, "state": "failed"}
    open_results().write_cell(
        columns | {"reason": f"ServerError: the cat sat on it, and {MAT} had no cat"}
    )


PAYLOAD = (
    """x`</script><svg onload="document.title='PWN'"></svg>"""
    "![i](http://127.0.0.1:9/i)[l](javascript:alert(1))"
)
MARKS = "svg[onload], img[src^='http'], a[href^='javascript:']"
DESCRIBED = ("run_id", "host", "database_version", "driver_version", "runtime", "dataset")


def add_payload(table: pa.Table, column: str) -> pa.Table:
    """Return a table's last row with the payload in one column, or in each text of that column."""
    row = table.slice(len(table) - 1).to_pylist()[0]
    text = PAYLOAD
    if column == "environment":
        known = json.loads(row[column])
        texts = {name: PAYLOAD for name, value in known.items() if isinstance(value, str)}
        text = json.dumps(known | texts | {"governor": PAYLOAD, "suite": PAYLOAD})
    repetition = 1000 + table.column_names.index(column)  # else one repetition has several values
    return pa.Table.from_pylist(
        [row | {"repetition": repetition, column: text}], schema=table.schema
    )


def can_import(given: Path, results: Path) -> bool:
    """Import a file into an empty folder; return False where its first row is refused."""
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(errors):
        patch.setenv("BENCHBOOK_RESULTS", str(results))
        status = cli.main(["results", "import", str(given)])
    assert status == DONE or (status == USAGE and "row 0" in errors.getvalue())
    return status == DONE


def import_payloads(given: Path, tables: list[pa.Table]) -> None:
    """Import the results of tables with the payload in every text column that import takes."""
    taken, refused = [], []
    for column in (field.name for field in tables[0].schema if field.type == pa.string()):
        files.write_table(given, add_payload(tables[0], column))
        (taken if can_import(given, given.with_name(column)) else refused).append(column)
    assert {"database", "environment", "reason", "source", *DESCRIBED} <= {*taken}
    assert {"language", "arm", "format", "json_codec", "study", "cell_id", "state"} <= {*refused}
    for table in tables:
        for column in DESCRIBED:
            payloads = pa.array([PAYLOAD] * len(table))
            table = table.set_column(table.column_names.index(column), column, payloads)
        rows = [table, *(add_payload(table, column) for column in taken)]
        files.write_table(given, pa.concat_tables(rows))
        assert cli.main(["results", "import", str(given)]) == DONE


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a profile of which only `bookstore` ran and one cell of `crud` failed.

    Its results have the payload in every text column that import takes.
    """
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("report")
        patch.setenv("BENCHBOOK_RESULTS", str(folder / "measured"))
        patch.setenv("BENCHBOOK_FIGURES", str(folder / "figures"))
        patch.setenv("BENCHBOOK_HOME", str(paths.root()))
        with pytest.MonkeyPatch.context() as before:
            before.setattr(results_folder, "shorten_paths", str)  # as files once were written
            run_smoke_cells("bookstore")
        measured = [files.read_table(one.path) for one in open_results().list_files()]
        patch.setenv("BENCHBOOK_RESULTS", str(folder / "results"))
        import_payloads(folder / "given.parquet", measured)
        run_smoke_cells("bookstore", "n=7", "blocks=2")
        write_failed_cell("crud")
        with (folder / "steps").open("w") as steps:
            return build.build_report("smoke", lambda step: print(step, file=steps))


def test_building_a_report_prints_each_step(built: Path):
    *first, last = dict.fromkeys((built.parents[2] / "steps").read_text().splitlines())
    first, steps = first[:2], first[2:]
    assert first == ["checking the results", "merging the results, judging the claims"]
    assert last == "writing the page"
    drawn = [
        step
        for step in steps
        if re.fullmatch(rf"drawing figures: \d+ of {len(exhibits.FIGURES)}", step)
    ]
    assert drawn and steps[: len(drawn)] == drawn
    titles = [
        step.partition(":")[2].strip()
        for step in steps[len(drawn) :]
        if step.startswith("notebook: ")
    ]
    assert len(drawn) + len(titles) == len(steps) and titles[-2].startswith("t-tests")
    assert [title.partition(":")[0] for title in titles if title.startswith(SLUGS)] == list(SLUGS)


def test_page_command_numbers_and_figures_count_the_same_claims(built: Path, monkeypatch, capsys):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(built.parents[2] / "results"))
    assert cli.main(["claims", "--profile", "smoke"]) == DONE
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("all ")]
    document = lxml.html.document_fromstring(built.read_text(encoding="utf-8"))
    *_, last = document.xpath("//table[@class='holds-table']/tbody/tr")
    shown = [cell.text_content() for cell in last[1:]]
    # The claims that do not hold stand in one place, below.
    links = [link.get("href") for link in last.iter("a")]
    assert links == (["#failed"] if document.xpath("//ul[@class='failed']/li") else [])
    found = merged_run.merge_run("smoke").analysis
    counts = VerdictCounts.count(found.verdicts)
    assert shown == [str(count) for count in (counts.claims, *counts.by_verdict.values()) if count]
    assert line.split()[1:] == shown
    assert numbers.list_kindred(found, "claims")["claims.decided"].value == counts.decided
    of_study = sum(claim.study == "bookstore" for claim in found.verdicts)
    assert numbers.list_kindred(found, "bookstore")["bookstore.claims.all"].value == of_study
    tally = pd.read_csv(built.parent / "verdicts.csv")
    assert tally["value"].sum() == counts.claims


def test_an_artefact_of_your_run_can_be_compared_and_imported(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(built.parents[2] / "results"))
    measured = merged_run.merge_run("smoke")
    write_artefact("smoke", built, tmp_path / "artefact")
    text = (tmp_path / "artefact" / APPENDIX).read_text(encoding="utf-8")
    assert "benchbook run bookstore --profile smoke" in text and "no cat" not in text
    sent = Analysis(load_folder_means(tmp_path / "artefact"))
    judged = [[(one.id, one.verdict, one.words) for one in analysis.verdicts]
              for analysis in (sent, measured.analysis)]  # fmt: skip
    assert judged[0] == judged[1]
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    assert cli.main(["results", "import", str(tmp_path / "artefact" / REPETITIONS_FILE)]) == DONE
    assert len(open_results().list_files()) == measured.means.groupby(["cell_id", "block"]).ngroups


def test_cells_outside_of_profiles_have_their_own_figure_and_ratios(built: Path):
    page = built.read_text(encoding="utf-8")
    section = page[page.index("Your own cells of bookstore") :]
    assert page.count("Your own cells of") == 1
    drawn = pd.read_csv(built.parent / "bookstore_own.csv")
    assert {"round trip", "marshal", "unmarshal"} <= {
        level.partition(",")[0] for level in drawn["level"]
    }
    assert (drawn["value"] > 0).all() and section.index("<img") < section.index("<table")


@pytest.mark.usefixtures("shared_kernels")
def test_own_cells_of_noisy_blocks_have_the_answer_of_ask_hollow_under_their_files_names(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    # Two paths of the same records, and a file of the same name with other records.
    records = '{"name": "Ann", "age": 3}\n{"name": "Bob", "age": 4}\n'
    given = [house / folder / "people, all.jsonl" for folder in ("mine", "second", "other")]
    for file in given:
        file.parent.mkdir()
        file.write_text(records if file != given[2] else records.replace("Bob", "Bert"))
    Others(*[1.5] * 15).install(monkeypatch)
    for file in given:
        assert cli.main(["ask", str(file)]) == DONE
    requests = request_cells(given[2], ["json-or-xml"])
    (reply,) = answer_questions(["json-or-xml"], requests)
    (slower,) = [one.bars[1] for one in reply.answers if one.operation == "to write and read back"]
    capsys.readouterr()
    # Each has its page.
    pages = {page.name for page in (house / "figures" / "documents").iterdir()}
    own = "people, all.jsonl"
    assert pages == {f"{own}.html", f"{own}-2.html", f"{own}-3.html"}

    shown = []
    monkeypatch.setattr(sections, "show", lambda *parts: shown.extend(parts))
    merged = merged_run.merge_run("smoke")
    merged.folder.mkdir(parents=True)
    sections._show_own_cells(merged, "bookstore")
    heading, _, table = shown
    assert "other programs were busy in some blocks" in heading
    rows = lxml.html.document_fromstring(table.data).xpath("//tbody/tr")
    texts = [[cell.text_content().strip() for cell in row] for row in rows]
    assert str(house) not in table.data and "dataset_file" not in table.data
    of_time = [row for row in texts if row[1] == "time, round trip, client"]
    assert sorted(row[2] for row in of_time) == [
        "mine/people, all.jsonl",
        "other/people, all.jsonl",
    ]
    for row in of_time:
        assert row[3].endswith(", noisy")
        if row[2].startswith("other"):
            # A comma before a digit separates thousands.
            ratio, *_ = re.split(r",(?!\d)", slower.ratio_text.removeprefix("× "))
            assert row[3] == f"{ratio}, noisy"
            assert row[4:] == ["0", "5"]
    drawn = pd.read_csv(merged.folder / "bookstore_own.csv")
    assert {*drawn["source"]} == {"here, noisy"}
    assert {*drawn["level"].str.partition(", ")[2]} == {row[2] for row in of_time}


def test_the_page_holds_all_figures_and_loads_nothing(built: Path):
    document = lxml.html.document_fromstring(built.read_text(encoding="utf-8"))
    loaded = document.xpath("//@src | //@srcset | //@poster | //@data | //link/@href")
    assert all(address.startswith("data:") for address in loaded)
    style = "".join(style.text for style in document.iter("style"))
    assert "url(" not in style and "@import" not in style
    (policy,) = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert re.match(r"script-src( 'sha256-\S+'){2}; ", policy)
    assert "unsafe" not in policy.replace("style-src 'unsafe-inline'", "")
    of_page = [
        name for name in exhibits.FIGURES if name == "overview" or name.startswith("bookstore_")
    ]
    drawn = {name for name in of_page if not pd.read_csv(built.parent / f"{name}.csv").empty}
    shown = {
        figure.get("id").removesuffix("-drawn") for figure in document.xpath("//figure[.//img]")
    }
    assert shown == drawn | {"bookstore_own"}
    assert not document.xpath("//iframe | //object | //link | //script[@src]")
    beside = {link.get("href") for link in document.xpath("//span[@class='files']/a")}
    assert {f"{name}.svg" for name in drawn} <= beside and all(
        (built.parent / name).exists() for name in beside
    )


@pytest.fixture(params=["smoke", paths.REFERENCE])
def page(request: pytest.FixtureRequest) -> Path:
    """Return the page of the smoke profile, and the committed one."""
    if request.param == paths.REFERENCE:
        return paths.reference() / build.PAGE
    built: Path = request.getfixturevalue("built")
    return built


def test_the_page_s_policy_allows_each_of_its_scripts(page: Path):
    assert find_refused_scripts(page) == []


@needs_browser
def test_each_table_has_as_many_rows_as_it_says_with_and_without_a_script(page: Path):
    document = parse_page(page)
    tables = document.xpath("//table[contains(@class, 'paged')]")
    rows = [len(table.xpath("./tbody/tr")) for table in tables]
    assert rows and min(rows) > MAX_WHOLE_ROWS
    tested = re.findall(r"([\d,]+) comparisons were tested", document.text_content())
    many = [len(table.xpath("./tbody/tr")) for table in document.find_class("tests")]
    assert many == [int(count.replace(",", "")) for count in tested]
    with start_browser() as browser:
        watched = WatchedPage(browser, "file:", "data:")
        watched.page.goto(page.as_uri())
        counted = watched.count_rows()
        assert [table["said"] for table in counted] == rows
        assert [table["all"] for table in counted] == rows
        assert all(0 < table["shown"] < table["all"] for table in counted)
        assert all(table["next"] for table in counted)
        assert watched.complaints == []

        # Neither a reader without scripts nor one whose browser refuses them misses a row.
        browserless = browser.new_context(java_script_enabled=False).new_page()
        for place, table in enumerate(tables):
            (view,) = table.xpath("./ancestor::section[@class='view']/@id")
            browserless.goto(f"{page.as_uri()}#{view}")
            shown = browserless.locator("table.paged").nth(place)
            for fold in shown.locator("xpath=ancestor::details").all():
                if fold.get_attribute("open") is None:
                    fold.locator("> summary").click()
            assert shown.locator("tbody tr:visible").count() == rows[place]


def test_drawings_have_their_values_as_text_and_every_link_has_a_target(built: Path):
    document = lxml.html.document_fromstring(built.read_text(encoding="utf-8"))
    said = {
        figure.getparent().get("id"): figure.get("aria-label")
        for figure in document.xpath("//*[@role='img']")
    }
    assert "time, 1, XML: published 1,020 µs" in said["bookstore_case1"]
    assert re.search(r"time, 10, JSON: here [\d.,]+ µs", said["bookstore_case1"])
    assert all("published" in text or "here" in text for text in said.values())
    ids = set(document.xpath("//@id"))
    assert len(ids) == len(document.xpath("//@id"))
    linked = {link.get("href")[1:] for link in document.xpath("//a[starts-with(@href, '#')]")}
    assert linked <= ids and {*SLUGS, "overview", "method"} <= linked


@needs_browser
def test_the_page_works_in_a_browser_in_the_dark_on_a_phone_and_on_paper(
    built: Path, tmp_path: Path
):
    """On a desk, in the dark, on a phone and on paper."""
    with start_browser() as browser:
        address = built.as_uri()
        desk = WatchedPage(browser, "file:", "data:")
        desk.page.goto(address)
        assert desk.page.locator(".leads li:visible").count() == len(PAPERS)
        assert desk.page.locator(".view:visible").count() == 1
        assert desk.page.evaluate("document.documentElement.scrollHeight") <= 25 * 800
        desk.page.get_by_role("link", name="bookstore", exact=True).first.click()
        assert desk.page.locator("nav.pages [aria-current]").inner_text() == "bookstore"
        # The focus stays on the tab, and one link leads from the tabs to the open page.
        focused = "document.activeElement.closest('.view')?.id ?? document.activeElement.hash"
        desk.page.wait_for_function(f"({focused}) === '#bookstore'")
        desk.page.get_by_role("link", name="Skip to the page's content").press("Enter")
        assert desk.page.evaluate(focused) == "bookstore"
        assert desk.find_faults() == []
        dark = WatchedPage(browser, "file:", "data:", width=390, height=844, dark=True)
        for part in ("", "#bookstore", "#method"):
            dark.page.goto("about:blank")
            dark.page.goto(address + part)
            assert dark.page.evaluate("document.documentElement.scrollWidth") <= 390, part
            drawn = dark.page.locator(".drawn img:visible")
            filters = drawn.evaluate_all("drawn => drawn.map(one => getComputedStyle(one).filter)")
            assert all(one.startswith("invert") for one in filters), part
        assert dark.find_faults() == []
        dark.complaints = [one for one in dark.complaints if one != "about:blank"]
        assert desk.complaints == dark.complaints == []
        printed = tmp_path / "report.pdf"
        desk.page.pdf(path=printed)
        assert printed.read_bytes().count(b"/Type /Page") > 10  # all parts, not the open one alone
        browserless = browser.new_context(java_script_enabled=False).new_page()
        browserless.goto(f"{address}#method")
        assert browserless.locator(".view:visible").get_attribute("id") == "method"


@needs_browser
def test_a_figure_tells_the_value_of_a_mark_and_hides_a_series(built: Path, tmp_path: Path):
    points = pd.read_csv(built.parent / "bookstore_case1.csv")
    with start_browser() as browser:
        watched = WatchedPage(browser, "file:", "data:")
        page = watched.page
        page.goto(f"{built.as_uri()}#bookstore_case1")
        figure, tip = page.locator("figure#bookstore_case1"), page.locator("output.tip")
        frame = figure.locator("[role=group]")
        assert tip.is_hidden()

        # The pointer at the mark of the last printed number of JSON, where another may lie on it.
        frame.hover()
        printed = figure.locator("[data-series=JSON][data-source=published][data-points*=' '] use")
        index = points.query("series == 'JSON' and source == 'published'").index[-1]
        group = figure.locator(f"[data-points$=' {index}']")
        assert group.get_attribute("data-series") == "JSON"
        group.locator("use").last.hover(force=True)
        row = points.loc[index]
        place, value = tip.inner_text().split("\n")
        assert place == f"{row.panel}, {row.level}, JSON"
        assert value == f"published {format_estimate(row.value, row.low, row.high, row.unit)}"
        measured = figure.locator("[data-source=here]:not([data-points=''])").first
        here = points.loc[int(measured.get_attribute("data-points").split()[0])]
        measured.locator("use").first.hover(force=True)
        assert here.source == "here"
        assert tip.inner_text().endswith(f", {format_count(int(here.blocks), 'block')}")

        # An entry of the legend hides all that is drawn of its series, and shows it again.
        entry = figure.locator("[data-points=key][data-series=JSON]").last
        of_xml = figure.locator("[data-series=XML]:not([data-points=key]) use")
        for visible in (False, True):
            entry.click()
            assert [one.is_visible() for one in printed.all()] == [visible] * printed.count()
            assert all(one.is_visible() for one in of_xml.all())
        assert printed.count() and of_xml.count()

        # By keys.
        frame.focus()
        page.keyboard.press("ArrowRight")
        assert tip.inner_text().startswith("hide: ")
        page.keyboard.press("Enter")
        assert tip.inner_text().startswith("show: ")
        page.keyboard.press("Escape")
        assert tip.is_hidden()

        # As a picture.
        figure.get_by_text("Data", exact=True).click()
        with page.expect_download() as download:
            figure.get_by_role("button", name="PNG").click()
        assert download.value.suggested_filename == "bookstore_case1.png"
        download.value.save_as(tmp_path / "saved.png")
        saved = Image.open(tmp_path / "saved.png").convert("L")
        assert saved.width > 1600
        # Its caption stands above the drawing.
        box = frame.bounding_box()
        assert box
        above = saved.height - round(saved.width * box["height"] / box["width"])
        assert above > 60 and saved.crop((0, 0, saved.width, above)).getextrema()[0] < 100

        # As a PDF, which the browser prints: of the page the figure, and nothing else.
        page.evaluate("window.print = () => {}")
        figure.get_by_role("button", name="PDF (print)").click()
        page.emulate_media(media="print")
        assert figure.locator("figcaption").is_visible() and frame.is_visible()
        assert page.locator("figure:visible").count() == 1
        assert not page.locator("nav:visible, h2:visible, table:visible, button:visible").count()
        assert len(re.findall(rb"/Type /Page\b", page.pdf())) == 1
        page.emulate_media(media="screen")
        assert page.locator("figure:visible").count() > 1
        assert (
            figure.get_by_role("link", name="Address").get_attribute("href") == "#bookstore_case1"
        )
        assert watched.complaints == [] and watched.find_faults() == []


@needs_browser
def test_figures_of_the_executed_notebook_are_readable_without_the_page_s_style(
    built: Path, tmp_path: Path
):
    """As nbconvert shows it, on a dark screen and on paper."""
    body, _ = HTMLExporter(template_name="basic").from_filename(built.parent / build.NOTEBOOK)
    copy = tmp_path / "copy.html"
    copy.write_text(body, encoding="utf-8")
    with start_browser() as browser:
        page = WatchedPage(browser, "file:", "data:", dark=True).page
        page.goto(copy.as_uri())
        for medium in ("screen", "print"):
            page.emulate_media(media=medium)
            for name in ("bookstore_case1", "bookstore_own"):
                assert is_dark_on_white(page.locator(f"#{name} img")), (medium, name)


def test_the_reference_run_s_page_begins_with_five_headlines():
    page = paths.reference() / build.PAGE
    document = lxml.html.document_fromstring(page.read_text(encoding="utf-8"))
    (first,) = document.find_class("leads")
    assert [link.text for link in first.find_class("study")] == list(SLUGS)
    leads = [
        lead.text_content()
        for lead in first.iter("li")
        if "Not judged in this profile" not in lead.text_content()
    ]
    # bytes that come out alike to the last have no interval
    without = []
    for lead in leads:
        if not re.search(r"[\d.]+ \([\d.]+ to [\d.]+\) times", lead):
            without.append(lead)
    assert len(leads) == 5 and len(without) <= 1
    assert all("times the bytes" in lead for lead in without)
    assert page.stat().st_size <= 9_000_000
    beside = {link.get("href") for link in document.xpath("//span[@class='files']/a")}
    assert beside and all((page.parent / name).exists() for name in beside)


def test_what_is_kept_of_a_reference_run_contains_no_path(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("results", "figures"):
        monkeypatch.setenv(f"BENCHBOOK_{name.upper()}", str(built.parents[2] / name))
    monkeypatch.setattr(paths, "reference", lambda: tmp_path)
    monkeypatch.setattr(reference_tool, "build_report", lambda _: built)
    # Its cells were imported from files with paths, or written here.
    assert MAT not in built.read_text(encoding="utf-8")
    reference_tool.keep_results("smoke")
    reference_tool.draw_run()
    for drawn in built.parent.glob("*"):
        if drawn.suffix in (".html", ".svg", ".csv"):
            assert (tmp_path / drawn.name).read_bytes() == drawn.read_bytes()
    assert {file.suffix for file in tmp_path.iterdir()} == {
        ".svg",
        ".csv",
        ".json",
        ".html",
        ".md",
        ".parquet",
    }
    assert absolute_paths(tmp_path) == set()


def test_the_page_lists_what_ran_what_failed_and_what_is_left_out(built: Path):
    text = lxml.html.document_fromstring(built.read_text(encoding="utf-8")).text_content()
    assert "Nothing was measured of tcp, drivers, crud, replication" in text
    assert "ServerError: the cat sat on it" in text
    assert re.search(r"bookstore\s*repetitions\s*2\s*10, 100", text)


def test_the_page_shows_no_code(built: Path):
    document = lxml.html.document_fromstring(built.read_text(encoding="utf-8"))
    for script in document.xpath("//script[not(@type)]"):
        script.drop_tree()
    assert "import" not in document.text_content().replace("important", "")


def test_only_a_changed_report_is_built_again(built: Path, monkeypatch: pytest.MonkeyPatch):
    folder = built.parents[2]
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(folder / "results"))
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(folder / "figures"))
    before = built.stat().st_mtime_ns
    monkeypatch.setattr(build, "_run_notebook", lambda *_: pytest.fail("it was built again"))
    assert build.build_report("smoke") == built
    assert built.stat().st_mtime_ns == before
    stamp, drawn = built.with_name(build.STAMP), built.read_bytes()
    told = stamp.read_text()
    for path, damaged in (
        (stamp, told[:20]),
        (stamp, "[]"),
        (built, drawn[: len(drawn) // 2].decode(errors="ignore")),
    ):
        path.write_text(damaged)
        with pytest.raises(pytest.fail.Exception, match="built again"):
            build.build_report("smoke")
        stamp.write_text(told)
        built.write_bytes(drawn)
    unchanged = build.hash_inputs("smoke")
    os.utime(next((folder / "results").glob("bookstore/*.parquet")))
    assert build.hash_inputs("smoke") != unchanged


@needs_browser
def test_no_text_of_a_result_is_executed_in_a_page(built: Path, monkeypatch: pytest.MonkeyPatch):
    """Every page shows as text what the results have of HTML, Markdown and scripts."""
    folder = built.parents[2]
    for name in ("results", "figures"):
        monkeypatch.setenv(f"BENCHBOOK_{name.upper()}", str(folder / name))
    monkeypatch.setattr(paths, "reference", lambda: folder / "no reference run")
    for command in (
        ["claims", "--profile", "smoke"],
        ["compare", str(folder / "results"), str(folder / "results"), "--all"],
        ["explore", "--no-open"],
    ):
        assert cli.main(command) == DONE, command
    explorer = paths.figures("explorer") / "index.html"
    with start_browser() as browser:
        watched = WatchedPage(browser, "file:", "data:")
        watched.page.goto(built.as_uri())
        assert "document.title='PWN'" in watched.page.locator("body").text_content(), "it is shown"
        assert (watched.page.title(), watched.complaints) == ("benchbook: smoke", [])
        assert watched.page.locator(MARKS).count() == 0

        # Every comparison of the explorer, on a page that lets only its own scripts run.
        watched = WatchedPage(browser, "file:", "data:", "blob:")
        watched.page.goto(explorer.as_uri())
        compare = watched.page.get_by_label("Compare")
        for comparison in compare.locator("option").all_inner_texts():
            compare.select_option(comparison)
            watched.page.locator(".bb-answer").wait_for()
        assert (watched.page.title(), watched.complaints) == ("benchbook explorer", [])
        assert watched.page.locator(MARKS).count() == 0


def test_a_durability_in_a_sentence_is_escaped():
    means = pd.DataFrame({"durability": [PAYLOAD], "environment": [None]})
    sentence = describe_durability(SimpleNamespace(means=means))
    (paragraph,) = lxml.html.fragments_fromstring(markdown2html(sentence))
    assert PAYLOAD in paragraph.text_content() and [*paragraph] == []


@needs_browser
def test_the_page_s_policy_stops_foreign_scripts(built: Path):
    injected = (
        """<svg onload="document.title='PWN'"></svg><img src="x" onerror="document.title='PWN'">"""
    )
    with start_browser() as browser:
        page = WatchedPage(browser, "file:", "data:").page
        page.goto(f"{built.as_uri()}#method")
        page.evaluate(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(injected)})")
        page.evaluate(
            "document.body.append("
            "Object.assign(document.createElement('script'), {text: 'document.title=1'}))"
        )
        page.wait_for_timeout(200)
        assert page.title() == "benchbook: smoke"
        assert page.locator("nav.pages [aria-current]").inner_text() == "Method", (
            "the page's own script runs"
        )


def test_a_report_names_the_row_and_file_of_an_unknown_level_before_it_is_drawn(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(build, "_run_notebook", lambda *_: pytest.fail("the notebook was run"))
    run_smoke_cells("bookstore")
    (one, *_) = open_results().list_files()
    table = files.read_table(one.path)
    languages = pa.array([*["python"] * (len(table) - 1), "<img src=x>"])
    files.write_table(
        one.path,
        table.set_column(table.column_names.index("language"), "language", languages),
        one.facts,
    )
    assert cli.main(["report", "--profile", "smoke"]) == FAILED
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(
        f"benchbook: {one.path}: row {len(table) - 1}: language is '<img src=x>'"
    )


def test_a_notebook_that_draws_nothing_fails_the_report(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell('profile: str = "quick"')])
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(notebook, home / "notebooks" / build.NOTEBOOK)
    write_failed_cell("crud")
    with pytest.raises(build.ReportError, match=r"did not draw .*bookstore_case1"):
        build.build_report("smoke")
    assert not (tmp_path / "figures" / "smoke" / build.STAMP).exists()


FIGURES = """
import os, pathlib, signal, time
figures = pathlib.Path(os.environ["BENCHBOOK_FIGURES"])
pids = [os.getpid()]
"""
OWNER = "pids += [os.getppid()]"
WAITS = """
(figures / "new").write_text(" ".join(map(str, pids)))
(figures / "new").rename(figures / "pids")
time.sleep(600)
"""
DRAWS = (
    "from benchbook.servers import processes\n"
    f"processes.start_worker_pool(1).submit(exec, {FIGURES + OWNER + WAITS!r}).result()"
)


@pytest.mark.parametrize(
    ("signum", "status", "does"),
    [
        (signal.SIGKILL, -signal.SIGKILL, DRAWS),
        (signal.SIGTERM, 143, DRAWS),
        (signal.SIGHUP, 129, FIGURES + WAITS),
        (signal.SIGINT, 130, FIGURES + WAITS),
    ],
)
def test_a_report_that_is_stopped_leaves_no_process(
    home: Path, house: Path, temporary: Path, signum: int, status: int, does: str
):
    notebook = nbformat.read(home / "notebooks" / build.NOTEBOOK, 4)
    notebook.cells.insert(1, nbformat.v4.new_code_cell(does))
    nbformat.write(notebook, home / "notebooks" / build.NOTEBOOK)
    write_failed_cell("crud")
    command = [sys.executable, "-m", "benchbook.cli", "report", "--profile", "smoke"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        pids = house / "figures" / "pids"
        assert comes_true(pids.exists)
        process.send_signal(signum)
        printed = process.communicate()[0]
    first, step, *rest = printed.splitlines()
    assert process.returncode == status and first == "checking the results", printed
    assert step.startswith("merging") and len(rest) <= 1, printed
    assert comes_true(lambda: all(is_gone(int(pid)) for pid in pids.read_text().split()))


def test_what_a_profile_leaves_out_is_computed_from_the_grids(house: Path):
    table = merged_run.list_left_out(merged_run.merge_run("quick")).set_index(
        ["Study", "Parameter"]
    )
    assert table.loc[("crud", "n"), "Not here"] == "10,000, 100,000"
    assert table.loc[("tcp", "n"), "Not here"].endswith("1,000,000")
    assert merged_run.list_left_out(merged_run.merge_run("paper")).empty


def test_cells_that_a_profile_no_longer_has_are_read_and_counted_as_beyond_it(
    house: Path, home: Path
):
    run_smoke_cells("bookstore")
    before = merged_run.merge_run("smoke").means["process"]
    apart = before == "apart"
    assert 0 < apart.sum() < len(before)
    grids = home / "papermill_params" / "bookstore.yaml"
    excluded = '  smoke:\n    exclude:\n      - {when: {process: apart}, why: "not today"}\n'
    grids.write_text(grids.read_text().replace("  smoke:\n", excluded))
    merged = merged_run.merge_run("smoke")
    assert list(merged.means["process"]) == list(before)
    assert merged.beyond > 0
    assert f"{format_count(merged.beyond, 'finished cell')} beyond" in text.describe_cells(merged)


def test_unfinished_cells_have_one_row_per_reason_with_their_levels(home: Path):
    merged = merged_run.merge_run("decide")
    table = merged_run.list_unfinished(merged)
    assert table["Cells"].sum() == len(merged.cells) and len(table) < 50
    why = "a minute and a half per cell: scenario 1 is shown in the paper's language"
    (row,) = table[(table["Study"] == "tcp") & (table["Why"] == why)].to_dict("records")
    assert row["State"] == "skipped"
    assert {"language: python", "n: 1,000,000"} <= set(row["Which"].split("; "))


def test_text_in_tables_is_escaped():
    frame = pd.DataFrame(
        {"Why": ["<script>alert(1)</script>"], "n, published": ["1 *"], "n, here": ["2 [1, 3]"]}
    )
    html = tables.render_table(frame, notes=["c & d"], fold="<i>e</i>").data
    assert "<script>" not in html
    assert all(text in html for text in ("c &amp; d", "&lt;i&gt;e&lt;/i&gt;"))
    assert '<th colspan="2" class="group" scope="colgroup">n</th>' in html


def test_texts_of_results_are_escaped_wherever_they_are_shown(tmp_path: Path):
    hostile = '"><script>alert(1)</script>'
    tested = Analysis(constructed.observations(("bookstore",))).t_tests
    tested = tested.assign(
        **dict.fromkeys(("claim", "a", "b", "label", "stands", "verdict"), hostile)
    )
    check = dict.fromkeys(("says", "where", "printed", "kind"), hostile) | {
        "recomputed": 1.0,
        "tolerance": 0.5,
    }
    about = {
        "title": hostile,
        "result": hostile,
        "after": hostile,
        "notes": [hostile],
        "profile": hostile,
        "reference": False,
        "measured": [hostile],
        "blocks": [0],
        "drawn_by": hostile,
    }
    (tmp_path / "verdicts.json").write_text(
        json.dumps(about | {"host_cpu": hostile, "measured_by": hostile})
    )
    (tmp_path / "verdicts.csv").write_text(
        "panel,level,series,source,value,low,high,blocks,unit\n"
        f'"",{hostile.replace(chr(34), "")},x,here,1,,,5,ms\n'
    )
    (tmp_path / "verdicts.svg").write_text("<svg/>")
    for shown in (
        tables.render_t_tests(tested),
        sections.render_findings([findings.PaperFinding(*[hostile] * 7)]),
        sections.render_checks(pd.DataFrame([check | {"agrees": True}])),
        sections.render_exhibit(tmp_path, "verdicts"),
    ):
        document = lxml.html.fragment_fromstring(shown.data, create_parent="div")
        assert not document.xpath("//script[not(@type='application/json')]")
        assert "<script>" in document.text_content() + "".join(document.xpath("//@aria-label"))


def test_a_caption_names_two_suites_and_counts_more():
    one, two, three = (f"benchbook 0.1.0 ({commit})" for commit in ("a1", "b2", "c3"))
    assert describe_suites(f"{one}, {two}") == f"{one}, {two}"
    assert describe_suites(f"{one}, {two}, {three}") == "benchbook 0.1.0 (3 commits)"
    assert describe_suites("not recorded") == "by a benchbook not recorded"
