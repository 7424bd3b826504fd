"""Figures for one and two columns, tables and single numbers, all with their provenance."""

import json
import math
import re
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from benchbook import cli
from benchbook.analysis.runs import Analysis
from benchbook.cli.command import DONE, NOTHING_RUNS, USAGE
from benchbook.papers import exhibits, numbers
from benchbook.plots import latex
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.save import draw_exhibit, save_exhibit
from benchbook.plots.style import REPORT_WIDTH, Layout
from checkout import ROOT

WIDTHS = (3.5, 7.2, REPORT_WIDTH)
TOUCH = 0.5
"""Pixels at 300 a printed inch up to which two texts' boxes may lie over each other: rounding."""

SMALLEST = 6.0
"""Points at the printed size, which is the drawn one, that journals ask for at least."""


def boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return every text that is seen, with its box."""
    figure.set_dpi(300)
    figure.draw_without_rendering()
    unseen = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            beyond = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
            unseen |= {id(tick.label1) for tick in beyond} | {id(tick.label2) for tick in beyond}
        unseen |= {id(text) for text in axes.findobj(Text)} if not axes.get_visible() else set()
    texts = [
        text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()
    ]
    assert min(text.get_fontsize() for text in texts) >= SMALLEST
    return [(text.get_text(), text.get_window_extent()) for text in texts if id(text) not in unseen]


def touching(figure: Figure) -> list[str]:
    """Return the texts that lie over another, or beyond the sheet."""
    # As numbers, because a box computes each corner anew.
    found = [(text, box.extents.tolist()) for text, box in boxes(figure)]
    faults = []
    for (a, (left, bottom, right, top)), (b, (x0, y0, x1, y1)) in combinations(found, 2):
        if min(right, x1) - max(left, x0) > TOUCH and min(top, y1) - max(bottom, y0) > TOUCH:
            faults.append(f"{a!r} lies on {b!r}")
    for text, (left, bottom, right, top) in found:
        if min(left, bottom) < -TOUCH or right > figure.bbox.x1 or top > figure.bbox.y1:
            faults.append(f"{text!r} leaves the sheet")
    return faults


@pytest.mark.parametrize("width", WIDTHS)
def test_no_label_of_any_figure_touches_another_or_leaves_the_sheet(
    width: float, committed_exhibits: dict[str, Exhibit]
):
    faults = {}
    for name in exhibits.FIGURES:
        figure = draw_exhibit(committed_exhibits[name], Layout(width))
        assert figure.get_figwidth() == width
        found = touching(figure)
        if found:
            faults[name] = found
    assert not faults


def test_labels_that_touch_are_found():
    figure = Figure(figsize=(3.5, 1))
    figure.text(0.1, 0.5, "one")
    figure.text(0.12, 0.5, "two")
    figure.text(0.95, 0.5, "far out")
    assert touching(figure) == ["'one' lies on 'two'", "'far out' leaves the sheet"]


def test_a_figure_without_title_is_the_same_drawing_on_a_lower_sheet(committed):
    exhibit = exhibits.FIGURES["crud_ratios_replication"](committed)
    figures = [draw_exhibit(exhibit, Layout(3.5, titled=titled)) for titled in (True, False)]
    full, bare = ({text for text, _ in boxes(figure)} for figure in figures)
    assert {re.sub(r"\s+", " ", text) for text in full - bare} >= {exhibit.title}
    assert {axes.get_title(loc="left") for axes in figures[1].axes} <= bare
    assert figures[1].get_figheight() < figures[0].get_figheight()


def test_files_embed_their_fonts_and_name_the_source_of_their_numbers(committed, tmp_path):
    name = "crud_ratios_replication"
    made = exhibits.make_exhibit(committed, name)
    about = exhibits.describe_exhibit(committed, name, "reference")
    written = save_exhibit(made, tmp_path / name, about, ("pdf", "svg", "png", "tex"), Layout(3.5))
    pdf, svg, png, tex, provenance = (path.read_bytes() for path in written)
    again = save_exhibit(made, tmp_path / "again", about, ("pdf",), Layout(3.5))[0].read_bytes()
    said = json.loads(provenance)
    assert (said["profile"], said["reference"]) == ("decide", True)
    assert re.fullmatch(
        r"benchbook [\d.]+ \([0-9a-f]{10}\)(, benchbook [\d.]+ \([0-9a-f]{10}\))*",
        said["measured_by"],
    )
    assert said["machine_days"] and said["hosts"] and said["drawn_by"].startswith("benchbook ")
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf, "fonts are embedded as TrueType"
    assert b"<text" not in svg, "an SVG's text is outlines"
    for file in (pdf, svg, png, tex):
        assert said["data_sha256"].encode() in file and said["measured"][0].encode() in file
    assert pdf == again


def test_a_table_is_valid_latex_for_booktabs(committed):
    made = exhibits.make_exhibit(committed, "crud_table2_insert_single")
    text = latex.write_table(
        made.frame, title=made.title, notes=made.notes, name="t", about={"commit": "abc"}
    )
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    counts = {
        line.count("&") + sum(int(many) - 1 for many in re.findall(r"multicolumn{(\d)}", line))
        for line in rows
    }
    assert counts == {made.frame.shape[1] - 1}, "each row has a cell a column"
    assert r"\multicolumn{2}{c}{n = 1,000}" in text and r"\cmidrule(lr){2-3}" in text
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert '% commit: "abc"' in text
    assert latex.escape_text("50 % of a_b & <c> \\ {µ}") == (
        r"50 \% of a\_b \& $<$c$>$ \textbackslash{} \{\textmu{}\}"
    )


def test_every_table_has_no_letter_that_latex_cannot_print(committed_exhibits: dict[str, Exhibit]):
    for name in exhibits.TABLES:
        made = committed_exhibits[name]
        text = latex.write_table(
            made.frame, title=made.title, notes=made.notes, name=name, about={}
        )
        assert not re.findall(r"[^\x00-\xff]", text), name


def test_the_command_writes_figures_and_tables_of_the_committed_run(tmp_path, capsys):
    names = ["replication_ratios", "replication_table1_setup"]
    asked = [
        "figure",
        *names,
        "--reference",
        "--width",
        "89mm",
        "--no-title",
        "--output",
        str(tmp_path),
    ]
    assert cli.main(asked) == DONE
    written = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    assert written == {f"{names[0]}.{kind}" for kind in ("pdf", "json")} | {
        f"{names[1]}.{kind}" for kind in ("tex", "csv", "json")
    }
    assert all((tmp_path / name).stat().st_size for name in written)


def test_the_command_lists_all_figures_and_suggests_the_nearest_name(capsys, tmp_path, monkeypatch):
    assert cli.main(["figure"]) == DONE
    listed = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in listed[1:]} == {*exhibits.FIGURES, *exhibits.TABLES}
    assert "drivers, Fig. 2: execution time" in "\n".join(listed)
    titles = [line for line in listed if re.match(r"(\w+_)?verdicts", line)]
    assert len(titles) > 5 and not any(re.search(r"\d+ of \d+", title) for title in titles), (
        "no other run's counts"
    )
    for asked, advice in (
        (["figure", "overveiw"], "did you mean 'overview'?"),
        (
            ["figure", "crud_fig2"],
            "did you mean 'crud_fig2_insert_single'? benchbook figure lists them",
        ),
        (["figure", "overview", "--format", "pfd"], "did you mean 'pdf'?"),
        (["figure", "overview", "--width", "1in"], "3in to 12in"),
        (["figure", "crud_setup", "--reference", "--format", "png"], "takes tex, csv, json"),
    ):
        assert cli.main(asked) == USAGE
        assert advice in capsys.readouterr().err
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "none"))
    for asked in (["figure", "overview"], ["number", "claims.all"]):
        assert cli.main(asked) == NOTHING_RUNS
        assert "--reference" in capsys.readouterr().err
    assert cli.main(["number", "crud.table-ii.mongodb.1000"]) == DONE, (
        "what a paper prints needs no results"
    )
    assert capsys.readouterr().out == "54.9 ms\n"


@pytest.fixture(scope="module")
def keyed(committed: Analysis) -> dict[str, numbers.KeyedNumber]:
    return numbers.list_numbers(committed)


def test_each_kind_of_number_has_its_key(committed, keyed):
    verdict = committed.verdicts.set_index("id").loc["bookstore.round-trip.xml-slower"]
    claim = keyed["bookstore.round-trip.xml-slower"]
    assert (claim.value, claim.low, claim.high) == tuple(verdict[["estimate", "low", "high"]])
    one = keyed["bookstore.round-trip.xml-slower.java.case-1.n-10000"]
    rows = committed.comparisons.query(
        "name == 'bookstore.round-trip.xml-slower' and language == 'java'"
    )
    row = rows.set_index("label").loc["case=1, n=10000"]
    assert (one.value, one.blocks) == (row["estimate"], row["blocks"])
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
    holds = committed.verdicts.query("study == 'crud'")["verdict"].eq("holds").sum()
    assert keyed["crud.claims.holds"].value == holds


def test_a_ranking_has_a_key_for_each_product_that_it_is_compared_with(committed, keyed):
    name = "crud.insert.couchdb-first"
    rows = committed.comparisons[committed.comparisons["name"] == name].dropna(subset="estimate")
    assert len(rows) > 1
    assert {one.value for key, one in keyed.items() if key.startswith(f"{name}.python.")} >= {
        *rows["estimate"]
    }
    assert not any(re.search(r"\.\d$", key) for key in keyed if key.startswith(f"{name}.")), (
        "no two share a key"
    )


def test_every_judged_ratio_and_every_mark_has_one_key(committed, keyed):
    assert all(re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9-]+)+", key) for key in keyed), (
        "nothing that a shell or LaTeX reads"
    )
    assert all(one.key == key for key, one in keyed.items())
    judged = committed.verdicts.dropna(subset=["estimate"])["id"]
    assert len(judged) and {*judged} <= {*keyed}
    for name in ("bookstore_case1", "tcp_ratios", "replication_fig17_memory"):
        marks = exhibits.FIGURES[name](committed).frame["value"].notna().sum()
        mine = [one for key, one in keyed.items() if key.startswith(f"{name}.")]
        assert len(mine) == marks
        assert all(numbers.find_number(committed, one.key) == one for one in mine[:1]), (
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


def test_the_command_prints_a_number_as_text_latex_and_with_its_provenance(
    judged_once, keyed, capsys
):
    mark, unjudged = "tcp_fig3_json.python.3.system-cpu", "crud.couchdb-does-not-nest"
    assert cli.main(["number", mark, "--reference"]) == DONE
    assert capsys.readouterr() == (f"{keyed[mark].text}\n", f"{mark}: {keyed[mark].says}\n"), (
        "the number alone, and what"
    )
    assert cli.main(["number", mark, "--reference", "--latex"]) == DONE
    assert capsys.readouterr().out == f"{keyed[mark].text[:-1]}\\%\n"
    assert cli.main(["number", mark, "--reference", "--json"]) == DONE
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["value"], said["low"], said["unit"]) == (keyed[mark].value, keyed[mark].low, "%")
    assert (
        said["provenance"]["hosts"]
        and said["provenance"]["machine_days"]
        and said["provenance"]["drawn_by"]
    )
    for key, advice in (
        (unjudged, "not comparable"),
        ("crud.table-ii.mongdb.1000", "crud.table-ii.mongodb.1000"),
    ):
        assert cli.main(["number", key, "--reference"]) == USAGE
        assert advice in capsys.readouterr().err


def test_numbers_are_found_by_words_of_their_key_or_description(
    judged_once, keyed, capsys, monkeypatch
):
    monkeypatch.setattr(numbers, "list_numbers", lambda analysis: keyed)
    assert cli.main(["number", "--find", "mongodb", "INSERT", "--reference"]) == DONE
    _, *found = capsys.readouterr().out.splitlines()
    assert 0 < len(found) < len(keyed) / 4
    assert all("mongodb" in line.lower() and "insert" in line.lower() for line in found)
    for words, advice in (
        (["mongodb", "insrt"], "no key has all of these words: mongodb insrt"),
        ([], "expected at"),
    ):
        assert cli.main(["number", "--find", *words, "--reference"]) == USAGE
        assert advice in capsys.readouterr().err
    assert cli.main(["number", "claims.all", "--find", "x", "--reference"]) == USAGE


def test_latex_macros_have_every_number_and_its_provenance(committed, keyed):
    text = numbers.write_macros(keyed, {"drawn_by": "benchbook"})
    assert text.startswith('% drawn_by: "benchbook"\n')
    lines = [line for line in text.splitlines() if line.startswith(r"\benchbook@set")]
    assert len(lines) == len(keyed)
    fields = re.compile(r"\\benchbook@set(\{(?:[^{}]|\{[^{}]*\})*\}){7}")
    assert all(fields.fullmatch(line) for line in lines), (
        "a key and six fields, with their braces in pairs"
    )
    assert r"{tcp_fig3_json.python.3.system-cpu}" in text and r"\%" in text
