"""Verdicts in figures and on the reference page: each claim once, with its counts."""

from dataclasses import replace
from itertools import chain, pairwise
from math import inf, isnan, log, nan

import pandas as pd
import pytest

import constructed
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import VERDICTS, ClaimVerdict
from benchbook.papers import exhibits
from benchbook.plots import claim_lines
from benchbook.plots.claims_plot import find_claimed_range
from benchbook.plots.exhibit import ClaimSheet, Exhibit
from benchbook.plots.save import draw_exhibit
from benchbook.plots.sheet import list_log_ticks
from benchbook.studies.catalogue import SLUGS
from benchbook.text.sentences import VERDICT_MEANINGS
from tools import reference

CLAIM = ClaimVerdict(
    id="crud.one", study="crud", says="A takes <longer> than B.", where="Table II", claimed="more",
    verdict="mostly holds", words="2 of 3 for, 1 open", language="python", for_=2, open=1,
    headline="A against B, n=1000", a="A", b="B", metric="wall_time",
    estimate=2.0, low=1.5, high=2.7, smallest=1.2, largest=2.4, blocks=8,
    machine_days=2, margin=1.1, published=1.9, published_source="Table II", size="as printed",
)  # fmt: skip


@pytest.fixture(scope="module")
def judged() -> Analysis:
    return Analysis(constructed.observations(("bookstore", "tcp")))


def sheet(*rows: ClaimVerdict) -> Exhibit:
    return Exhibit("crud", pd.DataFrame(), ("said",), ClaimSheet(rows, "nothing"))


def test_every_judged_claim_with_a_number_has_a_row_and_others_are_counted(
    judged: Analysis,
):
    for study in ("bookstore", "tcp"):
        of_study = [claim for claim in judged.verdicts if claim.study == study]
        ran = [one for one in of_study if one.verdict not in ("not comparable", "not run")]
        drawn = {claim.id: claim.estimate for claim in ran if not isnan(claim.estimate)}
        exhibit = exhibits.FIGURES[f"{study}_verdicts"](judged)
        here = exhibit.frame[exhibit.frame["source"] == "here"].set_index("claim")
        assert here["value"].to_dict() == pytest.approx(drawn)
        order = [VERDICTS.index(verdict) for verdict in here["verdict"]]
        assert order == sorted(order)
        said = f"not drawn: {len(of_study) - len(drawn)} claim"
        assert any(note.startswith(said) for note in exhibit.notes) or not len(drawn)
    counts = exhibits.FIGURES["verdicts"](judged)
    assert counts.frame["value"].sum() == len(judged.verdicts)
    assert any(
        "not run in this profile: drivers, crud, replication" in note for note in counts.notes
    )


def test_the_claims_of_a_study_fill_few_sheets(committed: Analysis):
    sheets = [
        exhibits.FIGURES[name](committed)
        for name in ("drivers_verdicts", "drivers_verdicts_2", "drivers_verdicts_3")
    ]
    drawn = [len({*sheet.frame["claim"]}) for sheet in sheets]
    assert drawn == [12, 12, 11]
    # Without CouchDB fewer claims of crud ran.
    means = committed.means
    small = Analysis(means[(means["study"] == "crud") & (means["database"] != "couchdb")])
    few = [exhibits.FIGURES[name](small) for name in ("crud_verdicts", "crud_verdicts_2")]
    assert [len({*sheet.frame["claim"]}) for sheet in few] == [13, 0]
    assert "all claims stand on the sheets before" in few[1].notes[0]


def test_a_studys_sheets_have_space_for_all_of_its_claims():
    made = [name for name in exhibits.FIGURES if exhibits.VERDICT_FIGURE.search(name)]
    for study in SLUGS:
        sheets = sum(name.startswith(f"{study}_") for name in made)
        assert -(-len(load_claims(study)) // sheets) <= 26, (
            f"{study}: more than fit a page; give it another sheet"
        )


@pytest.mark.parametrize(
    ("claimed", "than", "ends"),
    [
        ("more", 1.0, (1.1, inf)),
        ("less", 1.0, (0.0, 1 / 1.1)),
        ("equal", 10.5, (10.5 / 1.1, 10.5 * 1.1)),
        ("more", 2.0, (2.2, inf)),
        ("first: mongodb", 1.0, (0.0, 1 / 1.1)),
        ("last: couchdb", 1.0, (1.1, inf)),
        ("different", 1.0, None),
    ],
)
def test_the_tint_covers_the_claimed_ratios(
    claimed: str, than: float, ends: tuple[float, float] | None
):
    assert find_claimed_range(replace(CLAIM, claimed=claimed, than=than)) == pytest.approx(ends)


def test_a_mark_beyond_the_scale_is_an_arrow_and_a_difference_is_written_out():
    far = replace(CLAIM, estimate=5000.0, low=4000.0, high=6000.0, largest=6000.0)
    difference = replace(CLAIM, kind="difference", unit="KB", estimate=3e5, low=2e5, high=4e5)
    _, ratios, right = draw_exhibit(sheet(far, difference)).axes
    assert ">" in {line.get_marker() for line in ratios.lines}
    assert ratios.get_xlim()[1] < 5000
    assert [text.get_text() for text in ratios.texts] == ["a difference, not a ratio"]
    assert "+300 (+200 to +400) MB" in " ".join(text.get_text() for text in right.texts)


def test_the_axis_names_the_ratio_and_rows_name_other_ratios():
    other = replace(CLAIM, a="json, n=10000", b="json, n=1")
    left, ratios, _ = draw_exhibit(sheet(CLAIM, CLAIM, other)).axes
    assert ratios.get_xlabel() == "A / B, time"
    said = [" ".join(text.get_text().split()) for text in left.texts]
    assert said == ["A takes <longer> than B"] * 2 + [
        "A takes <longer> than B JSON, n = 10,000 / JSON, n = 1, time"
    ]


def test_noisy_blocks_are_drawn_hollow_without_an_interval():
    noisy = replace(
        CLAIM,
        estimate=nan,
        low=nan,
        high=nan,
        smallest=nan,
        largest=nan,
        noisy_estimate=3.0,
        blocks=0,
    )
    _, ratios, right = draw_exhibit(sheet(noisy)).axes
    (mark,) = (line for line in ratios.lines if 3.0 in line.get_xdata())
    assert mark.get_markerfacecolor() == "none"
    assert "noisy: no verdict" in " ".join(text.get_text() for text in right.texts)


def test_every_verdict_has_a_mark_and_is_above_its_counts():
    assert tuple(claim_lines.VERDICT_STYLES) == VERDICTS
    figure = draw_exhibit(
        sheet(
            CLAIM, replace(CLAIM, verdict="mixed", words="for with x, against with y; 2 of 4 for")
        )
    )
    texts = [*chain.from_iterable(axes.texts for axes in figure.axes)]
    lines = " ".join(text.get_text().replace("\n", " ") for text in texts)
    rest = "2.0 (1.5 to 2.7); from the paper's times: 1.90; ours agrees 8 blocks of 2 machine-days"
    assert f"2 of 3 for, 1 open {rest}" in lines and f"mixed 2 of 4 for {rest}" in lines
    assert {"mostly holds", "mixed"} <= {text.get_text() for text in texts}
    assert {"mostly holds", "mixed"} <= {text.get_text() for text in figure.legends[0].get_texts()}
    figure.draw_without_rendering()
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in texts)


@pytest.mark.parametrize("gap", [0.1, 0.2, 0.35])
def test_ticks_include_one_and_keep_their_distance(gap: float):
    for low, high in ((0.8, 1.2), (0.5, 3.0), (0.01, 300.0), (0.9, 60.0), (0.9, 1.35), (0.7, 1.6)):
        ticks = list_log_ticks(low, high, gap)
        assert 1.0 in ticks and len(ticks) > 1
        shares = [log(second / first) / log(high / low) for first, second in pairwise(ticks)]
        assert min(shares) >= gap


def test_sheets_without_results_say_that_nothing_ran():
    nothing = Analysis(constructed.observations(()))
    assert {claim.verdict for claim in nothing.verdicts} == {"not run"}
    for name in ("verdicts", "tcp_verdicts", "drivers_verdicts_2"):
        exhibit = exhibits.FIGURES[name](nothing)
        assert draw_exhibit(exhibit).axes
        assert any("not run in this profile" in note for note in exhibit.notes)


def test_the_reference_page_has_counts_claims_and_missing_cells():
    unable = replace(
        CLAIM, id="crud.two", verdict="not run", words="0 of 1 for, 1 not run", estimate=nan,
        low=nan, high=nan, published=nan, blocks=0, size="", why="only one ran",
    )  # fmt: skip
    apart = replace(
        CLAIM, id="crud.three", verdict="not comparable", says="C is slow.", why="two disks"
    )
    failed = replace(CLAIM, id="crud.four", verdict="does not hold", says="D is slow.")
    rows = [replace(CLAIM, says="A | B"), unable, apart, failed]
    columns = ["Study", "State", "Cells", "Which", "Why"]
    absent = pd.DataFrame([["crud", "skipped", 3, "n: 1", "no server"]], columns=columns)
    comparisons = Analysis(constructed.observations(())).comparisons
    said = reference.render_page(
        "quick", rows, comparisons, ["Nothing differs."], absent
    ).splitlines()
    assert said[0] == "# Does it hold?"
    assert "| crud | 4 | 1 | 1 | 1 | 1 |" in said and "- Nothing differs." in said
    address = '<a id="crud.one" href="#crud.one">#</a>'
    (judged,) = [
        line
        for line in said
        if line.startswith(f"| **mostly holds** 2 of 3 for, 1 open | A / B. {address} | 2.0 (1.5")
    ]
    assert judged.endswith(" | 1.90, ours agrees | 8 / 2 |")
    assert (
        '- A takes <longer> than B. <a id="crud.two" href="#crud.two">#</a> *only one ran*' in said
    )
    assert any(
        line.startswith("| C is slow. ")
        and "| 2.0 (1.5 to 2.7); all: 1.20 to 2.40 |" in line
        and line.endswith("| two disks |")
        for line in said
    )
    assert any(
        line.startswith(
            "- **crud:** D is slow. Here 2.0 (1.5 to 2.7), from the paper's times: 1.90"
        )
        for line in said
    )
    assert "| crud | skipped | 3 | n: 1 | no server |" in said
    assert "Cells that did not run" not in "".join(
        reference.render_page("quick", rows, comparisons, [], absent.iloc[:0])
    )


def test_the_reference_page_explains_each_verdict(judged: Analysis):
    nothing = pd.DataFrame()
    said = reference.render_page("quick", judged.verdicts, judged.comparisons, [], nothing)
    assert tuple(VERDICT_MEANINGS) == VERDICTS
    assert all(
        f"| {verdict} | {meaning} |" in said for verdict, meaning in VERDICT_MEANINGS.items()
    )


def test_the_reference_tables_have_every_claim_and_comparison(judged: Analysis):
    tables = reference.list_tables(judged)
    assert list(tables) == ["claims", "comparisons", "tables", "aa"]
    assert len(tables["claims"]) == len(judged.verdicts) and len(tables["comparisons"]) == len(
        judged.comparisons
    )
    assert tables["tables"]["settings"].str.startswith("{").all()
