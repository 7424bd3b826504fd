"""The page of verdicts: what is drawn, counted and told of each claim, and the cards of what does not follow."""

from collections.abc import Mapping
from itertools import pairwise
from math import inf, log, nan
from types import MappingProxyType

import lxml.html
import pandas as pd
import pytest

import constructed
from benchbook import evidence
from benchbook.evidence import Evidence
from benchbook.evidence.judge import VERDICTS
from benchbook.papers import exhibits, recomputed
from benchbook.plots import verdicts
from benchbook.plots.exhibit import ClaimRow, ClaimSheet, Exhibit
from benchbook.plots.save import draw
from benchbook.plots.sheet import log_ticks
from benchbook.report import show, words
from benchbook.studies import SLUGS
from tools import reference

ROW = {
    "id": "crud.one", "study": "crud", "says": "A takes <longer> than B.", "where": "Table II", "compare": "ratio",
    "claimed": "more", "margin": 1.1, "host": "h", "lane": "python", "verdict": "reproduced",
    "products_judged": 0, "products": 0, "products_missing": "", "judged": 2, "contrasts": 3,
    "contrast": "n=1000", "ratio": 2.0, "low": 1.5, "high": inf, "published": 1.9,
    "common": "", "overall": 2.0, "overall_low": 1.5, "overall_high": inf, "overall_blocks": 8,
    "published_source": "Table II", "look": 2, "blocks": 8, "campaigns": 1, "open": "",
    "untrusted": False, "objected": False, "in_the_paper": "", "objections": "", "may_change": "",
    "typical": nan,
    "why": "2.0 (1.5 or more) in 8 blocks",
}  # fmt: skip

IN_PART = {
    "verdict": "reproduced in part", "wording": "reproduced among 2 of the 4 products", "products_judged": 2,
    "products": 4, "products_missing": "SQL Server and MySQL (tables) did not run",
}  # fmt: skip
ABSENT = [{"contrast": f"n={n}", "verdict": verdicts.NOT_TESTABLE, "why": "did not run"} for n in (1, 10)]


def table(*rows: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame([ROW | {"wording": row.get("verdict", ROW["verdict"])} | row for row in rows])


def outcomes(*rows: dict[str, object]) -> pd.DataFrame:
    return evidence.outcomes(table(*rows))


def page(found: pd.DataFrame, absent: pd.DataFrame, waits: Mapping[str, str] = MappingProxyType({})) -> str:
    return reference.page("quick", found, waits, ["Nothing differs."], absent)


@pytest.fixture(scope="module")
def judged() -> Evidence:
    return Evidence.of(constructed.observations(("bookstore", "tcp")))


def test_every_claim_that_could_be_judged_has_a_row_and_the_others_are_counted(judged):
    for study in ("bookstore", "tcp"):
        able = judged.outcomes[judged.outcomes["study"] == study]
        able = able[able["verdict"] != verdicts.NOT_TESTABLE]
        mine = exhibits.FIGURES[f"{study}_verdicts"](judged).frame
        assert set(mine["claim"]) == set(able["id"]) != set()
        here = mine[mine["source"] == "here"].set_index("claim")
        assert here["value"].to_dict() == pytest.approx(able.set_index("id")["ratio"].to_dict(), nan_ok=True)
    counts = exhibits.FIGURES["verdicts"](judged)
    assert counts.frame["value"].sum() == len(evidence.claims()) == len(judged.outcomes)
    assert any("not run in this profile: drivers, crud, replication" in note for note in counts.notes)


def test_the_sheets_of_a_study_have_each_claim_once():
    made = [name for name in exhibits.FIGURES if exhibits.VERDICTS.search(name)]
    for study in SLUGS:
        sheets = sum(name.startswith(f"{study}_") for name in made)
        assert -(-len(evidence.claims(study)) // sheets) <= 26, f"{study}: more than fit a page; give it another sheet"


def test_of_several_lanes_the_first_that_could_be_judged_counts():
    first = outcomes(
        {"lane": "java", "verdict": verdicts.NOT_TESTABLE},
        {"lane": "python", "verdict": "contradicted"},
        {"id": "crud.two", "lane": "java", "verdict": "inconclusive"},
        {"id": "crud.two", "lane": "python", "verdict": "contradicted"},
    )
    assert first.set_index("id")["verdict"].to_dict() == {"crud.one": "contradicted", "crud.two": "inconclusive"}
    assert [[other["lane"] for other in others] for others in first["others"]] == [["java"], ["python"]]
    assert verdicts.tallied(first).loc["crud"].sum() == len(first) == 2
    details = lxml.html.fragment_fromstring(show.claims(first, table({}).iloc[:0]).data, create_parent="div")
    assert "Python on h: contradicted, 2.0 (1.5 or more)" in details.text_content()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "decided at look 2 of 5 (8 blocks)"),
        ({"verdict": "inconclusive", "blocks": 20}, "open after 20 of 30 blocks"),
        ({"verdict": verdicts.NOT_TESTABLE, "open": "n=1000"}, "open: fewer than the 5 blocks of a first look"),
        ({"verdict": verdicts.NOT_TESTABLE}, ""),
    ],
)
def test_a_result_says_at_which_look_it_was_decided_or_that_it_is_open(row: dict[str, object], said: str):
    found = outcomes(row)
    assert found["stage"].tolist() == [said]
    assert said in page(found, pd.DataFrame())
    if row.get("verdict") != verdicts.NOT_TESTABLE:
        assert f"{said}; repeated 95 % interval; in Python" in show.claims(found, table({}).iloc[:0]).data


def test_a_claim_that_is_open_says_what_it_waits_for_and_what_the_reference_run_said():
    found = outcomes({"verdict": "inconclusive"}, {"id": "crud.two", "verdict": verdicts.NOT_TESTABLE, "why": "no"})
    waits = {"crud.one": "parked: so", "crud.two": "benchbook run crud --where n=1"}
    told = outcomes({}, {"id": "crud.two", "verdict": "contradicted"})
    shown = lxml.html.fragment_fromstring(
        show.claims(found, table({}).iloc[:0], waits, told).data, create_parent="div"
    ).text_content()
    assert all(text in shown for text in waits.values())
    assert "reference run: reproduced, 2.0 (1.5 or more), decided at look 2 of 5 (8 blocks)" in shown
    assert "contradicted, 2.0 (1.5 or more)" in shown
    assert all(text in page(found, pd.DataFrame(), waits) for text in waits.values())


@pytest.mark.parametrize(
    ("claimed", "than", "ends"),
    [
        ("more", 1.0, (1.1, inf)),
        ("less", 1.0, (0.0, 1 / 1.1)),
        ("equal", 1.0, (1 / 1.1, 1.1)),
        ("more", 2.0, (2.2, inf)),
        ("below 250 ms, here", 1.0, (0.0, 1 / 1.1)),
        ("above 10 %, here", 1.0, (1.1, inf)),
        ("between 30 and 40 MB, here", 1.0, (1 / 1.1, 1.1)),
        ("different", 1.0, (inf, inf)),
    ],
)
def test_the_tint_is_where_the_claim_puts_the_ratio(claimed, than, ends):
    assert verdicts.open_ended(claimed, 1.1, than) == pytest.approx(ends)
    assert verdicts.open_ended("first: mongodb", 1.1) == pytest.approx((1.1, inf))


def sheet(*rows: ClaimRow) -> Exhibit:
    return Exhibit("crud", pd.DataFrame(), ("said",), ClaimSheet(rows, "nothing"))


def test_a_mark_beyond_the_scale_is_an_arrow_and_what_has_no_ratio_has_none():
    far = ClaimRow("far", (1.1, inf), 5000.0, 4000.0, inf, 2.0, "reproduced", False)
    none = ClaimRow("none", (1.1, inf), nan, nan, nan, nan, "inconclusive", True)
    _, ratios, right = draw(sheet(far, none)).axes
    assert ">" in {line.get_marker() for line in ratios.lines}
    assert "inconclusive †" in {text.get_text() for text in right.texts}
    assert ratios.get_xlim()[1] < 5000


def test_every_verdict_has_its_mark_and_its_meaning():
    assert [*verdicts.LOOKS, verdicts.NOT_TESTABLE] == list(VERDICTS)
    assert [*words.MEANINGS, verdicts.NOT_TESTABLE] == list(VERDICTS)


def test_a_verdict_on_some_of_the_products_says_of_how_many_and_names_the_others():
    products = ("2 of 4 products", "look 1, 5 blocks")
    row = ClaimRow("so", (1.1, inf), 2.0, 1.5, 3.0, nan, "reproduced in part", False, *products)
    figure = draw(sheet(row))
    texts = [text for axes in figure.axes for text in axes.texts]
    assert {"reproduced in part", "2 of 4 products"} <= {line for text in texts for line in text.get_text().split("\n")}
    figure.draw_without_rendering()
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in texts)
    assert "reproduced in part" in {text.get_text() for text in figure.legends[0].get_texts()}
    rows = outcomes(IN_PART)
    document = lxml.html.fragment_fromstring(show.claims(rows, table({}, {})).data, create_parent="div")
    (cell,) = document.find_class("reproduced-in-part")
    assert cell.text_content() == IN_PART["wording"]
    assert document.xpath("//summary")[0].text_content() == f"2 contrasts: 2 reproduced; {IN_PART['products_missing']}"
    assert f"| {IN_PART['wording']} |" in page(rows, pd.DataFrame())
    both = outcomes(IN_PART, {"id": "crud.two"})
    assert "**1 reproduced** (" in words.verdicts(both)
    assert "**1 reproduced in part** (" in words.verdicts(both)
    assert words.study_verdicts(both) == "**2 claims**: 1 reproduced, 1 reproduced in part; 2 decided in one sitting."
    assert verdicts.tallied(both).loc["crud", ["reproduced", "reproduced in part"]].tolist() == [1, 1]


@pytest.mark.parametrize("gap", [0.1, 0.2, 0.35])
def test_ticks_hold_one_and_keep_apart(gap: float):
    for low, high in ((0.8, 1.2), (0.5, 3.0), (0.01, 300.0), (0.9, 60.0), (0.9, 1.35), (0.7, 1.6)):
        ticks = log_ticks(low, high, gap)
        assert 1.0 in ticks and len(ticks) > 1
        shares = [log(second / first) / log(high / low) for first, second in pairwise(ticks)]
        assert min(shares) >= gap


def test_a_table_of_claims_escapes_marks_and_folds():
    rows = outcomes(
        {"untrusted": True},
        {"id": "crud.two", "verdict": verdicts.NOT_TESTABLE, "why": "only one <ran>"},
    )
    contrasts = table({"contrast": "n=1000"}, {"contrast": "n=10000"}, *ABSENT)
    document = lxml.html.fragment_fromstring(show.claims(rows, contrasts).data, create_parent="div")
    text = document.text_content()
    assert "A takes <longer> than B." in text
    assert "reproduced †" in text
    assert "2.0 (1.5 or more)" in text
    assert "2 of 3" in text
    assert "only one <ran>" in text
    assert "2 contrasts: 2 reproduced; 2 more could not be judged" in text
    items = [item.text_content() for item in document.xpath("//details//li")]
    assert [item.partition(":")[0] for item in items] == ["n=1000", "n=10000", "did not run"]
    assert items[0].startswith("n=1000: reproduced, 2.0 (1.5 or more)")
    assert items[2].endswith("n=1; n=10")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.5, inf, "2.0 (1.5 or more)"),
        (1e-9, 1e12, "2.0 (< 0.001 to > 1,000)"),
        (0.0, 999.0, "2.0 (999.0 or less)"),
        (nan, nan, "2.00"),
    ],
)
def test_ends_far_out_are_not_printed_in_digits(low, high, said):
    document = lxml.html.fragment_fromstring(show.claims(outcomes({"low": low, "high": high}), table({}).iloc[:0]).data)
    assert said in document.xpath("//td[@class='here']")[0].text_content()


def test_nothing_judged_is_said_and_not_left_blank():
    rows = outcomes({"verdict": verdicts.NOT_TESTABLE, "why": "nothing of crud ran here"})
    assert "None of this paper's claims could be judged" in show.claims(rows, rows).data
    assert words.study_verdicts(rows) == "**1 claim**: 1 not testable here."


def test_without_any_result_every_page_stands_and_says_so():
    nothing = Evidence.of(constructed.observations(()))
    judged = nothing.outcomes
    assert set(judged["verdict"]) == {verdicts.NOT_TESTABLE}
    assert f"**{len(evidence.claims())} claims** that compare; **0 were decided**" in words.verdicts(judged)
    for name in ("verdicts", "tcp_verdicts", "drivers_verdicts_2"):
        exhibit = exhibits.FIGURES[name](nothing)
        assert draw(exhibit).axes
        assert any("not run in this profile" in note for note in exhibit.notes)
    assert "None of this paper's claims" in show.claims(judged[judged["study"] == "tcp"], table({})).data


def test_the_kept_page_has_a_line_a_claim_and_what_did_not_run():
    nothing = dict.fromkeys(("ratio", "low", "high", "published"), nan)
    unable = {"id": "crud.two", "lane": "", "verdict": verdicts.NOT_TESTABLE, "why": "only <one> ran"}
    rows = outcomes({"says": "A | B"}, nothing | unable)
    absent = pd.DataFrame(
        [["crud", "skipped", 3, "n: 1", "no <server>"]], columns=["Study", "State", "Cells", "Which", "Why"]
    )
    said = page(rows, absent).splitlines()
    assert "**2 claims**: 1 reproduced, 1 not testable here; 1 decided in one sitting." in said
    assert "- Nothing differs." in said
    when, why = "decided at look 2 of 5 (8 blocks)", "2.0 (1.5 or more) in 8 blocks"
    assert f"| A / B | reproduced | 2.0 (1.5 or more) | 1.90 | {when} | Python |" in said
    assert "| A takes <longer> than B. | not testable here |  |  |  |  |" in said
    assert f"- `crud.one`: {why}" in said and "- `crud.two`: only <one> ran" in said
    assert said[-3:] == [
        "| Study | State | Cells | Which | Why |",
        "|---|---|--:|---|---|",
        "| crud | skipped | 3 | n: 1 | no <server> |",
    ]
    assert "## What did not run" not in page(rows, absent.iloc[:0])


def test_sentences_count_what_the_verdicts_are():
    rows = outcomes(
        {}, {"id": "crud.two", "verdict": "contradicted", "untrusted": True}, {"id": "c", "verdict": "inconclusive"}
    )
    said = words.verdicts(rows)
    assert "**3 claims** that compare; **2 were decided**" in said
    assert verdicts.decided_of(rows) == "2 of 3 claims decided here (all of them in one sitting), 1 open"
    of_days = outcomes({"campaigns": 5, "blocks": 9}, {"id": "crud.two"})
    assert verdicts.decided_of(of_days) == "2 of 2 claims decided here (1 of them in one sitting), 0 open"
    assert "**2 were decided** by what ran here, 1 of them in one sitting. A sitting" in words.verdicts(of_days)
    assert list(of_days["stage"]) == [
        "decided at look 2 of 5 (5 campaigns, 9 blocks)",
        "decided at look 2 of 5 (8 blocks)",
    ]
    assert "**1 reproduced**" in said
    assert "**1 contradicted**" in said
    assert "**Untrusted: crud**" in said


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
