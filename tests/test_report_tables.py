"""Tables and sentences of the report: claims, t-tests, A/A checks, findings and checks."""

import json
import re
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import lxml.html
import nbformat
import pandas as pd
import pytest

import constructed
from benchbook.analysis import Analysis, Counts
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import Run
from benchbook.analysis.t_tests import t_tests
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.papers import recomputed
from benchbook.plots.claim_lines import count_verdicts
from benchbook.report import builder, long_tables, show, words
from benchbook.report.long_tables import FIRST, PAGED_FROM
from benchbook.studies import SLUGS
from browsers import Watched, needs_browser, started

HOLDS = ClaimVerdict(
    id="crud.one",
    study="crud",
    says="A takes <longer> than B.",
    where="Table II",
    claimed="more",
    verdict="holds",
    words="2 of 3 for, 1 not run",
    language="python",
    others="java: undecided (0 of 1 for, 1 open)",
    headline="a against b, n=1000",
    estimate=2.0,
    low=1.5,
    high=2.7,
    smallest=1.2,
    largest=2.0,
    blocks=8,
    machine_days=1,
    published=1.2,
    size="larger",
    why="<b> did not run",
)
NOT_RUN = ClaimVerdict(
    "crud.two", "crud", "C is fast.", "abstract", "less", "not run", "0 of 1 for, 1 not run", why="no C"
)


NOTHING = Comparison.frame([])


def shown_claims(*verdicts: ClaimVerdict, compared: pd.DataFrame = NOTHING, **about: object) -> lxml.html.HtmlElement:
    """Return what is shown of some claims."""
    shown = show.claims(ClaimVerdict.frame(verdicts), compared, **about).data
    return lxml.html.fragment_fromstring(shown, create_parent="div")


def apart(claim: ClaimVerdict, reason: str) -> Comparison:
    """Return a comparison of a claim that is not comparable."""
    return Comparison(
        study=claim.study, name=claim.id, language=claim.language, operation="", role="", metric="", unit="", a="A",
        b="B", label="", settings={}, n=None, stands="not comparable", reason=reason,
    )  # fmt: skip


def test_a_claim_has_one_line_and_folds_the_rest():
    (row,) = shown_claims(HOLDS).xpath("//tr[@id='crud.one']")
    verdict, _, _, here, printed, measured = (cell.text_content().strip() for cell in row)
    assert verdict == "holds 2 of 3 for, 1 not run"
    assert (
        here == "2.0 (1.5 to 2.7)" and printed == "printed 1.20 here larger" and measured == "8 blocks, 1 machine-day"
    )
    (fold,) = row.xpath(".//details")
    assert fold.find("summary").text_content().strip() == "A takes <longer> than B"
    folded = fold.text_content()
    assert all(part in folded for part in ("1.20 to 2.00", "Table II", "java: undecided (0 of 1 for, 1 open)"))
    (link,) = fold.xpath(".//a")
    assert (link.get("href"), link.get("data-filter")) == ("#t-tests", HOLDS.id)


def test_claims_stand_by_verdict_where_a_number_of_does_it_hold_leads():
    mixed = replace(HOLDS, id="crud.four", verdict="mixed")
    document = shown_claims(mixed, HOLDS, NOT_RUN)
    assert document.xpath("//tbody/@id") == ["crud-holds", "crud-mixed"]
    chips = {link.text: link.get("href") for link in document.xpath("//p[@id='crud-claims']/a")}
    assert chips == {
        "All 3": "#crud-claims",
        "holds 1": "#crud-holds",
        "mixed 1": "#crud-mixed",
        "not run 1": "#crud-not-run",
    }
    assert {href[1:] for href in chips.values()} <= set(document.xpath("//@id"))


def test_claims_that_are_not_judged_are_folded_and_each_reason_stands_once():
    two, three = (replace(HOLDS, id=f"crud.{name}", verdict="not comparable") for name in ("two", "three"))
    unable = replace(NOT_RUN, id="crud.five")
    compared = Comparison.frame([apart(two, "another <disk>; a disk"), apart(three, "another <disk>; a disk")])
    document = shown_claims(HOLDS, two, three, unable, compared=compared)
    summaries = [fold.find("summary").text for fold in document.xpath("./details")]
    assert summaries[:2] == ["not comparable: 2 claims", "not run: 1 claim"] and summaries[2].startswith("1 note")
    assert document.text_content().count("another <disk>; a disk") == 1
    for claim in (two, three):
        (line,) = document.xpath(f"//li[@id='{claim.id}']")
        assert "Here 2.0 (1.5 to 2.7), printed 1.20" in line.text_content()
        assert line.xpath("./a/@href") == ["#crud-note-1"]
    assert "no C" in document.xpath("//li[@id='crud.five']")[0].text_content()
    assert "judges none of the 1 claims" in shown_claims(NOT_RUN).text_content()


def test_a_noisy_claim_shows_its_ratio_hollow_and_is_counted_apart():
    noisy = replace(
        HOLDS, verdict="undecided", words="0 of 2 for, 2 open", estimate=nan, low=nan, high=nan, smallest=nan,
        largest=nan, blocks=0, for_=0, open=2, noisy=2, noisy_estimate=3.21,
    )  # fmt: skip
    document = shown_claims(noisy)
    (row,) = document.xpath("//tr[@id='crud.one']")
    assert row[3].text_content().strip() == "3.21" and row[5].text_content() == "noisy: no verdict"
    assert row.find_class("hollow") and "1 of the undecided only noisy" in document.text_content()
    table = count_verdicts(ClaimVerdict.frame([noisy, NOT_RUN]), ["crud"]).set_index("study")
    assert table.loc["crud", ["undecided", "noisy", "not run"]].tolist() == [1, 1, 1]


def test_the_reference_run_stands_beside_another_run_only():
    assert "reference run" not in shown_claims(HOLDS, NOT_RUN).text_content()
    shown = shown_claims(HOLDS, NOT_RUN, reference=ClaimVerdict.frame([replace(HOLDS, verdict="mixed"), NOT_RUN]))
    assert [row[-1].text_content() for row in shown.xpath("//tbody/tr")] == [
        "8 blocks, 1 machine-dayreference run: mixed"
    ]


def test_does_it_hold_has_a_line_per_study_and_links_to_what_ran():
    analysis = Analysis.of(constructed.observations(("bookstore",)))
    document = lxml.html.fragment_fromstring(show.does_it_hold(analysis).data, create_parent="div")
    names = [row[0].text for row in document.xpath("//tbody/tr")]
    assert names == [*SLUGS, "all"]
    links = document.xpath("//tbody//a")
    assert links and all(link.get("href").startswith("#bookstore-") for link in links)
    counts = Counts.of(analysis.verdicts[analysis.verdicts["study"] == "bookstore"])
    shown = {link.get("href").removeprefix("#bookstore-"): int(link.text) for link in links}
    said = {name.replace(" ", "-"): count for name, count in counts.by_verdict.items() if count}
    assert shown == {"claims": counts.claims, **said}


def test_what_fails_is_a_sentence_per_claim_and_a_line_on_the_papers_own_numbers():
    document = lxml.html.fragment_fromstring(show.what_fails(Run.of_reference().analysis).data, create_parent="div")
    failed = [line.text_content() for line in document.xpath("//ul[@class='failed']/li")]
    assert len(failed) == 2 and all("printed" in line and "Here" in line for line in failed)
    checks = recomputed.checks()
    wanted = f"{(~checks['agrees'].astype(bool)).sum()} of {len(checks)} disagree"
    (line,) = document.xpath("//p[@class='own']")
    assert wanted in line.text_content() and line.xpath("./a/@href")[0] == "#bookstore-own"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.5, inf, "2.0 (1.5 or more)"),
        (1e-9, 1e12, "2.0 (< 0.001 to > 1,000)"),
        (0.0, 999.0, "2.0 (999.0 or less)"),
        (nan, nan, "2.00"),
    ],
)
def test_ends_far_out_are_not_printed_in_digits(low: float, high: float, said: str):
    row = shown_claims(replace(HOLDS, low=low, high=high)).xpath("//td[contains(@class, 'here')]")[0]
    assert said in row.text_content()


def test_a_difference_has_its_unit_and_sign():
    row = replace(HOLDS, kind="difference", unit="KB", estimate=2000.0, low=1500.0, high=2500.0)
    assert "+2.0 (+1.5 to +2.5) MB" in shown_claims(row).text_content()


def test_the_sentence_of_verdicts_counts_them():
    table = ClaimVerdict.frame([HOLDS, NOT_RUN, replace(HOLDS, verdict="undecided")])
    said = words.verdicts(table)
    assert said == "**1 of 3 claims are decided.** 3 claims: holds 1, undecided 1, not run 1."


def test_a_a_checks_that_differ_are_named_with_their_chance():
    first = constructed.observations(("bookstore",))
    second = first.assign(arm="b", cell_arm="b", cell_id=first["cell_id"] + "b")
    slow = second.assign(value=second["value"].where(second["metric"] != "wall_time", second["value"] * 1.5))
    checks = Analysis.of(pd.concat([first, slow])).aa
    assert "differed in 1 of " in words.aa(checks) and ": bookstore (time, Python).**" in words.aa(checks)
    assert "by chance" in words.aa(checks)
    assert "agreed in all " in words.aa(Analysis.of(pd.concat([first, second])).aa)
    assert "we do not know how steady" in words.aa(Analysis.of(first).aa)
    assert "bookstore" in show.aa(checks).data


def test_noisy_cells_are_counted():
    cells = pd.DataFrame({"load": [0.0, 0.9, nan], "noisy": [False, True, False]})
    assert "**1 of 2 cells were noisy**: they are left out" in words.noise(cells)
    assert words.noise(cells.iloc[2:]) == "The load of other programs was not measured."


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the t-tests of the reference run."""
    return t_tests(Run.of_reference().analysis)


def test_t_tests_are_one_table_with_a_row_per_comparison(table: pd.DataFrame):
    document = lxml.html.fragment_fromstring(show.tests(table).data, create_parent="div")
    (shown,) = document.iter("table")
    assert len(shown.xpath("./tbody/tr")) == FIRST
    (paged,) = document.xpath("//script[@type='application/json']")
    rows = json.loads(paged.text)
    assert len(rows) == len(table)
    labels = [(row[1], row[2]) for row in rows]
    assert len({*labels}) == len(labels)
    differ = (table["p_holm"] < 0.01).sum()
    assert words.tests(table).startswith(f"**{len(table):,} comparisons were tested; {differ} differ**")


def test_a_short_table_stands_whole_in_the_page_and_a_long_one_is_paged():
    for rows, paged in ((PAGED_FROM, False), (PAGED_FROM + 1, True)):
        html = show.frame(pd.DataFrame({"Case": ["</script><b>"] * rows, "Time": range(rows)})).data
        document = lxml.html.fragment_fromstring(html, create_parent="div")
        assert len(document.xpath("//tbody/tr")) == (FIRST if paged else rows)
        assert len(document.xpath("//table[contains(@class, 'paged')]")) == paged
        assert not document.xpath("//b")
        for script in document.xpath("//script"):
            assert json.loads(script.text)[-1] == ["&lt;/script&gt;&lt;b&gt;", str(rows - 1)]


def test_a_notebook_is_given_the_library_of_tables_with_a_long_table_only(monkeypatch: pytest.MonkeyPatch):
    given: list[object] = []
    monkeypatch.setattr(long_tables, "display", given.append)
    for rows in (PAGED_FROM, PAGED_FROM + 1):
        show.frame(pd.DataFrame({"Time": range(rows)}))._ipython_display_()
    assert [type(one).__name__ for one in given] == ["HTML", "HTML", "Javascript"]
    assert "window.DataTable = " in given[-1].data


def test_without_five_blocks_nothing_is_tested():
    few = t_tests(Analysis.of(constructed.observations(("bookstore",), blocks=4)))
    assert few.empty and show.tests(few).data == ""
    assert words.tests(few) == "Nothing was tested: a test takes five blocks of both sides."


@needs_browser
def test_the_table_of_t_tests_is_sorted_and_filtered_in_a_browser(table: pd.DataFrame, tmp_path: Path):
    analysis = Run.of_reference().analysis
    claims = analysis.verdicts[analysis.verdicts["study"] == "tcp"]
    notebook = notebook_of(show.tests(table).data, show.claims(claims, analysis.comparisons).data)
    nbformat.write(notebook, tmp_path / "page.ipynb")
    page = tmp_path / "page.html"
    page.write_text(builder.html(tmp_path / "page.ipynb", "tests"), encoding="utf-8")
    with started() as browser:
        watched = Watched(browser, "file:", "data:")
        watched.page.goto(f"{page.as_uri()}#t-tests")
        info = watched.page.locator(".dt-info")
        column = watched.page.locator("table.tests tbody td:nth-child(7)")
        assert info.inner_text() == f"1 to 15 of {len(table)} rows"

        # By study, by number, by words.
        of_study = (table["study"] == "tcp").sum()
        watched.page.get_by_role("combobox", name="Study").select_option("tcp")
        assert f"of {of_study} rows" in info.inner_text()
        watched.page.locator("th", has_text="p (Holm)").click()
        watched.page.locator("th").get_by_text("t", exact=True).click()
        found = [float(text.replace(",", "")) for text in column.all_inner_texts() if text[-1].isdigit()]
        assert found == sorted(found) and len({*found}) > 3
        assert watched.page.locator("th[aria-sort=ascending]").inner_text().strip().startswith("t")
        watched.page.get_by_role("searchbox").fill("xmldecoder java")
        assert 0 < int(re.search(r"of (\d+) rows", info.inner_text())[1]) < of_study

        # The rows that are left are a file on a click.
        with watched.page.expect_download() as download:
            watched.page.get_by_text("these rows as CSV").click()
        lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + int(re.search(r"of (\d+) rows", info.inner_text())[1])

        # A verdict's counts lead to the comparisons of its claim, whatever was chosen before.
        watched.page.goto(f"{page.as_uri()}#tcp")
        watched.page.locator("[id='tcp.scenario-2.xml-slower'] summary").click()
        watched.page.locator("[data-filter='tcp.scenario-2.xml-slower']").click()
        assert f"of {(table['claim'] == 'tcp.scenario-2.xml-slower').sum()} rows" in info.inner_text()
        assert watched.page.get_by_role("combobox", name="Study").input_value() == ""

        # A link to a claim opens the fold that it lies in.
        fold = watched.page.locator("details.rest:has(> ul li[id])").last
        folded = watched.page.locator("details.rest > ul li[id]").last.get_attribute("id")
        watched.page.goto(f"{page.as_uri()}#{folded}")
        assert fold.get_attribute("open") is not None
        assert watched.page.locator(f"[id='{folded}']").is_visible()

        # A number of "Does it hold?" leaves the claims of its verdict alone.
        watched.page.goto(f"{page.as_uri()}#tcp-holds")
        assert watched.page.locator(".lines tbody:visible").evaluate_all("all => all.map(one => one.id)") == [
            "tcp-holds"
        ]
        assert watched.complaints == [] and watched.faults() == []


def notebook_of(tests: str, claims: str) -> nbformat.NotebookNode:
    """Return a notebook with the t-tests and the claims of tcp, a page each."""
    notebook = nbformat.v4.new_notebook()
    for title, shown in (("# All", ""), ("## t-tests: all", tests), ("## tcp: objects", claims)):
        notebook.cells.append(nbformat.v4.new_markdown_cell(title))
        output = nbformat.v4.new_output("display_data", {"text/html": shown})
        notebook.cells.append(nbformat.v4.new_code_cell(outputs=[output]))
    return notebook


def test_cards_hold_each_finding_and_how_to_get_it():
    found = recomputed.findings("tcp")
    document = lxml.html.fragment_fromstring(show.findings(found).data, create_parent="div")
    assert [card.get("id") for card in document.xpath("//section")] == [one.name for one in found]
    first = document.xpath("//section")[0].text_content()
    assert all(part in first for part in (found[0].as_printed, found[0].recomputed, found[0].why, found[0].kind))
    assert f'recomputed.finding("{found[0].name}")' in first


def test_checks_that_disagree_stand_open_and_those_that_agree_are_folded():
    checks = recomputed.checks("tcp")
    document = lxml.html.fragment_fromstring(show.checks(checks).data, create_parent="div")
    folded = document.xpath("//details//tbody/tr")
    assert len(folded) == checks["agrees"].sum()
    assert len(document.xpath("//tbody/tr")) == len(checks)
    assert "75.77 minutes" in document.xpath("./figure")[0].text_content()


def test_the_sentence_of_recomputations_has_the_counts():
    checks, found = recomputed.checks(), recomputed.findings()
    said = words.recomputations(recomputed.tally(checks), recomputed.coverage(), found)
    assert f"**{len(checks)} numbers, bounds and orderings were recomputed: {checks['agrees'].sum()} agree" in said
    assert f"**{len(found)} findings**" in said
