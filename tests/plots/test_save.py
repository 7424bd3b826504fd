"""Drawings for one and two columns, and tables in LaTeX, all with their provenance."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import lxml.etree
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from benchbook.papers import exhibits
from benchbook.plots import latex, save
from benchbook.plots.exhibit import Dots, Exhibit, Lines
from benchbook.plots.save import draw_exhibit, fit_layout, save_exhibit, save_for_page
from benchbook.plots.style import PAGE_LAYOUTS, REPORT_WIDTH, Layout

PAGE_WIDTHS = {"wide": (563, 960), "narrow": (358, 358)}
"""Pixels of a figure on a page at 1,280 and at 390 pixels: in half of it, and in the whole."""

SMALLEST_ON_PAGE = 12
"""Pixels."""

LAYOUTS = {
    **{f"{width} inches": Layout(width) for width in (3.5, REPORT_WIDTH)},
    **PAGE_LAYOUTS,
}
TOUCH = 0.5
"""Pixels at 300 a printed inch up to which two texts' boxes may lie over each other: rounding."""

SMALLEST = 7.0
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


def find_overlaps(box: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which boxes share more than `TOUCH` pixels with a box, in both directions."""
    shared = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    overlaps: NDArray[np.bool_] = (shared > TOUCH).all(axis=1)
    return overlaps


def touching(figure: Figure, texts: list[tuple[str, Bbox]]) -> list[str]:
    """Return the texts that lie over another, or beyond the sheet."""
    # As numbers, because a box computes each corner anew.
    found = np.array([box.extents for _, box in texts])
    faults = []
    for at, (a, _) in enumerate(texts):
        for other in np.flatnonzero(find_overlaps(found[at], found[at + 1 :])):
            faults.append(f"{a!r} lies on {texts[at + 1 + other][0]!r}")
    for (text, _), (left, bottom, right, top) in zip(texts, found, strict=True):
        if min(left, bottom) < -TOUCH or right > figure.bbox.x1 or top > figure.bbox.y1:
            faults.append(f"{text!r} leaves the sheet")
    return faults


def list_marks(figure: Figure) -> NDArray[np.float64]:
    """Return the boxes of the marks in the figure's panels, and of points of lines, in pixels."""
    marks = [np.empty((0, 4))]
    for axes in figure.axes:
        left, bottom, right, top = axes.bbox.extents
        for line in axes.lines:
            # Lines across a panel are not data.
            if line.get_transform() != axes.transData or not len(line.get_xydata()):
                continue
            places = axes.transData.transform(line.get_xydata())
            reach = line.get_markersize() / 2 * figure.dpi / 72
            if line.get_linestyle() not in ("", "None"):
                reach = line.get_linewidth() / 2 * figure.dpi / 72
                at, numbers = np.linspace(0, len(places) - 1, 200), np.arange(len(places))
                places = np.column_stack([np.interp(at, numbers, column) for column in places.T])
            # A place that is not a number is in no panel.
            x, y = places.T
            seen = places[(left <= x) & (x <= right) & (bottom <= y) & (y <= top)]
            marks.append(np.hstack([seen - reach, seen + reach]))
    return np.concatenate(marks)


def covering(figure: Figure, texts: list[tuple[str, Bbox]]) -> list[str]:
    """Return the texts of a figure that was drawn that lie over a mark or a line."""
    marks, faults = list_marks(figure), []
    for text, box in texts:
        if find_overlaps(box.extents, marks).any():
            faults.append(f"{text!r} covers a mark")
    return faults


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    return request.param


Draw = Callable[[Exhibit, Layout], Figure]


@pytest.fixture(scope="module")
def draw_once() -> Draw:
    """Return a function that draws a figure in a layout of the page once for all tests."""
    drawn: dict[tuple[str, Layout], Figure] = {}

    def draw(exhibit: Exhibit, layout: Layout) -> Figure:
        key = exhibit.name, layout
        if key not in drawn:
            drawn[key] = draw_exhibit(exhibit, layout)
        return drawn[key]

    return draw


@pytest.fixture(scope="module")
def figures(
    layout: str, committed_exhibits: dict[str, Exhibit], draw_once: Draw
) -> dict[str, Figure]:
    """Return every figure of the reference run in a layout."""
    drawn = {}
    for name in exhibits.FIGURES:
        exhibit = committed_exhibits[name]
        assert exhibit.drawing
        chosen = LAYOUTS[layout]
        if layout in PAGE_LAYOUTS:
            chosen = fit_layout(exhibit.drawing, chosen)
            drawn[name] = draw_once(exhibit, chosen)
        else:
            drawn[name] = draw_exhibit(exhibit, chosen)
        assert drawn[name].get_figwidth() == chosen.width
    return drawn


def test_no_label_of_any_figure_touches_another_covers_a_mark_or_leaves_the_sheet(
    figures: dict[str, Figure],
):
    faults = {}
    for name, figure in figures.items():
        texts = boxes(figure)
        found = touching(figure, texts) + covering(figure, texts)
        if found:
            faults[name] = found
    assert not faults


def test_no_text_of_a_figure_is_below_twelve_pixels_on_the_page(
    layout: str, figures: dict[str, Figure], committed_exhibits: dict[str, Exhibit]
):
    sizes = {}
    for name, figure in figures.items():
        if layout not in PAGE_LAYOUTS:
            continue
        half, whole = PAGE_WIDTHS[layout]
        drawing = committed_exhibits[name].drawing
        pixels = whole if drawing and drawing.whole else half
        shown = [text for text in figure.findobj(Text) if text.get_text().strip()]
        points = min(text.get_fontsize() for text in shown)
        sizes[name] = points * pixels / (72 * figure.get_figwidth())
    assert {name: size for name, size in sizes.items() if size < SMALLEST_ON_PAGE} == {}


def test_labels_over_marks_and_lines_are_found():
    figure = Figure(figsize=(3.5, 1))
    axes = figure.subplots()
    axes.plot([1, 2], [1, 2], "o")
    axes.plot([1, 2], [2, 1], "-")
    axes.text(1.99, 1.95, "on a mark")
    axes.text(1.7, 1.2, "on a line")
    axes.text(1.1, 1.4, "on none")
    assert {*covering(figure, boxes(figure))} == {
        "'on a mark' covers a mark",
        "'on a line' covers a mark",
    }


def test_labels_that_touch_are_found():
    figure = Figure(figsize=(3.5, 1))
    figure.text(0.1, 0.5, "one")
    figure.text(0.12, 0.5, "two")
    figure.text(0.95, 0.5, "far out")
    assert touching(figure, boxes(figure)) == ["'one' lies on 'two'", "'far out' leaves the sheet"]


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


def test_each_point_of_a_page_s_figure_has_one_mark_and_files_have_no_names_of_points(
    committed_exhibits: dict[str, Exhibit],
    draw_once: Draw,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    for name in exhibits.FIGURES:
        exhibit = committed_exhibits[name]
        if exhibit.frame.empty or not isinstance(exhibit.drawing, Dots | Lines):
            continue
        with monkeypatch.context() as patch:
            patch.setattr(save, "draw_exhibit", draw_once)
            save_for_page(exhibit, tmp_path, name)
        drawn = exhibit.frame.index[exhibit.frame["value"].notna()]
        for screen in PAGE_LAYOUTS:
            svg = (tmp_path / f"{name}.{screen}.svg").read_text()
            assert list_marked_points(svg, exhibit) == sorted(drawn), (name, screen)
    written = save_exhibit(committed_exhibits["tcp_ratios"], tmp_path / "file", {})
    ids = lxml.etree.fromstring(written[1].read_bytes()).xpath("//@id")
    assert len(ids) == len(set(ids)) and not [one for one in ids if "|" in one]


def list_marked_points(svg: str, exhibit: Exhibit) -> list[int]:
    """Return the points that marks of a drawing name; each group is of one series."""
    marked = []
    groups = "//*[@data-points!='' and @data-points!='key']"
    for group in lxml.etree.fromstring(svg).xpath(groups):
        points = [int(point) for point in group.get("data-points").split()]
        assert {exhibit.frame["series"][point] for point in points} == {group.get("data-series")}
        assert len(group.xpath(".//*[local-name()='use']")) == len(points)
        marked += points
    return sorted(marked)


def test_a_caption_begins_with_its_source_and_a_figure_s_title_with_what_came_out(
    committed_exhibits: dict[str, Exhibit], tmp_path: Path
):
    for name in ("crud_fig4_update_single", "drivers_fig2_time", "crud_table1_versions"):
        made = committed_exhibits[name]
        written = save_exhibit(made, tmp_path / name, {}, ("tex",))[0].read_text()
        caption = re.search(r"\\caption{(.+)}", written)[1]
        paper = latex.escape_text(exhibits.load_citation(made.study).short.rstrip("."))
        assert caption.startswith(f"After {made.source} of {paper}. "), name
        assert latex.escape_text(made.result) in caption
    figure = draw_exhibit(committed_exhibits["crud_fig4_update_single"])
    title, *_ = (text.replace("\n", " ") for text, _ in boxes(figure) if "faster" in text)
    assert title == committed_exhibits["crud_fig4_update_single"].result
    foot = figure.get_supxlabel()
    assert foot.replace("\n", " ").endswith("After Fig. 4 of Truică et al. (2015).")


def test_a_table_is_valid_latex_for_booktabs(committed):
    made = exhibits.make_exhibit(committed, "crud_table2_insert_single")
    text = latex.write_table(made.frame, made.caption, name="t", about={"commit": "abc"})
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    counts = {
        line.count("&") + sum(int(many) - 1 for many in re.findall(r"multicolumn{(\d)}", line))
        for line in rows
    }
    assert counts == {made.frame.shape[1] - 1}, "each row has one cell per column"
    assert r"\multicolumn{2}{c}{n = 1,000}" in text and r"\cmidrule(lr){2-3}" in text
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert '% commit: "abc"' in text
    assert latex.escape_text("50 % of a_b & <c> \\ {µ}") == (
        r"50 \% of a\_b \& $<$c$>$ \textbackslash{} \{\textmu{}\}"
    )


def test_every_table_has_no_letter_that_latex_cannot_print(committed_exhibits: dict[str, Exhibit]):
    for name in exhibits.TABLES:
        made = committed_exhibits[name]
        text = latex.write_table(made.frame, made.caption, name=name, about={})
        assert not re.findall(r"[^\x00-\xff]", text), name
