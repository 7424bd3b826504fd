"""Single numbers by their keys, as a manuscript quotes them."""

import math
import re

import pytest

from benchbook.papers import exhibits, numbers
from checkout import ROOT


def test_each_kind_of_number_has_its_key(committed, keyed):
    name = "bookstore.round-trip.xml-slower"
    (verdict,) = [verdict for verdict in committed.verdicts if verdict.id == name]
    claim = keyed[name]
    assert (claim.value, claim.low, claim.high) == (verdict.estimate, verdict.low, verdict.high)
    one = keyed[f"{name}.java.case-1.n-10000"]
    rows = [row for row in committed.comparisons if (row.name, row.language) == (name, "java")]
    (row,) = [row for row in rows if row.label == "case=1, n=10000"]
    assert (one.value, one.blocks) == (row.estimate, row.blocks)
    assert "case=1, n=10000, Java" in one.says and f"{one.blocks} blocks" in one.says
    theirs = keyed[f"{one.key}.published"].value
    printed = (keyed[f"bookstore.case-1-table.10000.{kind}-time"].value for kind in ("xml", "json"))
    assert theirs == pytest.approx(next(printed) / next(printed))
    frame = exhibits.FIGURES["crud_fig2_insert_single"](committed).frame
    mark = frame.query("source == 'here' and level == 'MongoDB' and panel == 'n = 10,000'").iloc[0]
    found = keyed["crud_fig2_insert_single.n-10000.mongodb"]
    assert (found.value, found.low, found.unit, found.blocks) == (
        mark["value"],
        mark["low"],
        "ms",
        mark["blocks"],
    )
    assert keyed["claims.all"].value == len(committed.verdicts)
    of_crud = [verdict for verdict in committed.verdicts if verdict.study == "crud"]
    holds = sum(verdict.verdict == "holds" for verdict in of_crud)
    assert keyed["crud.claims.holds"].value == holds


def test_a_ranking_has_a_key_for_each_product_that_it_is_compared_with(committed, keyed):
    name = "crud.insert.couchdb-first"
    rows = [row for row in committed.comparisons if row.name == name]
    ratios = {row.estimate for row in rows if not math.isnan(row.estimate)}
    assert len(ratios) > 1
    assert {one.value for key, one in keyed.items() if key.startswith(f"{name}.python.")} >= ratios
    assert not any(re.search(r"\.\d$", key) for key in keyed if key.startswith(f"{name}.")), (
        "no two share a key"
    )


def test_every_judged_ratio_and_every_mark_has_one_key(committed, keyed):
    assert all(re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9-]+)+", key) for key in keyed), (
        "nothing that a shell or LaTeX reads"
    )
    assert all(one.key == key for key, one in keyed.items())
    judged = {verdict.id for verdict in committed.verdicts if not math.isnan(verdict.estimate)}
    assert judged and judged <= {*keyed}
    for name in ("bookstore_case1", "tcp_ratios", "replication_fig17_memory"):
        marks = exhibits.FIGURES[name](committed).frame["value"].notna().sum()
        mine = [one for key, one in keyed.items() if key.startswith(f"{name}.")]
        assert len(mine) == marks
        assert all(numbers.list_kindred(committed, name)[one.key] == one for one in mine[:1]), (
            "alone as among all"
        )


def test_the_numbers_that_the_page_shows_are_those_of_their_keys(keyed):
    page = (ROOT / "docs" / "manuscript.md").read_text()
    shown = re.findall(
        r"^benchbook number (\S+)(?: --reference)?  +# ([\d.]+(?: ms| \([^()]*\)))",
        page,
        re.MULTILINE,
    )
    assert len(shown) == 2
    assert {key: keyed[key].text for key, _ in shown} == dict(shown)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((3.291, 3.152, 3.478), "3.3 (3.2 to 3.5)"),
        ((1.0094, 0.9071, 1.1233), "1.01 (0.91 to 1.12)"),
        ((12.93, 12.21, 13.69), "12.9 (12.2 to 13.7)"),
        ((19.2, 16.3, 22.4), "19 (16 to 22)"),
        ((9.71, 8.63, 10.96), "9.7 (8.6 to 11.0)"),
        ((114_119.0, 98_197.0, 130_041.0), "110,000 (100,000 to 130,000)"),
        ((5.0, 4.0, math.inf), "5.0 (4.0 or more)"),
        ((3065.0, 3065.0, 3065.0), "3,065"),
        ((1.2904, 1.2903, 1.2905), "1.29"),
        ((0.00512, math.nan, math.nan), "0.00512"),
        ((0.0, 0.0, 0.0), "0"),
    ],
)
def test_a_number_is_rounded_by_its_interval(interval, text):
    assert numbers.KeyedNumber("k", interval[0], "", (), interval[1], interval[2]).text == text


def test_latex_macros_have_every_number_and_its_provenance(committed, keyed):
    text = numbers.write_macros(keyed, {"drawn_by": "benchbook"})
    assert text.startswith('% drawn_by: "benchbook"\n')
    lines = [line for line in text.splitlines() if line.startswith(r"\benchbook@set")]
    assert len(lines) == len(keyed)
    fields = re.compile(r"\\benchbook@set(\{(?:[^{}]|\{[^{}]*\})*\}){7}")
    assert all(fields.fullmatch(line) for line in lines), (
        "a key and six fields, with their braces in pairs"
    )
    assert r"{tcp_fig3_json.system-cpu-python.3.json}" in text and r"\%" in text
