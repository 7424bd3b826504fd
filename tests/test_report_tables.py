"""Tables and sentences of the report: claims, t-tests, A/A checks, findings and checks."""

from dataclasses import replace
from math import inf, nan
from pathlib import Path

import lxml.html
import nbformat
import pandas as pd
import pytest

import constructed
from benchbook.analysis import Analysis
from benchbook.analysis.runs import Run
from benchbook.analysis.t_tests import t_tests
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.papers import recomputed
from benchbook.report import builder, show, words
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


def shown_claims(*verdicts: ClaimVerdict, **about: object) -> lxml.html.HtmlElement:
    """Return the table of some claims."""
    shown = show.claims(ClaimVerdict.frame(verdicts), **about).data
    return lxml.html.fragment_fromstring(shown, create_parent="div")


def test_a_claim_has_one_row_with_its_verdict_counts_ratio_and_what_is_printed():
    (row,) = shown_claims(HOLDS).xpath("//tr[@id='crud.one']")
    claim, verdict, here, printed, blocks = (cell.text_content() for cell in row)
    assert "A takes <longer> than B." in claim
    assert verdict.startswith("holds\n") and "java: undecided (0 of 1 for, 1 open)" in verdict
    assert "2.0 (1.5 to 2.7)" in here and "a against b, n=1000" in here and "all: 1.20 to 2.00" in here
    assert printed == "1.20here larger" and blocks == "81 day"
    (link,) = row.xpath(".//a")
    assert (link.text, link.get("href"), link.get("data-filter")) == (HOLDS.words, "#t-tests", HOLDS.id)
    (reason,) = row.xpath(".//details")
    assert "<b> did not run" in reason.text_content()


def test_claims_that_are_not_judged_stand_below_with_their_reason():
    compared = replace(HOLDS, id="crud.three", verdict="not comparable", why="another disk")
    document = shown_claims(HOLDS, NOT_RUN, compared)
    (fold,) = document.xpath("./details")
    assert fold.find("summary").text == "2 claims not comparable or not run, and why"
    two, three = (row.text_content() for row in fold.xpath(".//tbody/tr"))
    assert "no C" in two and "another disk" in three and "2.0 (1.5 to 2.7)" in three
    assert "None of this paper's claims could be judged" in shown_claims(NOT_RUN).text_content()


def test_the_reference_run_stands_beside_another_run_only():
    assert "Reference run" not in shown_claims(HOLDS, NOT_RUN).text_content()
    shown = shown_claims(HOLDS, NOT_RUN, reference=ClaimVerdict.frame([replace(HOLDS, verdict="mixed"), NOT_RUN]))
    assert [row[-1].text_content() for row in shown.xpath("//tbody/tr")] == ["mixed", "not run"]


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
    parameters = first["parameters"].str.replace('"arm": "a"', '"arm": "b"')
    second = first.assign(arm="b", cell_id=first["cell_id"] + "b", parameters=parameters)
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
    assert len(shown.xpath("./tbody/tr")) == len(table)
    labels = [tuple(cell.text_content() for cell in row[1:3]) for row in shown.xpath("./tbody/tr")]
    assert len({*labels}) == len(labels)
    differ = (table["p_holm"] < 0.01).sum()
    assert words.tests(table).startswith(f"**{len(table):,} comparisons were tested; {differ} differ**")


def test_without_five_blocks_nothing_is_tested():
    few = t_tests(Analysis.of(constructed.observations(("bookstore",), blocks=4)))
    assert few.empty and show.tests(few).data == ""
    assert words.tests(few) == "Nothing was tested: a test takes five blocks of both sides."


@needs_browser
def test_the_table_of_t_tests_is_sorted_and_filtered_in_a_browser(table: pd.DataFrame, tmp_path: Path):
    analysis = Run.of_reference().analysis
    claims = analysis.verdicts[analysis.verdicts["study"] == "tcp"]
    notebook = notebook_of(show.tests(table).data, show.claims(claims).data)
    nbformat.write(notebook, tmp_path / "page.ipynb")
    page = tmp_path / "page.html"
    page.write_text(builder.html(tmp_path / "page.ipynb", "tests"), encoding="utf-8")
    with started() as browser:
        watched = Watched(browser, "file:", "data:")
        watched.page.goto(f"{page.as_uri()}#t-tests")
        rows = watched.page.locator("table.tests tbody tr:visible")
        column = watched.page.locator("table.tests tbody tr:visible td:nth-child(7)")

        watched.page.get_by_label("Study").select_option("tcp")
        assert rows.count() == (table["study"] == "tcp").sum()
        watched.page.get_by_role("button", name="t", exact=True).click()
        found = [float(text.replace(",", "")) for text in column.all_inner_texts() if text[-1].isdigit()]
        assert found == sorted(found) and len({*found}) > 3

        watched.page.get_by_label("Filter").first.fill("xmldecoder java")
        assert 0 < rows.count() < (table["study"] == "tcp").sum()
        assert f"{rows.count()} of {len(table)}" in watched.page.locator(".filter:visible").inner_text()

        # A verdict's counts lead to the comparisons of its claim.
        watched.page.goto(f"{page.as_uri()}#tcp")
        watched.page.locator("[data-filter='tcp.scenario-2.xml-slower']").click()
        assert rows.count() == (table["claim"] == "tcp.scenario-2.xml-slower").sum()
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
