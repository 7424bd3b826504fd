"""Tables and sentences of the report: claims, t-tests, A/A checks, findings and checks."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import lxml.html
import nbformat
import pandas as pd
import pytest

import constructed
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict, VerdictCounts
from benchbook.papers import findings
from benchbook.plots.claim_lines import count_verdicts, list_failed, write_line
from benchbook.report import build, sections, tables
from benchbook.report.tables import MAX_WHOLE_ROWS, PagedTable
from benchbook.report.text import (
    describe_aa_checks,
    describe_noise,
    describe_recomputations,
    describe_t_tests,
    write_counts,
)
from benchbook.studies.catalogue import SLUGS
from browser import WatchedPage, needs_browser, start_browser

HOLDS = ClaimVerdict(
    id="crud.one",
    study="crud",
    says="A takes <longer> than B.",
    where="Table II",
    claimed="more",
    verdict="holds",
    words="2 of 3 for, 1 not run",
    language="python",
    others="Java: undecided (0 of 1 for, 1 open)",
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
    "crud.two",
    "crud",
    "C is fast.",
    "abstract",
    "less",
    "not run",
    "0 of 1 for, 1 not run",
    why="no C",
)


def shown_claims(
    *verdicts: ClaimVerdict, compared: Sequence[Comparison] = (), **about: object
) -> lxml.html.HtmlElement:
    """Return the table of some claims."""
    shown = sections.render_claims(verdicts, compared, **about).data
    return lxml.html.fragment_fromstring(shown, create_parent="div")


def make_not_comparable(claim: ClaimVerdict, reason: str) -> Comparison:
    """Return a comparison of a claim that is not comparable."""
    empty = dict.fromkeys(("operation", "role", "metric", "unit", "label"), "")
    return Comparison(
        study=claim.study,
        name=claim.id,
        language=claim.language,
        a="A",
        b="B",
        settings={},
        n=None,
        stands="not comparable",
        reason=reason,
        **empty,
    )


def test_a_claim_has_one_line_and_folds_the_rest():
    (row,) = shown_claims(HOLDS).xpath("//tr[@id='crud.one']")
    verdict, _, _, here, printed, measured = (cell.text_content().strip() for cell in row)
    assert verdict == "holds 2 of 3 for, 1 not run"
    assert (
        here == "2.0 (1.5 to 2.7)"
        and printed == "from the paper's numbers: 1.20 ours is larger"
        and measured == "8 blocks of 1 machine-day"
    )
    (fold,) = row.xpath(".//details")
    assert fold.find("summary").text_content().strip() == "A takes <longer> than B"
    folded = fold.text_content()
    assert all(
        part in folded
        for part in ("1.20 to 2.00", "Table II", "Java: undecided (0 of 1 for, 1 open)")
    )
    link, address = fold.xpath(".//a")
    assert (link.get("href"), link.get("data-filter")) == ("#t-tests", HOLDS.id)
    assert address.get("href") == f"#{HOLDS.id}"


def test_claims_are_grouped_by_verdict_and_counts_link_to_the_groups():
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


def test_a_sentence_counts_the_decided_claims(committed: Analysis):
    said = write_counts(committed.verdicts, "the reference run")
    held, claims, failed, mixed, *rest = (int(part) for part in re.findall(r"\d+", said))
    counts = Counter(claim.verdict for claim in committed.verdicts)
    assert (held, failed) == (counts["holds"] + counts["mostly holds"], counts["does not hold"])
    assert mixed == counts["mixed"]
    assert held + failed + mixed + sum(rest) == claims == len(committed.verdicts)
    assert said.endswith(f"Undecided: {rest[0]}; not comparable: {rest[1]}; not run: {rest[2]}.")
    few = write_counts([HOLDS, replace(HOLDS, verdict="mixed"), NOT_RUN], "this quick run")
    assert few.startswith(
        "In this quick run 1 of the papers' 3 claims hold or mostly hold, and 1 is mixed. "
    )
    assert few.endswith("Undecided: 0; not comparable: 0; not run: 1.")


def test_the_scale_is_headed_by_a_ratio_that_is_drawn_on_it():
    ratio = replace(HOLDS, a="A", b="B", kind="ratio")
    more = {"kind": "difference", "unit": "MB"}
    differences = [replace(ratio, id=f"crud.{place}", **more) for place in "abc"]
    head = shown_claims(ratio, *differences).find(".//thead").text_content()
    assert "A / B" in head and "A − B" not in head


def test_claims_that_are_not_judged_are_folded_and_share_their_notes():
    two, three = (
        replace(HOLDS, id=f"crud.{name}", verdict="not comparable") for name in ("two", "three")
    )
    unable = replace(NOT_RUN, id="crud.five")
    compared = [
        make_not_comparable(two, "another <disk>; a disk"),
        make_not_comparable(three, "another <disk>; a disk"),
    ]
    document = shown_claims(HOLDS, two, three, unable, compared=compared)
    summaries = [fold.find("summary").text for fold in document.xpath("./details[@class='rest']")]
    assert summaries[:2] == ["not comparable: 2 claims", "not run: 1 claim"] and summaries[
        2
    ].startswith("1 note")
    assert document.text_content().count("another <disk>; a disk") == 1
    for claim in (two, three):
        (line,) = document.xpath(f"//li[@id='{claim.id}']")
        assert "Here 2.0 (1.5 to 2.7), from the paper's numbers: 1.20" in line.text_content()
        assert line.xpath("./a/@href") == ["#crud-note-1"]
    assert "no C" in document.xpath("//li[@id='crud.five']")[0].text_content()
    assert "judges none of the 1 claims" in shown_claims(NOT_RUN).text_content()


def test_a_noisy_claim_has_a_hollow_mark_and_its_own_count():
    missing = dict.fromkeys(("estimate", "low", "high", "smallest", "largest"), nan)
    counts = {"blocks": 0, "for_": 0, "open": 2, "noisy": 2}
    noisy = replace(
        HOLDS,
        verdict="undecided",
        words="0 of 2 for, 2 open",
        noisy_estimate=3.21,
        **missing,
        **counts,
    )
    document = shown_claims(noisy)
    (row,) = document.xpath("//tr[@id='crud.one']")
    assert row[3].text_content().strip() == "3.21" and row[5].text_content() == "noisy: no verdict"
    assert row.find_class("hollow") and "1 of the undecided only noisy" in document.text_content()
    table = count_verdicts([noisy, NOT_RUN], ["crud"]).set_index("study")
    assert table.loc["crud", ["undecided", "noisy", "not run"]].tolist() == [1, 1, 1]


def test_undecided_claims_without_an_interval_are_folded_and_the_counts_lead_to_them():
    early = replace(HOLDS, id="crud.early", verdict="undecided", low=nan, high=nan, blocks=2)
    late = replace(HOLDS, id="crud.late", verdict="undecided")
    for verdicts in ((HOLDS, early), (HOLDS, late, early), (early,)):
        document = shown_claims(*verdicts)
        (fold,) = document.xpath("//tr[@id='crud.early']/ancestor::details[@class='rest']")
        assert fold.find("summary").text.startswith("1 claim undecided: fewer than 5 blocks")
        assert not document.xpath("//details[@class='rest']//tr[@id='crud.late' or @id='crud.one']")
        assert len(document.xpath("//*[@id='crud-undecided']")) == 1
        assert (fold.get("open") is None) == (HOLDS in verdicts)


def test_the_reference_run_is_shown_only_where_its_verdict_differs():
    assert "reference run" not in shown_claims(HOLDS, NOT_RUN).text_content()
    assert "reference run" not in shown_claims(HOLDS, reference=[HOLDS]).text_content()
    shown = shown_claims(HOLDS, NOT_RUN, reference=[replace(HOLDS, verdict="mixed"), NOT_RUN])
    assert [row[-1].text_content() for row in shown.xpath("//tbody/tr")] == [
        "8 blocks of 1 machine-dayreference run: mixed"
    ]


def test_counts_of_verdicts_have_a_line_per_study_and_link_to_what_ran():
    analysis = Analysis(constructed.observations(("bookstore",)))
    document = lxml.html.fragment_fromstring(
        sections.render_verdict_counts(analysis).data, create_parent="div"
    )
    names = [row[0].text for row in document.xpath("//tbody/tr")]
    assert names == [*SLUGS, "all"]
    links = document.xpath("//tbody//a")
    assert links and all(link.get("href").startswith("#bookstore-") for link in links)
    counts = VerdictCounts.count(claim for claim in analysis.verdicts if claim.study == "bookstore")
    shown = {link.get("href").removeprefix("#bookstore-"): int(link.text) for link in links}
    said = {name.replace(" ", "-"): count for name, count in counts.by_verdict.items() if count}
    assert shown == {"claims": counts.claims, **said}


def test_each_failed_claim_is_a_sentence_and_the_papers_numbers_are_a_line(committed: Analysis):
    document = lxml.html.fragment_fromstring(
        sections.render_failures(committed).data, create_parent="div"
    )
    failed = [line.text_content() for line in document.xpath("//ul[@class='failed']/li")]
    claims = list_failed(committed.verdicts)
    for claim, line in zip(claims, failed, strict=True):
        assert "Here" in line and ("from the paper's" in line) == bool(write_line(claim).paper)
    checks = findings.load_checks()
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
def test_extreme_ends_of_an_interval_are_written_as_bounds(low: float, high: float, said: str):
    row = shown_claims(replace(HOLDS, low=low, high=high)).xpath("//td[contains(@class, 'here')]")[
        0
    ]
    assert said in row.text_content()


def test_a_difference_has_its_unit_and_sign():
    row = replace(HOLDS, kind="difference", unit="KB", estimate=2000.0, low=1500.0, high=2500.0)
    assert "+2.0 (+1.5 to +2.5) MB" in shown_claims(row).text_content()


def test_counts_of_verdicts_say_how_many_are_decided():
    counts = VerdictCounts.count([HOLDS, NOT_RUN, replace(HOLDS, verdict="undecided")])
    assert counts.decided == 1
    assert str(counts) == "3 claims: holds 1, undecided 1, not run 1"


def test_a_a_checks_that_differ_are_named_with_their_chance():
    first = constructed.observations(("bookstore",))
    second = first.assign(arm="b", cell_arm="b", cell_id=first["cell_id"] + "b")
    slow = second.assign(
        value=second["value"].where(second["metric"] != "wall_time", second["value"] * 1.5)
    )
    checks = Analysis(pd.concat([first, slow])).aa
    assert "differed in 1 of " in describe_aa_checks(
        checks
    ) and ": bookstore (time, Python).**" in describe_aa_checks(checks)
    assert "by chance" in describe_aa_checks(checks)
    assert "agreed in all " in describe_aa_checks(Analysis(pd.concat([first, second])).aa)
    assert "we do not know how steady" in describe_aa_checks(Analysis(first).aa)
    assert "bookstore" in tables.render_aa_checks(checks).data


def test_noisy_cells_are_counted():
    cells = pd.DataFrame({"load": [0.0, 0.9, nan], "noisy": [False, True, False]})
    assert "**1 of 2 cells were noisy**: they are left out" in describe_noise(cells)
    assert describe_noise(cells.iloc[2:]) == "The load of other programs was not measured."


@pytest.fixture(scope="module")
def table(committed: Analysis) -> pd.DataFrame:
    """Return the t-tests of the reference run."""
    return committed.t_tests


def test_t_tests_are_one_table_with_a_row_per_comparison(table: pd.DataFrame):
    document = lxml.html.fragment_fromstring(tables.render_t_tests(table).data, create_parent="div")
    (shown,) = document.iter("table")
    rows = shown.xpath("./tbody/tr")
    assert len(rows) == len(table)
    labels = [(row[1].text_content(), row[2].text_content()) for row in rows]
    assert len({*labels}) == len(labels)
    differ = (table["p_holm"] < 0.01).sum()
    assert describe_t_tests(table).startswith(
        f"**{len(table):,} comparisons were tested; {differ} differ**"
    )


def test_only_a_long_table_is_paged():
    for rows, paged in ((MAX_WHOLE_ROWS, False), (MAX_WHOLE_ROWS + 1, True)):
        html = tables.render_table(
            pd.DataFrame({"Case": ["</script><b>"] * rows, "Time": range(rows)})
        ).data
        document = lxml.html.fragment_fromstring(html, create_parent="div")
        shown = document.xpath("//tbody/tr")
        assert len(shown) == rows
        assert [cell.text for cell in shown[-1]] == ["</script><b>", str(rows - 1)]
        assert len(document.xpath("//table[contains(@class, 'paged')]")) == paged
        assert not document.xpath("//b | //script")


def test_a_notebook_gets_the_script_of_tables_only_with_a_long_table(
    monkeypatch: pytest.MonkeyPatch,
):
    given: list[object] = []
    monkeypatch.setattr(tables, "display", given.append)
    short, long = (
        tables.render_table(pd.DataFrame({"Time": range(rows)}))
        for rows in (MAX_WHOLE_ROWS, MAX_WHOLE_ROWS + 1)
    )
    assert not isinstance(short, PagedTable)
    long._ipython_display_()
    assert [type(one).__name__ for one in given] == ["HTML", "Javascript"]
    assert "window.DataTable = " in given[-1].data


def test_without_five_blocks_nothing_is_tested():
    few = Analysis(constructed.observations(("bookstore",), blocks=4)).t_tests
    assert few.empty and tables.render_t_tests(few).data == ""
    assert describe_t_tests(few) == "Nothing was tested: a test takes five blocks of both sides."


@needs_browser
def test_the_table_of_t_tests_is_sorted_and_filtered_in_a_browser(
    table: pd.DataFrame, committed: Analysis, tmp_path: Path
):
    claims = [claim for claim in committed.verdicts if claim.study == "tcp"]
    notebook = make_notebook(
        tables.render_t_tests(table).data,
        sections.render_claims(claims, committed.comparisons).data,
    )
    nbformat.write(notebook, tmp_path / "page.ipynb")
    page = tmp_path / "page.html"
    page.write_text(build.render_page(tmp_path / "page.ipynb", "tests"), encoding="utf-8")
    with start_browser() as browser:
        watched = WatchedPage(browser, "file:", "data:")
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
        found = [
            float(text.replace(",", "")) for text in column.all_inner_texts() if text[-1].isdigit()
        ]
        assert found == sorted(found) and len({*found}) > 3
        assert watched.page.locator("th[aria-sort=ascending]").inner_text().strip().startswith("t")
        watched.page.get_by_role("searchbox").fill("xmldecoder java")
        assert 0 < int(re.search(r"of (\d+) rows", info.inner_text())[1]) < of_study

        # The rows that are left are a file on a click.
        with watched.page.expect_download() as download:
            watched.page.get_by_text("these rows as CSV").click()
        lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
        assert not re.search(r"\d\(", "".join(lines)), "a ratio and its interval stay apart"
        assert len(lines) == 1 + int(re.search(r"of (\d+) rows", info.inner_text())[1])

        # A verdict's counts lead to the comparisons of its claim, whatever was chosen before.
        watched.page.goto(f"{page.as_uri()}#tcp")
        watched.page.locator("[id='tcp.scenario-2.xml-slower'] summary").click()
        watched.page.locator("[data-filter='tcp.scenario-2.xml-slower']").click()
        assert (
            f"of {(table['claim'] == 'tcp.scenario-2.xml-slower').sum()} rows" in info.inner_text()
        )
        assert watched.page.get_by_role("combobox", name="Study").input_value() == ""

        # A link to a claim opens the fold that it lies in.
        fold = watched.page.locator("details.rest:has([id])").last
        folded = fold.locator("[id]").last.get_attribute("id")
        watched.page.goto(f"{page.as_uri()}#{folded}")
        assert fold.get_attribute("open") is not None
        assert watched.page.locator(f"[id='{folded}']").is_visible()

        # A number of "Does it hold?" leaves the claims of its verdict alone.
        watched.page.goto(f"{page.as_uri()}#tcp-holds")
        assert watched.page.locator(".lines tbody:visible").evaluate_all(
            "all => all.map(one => one.id)"
        ) == ["tcp-holds"]
        assert watched.complaints == [] and watched.find_faults() == []


def make_notebook(tests: str, claims: str) -> nbformat.NotebookNode:
    """Return a notebook with the t-tests and the claims of tcp, a page each."""
    notebook = nbformat.v4.new_notebook()
    for title, shown in (("# All", ""), ("## t-tests: all", tests), ("## tcp: objects", claims)):
        notebook.cells.append(nbformat.v4.new_markdown_cell(title))
        output = nbformat.v4.new_output("display_data", {"text/html": shown})
        notebook.cells.append(nbformat.v4.new_code_cell(outputs=[output]))
    return notebook


def test_each_finding_has_a_card_with_its_name():
    found = findings.load_findings("tcp")
    document = lxml.html.fragment_fromstring(
        sections.render_findings(found).data, create_parent="div"
    )
    assert [card.get("id") for card in document.xpath("//section")] == [one.name for one in found]
    first = document.xpath("//section")[0].text_content()
    assert all(
        part in first
        for part in (found[0].as_printed, found[0].recomputed, found[0].why, found[0].kind)
    )
    assert first.endswith(f"{found[0].source}. {found[0].name}")


def test_checks_that_agree_are_folded():
    checks = findings.load_checks("tcp")
    document = lxml.html.fragment_fromstring(
        sections.render_checks(checks).data, create_parent="div"
    )
    folded = document.xpath("//details//tbody/tr")
    assert len(folded) == checks["agrees"].sum()
    assert len(document.xpath("//tbody/tr")) == len(checks)
    assert "75.77 minutes" in document.xpath("./figure")[0].text_content()


def test_the_sentence_about_recomputed_numbers_has_the_counts():
    checks, found = findings.load_checks(), findings.load_findings()
    said = describe_recomputations(findings.count_checks(checks), findings.load_coverage(), found)
    counts = f"were recomputed: {checks['agrees'].sum()} agree"
    assert f"**{len(checks)} numbers, bounds and orderings {counts}" in said
    assert f"**{len(found)} findings**" in said
